// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Small IDX files that a network can learn from: each class is a bright square in another place,
// under noise from a seed.
#pragma once

#include <QDir>
#include <QFile>
#include <QString>

#include <algorithm>
#include <cstdint>
#include <random>

namespace trainyard::test {

struct IdxShape {
    int samples = 210;
    int side = 8; ///< pictures are side x side
    int classes = 3;
};

inline QByteArray bigEndian(std::initializer_list<std::uint32_t> numbers) {
    QByteArray bytes;
    for (const std::uint32_t number : numbers)
        for (int shift = 24; shift >= 0; shift -= 8)
            bytes += static_cast<char>(number >> shift & 0xff);
    return bytes;
}

/// Writes PREFIX-images and PREFIX-labels. False when they cannot be written.
inline bool writeIdx(const QString& prefix, const IdxShape& shape, unsigned seed) {
    // The engine of the library is the same everywhere; its distributions are not.
    std::mt19937 random(seed);
    const auto extent = static_cast<std::uint32_t>(shape.side);
    const auto count = static_cast<std::uint32_t>(shape.samples);
    QByteArray images = bigEndian({0x803, count, extent, extent});
    QByteArray labels = bigEndian({0x801, count});
    for (int sample = 0; sample < shape.samples; ++sample) {
        const int label = static_cast<int>(random() % static_cast<unsigned>(shape.classes));
        const int square = std::max(1, shape.side / shape.classes);
        labels += static_cast<char>(label);
        for (int y = 0; y < shape.side; ++y)
            for (int x = 0; x < shape.side; ++x) {
                const bool bright = x / square == label && y < shape.side / 2;
                images += static_cast<char>((bright ? 120 : 0) + random() % 136);
            }
    }
    QFile imageFile(prefix + QStringLiteral("-images"));
    QFile labelFile(prefix + QStringLiteral("-labels"));
    return imageFile.open(QIODevice::WriteOnly) && labelFile.open(QIODevice::WriteOnly) &&
           imageFile.write(images) == images.size() && labelFile.write(labels) == labels.size();
}

} // namespace trainyard::test
