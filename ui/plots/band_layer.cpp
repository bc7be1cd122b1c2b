// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Columns are taken in blocks of 16 pixels, one cache line wide, and filled row by row: the inner
// loop has a fixed length and no branch, so the compiler makes vector instructions of it.
#include "ui/plots/band_layer.h"

#include <algorithm>
#include <array>

namespace trainyard::ui {

namespace {

constexpr int kBlock = 16;

/// Source over destination, both premultiplied; two channels at a time.
inline QRgb blend(QRgb source, QRgb destination, quint32 rest) {
    const quint32 low = (destination & 0x00ff00ffu) * rest + 0x00800080u;
    const quint32 high = ((destination >> 8) & 0x00ff00ffu) * rest + 0x00800080u;
    const quint32 lowDone = ((low + ((low >> 8) & 0x00ff00ffu)) >> 8) & 0x00ff00ffu;
    const quint32 highDone = (high + ((high >> 8) & 0x00ff00ffu)) & 0xff00ff00u;
    return source + (lowDone | highDone);
}

} // namespace

BandLayer::BandLayer(QSize size) : m_image(size, QImage::Format_ARGB32_Premultiplied) {
    m_image.fill(Qt::transparent);
}

void BandLayer::add(const std::vector<BandColumn>& columns, const QColor& color) {
    const QRgb premultiplied = qPremultiply(color.rgba());
    const auto width =
        std::min<std::size_t>(columns.size(), static_cast<std::size_t>(m_image.width()));
    const std::span<const BandColumn> all(columns.data(), width);
    for (std::size_t left = 0; left < width; left += kBlock)
        addBlock(all.subspan(left, std::min<std::size_t>(kBlock, width - left)),
                 static_cast<int>(left), premultiplied);
}

void BandLayer::addBlock(std::span<const BandColumn> columns, int left, QRgb color) {
    std::array<int, kBlock> tops{}, bottoms{};
    int first = m_image.height(), last = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        tops[i] = std::max(0, columns[i].top);
        bottoms[i] = std::min(m_image.height(), columns[i].bottom);
        if (tops[i] >= bottoms[i])
            continue;
        first = std::min(first, tops[i]);
        last = std::max(last, bottoms[i]);
    }
    const quint32 rest = 255 - static_cast<quint32>(qAlpha(color));
    for (int y = first; y < last; ++y) {
        auto* row = reinterpret_cast<QRgb*>(m_image.scanLine(y)) + left;
        if (columns.size() == kBlock) {
            for (int i = 0; i < kBlock; ++i) {
                const bool inside = y >= tops[i] && y < bottoms[i];
                const QRgb blended = blend(color, row[i], rest);
                row[i] = inside ? blended : row[i];
            }
        } else {
            for (std::size_t i = 0; i < columns.size(); ++i) {
                if (y >= tops[i] && y < bottoms[i])
                    row[i] = blend(color, row[i], rest);
            }
        }
    }
}

} // namespace trainyard::ui
