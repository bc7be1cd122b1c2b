// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// StepSplit: where the time of a rank's steps went since the last look, from the sums that it keeps
// in its flight record.
#pragma once

#include "engine/runtime/flight_record.h"
#include "engine/spec/event.h"

#include <array>
#include <cstdint>
#include <vector>

namespace trainyard::engine {

class StepSplit {
public:
    /// `record` may be null: then there is never anything to tell. Must outlive this.
    explicit StepSplit(const FlightRecord* record) : m_record(record) {}

    /// Values of spec/step_split.h; none when no step has ended since the call before.
    std::vector<spec::NamedValue> sample();

private:
    struct Sums {
        std::int64_t steps = 0;
        std::int64_t wholeNs = 0;
        std::array<std::int64_t, kStepParts> partNs{};
    };
    Sums now() const;

    const FlightRecord* m_record;
    Sums m_last;
};

} // namespace trainyard::engine
