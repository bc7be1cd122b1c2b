// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Makes IDX files for tests, plain or gzip, right or wrong on purpose.
#pragma once

#include <QByteArray>
#include <QFile>
#include <QString>

#include <zlib.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace trainyard::test {

inline QByteArray idxHeader(std::uint8_t type, std::initializer_list<std::uint32_t> extents) {
    QByteArray bytes;
    bytes.append('\0').append('\0').append(static_cast<char>(type));
    bytes.append(static_cast<char>(extents.size()));
    for (const std::uint32_t extent : extents)
        for (int shift = 24; shift >= 0; shift -= 8)
            bytes.append(static_cast<char>(extent >> shift & 0xFF));
    return bytes;
}

/// Elements that no shift or swap reproduces.
inline std::uint8_t patternAt(std::size_t index) {
    return static_cast<std::uint8_t>((index * 2654435761u) >> 13);
}

inline QByteArray patternBytes(std::size_t count) {
    QByteArray bytes;
    bytes.reserve(static_cast<qsizetype>(count));
    for (std::size_t i = 0; i < count; ++i)
        bytes.append(static_cast<char>(patternAt(i)));
    return bytes;
}

inline QByteArray gzip(const QByteArray& content) {
    z_stream stream = {};
    deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    QByteArray packed(
        static_cast<qsizetype>(deflateBound(&stream, static_cast<uLong>(content.size()))), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.constData()));
    stream.avail_in = static_cast<uInt>(content.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    deflate(&stream, Z_FINISH);
    packed.truncate(static_cast<qsizetype>(stream.total_out));
    deflateEnd(&stream);
    return packed;
}

inline bool writeFile(const QString& path, const QByteArray& content) {
    QFile file(path);
    return file.open(QIODevice::WriteOnly) && file.write(content) == content.size();
}

/// A figure of this process in KiB: "VmHWM" (most memory held) or "VmPeak" (most addresses).
inline qint64 memoryFigure(const char* name) {
    QFile file(QStringLiteral("/proc/self/status"));
    if (!file.open(QIODevice::ReadOnly))
        return -1;
    for (const QByteArray& line : file.readAll().split('\n'))
        if (line.startsWith(name))
            return line.mid(line.indexOf(':') + 1).trimmed().split(' ').first().toLongLong();
    return -1;
}

/// "VmHWM" begins anew from what is held now. False: it cannot, or it would count a sanitizer's
/// memory, too.
inline bool resetMostMemoryHeld() {
#ifdef TRAINYARD_SANITIZED
    return false;
#endif
    QFile file(QStringLiteral("/proc/self/clear_refs"));
    return file.open(QIODevice::WriteOnly | QIODevice::Unbuffered) && file.write("5") == 1;
}

/// The folder of real and broken files, empty if this machine has none.
inline QString sharedData() {
    return qEnvironmentVariable("TRAINYARD_SHARED_DATA");
}

} // namespace trainyard::test
