// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Cross-entropy over a slice of the classes; see engine/backend/split_cross_entropy.h.
#include "engine/backend/split_cross_entropy.h"

#include "engine/backend/kernel_request.h"
#include "engine/backend/reference/kernels.h"

#include <algorithm>
#include <cmath>

namespace trainyard::engine::reference {

namespace {

template <class T>
class SliceCrossEntropy : public SplitCrossEntropy {
public:
    using SplitCrossEntropy::SplitCrossEntropy;

private:
    const T* scoresOf(std::int64_t row) const {
        return dataOf<T>(request().inputs[0]) + row * sliceClasses();
    }

    void collect() override {
        for (std::int64_t row = 0; row < rows(); ++row)
            if (counts(row))
                collectRow(scoresOf(row), placeInSlice(row), ownPart(row));
    }

    void collectRow(const T* scores, std::int64_t label, SliceScores& part) const {
        const T largest = *std::max_element(scores, scores + sliceClasses());
        T sum = 0, total = 0;
        for (std::int64_t c = 0; c < sliceClasses(); ++c) {
            sum += std::exp(scores[c] - largest);
            total += scores[c];
            part.offer(static_cast<double>(scores[c]), static_cast<double>(attributes().first + c));
        }
        part.largest = static_cast<double>(largest);
        part.sum = static_cast<double>(sum);
        part.own = label < 0 ? 0.0 : static_cast<double>(scores[label]);
        part.total = static_cast<double>(total);
    }

    void writeGradients(double divisor) override {
        for (std::int64_t row = 0; row < rows(); ++row)
            writeGradient(row, static_cast<T>(divisor));
    }

    void writeGradient(std::int64_t row, T divisor) const {
        const bool counted = counts(row);
        const std::int64_t label = counted ? placeInSlice(row) : -1;
        const SliceScores all = sumOf(row);
        const T largest = static_cast<T>(all.largest);
        const T sum = static_cast<T>(all.sum);
        const T smoothing = static_cast<T>(attributes().labelSmoothing);
        const T* scores = scoresOf(row);
        write(dataOf<T>(request().inputGradients[0]) + row * sliceClasses(), sliceClasses(),
              addsToInputGradient(request()), [&](std::int64_t c) {
                  const T target = (c == label ? 1 - smoothing : T{0}) +
                                   smoothing / static_cast<T>(attributes().classes);
                  return counted ? (std::exp(scores[c] - largest) / sum - target) / divisor : T{0};
              });
    }
};

} // namespace

template <class T>
std::unique_ptr<Kernel> makeSliceCrossEntropy(const KernelRequest& request) {
    return std::make_unique<SliceCrossEntropy<T>>(request);
}

template std::unique_ptr<Kernel> makeSliceCrossEntropy<double>(const KernelRequest&);
template std::unique_ptr<Kernel> makeSliceCrossEntropy<float>(const KernelRequest&);

} // namespace trainyard::engine::reference
