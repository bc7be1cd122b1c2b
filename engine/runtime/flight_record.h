// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What a rank leaves of what it did, in memory that it shares with the supervisor, so that it
// outlives the rank: the last instructions of each lane, all instructions of a window of steps, and
// where the time of its steps went. One writer for each lane; readers take copies at any moment.
// Header only: ranks write it, the supervisor reads it and has nothing of what computes.
//
// The memory (fd kRecordFd) holds a part of kRankRecordBytes for each rank; pages that nobody
// touches cost nothing. All zero: nothing recorded.
#pragma once

#include "engine/program/program.h"

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace trainyard::engine {

inline constexpr std::size_t kLanes = 2; ///< by plan::Lane
/// Instructions of each lane that are kept, whatever happens.
inline constexpr std::size_t kLastInstructions = 256;
/// Room for a window of steps; what does not fit is left out, and that is told.
inline constexpr std::array<std::size_t, kLanes> kWindowInstructions{48 * 1024, 16 * 1024};
inline constexpr std::size_t kLayerNameBytes = 128 * 1024;

/// One executed instruction.
struct InstructionRecord {
    std::uint64_t number = 0; ///< of this lane, from 1; 0: none
    std::int64_t beginNs = 0; ///< CLOCK_MONOTONIC
    std::int64_t endNs = 0;   ///< 0: has not ended
    std::int64_t step = 0;
    std::uint64_t bytes = 0; ///< that travel; 0: none, or not known
    std::int32_t instruction = 0;
    std::int32_t operation = -1;
    std::int32_t microBatch = 0;
    std::int32_t bucket = -1;
    std::int32_t peer = -1;
    std::uint8_t opcode = 0;  ///< plan::Opcode
    std::uint8_t purpose = 0; ///< plan::Purpose
    std::uint8_t phase = 0;   ///< plan::Phase
    std::uint8_t unused = 0;
};
static_assert(sizeof(InstructionRecord) == 64);

/// A place for a record. Words are written one by one: a reader that finds the same number before
/// and after has a whole record.
class RecordSlot {
public:
    void write(const InstructionRecord& record) {
        const auto words = std::bit_cast<Words>(record);
        m_words[0].store(0, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_release);
        for (std::size_t i = 1; i < words.size(); ++i)
            m_words[i].store(words[i], std::memory_order_relaxed);
        m_words[0].store(words[0], std::memory_order_release);
    }
    void setEnd(std::int64_t endNs) {
        m_words[kEndWord].store(static_cast<std::uint64_t>(endNs), std::memory_order_release);
    }
    /// Number 0: none, or just being written.
    InstructionRecord read() const {
        Words words{};
        words[0] = m_words[0].load(std::memory_order_acquire);
        for (std::size_t i = 1; i < words.size(); ++i)
            words[i] = m_words[i].load(std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_acquire);
        if (m_words[0].load(std::memory_order_relaxed) != words[0])
            return {};
        return std::bit_cast<InstructionRecord>(words);
    }

private:
    using Words = std::array<std::uint64_t, sizeof(InstructionRecord) / sizeof(std::uint64_t)>;
    static constexpr std::size_t kEndWord = 2;
    std::array<std::atomic<std::uint64_t>, sizeof(InstructionRecord) / sizeof(std::uint64_t)>
        m_words;
};

/// What the time of a step goes to.
enum class StepPart : std::uint8_t {
    Data,          ///< waiting for samples and bringing them in
    Forward,       ///< of all micro-batches
    Backward,      ///< with what is computed again for it
    Communication, ///< collectives and sends, hidden or not
    Exposed,       ///< of that: while nothing is computed
    Bubble,        ///< a pipeline's rank waits for the values or gradients of another
    Optimizer
};
inline constexpr std::size_t kStepParts = 7;

/// Sums over all training steps so far. Written once a step by the rank.
struct StepTimes {
    std::atomic<std::int64_t> steps;
    std::atomic<std::int64_t> wholeNs;
    std::array<std::atomic<std::int64_t>, kStepParts> partNs; ///< by StepPart
};

/// One rank's part of the memory.
struct FlightRecord {
    StepTimes times;
    std::array<std::atomic<std::uint64_t>, kLanes> inWindow; ///< records written
    std::atomic<std::uint64_t> leftOut;                      ///< for which a window had no room
    std::atomic<std::uint64_t> layerBytes;
    alignas(64) std::array<char, kLayerNameBytes> layers; ///< by OperationId, zero-terminated
    alignas(64) std::array<std::array<RecordSlot, kLastInstructions>, kLanes> last;
    alignas(64) std::array<RecordSlot, kWindowInstructions[0] + kWindowInstructions[1]> window;

    RecordSlot* windowOf(std::size_t lane) {
        return window.data() + (lane == 0 ? 0 : kWindowInstructions[0]);
    }
    const RecordSlot* windowOf(std::size_t lane) const {
        return window.data() + (lane == 0 ? 0 : kWindowInstructions[0]);
    }
};

inline constexpr std::size_t kRankRecordBytes =
    (sizeof(FlightRecord) + 4095) / 4096 * 4096; ///< whole pages: a rank maps only its own

} // namespace trainyard::engine
