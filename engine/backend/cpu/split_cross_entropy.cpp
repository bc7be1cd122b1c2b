// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Cross-entropy over a slice of the classes; see engine/backend/split_cross_entropy.h. Rows are
// shared by the threads.
#include "engine/backend/split_cross_entropy.h"

#include "engine/backend/cpu/kernels.h"
#include "engine/backend/cpu/row_parts.h"
#include "engine/backend/cpu/score_rows.h"
#include "engine/backend/kernel_request.h"
#include "engine/base/multiversion.h"
#include "engine/base/parallel.h"

#include <algorithm>

namespace trainyard::engine::cpu {

namespace {

/// Few scores are larger than the fifth so far: they are looked at in lanes, offered one by one.
template <class T>
[[gnu::always_inline]] inline void offerRowLoop(const T* __restrict scores, std::int64_t classes,
                                                std::int64_t first, SliceScores& row) {
    std::int64_t c = 0;
    for (; c + kLanes <= classes; c += kLanes) {
        const auto fifth = static_cast<float>(row.best.back());
        int larger = 0;
        for (std::int64_t l = 0; l < kLanes; ++l)
            larger |= load(scores[c + l]) > fifth ? 1 : 0;
        for (std::int64_t l = 0; larger && l < kLanes; ++l)
            row.offer(static_cast<double>(load(scores[c + l])), static_cast<double>(first + c + l));
    }
    for (; c < classes; ++c)
        row.offer(static_cast<double>(load(scores[c])), static_cast<double>(first + c));
}

TRAINYARD_MULTIVERSION
void offerRow(const float* __restrict scores, std::int64_t classes, std::int64_t first,
              SliceScores& row) {
    offerRowLoop(scores, classes, first, row);
}

TRAINYARD_MULTIVERSION
void offerRow(const Bf16* __restrict scores, std::int64_t classes, std::int64_t first,
              SliceScores& row) {
    offerRowLoop(scores, classes, first, row);
}

template <class T>
class SliceCrossEntropy : public SplitCrossEntropy {
public:
    using SplitCrossEntropy::SplitCrossEntropy;

private:
    const T* scoresOf(std::int64_t row) const {
        return dataOf<T>(request().inputs[0]) + row * sliceClasses();
    }

    template <class Function>
    void forEachRow(const Function& f) const {
        parallelFor(rows(), rows() * sliceClasses() * 8 < kGrain ? rows() + 1 : 0, 1,
                    [&](std::int64_t first, std::int64_t last) {
                        for (std::int64_t row = first; row < last; ++row)
                            f(row);
                    });
    }

    void collect() override {
        forEachRow([this](std::int64_t row) {
            if (counts(row))
                collectRow(scoresOf(row), placeInSlice(row), ownPart(row));
        });
    }

    void collectRow(const T* scores, std::int64_t label, SliceScores& part) const {
        const RowSum sum = sumOfRow(scores, sliceClasses());
        part.largest = static_cast<double>(sum.largest);
        part.sum = sum.sum;
        part.own = label < 0 ? 0.0 : static_cast<double>(load(scores[label]));
        part.total = attributes().labelSmoothing > 0 ? cpu::sumOf(scores, sliceClasses()) : 0.0;
        offerRow(scores, sliceClasses(), attributes().first, part);
    }

    void writeGradients(double divisor) override {
        const double spread =
            attributes().labelSmoothing / static_cast<double>(attributes().classes);
        const Smoothing target{1 - attributes().labelSmoothing + spread, spread};
        const bool add = addsToInputGradient(request());
        forEachRow([&](std::int64_t row) {
            T* gradient = dataOf<T>(request().inputGradients[0]) + row * sliceClasses();
            if (counts(row)) {
                const SliceScores all = sumOf(row);
                gradientOfRow(scoresOf(row), sliceClasses(),
                              {static_cast<float>(all.largest), all.sum}, placeInSlice(row), target,
                              divisor, add, gradient);
            } else if (!add)
                std::fill_n(gradient, sliceClasses(), T{});
        });
    }
};

} // namespace

std::unique_ptr<Kernel> makeSliceCrossEntropy(const KernelRequest& request) {
    if (request.type == DType::Bf16)
        return std::make_unique<SliceCrossEntropy<Bf16>>(request);
    return std::make_unique<SliceCrossEntropy<float>>(request);
}

} // namespace trainyard::engine::cpu
