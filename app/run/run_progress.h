// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// How far a run is and how long it will take, from the events of its journal.
// Rule: only differences of the node's own clock count, so a backlog that is read at once tells the
// same as events that come live.
#pragma once

#include "app/run/run_quality.h"
#include "app/store/run_record.h"
#include "engine/spec/event.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>

namespace trainyard::app {

struct RunProgress {
    std::int64_t step = 0;
    std::int64_t steps = 0; ///< in all; 0: not known yet, so below
    std::int64_t stepsPerEpoch = 0;
    std::int64_t epochs = 0;
    std::int64_t samples = 0; ///< seen so far
    std::int64_t trainSamples = 0;
    std::int64_t validationSamples = 0;
    double epoch = 0;   ///< passes over the training data so far
    double seconds = 0; ///< since the run's first word

    std::optional<double> trainLoss;
    std::optional<double> validationLoss;
    std::optional<double> validationAccuracy;
    MetricValues validated; ///< all metrics of the last validation, by name
    std::optional<double> samplesPerSecond;
    std::optional<double> secondsLeft;

    /// The epoch that is being trained, from 1.
    std::int64_t currentEpoch() const;
};

/// The pace of a run: seconds per step over a recent window, and what a validation takes.
class StepClock {
public:
    void addTraining(std::int64_t step, std::int64_t timeNs);
    void addValidation(std::int64_t step, std::int64_t timeNs);

    std::optional<double> secondsPerStep() const;
    std::optional<double> secondsPerValidation() const { return m_secondsPerValidation; }

private:
    struct Mark {
        std::int64_t step = 0;
        double trainingSeconds = 0; ///< without validations
    };
    void advance(std::int64_t step, double seconds);

    std::deque<Mark> m_window;
    std::optional<std::int64_t> m_lastNs;
    std::optional<double> m_secondsPerValidation;
};

class ProgressMeter {
public:
    ProgressMeter() = default;
    /// Goes on from what the store knows of a run.
    explicit ProgressMeter(const RunRecord& record);

    void take(const spec::Event& event, std::int64_t timeNs);
    /// The last value of a metric.
    void takeValue(std::string_view metric, double value);
    const RunProgress& progress() const { return m_progress; }

private:
    void takeMetrics(const spec::Metrics& metrics, std::int64_t timeNs);
    std::optional<double> secondsLeft() const;

    RunProgress m_progress;
    StepClock m_clock;
    std::int64_t m_validatedStep = 0;
    std::optional<std::int64_t> m_firstNs;
};

} // namespace trainyard::app
