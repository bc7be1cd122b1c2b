// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The growing ends of series, kept in memory between commits and written as chunks.
// Rules: used only inside a write transaction of its connection; whatever another connection wrote,
// or a transaction that failed, makes the ends stale: forget() then.
#pragma once

#include "app/store/points.h"
#include "app/store/run_record.h"
#include "app/store/sqlite.h"

#include <cstdint>
#include <map>
#include <string>

namespace trainyard::app {

/// How points.db calls them; never renumbered.
enum class SeriesKind : int { Metric = 0, Axis = 1, Device = 2 };

/// Points of one full chunk, and of the largest chunk in the block that still grows. A commit
/// rewrites on average half of the latter per series.
inline constexpr std::int64_t kBlockPoints = 1024;
inline constexpr std::int64_t kTailPoints = 128;

struct SeriesKey {
    RunId run{};
    SeriesKind kind = SeriesKind::Metric;
    std::string name;
    std::int32_t rank = -1; ///< of device samples, else -1
    std::string device;
    auto operator<=>(const SeriesKey&) const = default;
};

/// The end of one series.
struct SeriesTail {
    std::int64_t id = 0;
    Points block;             ///< the points that are not in a full chunk yet
    std::int64_t written = 0; ///< points of the series that are in the file
    std::int64_t lastStep = 0;
    double lastValue = 0;

    std::int64_t total() const { return block.first + static_cast<std::int64_t>(block.size()); }
    void append(std::int64_t step, double value);
};

class PointTails {
public:
    explicit PointTails(Connection& connection) : m_connection(connection) {}

    /// The end of the series, read or made. Valid until forget() or forget(run).
    SeriesTail& open(const SeriesKey& key);
    /// Writes what was appended to the series of `run`.
    void flush(RunId run);
    /// The first `count` points of a series whose appended points are written.
    Points firstPoints(const SeriesTail& tail, std::int64_t count);
    void forget() { m_tails.clear(); }
    void forget(RunId run) { m_tails.erase(run); }

private:
    void load(SeriesTail& tail);
    void flush(SeriesTail& tail);
    void writeChunk(const SeriesTail& tail, std::int64_t begin, std::int64_t count);

    Connection& m_connection;
    std::map<RunId, std::map<SeriesKey, SeriesTail>> m_tails;
};

} // namespace trainyard::app
