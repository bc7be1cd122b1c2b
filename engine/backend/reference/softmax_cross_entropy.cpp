// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// For each row of scores z {..., classes} and its label, with smoothing s (Szegedy et al., 2016):
// loss = (1 - s) (-log p[label]) + s (mean over classes of -log p), p = softmax(z);
// dz = (p - (1 - s) onehot(label) - s / classes) / (rows of the global batch * labels of a row).
// -log p[c] = log(sum exp(z - max z)) + max z - z[c]: nothing overflows. The prediction is the
// first of the largest scores. Ignored labels have no loss and no gradient and are not counted; who
// divides by the labels that count does so later. Sums are in fp64, in row order.
#include "engine/backend/reference/kernels.h"

#include "engine/backend/kernel_request.h"
#include "engine/base/check.h"

#include <algorithm>
#include <cmath>

namespace trainyard::engine::reference {

namespace {

template <class T>
class SoftmaxCrossEntropy : public Kernel {
public:
    explicit SoftmaxCrossEntropy(const KernelRequest& request)
        : m_request(request),
          m_attributes(std::get<graph::CrossEntropyAttributes>(request.attributes)),
          m_classes(request.inputs[0].shape.back()), m_rows(featureRows(request)) {}

    void run(const StepContext& context) override {
        const bool backward = m_request.direction == Direction::Backward;
        if (backward && !wantsInputGradient(m_request))
            return;
        for (std::int64_t row = 0; row < m_rows; ++row) {
            const std::int64_t label = m_request.labels[row];
            const bool counts = label >= 0 && label != m_attributes.ignoredLabel;
            TRAINYARD_CHECK_MSG(!counts || label < m_classes, describePair(label, m_classes));
            const T* scores = dataOf<T>(m_request.inputs[0]) + row * m_classes;
            if (backward)
                writeGradient(context, row, scores, counts ? label : -1);
            else if (counts)
                addLoss(scores, label);
        }
    }

private:
    T smoothing() const { return static_cast<T>(m_attributes.labelSmoothing); }

    T exponentialSum(const T* scores, T largest) const {
        T sum = 0;
        for (std::int64_t c = 0; c < m_classes; ++c)
            sum += std::exp(scores[c] - largest);
        return sum;
    }

    void addLoss(const T* scores, std::int64_t label) {
        const T* largest = std::max_element(scores, scores + m_classes);
        const T logSum = std::log(exponentialSum(scores, *largest));
        T mean = 0;
        for (std::int64_t c = 0; c < m_classes; ++c)
            mean += (logSum + (*largest - scores[c])) / static_cast<T>(m_classes);
        const T own = logSum + (*largest - scores[label]);
        m_request.lossSums[kLoss] +=
            static_cast<double>((1 - smoothing()) * own + smoothing() * mean);
        m_request.lossSums[kCounted] += 1;
        const std::int64_t prediction = largest - scores;
        m_request.lossSums[kCorrect] += prediction == label ? 1 : 0;
        m_request.lossSums[kCorrectTop5] += placeOf(scores, label) < 5 ? 1 : 0;
        if (m_request.confusion)
            ++m_request.confusion[label * m_classes + prediction];
    }

    /// Scores that are larger, or as large and earlier.
    std::int64_t placeOf(const T* scores, std::int64_t label) const {
        std::int64_t place = 0;
        for (std::int64_t c = 0; c < m_classes; ++c)
            place += scores[c] > scores[label] || (scores[c] == scores[label] && c < label);
        return place;
    }

    /// `label` -1: the row does not count.
    void writeGradient(const StepContext& context, std::int64_t row, const T* scores,
                       std::int64_t label) {
        TRAINYARD_CHECK_MSG(context.globalRows > 0, describePair(context.globalRows, 0));
        const T count = static_cast<T>(context.globalRows * (m_rows / m_request.rows));
        const T largest = *std::max_element(scores, scores + m_classes);
        const T sum = exponentialSum(scores, largest);
        write(dataOf<T>(m_request.inputGradients[0]) + row * m_classes, m_classes,
              addsToInputGradient(m_request), [&](std::int64_t c) {
                  const T target = (c == label ? 1 - smoothing() : T{0}) +
                                   smoothing() / static_cast<T>(m_classes);
                  return label < 0 ? T{0} : (std::exp(scores[c] - largest) / sum - target) / count;
              });
    }

    KernelRequest m_request;
    graph::CrossEntropyAttributes m_attributes;
    std::int64_t m_classes, m_rows; ///< rows of scores: one for each label
};

} // namespace

template <class T>
std::unique_ptr<Kernel> makeSoftmaxCrossEntropy(const KernelRequest& request) {
    if (std::get<graph::CrossEntropyAttributes>(request.attributes).parts > 1)
        return makeSliceCrossEntropy<T>(request);
    return std::make_unique<SoftmaxCrossEntropy<T>>(request);
}

template std::unique_ptr<Kernel> makeSoftmaxCrossEntropy<double>(const KernelRequest&);
template std::unique_ptr<Kernel> makeSoftmaxCrossEntropy<float>(const KernelRequest&);

} // namespace trainyard::engine::reference
