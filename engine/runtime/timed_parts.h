// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A backend and an optimizer that do what others do and note how long it takes. Used by one thread.
#pragma once

#include "engine/backend/backend.h"
#include "engine/optim/optimizer.h"
#include "engine/plan/calibration.h"

#include <memory>
#include <vector>

namespace trainyard::engine {

/// Times of one kind of work, one for each time it was done.
struct TimedTask {
    plan::CalibrationTask task;
    std::vector<double> seconds;
};

class StopWatch {
public:
    /// Until then nothing is noted: first runs are slow.
    void start() { m_runs = true; }
    /// Where times of a task are noted from now on.
    std::size_t add(plan::CalibrationTask task);
    void note(std::size_t task, double seconds);
    /// Noted so far in all.
    double sum() const { return m_sum; }
    const std::vector<TimedTask>& tasks() const { return m_tasks; }

private:
    std::vector<TimedTask> m_tasks;
    double m_sum = 0;
    bool m_runs = false;
};

/// `watch` and what they are made of must outlive them.
std::unique_ptr<Backend> makeTimedBackend(Backend& backend, StopWatch& watch);
std::unique_ptr<Optimizer> makeTimedOptimizer(Optimizer& optimizer, StopWatch& watch);

} // namespace trainyard::engine
