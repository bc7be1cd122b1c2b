// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Sums and products of values of one shape. Where all lie in one layout memory is walked as it
// lies; padding is zero and stays zero.
#include "engine/backend/cpu/kernels.h"

#include "engine/backend/cpu/loops.h"
#include "engine/backend/kernel_request.h"
#include "engine/base/multiversion.h"
#include "engine/base/parallel.h"

#include <algorithm>
#include <array>
#include <vector>

namespace trainyard::engine::cpu {

namespace {

/// y may be a or b.
TRAINYARD_MULTIVERSION
void sumRange(const float* a, const float* b, float* y, std::int64_t count) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i)
        y[i] = a[i] + b[i];
}

TRAINYARD_MULTIVERSION
void sumRange(const Bf16* a, const Bf16* b, Bf16* y, std::int64_t count) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i)
        y[i] = narrowed(widened(a[i]) + widened(b[i]));
}

class AddForward : public Kernel {
public:
    explicit AddForward(const KernelRequest& request)
        : m_y(dataOf<float>(request.outputs[0])),
          m_count(storedElements(request.outputs[0], request.rows)) {
        for (const Operand& input : request.inputs)
            m_inputs.push_back(dataOf<float>(input));
        // The one whose place the result takes goes first, before it is overwritten.
        for (const float*& input : m_inputs)
            if (input == m_y)
                std::swap(input, m_inputs.front());
    }

    void run(const StepContext&) override {
        parallelFor(m_count, kGrain, kLine, [this](std::int64_t first, std::int64_t last) {
            sumRange(m_inputs[0] + first, m_inputs[1] + first, m_y + first, last - first);
            for (std::size_t i = 2; i < m_inputs.size(); ++i)
                sumRange(m_y + first, m_inputs[i] + first, m_y + first, last - first);
        });
    }

private:
    std::vector<const float*> m_inputs;
    float* m_y;
    std::int64_t m_count;
};

/// In bf16 the sum is rounded once.
class HalfAddForward : public Kernel {
public:
    explicit HalfAddForward(const KernelRequest& request)
        : m_y(dataOf<Bf16>(request.outputs[0])),
          m_count(storedElements(request.outputs[0], request.rows)) {
        for (const Operand& input : request.inputs)
            m_inputs.push_back(dataOf<Bf16>(input));
    }

    void run(const StepContext&) override {
        parallelFor(m_count, kGrain, kLine, [this](std::int64_t first, std::int64_t last) {
            if (m_inputs.size() == 2)
                sumRange(m_inputs[0] + first, m_inputs[1] + first, m_y + first, last - first);
            else
                for (std::int64_t at = first; at < last; at += kPiece)
                    sumPiece(at, std::min(kPiece, last - at));
        });
    }

private:
    static constexpr std::int64_t kPiece = 512;

    /// All inputs are read before y, which may be one of them, is written.
    void sumPiece(std::int64_t first, std::int64_t count) const {
        std::array<float, kPiece> sum, next;
        widen(m_inputs[0] + first, sum.data(), count);
        for (std::size_t i = 1; i < m_inputs.size(); ++i) {
            widen(m_inputs[i] + first, next.data(), count);
            sumRange(sum.data(), next.data(), sum.data(), count);
        }
        narrow(sum.data(), m_y + first, count);
    }

    std::vector<const Bf16*> m_inputs;
    Bf16* m_y;
    std::int64_t m_count;
};

/// Every input gets the output's gradient; one may get it by lying where it lies.
template <class T>
class AddBackward : public Kernel {
public:
    explicit AddBackward(const KernelRequest& request)
        : m_dy(dataOf<T>(request.outputGradients[0])),
          m_count(storedElements(request.outputGradients[0], request.rows)) {
        for (std::size_t i = 0; i < request.inputGradients.size(); ++i)
            if (wantsInputGradient(request, i))
                m_targets.push_back(
                    {dataOf<T>(request.inputGradients[i]), addsToInputGradient(request, i)});
    }

    void run(const StepContext&) override {
        for (const Target& target : m_targets)
            copy(m_dy, target.dx, m_count, target.add);
    }

private:
    struct Target {
        T* dx;
        bool add;
    };
    const T* m_dy;
    std::int64_t m_count;
    std::vector<Target> m_targets;
};

} // namespace

bool sameLayouts(const KernelRequest& request) {
    for (const Operand& input : request.inputs)
        if (input.layout != request.outputs[0].layout)
            return false;
    return true;
}

std::unique_ptr<Kernel> makeAdd(const KernelRequest& request) {
    const bool half = request.type == DType::Bf16;
    if (request.direction == Direction::Backward)
        return half ? std::unique_ptr<Kernel>(std::make_unique<AddBackward<Bf16>>(request))
                    : std::make_unique<AddBackward<float>>(request);
    return half ? std::unique_ptr<Kernel>(std::make_unique<HalfAddForward>(request))
                : std::make_unique<AddForward>(request);
}

} // namespace trainyard::engine::cpu
