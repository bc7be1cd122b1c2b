// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Frames: the crc is taken over the length and over all that follows the crc itself, so a flipped
// bit anywhere in a frame is found. A length beyond kMaxPayloadBytes is damage at once; the reader
// never waits for, or asks memory for, what can not be.
#include "engine/spec/frame.h"

#include "engine/spec/wire.h"

#include <array>

namespace trainyard::spec {
namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kCrcBytes = 4;
constexpr std::size_t kSequenceAt = kLengthBytes + kCrcBytes;
constexpr std::size_t kTimeAt = kSequenceAt + 8;
constexpr std::size_t kTypeAt = kTimeAt + 8;
static_assert(kTypeAt + 1 == kFrameHeaderBytes);

using CrcTables = std::array<std::array<std::uint32_t, 256>, 8>;

/// Table k gives the effect of a byte that lies k bytes before the end of a block of eight.
constexpr CrcTables makeCrcTables() {
    CrcTables tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t value = byte;
        for (int bit = 0; bit < 8; ++bit)
            value = value & 1 ? 0xEDB88320u ^ (value >> 1) : value >> 1;
        tables[0][byte] = value;
    }
    for (std::size_t k = 1; k < tables.size(); ++k)
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t before = tables[k - 1][byte];
            tables[k][byte] = tables[0][before & 0xff] ^ (before >> 8);
        }
    return tables;
}

constexpr CrcTables kCrcTables = makeCrcTables();

/// The crc of a frame, given all its bytes.
std::uint32_t frameCrc(std::string_view frame) {
    return crc32(frame.substr(kSequenceAt), crc32(frame.substr(0, kLengthBytes)));
}

} // namespace

std::uint32_t crc32(std::string_view bytes, std::uint32_t seed) {
    const auto& tables = kCrcTables;
    std::uint32_t crc = ~seed;
    const char* at = bytes.data();
    std::size_t left = bytes.size();
    for (; left >= 8; left -= 8, at += 8) {
        const std::uint32_t low = readLittleEndian<std::uint32_t>(at) ^ crc;
        const std::uint32_t high = readLittleEndian<std::uint32_t>(at + 4);
        crc = tables[7][low & 0xff] ^ tables[6][low >> 8 & 0xff] ^ tables[5][low >> 16 & 0xff] ^
              tables[4][low >> 24] ^ tables[3][high & 0xff] ^ tables[2][high >> 8 & 0xff] ^
              tables[1][high >> 16 & 0xff] ^ tables[0][high >> 24];
    }
    for (; left > 0; --left, ++at)
        crc = tables[0][(crc ^ static_cast<unsigned char>(*at)) & 0xff] ^ (crc >> 8);
    return ~crc;
}

std::string encodeFrame(const Frame& frame) {
    TRAINYARD_CHECK_MSG(frame.payload.size() <= kMaxPayloadBytes,
                        "an event of " + std::to_string(frame.payload.size()) + " bytes");
    std::string out;
    out.reserve(kFrameHeaderBytes + frame.payload.size());
    appendLittleEndian(out, static_cast<std::uint32_t>(frame.payload.size()));
    appendLittleEndian(out, std::uint32_t{0});
    appendLittleEndian(out, frame.sequence);
    appendLittleEndian(out, frame.timeNs);
    appendLittleEndian(out, frame.type);
    out += frame.payload;
    std::string crc;
    appendLittleEndian(crc, frameCrc(out));
    out.replace(kLengthBytes, kCrcBytes, crc);
    return out;
}

void FrameReader::append(std::string_view bytes) {
    // Bytes already handed out are dropped only when they are many, so that append stays linear.
    if (m_position > 64 * 1024 && m_position * 2 > m_buffer.size()) {
        m_buffer.erase(0, m_position);
        m_position = 0;
    }
    m_buffer += bytes;
}

Result<std::optional<Frame>> FrameReader::next() {
    const auto damage = [this]() {
        m_damaged = true;
        return Error(Message("The stream of events is damaged after %1 bytes.",
                             {std::to_string(m_consumed)}));
    };
    if (m_damaged)
        return damage();
    const std::string_view rest = std::string_view(m_buffer).substr(m_position);
    if (rest.size() < kLengthBytes)
        return std::optional<Frame>();
    const auto payloadBytes = readLittleEndian<std::uint32_t>(rest.data());
    if (payloadBytes > kMaxPayloadBytes)
        return damage();
    const std::size_t frameBytes = kFrameHeaderBytes + payloadBytes;
    if (rest.size() < frameBytes)
        return std::optional<Frame>();
    const std::string_view bytes = rest.substr(0, frameBytes);
    if (readLittleEndian<std::uint32_t>(bytes.data() + kLengthBytes) != frameCrc(bytes))
        return damage();
    Frame frame;
    frame.sequence = readLittleEndian<std::uint64_t>(bytes.data() + kSequenceAt);
    frame.timeNs = readLittleEndian<std::int64_t>(bytes.data() + kTimeAt);
    frame.type = readLittleEndian<std::uint8_t>(bytes.data() + kTypeAt);
    frame.payload = bytes.substr(kFrameHeaderBytes);
    m_position += frameBytes;
    m_consumed += frameBytes;
    return std::optional<Frame>(std::move(frame));
}

} // namespace trainyard::spec
