// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/agent/step_split.h"

#include "engine/spec/step_split.h"

#include <utility>

namespace trainyard::engine {
namespace {

constexpr std::pair<StepPart, const char*> kNames[] = {
    {StepPart::Data, spec::metric::kStepData},
    {StepPart::Forward, spec::metric::kStepForward},
    {StepPart::Backward, spec::metric::kStepBackward},
    {StepPart::Communication, spec::metric::kStepCommunication},
    {StepPart::Exposed, spec::metric::kStepExposed},
    {StepPart::Bubble, spec::metric::kStepBubble},
    {StepPart::Optimizer, spec::metric::kStepOptimizer},
};

} // namespace

StepSplit::Sums StepSplit::now() const {
    const StepTimes& times = m_record->times;
    Sums sums;
    sums.steps = times.steps.load(std::memory_order_acquire);
    sums.wholeNs = times.wholeNs.load(std::memory_order_relaxed);
    for (std::size_t part = 0; part < kStepParts; ++part)
        sums.partNs[part] = times.partNs[part].load(std::memory_order_relaxed);
    return sums;
}

std::vector<spec::NamedValue> StepSplit::sample() {
    if (!m_record)
        return {};
    const Sums sums = now();
    const std::int64_t steps = sums.steps - m_last.steps;
    if (steps <= 0)
        return {};
    const Sums last = std::exchange(m_last, sums);
    const auto perStep = [&](std::int64_t after, std::int64_t before) {
        return static_cast<double>(after - before) * 1e-9 / static_cast<double>(steps);
    };
    std::vector<spec::NamedValue> values{
        {spec::metric::kStepTime, perStep(sums.wholeNs, last.wholeNs)}};
    for (const auto& [part, name] : kNames) {
        const auto at = static_cast<std::size_t>(part);
        values.emplace_back(name, perStep(sums.partNs[at], last.partNs[at]));
    }
    return values;
}

} // namespace trainyard::engine
