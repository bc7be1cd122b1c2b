// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What a benchmark tells. A benchmark NAME is the function benchName() in bench_NAME.cpp and a line
// trainyard_bench(NAME ...) in CMakeLists.txt; `trainyard-bench NAME [--json]` runs it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace trainyard::bench {

struct Row {
    std::string name; ///< "case" in JSON
    double value = 0;
    std::string unit;
    std::string peer;              ///< what it was compared with in the same run; may be empty
    std::optional<double> ratio;   ///< over the peer, > 1: we are better
    std::optional<double> scaling; ///< of the ideal speed-up, 1 is all of it
    std::optional<double> spread;  ///< of the rounds, relative to their median
};

} // namespace trainyard::bench
