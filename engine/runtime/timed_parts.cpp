// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/timed_parts.h"

#include "engine/backend/kernel_request.h"
#include "engine/plan/kernel_task.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace trainyard::engine {

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

class TimedKernel : public Kernel {
public:
    TimedKernel(std::unique_ptr<Kernel> kernel, StopWatch& watch, std::size_t task)
        : m_kernel(std::move(kernel)), m_watch(watch), m_task(task) {}

    void run(const StepContext& context) override {
        const Clock::time_point start = Clock::now();
        m_kernel->run(context);
        m_watch.note(m_task, since(start));
    }

private:
    std::unique_ptr<Kernel> m_kernel;
    StopWatch& m_watch;
    std::size_t m_task;
};

plan::CalibrationTask taskOf(const KernelRequest& request) {
    const Shape& input = request.inputs.front().shape;
    return plan::kernelTask(
        {.kind = request.kind,
         .attributes = request.attributes,
         .input = input,
         .output = request.outputs.empty() ? input : request.outputs.front().shape,
         .type = request.type,
         .rows = request.rows,
         .backward = request.direction == Direction::Backward,
         .inputGradient = wantsInputGradient(request)});
}

class TimedBackend : public Backend {
public:
    TimedBackend(Backend& backend, StopWatch& watch) : m_backend(backend), m_watch(watch) {}

    std::string name() const override { return m_backend.name(); }
    bool supports(DType type) const override { return m_backend.supports(type); }
    Layout preferredLayout(std::int64_t channels) const override {
        return m_backend.preferredLayout(channels);
    }
    std::unique_ptr<Kernel> compile(const KernelRequest& request) override {
        std::unique_ptr<Kernel> kernel = m_backend.compile(request);
        const bool timed = request.phase == plan::Phase::Whole &&
                           request.direction != Direction::Inference && request.rows > 0;
        if (!timed)
            return kernel;
        return std::make_unique<TimedKernel>(std::move(kernel), m_watch,
                                             m_watch.add(taskOf(request)));
    }
    std::size_t workspaceBytes() const override { return m_backend.workspaceBytes(); }

private:
    Backend& m_backend;
    StopWatch& m_watch;
};

class TimedOptimizer : public Optimizer {
public:
    TimedOptimizer(Optimizer& optimizer, StopWatch& watch)
        : m_optimizer(optimizer), m_watch(watch) {}

    int slotCount() const override { return m_optimizer.slotCount(); }
    void update(const UpdateContext& context, DType type, std::size_t elements,
                const std::vector<ParameterRange>& ranges, void* parameters, const void* gradients,
                const std::vector<void*>& state) override {
        if (m_task == kNone)
            m_task =
                m_watch.add(plan::updateTask(slotCount(), static_cast<std::int64_t>(elements)));
        const Clock::time_point start = Clock::now();
        m_optimizer.update(context, type, elements, ranges, parameters, gradients, state);
        m_watch.note(m_task, since(start));
    }

private:
    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    Optimizer& m_optimizer;
    StopWatch& m_watch;
    std::size_t m_task = kNone;
};

} // namespace

std::size_t StopWatch::add(plan::CalibrationTask task) {
    m_tasks.push_back({std::move(task), {}});
    return m_tasks.size() - 1;
}

void StopWatch::note(std::size_t task, double seconds) {
    if (!m_runs)
        return;
    m_tasks[task].seconds.push_back(seconds);
    m_sum += seconds;
}

std::unique_ptr<Backend> makeTimedBackend(Backend& backend, StopWatch& watch) {
    return std::make_unique<TimedBackend>(backend, watch);
}

std::unique_ptr<Optimizer> makeTimedOptimizer(Optimizer& optimizer, StopWatch& watch) {
    return std::make_unique<TimedOptimizer>(optimizer, watch);
}

} // namespace trainyard::engine
