// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Softmax and cross-entropy in one pass over each row of logits. Rows are shared by the threads;
// the loss of each row is kept in the workspace and added up in row order in fp64, so the sum does
// not depend on the number of threads.
#include "engine/backend/cpu/kernels.h"

#include "engine/backend/cpu/loops.h"
#include "engine/backend/cpu/score_rows.h"
#include "engine/backend/kernel_request.h"
#include "engine/base/check.h"
#include "engine/base/multiversion.h"
#include "engine/base/parallel.h"

#include <algorithm>
#include <cmath>

namespace trainyard::engine::cpu {

namespace {

/// Scores that come before the label's: larger ones, and equal ones of earlier classes.
template <class T>
[[gnu::always_inline]] inline std::int32_t placeOfLoop(const T* __restrict logits,
                                                       std::int64_t classes, std::int64_t label) {
    const float own = load(logits[label]);
    std::int32_t before = 0;
    for (std::int64_t c = 0; c < label; ++c)
        before += load(logits[c]) >= own ? 1 : 0;
    for (std::int64_t c = label + 1; c < classes; ++c)
        before += load(logits[c]) > own ? 1 : 0;
    return before;
}

TRAINYARD_MULTIVERSION
std::int32_t placeOf(const float* __restrict logits, std::int64_t classes, std::int64_t label) {
    return placeOfLoop(logits, classes, label);
}

TRAINYARD_MULTIVERSION
std::int32_t placeOf(const Bf16* __restrict logits, std::int64_t classes, std::int64_t label) {
    return placeOfLoop(logits, classes, label);
}

template <class T>
class SoftmaxCrossEntropy : public Kernel {
public:
    SoftmaxCrossEntropy(const KernelRequest& request, Workspace& workspace)
        : m_logits(dataOf<T>(request.inputs[0])), m_labels(request.labels),
          m_rows(featureRows(request)), m_classes(request.inputs[0].shape.back()),
          m_rowsOfSample(request.rows > 0 ? m_rows / request.rows : 1), m_workspace(workspace) {
        const auto& a = std::get<graph::CrossEntropyAttributes>(request.attributes);
        m_ignored = a.ignoredLabel;
        m_spread = a.labelSmoothing / static_cast<double>(m_classes);
        m_smoothing = a.labelSmoothing;
        if (request.direction == Direction::Backward) {
            m_gradient = dataOf<T>(request.inputGradients[0]);
            m_add = addsToInputGradient(request);
        } else {
            m_sums = request.lossSums;
            m_confusion = request.confusion;
            m_workspace.reserve(static_cast<std::size_t>(m_rows) * sizeof(RowLoss));
        }
    }

    void run(const StepContext& context) override {
        for (std::int64_t row = 0; row < m_rows; ++row)
            TRAINYARD_CHECK_MSG(counts(m_labels[row]) ? m_labels[row] < m_classes : true,
                                describePair(m_labels[row], m_classes));
        if (m_gradient)
            writeGradients(context.globalRows);
        else
            addLosses();
    }

private:
    struct RowLoss {
        double loss;
        std::int32_t place; ///< -1: ignored
        std::int32_t prediction;
    };

    bool counts(std::int32_t label) const { return label >= 0 && label != m_ignored; }

    template <class Function>
    void forEachRow(const Function& f) const {
        parallelFor(m_rows, m_rows * m_classes * 8 < kGrain ? m_rows + 1 : 0, 1,
                    [&](std::int64_t first, std::int64_t last) {
                        for (std::int64_t row = first; row < last; ++row)
                            f(row, m_logits + row * m_classes, m_labels[row]);
                    });
    }

    RowLoss lossOfRow(const T* logits, std::int32_t label) const {
        if (!counts(label))
            return {0, -1, 0};
        const RowSum sum = sumOfRow(logits, m_classes);
        const double logSum = std::log(sum.sum) + static_cast<double>(sum.largest);
        const double own = static_cast<double>(load(logits[label]));
        double loss = (1 - m_smoothing) * (logSum - own);
        if (m_smoothing > 0)
            loss += m_smoothing * logSum - m_spread * sumOf(logits, m_classes);
        // Nothing comes before a score that is no number, but it is no prediction either.
        const bool known = load(logits[label]) == load(logits[label]);
        const std::int32_t place =
            known ? placeOf(logits, m_classes, label) : static_cast<std::int32_t>(m_classes);
        return {loss, place, m_confusion ? predictionOf(logits) : 0};
    }

    std::int32_t predictionOf(const T* logits) const {
        return static_cast<std::int32_t>(
            std::max_element(logits, logits + m_classes,
                             [](T a, T b) { return load(a) < load(b); }) -
            logits);
    }

    void addLosses() {
        auto* losses = reinterpret_cast<RowLoss*>(m_workspace.data());
        forEachRow([&](std::int64_t row, const T* logits, std::int32_t label) {
            losses[row] = lossOfRow(logits, label);
        });
        for (std::int64_t row = 0; row < m_rows; ++row) {
            if (losses[row].place < 0)
                continue;
            m_sums[kLoss] += losses[row].loss;
            m_sums[kCounted] += 1;
            m_sums[kCorrect] += losses[row].place == 0 ? 1 : 0;
            m_sums[kCorrectTop5] += losses[row].place < 5 ? 1 : 0;
            if (m_confusion)
                ++m_confusion[m_labels[row] * m_classes + losses[row].prediction];
        }
    }

    void writeGradients(std::int64_t globalRows) {
        TRAINYARD_CHECK_MSG(globalRows > 0, describePair(globalRows, 0));
        const double divisor = static_cast<double>(globalRows * m_rowsOfSample);
        const Smoothing target{1 - m_smoothing + m_spread, m_spread};
        forEachRow([&](std::int64_t row, const T* logits, std::int32_t label) {
            T* gradient = m_gradient + row * m_classes;
            if (counts(label))
                gradientOfRow(logits, m_classes, sumOfRow(logits, m_classes), label, target,
                              divisor, m_add, gradient);
            else if (!m_add)
                std::fill_n(gradient, m_classes, T{});
        });
    }

    const T* m_logits;
    const std::int32_t* m_labels;
    std::int64_t m_rows, m_classes;
    std::int64_t m_rowsOfSample; ///< positions of a sequence
    std::int64_t m_ignored = -1;
    double m_smoothing = 0;
    double m_spread = 0; ///< the smoothed share of one class
    Workspace& m_workspace;
    T* m_gradient = nullptr;
    bool m_add = false;
    double* m_sums = nullptr;
    std::int64_t* m_confusion = nullptr;
};

} // namespace

std::unique_ptr<Kernel> makeSoftmaxCrossEntropy(const KernelRequest& request, Context& context) {
    if (request.direction == Direction::Backward && !wantsInputGradient(request))
        return makeNothing();
    if (std::get<graph::CrossEntropyAttributes>(request.attributes).parts > 1)
        return makeSliceCrossEntropy(request);
    if (request.type == DType::Bf16)
        return std::make_unique<SoftmaxCrossEntropy<Bf16>>(request, context.workspace);
    return std::make_unique<SoftmaxCrossEntropy<float>>(request, context.workspace);
}

} // namespace trainyard::engine::cpu
