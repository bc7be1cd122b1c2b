// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Own painted, because delegates, lanes and tiles draw these tags by the hundred.
#include "ui/widgets/mesh_tag.h"

#include "ui/theme/theme.h"

#include <QPainter>

namespace trainyard::ui {

namespace {

constexpr int kGap = 2;
constexpr int kTagHeight = 16;

int tagWidth(const Theme& theme, const MeshTag& tag) {
    const NumberFont& numbers = theme.numbers(TypeStyle::Caption);
    return static_cast<int>(std::ceil(numbers.width(meshTagText(tag)))) + theme.px(4);
}

} // namespace

namespace {

/// Of the axes along which there is more than one rank.
std::vector<MeshTag> tagsOfAxes(const plan::Mesh& mesh, const plan::Mesh& numbers) {
    std::vector<MeshTag> tags;
    if (mesh.data > 1 || mesh.worldSize() == 1)
        tags.push_back({MeshAxis::Data, numbers.data});
    if (mesh.pipeline > 1)
        tags.push_back({MeshAxis::Pipeline, numbers.pipeline});
    if (mesh.tensor > 1)
        tags.push_back({MeshAxis::Tensor, numbers.tensor});
    return tags;
}

} // namespace

std::vector<MeshTag> meshTagsOfRank(const plan::Mesh& mesh, int rank) {
    const plan::Coordinate place = mesh.coordinateOf(rank);
    return tagsOfAxes(mesh, {place.data, place.tensor, place.pipeline});
}

std::vector<MeshTag> meshTagsOf(const plan::Mesh& mesh) {
    return tagsOfAxes(mesh, mesh);
}

QString meshTagText(const MeshTag& tag) {
    const QChar letter = tag.axis == MeshAxis::Data     ? u'D'
                         : tag.axis == MeshAxis::Tensor ? u'T'
                                                        : u'P';
    return letter + QString::number(tag.number);
}

int meshTagsWidth(const Theme& theme, const std::vector<MeshTag>& tags) {
    int width = 0;
    for (const MeshTag& tag : tags)
        width += tagWidth(theme, tag) + (width > 0 ? kGap : 0);
    return width;
}

void drawMeshTags(QPainter& painter, const Theme& theme, const QRectF& rect,
                  const std::vector<MeshTag>& tags) {
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    NumberFont numbers = theme.numbers(TypeStyle::Caption);
    qreal x = rect.left();
    const int tall = theme.px(kTagHeight);
    for (const MeshTag& tag : tags) {
        const Tone tone = theme.tone(tag.axis);
        const QRectF box(x, std::round(rect.center().y() - tall / 2.0), tagWidth(theme, tag), tall);
        painter.setPen(Qt::NoPen);
        painter.setBrush(tone.tint);
        painter.drawRoundedRect(box, 3, 3);
        painter.setPen(tone.text);
        numbers.draw(painter, box, Qt::AlignCenter, meshTagText(tag));
        x += box.width() + kGap;
    }
    painter.restore();
}

} // namespace trainyard::ui
