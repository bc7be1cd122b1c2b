// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Calibration: how long a machine took for kernels, updates and exchanges of known sizes, and what
// that says of other sizes. Only numbers: who measures is engine/runtime/calibrate.h, who asks is
// engine/program/price.h. Seconds, bytes, elements.
#pragma once

#include "engine/base/result.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::plan {

/// One measurement: `work` (FLOPs, elements or bytes) of a shape took `seconds`. Axes are what the
/// speed depends on besides; of all points of a table as many.
struct CalibrationPoint {
    std::vector<double> axes;
    double work = 0;
    double seconds = 0;
    bool operator==(const CalibrationPoint&) const = default;
};

using CalibrationTable = std::vector<CalibrationPoint>;

/// What is asked of a table: a kernel of a kind, way and type, an update, a collective.
struct CalibrationTask {
    std::string table; ///< "linear/backward/fp32"
    std::vector<double> axes;
    double work = 0;
};

/// What one rank took while so many ranks computed the same, each with so many threads.
struct CalibrationSetting {
    int threads = 1;
    int ranks = 1;
    std::map<std::string, CalibrationTable, std::less<>> tables;
    bool operator==(const CalibrationSetting&) const = default;
};

/// All that the times depend on besides the sizes.
struct CalibrationKey {
    std::string version; ///< of Trainyard
    std::string machine; ///< processor, instruction set, versions of the libraries that compute
    int cores = 1;       ///< that may be busy at the same time
    bool operator==(const CalibrationKey&) const = default;
};

struct Calibration {
    CalibrationKey key;
    std::string measuredAt; ///< UTC, "2026-01-31T12:00:00Z"
    std::vector<CalibrationSetting> settings;
    /// Between two ranks: "shared_memory/all_reduce", "gloo/message" ...; work is bytes.
    std::map<std::string, CalibrationTable, std::less<>> exchanges;
    bool operator==(const Calibration&) const = default;

    /// It has times of values of this type ("fp32").
    bool knows(std::string_view type) const;
    /// It has times of exchanges over this transport ("gloo").
    bool knowsExchange(std::string_view transport) const;
    /// For one of `ranks` ranks with so many threads that compute at the same time. Ranks that are
    /// more than the cores take turns. 0 where there is nothing like it.
    double seconds(const CalibrationTask& task, int threads, int ranks) const;
    /// `bytes` between `ranks` ranks. 0 for one rank.
    double exchangeSeconds(std::string_view table, double bytes, int ranks) const;
};

/// What the table says of work of another size: its speed is the mean of the points' (in the
/// logarithm), weighted by how near they are. Work smaller than all measured is not faster than
/// half of the fastest point.
double estimate(const CalibrationTable& table, const std::vector<double>& axes, double work);

/// "trainyard.calibration/1".
std::string toJson(const Calibration& calibration);
/// What is no calibration, or only a part of one, is an error.
Result<Calibration> calibrationFromJson(std::string_view json);

} // namespace trainyard::plan
