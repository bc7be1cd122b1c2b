// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The small letter tags of the device mesh: D0 P1 T0. Colour and letter always together.
#pragma once

#include "engine/plan/mesh.h"
#include "ui/theme/tokens.h"

#include <QRectF>
#include <QString>

#include <vector>

class QPainter;

namespace trainyard::ui {

class Theme;

struct MeshTag {
    MeshAxis axis;
    /// Index of the shard, or the degree where a whole mesh is described.
    int number = 0;
    bool operator==(const MeshTag&) const = default;
};

/// Where a rank is, on the axes that its mesh has; D0 where it has none.
std::vector<MeshTag> meshTagsOfRank(const plan::Mesh& mesh, int rank);
/// How large a mesh is, likewise.
std::vector<MeshTag> meshTagsOf(const plan::Mesh& mesh);

QString meshTagText(const MeshTag& tag);
/// Width of all tags with their gaps.
int meshTagsWidth(const Theme& theme, const std::vector<MeshTag>& tags);
/// Draws from the left edge, centred vertically.
void drawMeshTags(QPainter& painter, const Theme& theme, const QRectF& rect,
                  const std::vector<MeshTag>& tags);

} // namespace trainyard::ui
