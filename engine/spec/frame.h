// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Frames: how events lie in a journal and travel in a stream.
//   u32 payload length | u32 crc32 | u64 sequence | i64 node time, ns since 1970 UTC | u8 type |
//   payload
// Little-endian. The crc covers everything after itself and the length. A frame that is cut short
// at the end of a journal is a torn write and is dropped; a wrong crc anywhere else is damage.
#pragma once

#include "engine/spec/event.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard::spec {

inline constexpr std::size_t kFrameHeaderBytes = 25;
inline constexpr std::uint32_t kMaxPayloadBytes = 16u << 20;

struct Frame {
    std::uint64_t sequence = 0; ///< per node and run, from 1; 0 = not journaled (heartbeat)
    std::int64_t timeNs = 0;
    std::uint8_t type = 0; ///< EventType, or a number of a newer writer
    std::string payload;
};

std::string encodeFrame(const Frame& frame);
std::uint32_t crc32(std::string_view bytes, std::uint32_t seed = 0);

/// Takes bytes as they arrive, gives whole frames.
class FrameReader {
public:
    void append(std::string_view bytes);
    /// The next whole frame; empty when more bytes are needed; an error on damage (then for good).
    Result<std::optional<Frame>> next();
    /// Bytes of all frames handed out so far.
    std::uint64_t consumed() const { return m_consumed; }
    /// Bytes waiting for the rest of their frame.
    std::size_t pending() const { return m_buffer.size() - m_position; }

private:
    std::string m_buffer;
    std::size_t m_position = 0;
    std::uint64_t m_consumed = 0;
    bool m_damaged = false;
};

} // namespace trainyard::spec
