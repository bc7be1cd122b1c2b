// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Per row: loss = log(sum exp(z - max z)) + max z - z[label]; a row is right when the first of its
// largest logits is the label. dz = (softmax(z) - onehot(label)) / rows of the global batch.
// The largest logit is taken out before exp, so nothing overflows. Sums are in fp64, in row order.
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
        : m_request(request), m_classes(request.inputs[0].shape[0]) {}

    void run(const StepContext& context) override {
        const bool backward = m_request.direction == Direction::Backward;
        if (backward && !wantsInputGradient(m_request))
            return;
        for (std::int64_t row = 0; row < m_request.rows; ++row) {
            const std::int64_t label = m_request.labels[row];
            TRAINYARD_CHECK_MSG(label >= 0 && label < m_classes, describePair(label, m_classes));
            const T* logits = dataOf<T>(m_request.inputs[0]) + row * m_classes;
            if (backward)
                writeGradient(context, row, logits, label);
            else
                addLoss(logits, label);
        }
    }

private:
    T exponentialSum(const T* logits, T largest) const {
        T sum = 0;
        for (std::int64_t c = 0; c < m_classes; ++c)
            sum += std::exp(logits[c] - largest);
        return sum;
    }

    void addLoss(const T* logits, std::int64_t label) {
        const T* largest = std::max_element(logits, logits + m_classes);
        const T sum = exponentialSum(logits, *largest);
        m_request.lossSums[0] += static_cast<double>(std::log(sum) + (*largest - logits[label]));
        m_request.lossSums[1] += largest - logits == label ? 1 : 0;
    }

    void writeGradient(const StepContext& context, std::int64_t row, const T* logits,
                       std::int64_t label) {
        TRAINYARD_CHECK_MSG(context.globalRows > 0, describePair(context.globalRows, 0));
        const T largest = *std::max_element(logits, logits + m_classes);
        const T sum = exponentialSum(logits, largest);
        T* gradient = dataOf<T>(m_request.inputGradients[0]) + row * m_classes;
        for (std::int64_t c = 0; c < m_classes; ++c) {
            const T probability = std::exp(logits[c] - largest) / sum;
            const T value =
                (probability - (c == label ? T{1} : T{0})) / static_cast<T>(context.globalRows);
            gradient[c] = addsToInputGradient(m_request) ? gradient[c] + value : value;
        }
    }

    KernelRequest m_request;
    std::int64_t m_classes;
};

} // namespace

template <class T>
std::unique_ptr<Kernel> makeSoftmaxCrossEntropy(const KernelRequest& request) {
    return std::make_unique<SoftmaxCrossEntropy<T>>(request);
}

template std::unique_ptr<Kernel> makeSoftmaxCrossEntropy<double>(const KernelRequest&);
template std::unique_ptr<Kernel> makeSoftmaxCrossEntropy<float>(const KernelRequest&);

} // namespace trainyard::engine::reference
