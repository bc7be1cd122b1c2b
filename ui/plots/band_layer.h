// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The strokes of dense curves, one pixel column each, put straight into the memory of an image:
// many times faster than QPainter's lines, which reach for a new cache line at every pixel of an
// upright stroke. All bands of a chart share one layer, which is then drawn in one piece.
#pragma once

#include <QColor>
#include <QImage>
#include <QSize>

#include <span>
#include <vector>

namespace trainyard::ui {

/// Rows [top, bottom) of one pixel column; empty where bottom <= top.
struct BandColumn {
    int top = 0;
    int bottom = 0;
};

class BandLayer {
public:
    /// size in device pixels.
    explicit BandLayer(QSize size);

    /// Blends one curve's columns over what is there; column 0 is the left edge. Rows beyond the
    /// layer are cut off.
    void add(const std::vector<BandColumn>& columns, const QColor& color);
    const QImage& image() const { return m_image; }

private:
    void addBlock(std::span<const BandColumn> columns, int left, QRgb color);

    QImage m_image;
};

} // namespace trainyard::ui
