// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/cpu/context.h"

#include "engine/backend/kernel_request.h"
#include "engine/base/bfloat16.h"
#include "engine/base/check.h"

#include <omp.h>

#include <algorithm>
#include <ctime>
#include <limits>

namespace trainyard::engine::cpu {

namespace {

constexpr int kRounds = 5;           ///< timed runs of a form, if there is time for them
constexpr double kPatience = 0.02;   ///< seconds for the rounds after the second
constexpr double kHopeless = 1.5;    ///< so much slower than the best: not tried again
constexpr double kHopelessCold = 4;  ///< the same for the first run, which finds cold caches
constexpr double kWorthwhile = 0.97; ///< a later form must beat an earlier one by this factor

/// A copy of a request over memory of its own, filled with small numbers.
class TrialRequest {
public:
    explicit TrialRequest(const KernelRequest& request) : m_request(request) {
        for (auto* list : {&m_request.inputs, &m_request.outputs, &m_request.inputGradients,
                           &m_request.outputGradients})
            for (Operand& operand : *list)
                replace(operand, request.rows);
        for (auto* list : {&m_request.parameters, &m_request.parameterGradients})
            for (Operand& operand : *list)
                replace(operand, 1);
    }

    const KernelRequest& request() const { return m_request; }

private:
    void replace(Operand& operand, std::int64_t rows) {
        if (!operand.data)
            return;
        const std::int64_t count = storedElements(operand, rows);
        Workspace& memory = *m_memory.emplace_back(std::make_unique<Workspace>());
        memory.reserve(static_cast<std::size_t>(count) * sizeof(float));
        operand.data = memory.data();
        // Where values are bf16 all memory is filled with such: two of them make a number in fp32.
        const auto number = [](std::int64_t i) {
            return static_cast<float>(i % 61 - 30) * 0.01F;
        };
        for (std::int64_t i = 0; i < count; ++i)
            if (m_request.type == DType::Bf16)
                dataOf<Bf16>(operand)[2 * i] = dataOf<Bf16>(operand)[2 * i + 1] =
                    narrowed(number(i));
            else
                dataOf<float>(operand)[i] = number(i);
    }

    KernelRequest m_request;
    std::vector<std::unique_ptr<Workspace>> m_memory;
};

/// A team of one thread while this lives.
class TeamOfOne {
public:
    TeamOfOne() { omp_set_num_threads(1); }
    ~TeamOfOne() { omp_set_num_threads(m_before); }
    TeamOfOne(const TeamOfOne&) = delete;
    TeamOfOne& operator=(const TeamOfOne&) = delete;

private:
    int m_before = omp_get_max_threads();
};

/// By the clock of the thread, which stands still while another process has the processor.
double secondsOf(Form& form, const dnnl::stream& stream, std::byte* scratch) {
    const auto now = [] {
        timespec time{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    };
    const double start = now();
    form.run(stream, scratch);
    return now() - start;
}

/// The smallest of several times, the forms taking turns: what else runs on the machine can only
/// add.
std::size_t fastestOf(std::vector<Form>& forms, const dnnl::stream& stream) {
    Workspace scratch;
    for (const Form& form : forms)
        scratch.reserve(form.scratchBytes());
    std::vector<double> best(forms.size(), std::numeric_limits<double>::max());
    double spent = 0;
    for (int round = 0; round < kRounds && (round < 2 || spent < kPatience); ++round) {
        const double limit =
            (round < 2 ? kHopelessCold : kHopeless) * *std::min_element(best.begin(), best.end());
        for (std::size_t i = 0; i < forms.size(); ++i) {
            if (round > 0 && best[i] > limit)
                continue;
            const double seconds = secondsOf(forms[i], stream, scratch.data());
            best[i] = std::min(best[i], seconds);
            spent += seconds;
        }
    }
    std::size_t winner = 0;
    for (std::size_t i = 1; i < forms.size(); ++i)
        if (best[i] < kWorthwhile * best[winner])
            winner = i;
    return winner;
}

} // namespace

std::unique_ptr<Form> pickForm(Context& context, const std::string& key,
                               const KernelRequest& request, const FormBuilder& build) {
    std::vector<Form> forms = build(request);
    TRAINYARD_CHECK_MSG(!forms.empty(), "no form for " + key);
    std::vector<std::string> names;
    for (const Form& form : forms)
        names.push_back(form.name());
    const std::size_t choice = context.chooser->choose(key, names, [&] {
        // On one thread whatever the team: beside a busy process the barriers of a team take longer
        // than its work, and what is chosen now stays.
        const TeamOfOne team;
        const TrialRequest trial(request);
        std::vector<Form> candidates = build(trial.request());
        const std::string& best = candidates[fastestOf(candidates, context.stream)].name();
        const auto found = std::find(names.begin(), names.end(), best);
        return found == names.end() ? 0 : static_cast<std::size_t>(found - names.begin());
    });
    TRAINYARD_CHECK_MSG(choice < forms.size(), describePair(choice, forms.size()));
    context.workspace.reserve(forms[choice].scratchBytes());
    return std::make_unique<Form>(std::move(forms[choice]));
}

} // namespace trainyard::engine::cpu
