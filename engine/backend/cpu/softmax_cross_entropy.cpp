// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Softmax and cross-entropy in one pass over each row of logits. Rows are shared by the threads;
// the loss of each row is kept in the workspace and added up in row order in fp64, so the sum does
// not depend on the number of threads.
#include "engine/backend/cpu/kernels.h"

#include "engine/backend/cpu/loops.h"
#include "engine/backend/kernel_request.h"
#include "engine/base/check.h"
#include "engine/base/multiversion.h"
#include "engine/base/parallel.h"

#include <bit>
#include <cmath>

namespace trainyard::engine::cpu {

namespace {

constexpr std::int64_t kLanes = 16;

/// exp(x) for x <= 0, about one unit in the last place; NaN stays NaN. As in Cephes' expf (S. L.
/// Moshier, "Methods and programs for mathematical functions", 1989): x = n log 2 + r, |r| <= log 2
/// / 2, exp(x) = 2^n (1 + r + r^2 P(r)).
[[gnu::always_inline]] inline float exponential(float x) {
    // Adding and subtracting 1.5 * 2^23 rounds to a whole number, which is left in the lowest bits.
    constexpr float kRound = 12582912.0F;
    const float clamped = x > -87.0F ? x : -87.0F; // exp(-87) is not yet subnormal
    const float shifted = clamped * 1.44269504088896341F + kRound;
    const float n = shifted - kRound;
    const float r = (clamped - n * 0.693359375F) + n * 2.12194440e-4F;
    float p = 1.9875691500e-4F;
    p = p * r + 1.3981999507e-3F;
    p = p * r + 8.3334519073e-3F;
    p = p * r + 4.1665795894e-2F;
    p = p * r + 1.6666665459e-1F;
    p = p * r + 5.0000001201e-1F;
    const float mantissa = p * (r * r) + r + 1.0F;
    const std::uint32_t exponent = (std::bit_cast<std::uint32_t>(shifted) + 127U) << 23;
    const float value = mantissa * std::bit_cast<float>(exponent);
    const float cut = x > -87.0F ? value : 0.0F;
    return x == x ? cut : x;
}

struct RowSum {
    float largest = 0;
    double sum = 0; ///< of exp(logit - largest)
};

TRAINYARD_MULTIVERSION
RowSum sumOfRow(const float* __restrict logits, std::int64_t classes) {
    float largest = logits[0];
    for (std::int64_t c = 1; c < classes; ++c)
        largest = logits[c] > largest ? logits[c] : largest;
    float lanes[kLanes] = {};
    std::int64_t c = 0;
    for (; c + kLanes <= classes; c += kLanes)
        for (std::int64_t l = 0; l < kLanes; ++l)
            lanes[l] += exponential(logits[c + l] - largest);
    for (; c < classes; ++c)
        lanes[c % kLanes] += exponential(logits[c] - largest);
    RowSum row{largest, 0};
    for (const float lane : lanes)
        row.sum += static_cast<double>(lane);
    return row;
}

/// gradient = (softmax(logits) - onehot(label)) / globalRows, or += it.
TRAINYARD_MULTIVERSION
void gradientOfRow(const float* __restrict logits, std::int64_t classes, RowSum row,
                   std::int64_t label, double globalRows, bool add, float* __restrict gradient) {
    const auto scale = static_cast<float>(1.0 / (row.sum * globalRows));
    // The label's element apart: there two numbers near each other are subtracted, in fp64.
    const double probability =
        static_cast<double>(exponential(logits[label] - row.largest)) / row.sum;
    const float before = gradient[label];
    if (add)
        for (std::int64_t c = 0; c < classes; ++c)
            gradient[c] += exponential(logits[c] - row.largest) * scale;
    else
        for (std::int64_t c = 0; c < classes; ++c)
            gradient[c] = exponential(logits[c] - row.largest) * scale;
    const auto own = static_cast<float>((probability - 1.0) / globalRows);
    gradient[label] = add ? before + own : own;
}

class SoftmaxCrossEntropy : public Kernel {
public:
    SoftmaxCrossEntropy(const KernelRequest& request, Workspace& workspace)
        : m_logits(dataOf<float>(request.inputs[0])), m_labels(request.labels),
          m_rows(request.rows), m_classes(request.inputs[0].shape[0]), m_workspace(workspace) {
        if (request.direction == Direction::Backward) {
            m_gradient = dataOf<float>(request.inputGradients[0]);
            m_add = addsToInputGradient(request);
        } else {
            m_sums = request.lossSums;
            m_workspace.reserve(static_cast<std::size_t>(m_rows) * sizeof(RowLoss));
        }
    }

    void run(const StepContext& context) override {
        for (std::int64_t row = 0; row < m_rows; ++row)
            TRAINYARD_CHECK_MSG(m_labels[row] >= 0 && m_labels[row] < m_classes,
                                describePair(m_labels[row], m_classes));
        if (m_gradient)
            writeGradients(context.globalRows);
        else
            addLosses();
    }

private:
    struct RowLoss {
        double loss;
        double correct;
    };

    template <class Function>
    void forEachRow(const Function& f) const {
        parallelFor(m_rows, m_rows * m_classes * 8 < kGrain ? m_rows + 1 : 0, 1,
                    [&](std::int64_t first, std::int64_t last) {
                        for (std::int64_t row = first; row < last; ++row)
                            f(row, m_logits + row * m_classes, m_labels[row]);
                    });
    }

    void addLosses() {
        auto* losses = reinterpret_cast<RowLoss*>(m_workspace.data());
        forEachRow([&](std::int64_t row, const float* logits, std::int64_t label) {
            const RowSum sum = sumOfRow(logits, m_classes);
            const double own = static_cast<double>(logits[label]);
            // The first of the largest logits is the prediction.
            bool correct = logits[label] == sum.largest;
            for (std::int64_t c = 0; c < label && correct; ++c)
                correct = logits[c] != sum.largest;
            losses[row] = {std::log(sum.sum) + (static_cast<double>(sum.largest) - own),
                           correct ? 1.0 : 0.0};
        });
        for (std::int64_t row = 0; row < m_rows; ++row) {
            m_sums[0] += losses[row].loss;
            m_sums[1] += losses[row].correct;
        }
    }

    void writeGradients(std::int64_t globalRows) {
        TRAINYARD_CHECK_MSG(globalRows > 0, describePair(globalRows, 0));
        forEachRow([&](std::int64_t row, const float* logits, std::int64_t label) {
            gradientOfRow(logits, m_classes, sumOfRow(logits, m_classes), label,
                          static_cast<double>(globalRows), m_add, m_gradient + row * m_classes);
        });
    }

    const float* m_logits;
    const std::int32_t* m_labels;
    std::int64_t m_rows, m_classes;
    Workspace& m_workspace;
    float* m_gradient = nullptr;
    bool m_add = false;
    double* m_sums = nullptr;
};

} // namespace

std::unique_ptr<Kernel> makeSoftmaxCrossEntropy(const KernelRequest& request, Context& context) {
    if (request.direction == Direction::Backward && !wantsInputGradient(request))
        return makeNothing();
    return std::make_unique<SoftmaxCrossEntropy>(request, context.workspace);
}

} // namespace trainyard::engine::cpu
