// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Samples per second, over the last second and over the whole run, without the time spent
// validating.
#pragma once

#include <chrono>

namespace trainyard::engine {

class SpeedMeter {
public:
    SpeedMeter() : m_windowBegin(Clock::now()), m_last(m_windowBegin) {}

    /// A step over `samples` has ended now.
    void add(double samples) {
        const Clock::time_point now = Clock::now();
        m_seconds += seconds(now - m_last);
        m_samples += samples;
        m_last = now;
        m_windowSamples += samples;
        const double window = seconds(now - m_windowBegin);
        if (window < kWindowSeconds)
            return;
        m_recent = m_windowSamples / window;
        m_windowSamples = 0;
        m_windowBegin = now;
    }
    /// What happened since the last step does not count.
    void pause() {
        m_last = Clock::now();
        m_windowBegin = m_last;
        m_windowSamples = 0;
    }
    /// Over the last full window; 0: not known yet.
    double samplesPerSecond() const { return m_recent; }
    double meanSamplesPerSecond() const { return m_seconds > 0 ? m_samples / m_seconds : 0; }

private:
    using Clock = std::chrono::steady_clock;
    static constexpr double kWindowSeconds = 0.5;
    static double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

    Clock::time_point m_windowBegin;
    Clock::time_point m_last;
    double m_windowSamples = 0;
    double m_recent = 0;
    double m_samples = 0;
    double m_seconds = 0;
};

} // namespace trainyard::engine
