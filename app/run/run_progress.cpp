// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/run/run_progress.h"

#include <algorithm>
#include <cmath>

namespace trainyard::app {

namespace {

constexpr double kWindowSeconds = 15;
/// A forward pass is about a third of a training step; used until a validation has been measured.
constexpr double kForwardShare = 1.0 / 3;

double secondsBetween(std::int64_t fromNs, std::int64_t toNs) {
    return static_cast<double>(std::max<std::int64_t>(0, toNs - fromNs)) * 1e-9;
}

} // namespace

std::int64_t RunProgress::currentEpoch() const {
    if (stepsPerEpoch <= 0)
        return 0;
    const std::int64_t current = 1 + std::max<std::int64_t>(0, step - 1) / stepsPerEpoch;
    return epochs > 0 ? std::min(current, epochs) : current;
}

void StepClock::advance(std::int64_t step, double seconds) {
    if (!m_window.empty() && step < m_window.back().step)
        m_window.clear(); // the run went back to an earlier step
    const double before = m_window.empty() ? 0 : m_window.back().trainingSeconds;
    m_window.push_back({step, before + seconds});
    while (m_window.size() > 2 &&
           m_window.back().trainingSeconds - m_window[1].trainingSeconds >= kWindowSeconds)
        m_window.pop_front();
}

void StepClock::addTraining(std::int64_t step, std::int64_t timeNs) {
    advance(step, m_lastNs ? secondsBetween(*m_lastNs, timeNs) : 0);
    m_lastNs = timeNs;
}

void StepClock::addValidation(std::int64_t step, std::int64_t timeNs) {
    const double passed = m_lastNs ? secondsBetween(*m_lastNs, timeNs) : 0;
    const std::int64_t trained = m_window.empty() ? 0 : step - m_window.back().step;
    // The same event may tell of the last training steps, too.
    const double training =
        std::min(passed, static_cast<double>(std::max<std::int64_t>(0, trained)) *
                             secondsPerStep().value_or(0));
    if (m_lastNs)
        m_secondsPerValidation = passed - training;
    advance(step, training);
    m_lastNs = timeNs;
}

std::optional<double> StepClock::secondsPerStep() const {
    if (m_window.size() < 2 || m_window.back().step <= m_window.front().step)
        return std::nullopt;
    return (m_window.back().trainingSeconds - m_window.front().trainingSeconds) /
           static_cast<double>(m_window.back().step - m_window.front().step);
}

ProgressMeter::ProgressMeter(const RunRecord& record) {
    m_progress.step = record.lastStep;
    m_progress.steps = record.stepsTotal;
    m_progress.stepsPerEpoch = record.stepsPerEpoch;
    m_progress.epochs = record.epochsTotal;
    m_progress.samples = record.samples;
    m_progress.trainSamples = record.trainSamples;
    m_progress.validationSamples = record.validationSamples;
    m_progress.epoch = record.epoch;
    m_progress.seconds = record.seconds;
    if (record.startedUtcUs)
        m_firstNs = *record.startedUtcUs * 1000;
}

void ProgressMeter::take(const spec::Event& event, std::int64_t timeNs) {
    if (std::holds_alternative<spec::Heartbeat>(event))
        return;
    if (!m_firstNs)
        m_firstNs = timeNs;
    m_progress.seconds = std::max(m_progress.seconds, secondsBetween(*m_firstNs, timeNs));
    if (const auto* schedule = std::get_if<spec::Schedule>(&event)) {
        m_progress.steps = schedule->steps;
        m_progress.stepsPerEpoch = schedule->stepsPerEpoch;
        m_progress.epochs = schedule->epochs;
        m_progress.trainSamples = schedule->trainSamples;
        m_progress.validationSamples = schedule->validationSamples;
    } else if (const auto* metrics = std::get_if<spec::Metrics>(&event)) {
        takeMetrics(*metrics, timeNs);
    } else if (const auto* state = std::get_if<spec::StateChanged>(&event)) {
        if (spec::isFinal(state->state))
            m_progress.secondsLeft.reset();
    }
}

void ProgressMeter::takeValue(std::string_view metric, double value) {
    if (metric.starts_with("val_"))
        m_progress.validated[std::string(metric)] = value;
    if (metric == spec::metric::kTrainLoss)
        m_progress.trainLoss = value;
    else if (metric == spec::metric::kSamplesPerSecond)
        m_progress.samplesPerSecond = value;
    else if (metric == spec::metric::kValidationLoss)
        m_progress.validationLoss = value;
    else if (metric == spec::metric::kValidationAccuracy)
        m_progress.validationAccuracy = value;
}

void ProgressMeter::takeMetrics(const spec::Metrics& metrics, std::int64_t timeNs) {
    m_progress.step = metrics.step;
    m_progress.epoch = metrics.epoch;
    m_progress.samples = metrics.samples;
    bool isValidation = false;
    for (const auto& [name, value] : metrics.values) {
        takeValue(name, value);
        isValidation |= name == spec::metric::kValidationLoss;
    }
    if (isValidation) {
        m_clock.addValidation(metrics.step, timeNs);
        m_validatedStep = metrics.step;
    } else {
        m_clock.addTraining(metrics.step, timeNs);
    }
    m_progress.secondsLeft = secondsLeft();
}

std::optional<double> ProgressMeter::secondsLeft() const {
    const std::optional<double> perStep = m_clock.secondsPerStep();
    const RunProgress& now = m_progress;
    if (!perStep || now.steps <= 0)
        return std::nullopt;
    double left = static_cast<double>(std::max<std::int64_t>(0, now.steps - now.step)) * *perStep;
    if (now.validationSamples <= 0 || now.stepsPerEpoch <= 0 || now.trainSamples <= 0)
        return left;
    const std::int64_t perEpoch = now.stepsPerEpoch;
    // One after each epoch, and one after the last step when that is within an epoch.
    std::int64_t validations = (now.steps + perEpoch - 1) / perEpoch - now.step / perEpoch;
    if (now.step == now.steps)
        validations = m_validatedStep == now.step ? 0 : 1;
    else if (now.step > 0 && now.step % perEpoch == 0 && m_validatedStep != now.step)
        ++validations; // that of this step is still going on
    const double guess = *perStep * static_cast<double>(perEpoch) *
                         static_cast<double>(now.validationSamples) /
                         static_cast<double>(now.trainSamples) * kForwardShare;
    left += static_cast<double>(validations) * m_clock.secondsPerValidation().value_or(guess);
    return left;
}

} // namespace trainyard::app
