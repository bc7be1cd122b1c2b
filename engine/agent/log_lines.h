// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Output of a rank as log lines: text that is safe to show, bounded in length and in rate, so that
// no program can fill the disk or hide its other lines by printing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::engine {

inline constexpr std::size_t kLogLineBytes = 4096;

/// Valid UTF-8 without control characters and without terminal sequences (colours, cursor moves).
/// Tabs become spaces, bytes that are no UTF-8 become U+FFFD.
std::string cleanText(std::string_view raw);

/// Cuts a stream into lines. A carriage return starts the line again, as on a terminal, so of a
/// progress bar only its last state is left. Empty lines are dropped.
class LineSplitter {
public:
    /// The lines that ended in `bytes`, cleaned. What goes beyond kLogLineBytes is cut, and said
    /// so.
    std::vector<std::string> take(std::string_view bytes);
    /// The last line, if it had no end.
    std::vector<std::string> finish();

private:
    void add(std::string_view part);
    void endLine(std::vector<std::string>& lines);

    std::string m_line;
    std::uint64_t m_cutBytes = 0;
    bool m_returned = false; ///< a carriage return waits: "\r\n" ends a line, "\r" alone clears it
};

/// Says which lines may pass: a burst, then so many a second, and so much in all.
class LogThrottle {
public:
    struct Limits {
        double linesPerSecond = 50;
        double burstLines = 500;
        std::uint64_t totalBytes = 16u << 20;
    };
    LogThrottle();
    explicit LogThrottle(Limits limits);

    bool allows(std::size_t bytes, std::int64_t nowNs);
    struct Dropped {
        std::uint64_t lines = 0;
        std::uint64_t bytes = 0;
    };
    /// What was held back since the last call.
    Dropped takeDropped();
    /// Nothing more will pass.
    bool isExhausted() const { return m_passedBytes >= m_limits.totalBytes; }

private:
    Limits m_limits;
    double m_tokens;
    std::int64_t m_lastNs = 0;
    std::uint64_t m_passedBytes = 0;
    Dropped m_dropped;
};

} // namespace trainyard::engine
