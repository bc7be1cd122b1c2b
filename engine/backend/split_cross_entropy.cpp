// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/split_cross_entropy.h"

#include "engine/backend/kernel_request.h"
#include "engine/base/check.h"

#include <algorithm>
#include <cmath>

namespace trainyard::engine {

namespace {

/// Adds the sums around two maxima; the larger of these stays.
void addSum(SliceScores& all, const SliceScores& part) {
    const double largest = std::max(all.largest, part.largest);
    // Nothing is in the sum yet where there is no score: infinity minus infinity is no number.
    const double before = all.sum != 0 ? all.sum * std::exp(all.largest - largest) : 0.0;
    all.sum = before + part.sum * std::exp(part.largest - largest);
    all.largest = largest;
}

/// With smoothing s: (1 - s) (-log p[label]) + s (mean over classes of -log p).
double lossOf(const SliceScores& row, double smoothing, std::int64_t classes) {
    const double logSum = std::log(row.sum);
    const double own = logSum + (row.largest - row.own);
    if (smoothing <= 0)
        return own;
    const double mean = logSum + (row.largest - row.total / static_cast<double>(classes));
    return (1 - smoothing) * own + smoothing * mean;
}

} // namespace

void SliceScores::insert(double score, double ofClass) {
    std::size_t place = kBest - 1;
    for (; place > 0 && score > best[place - 1]; --place) {
        best[place] = best[place - 1];
        bestClass[place] = bestClass[place - 1];
    }
    best[place] = score;
    bestClass[place] = ofClass;
}

SliceScores joinedScores(const SliceScores* first, std::int64_t stride, std::int64_t parts) {
    SliceScores all;
    for (std::int64_t i = 0; i < parts; ++i) {
        const SliceScores& part = first[i * stride];
        addSum(all, part);
        all.own += part.own;
        all.total += part.total;
        for (std::size_t k = 0; k < SliceScores::kBest; ++k)
            all.offer(part.best[k], part.bestClass[k]);
    }
    return all;
}

SplitCrossEntropy::SplitCrossEntropy(const KernelRequest& request)
    : m_request(request), m_attributes(std::get<graph::CrossEntropyAttributes>(request.attributes)),
      m_sliceClasses(request.inputs[0].shape.back()), m_rows(featureRows(request)),
      m_parts(static_cast<SliceScores*>(request.saved)) {
    TRAINYARD_CHECK_MSG(m_parts != nullptr || m_rows == 0, "slices without a place to meet");
    TRAINYARD_CHECK_MSG(m_attributes.first + m_sliceClasses <= m_attributes.classes,
                        describePair(m_attributes.first, m_attributes.classes));
    TRAINYARD_CHECK_MSG((request.direction == Direction::Backward) ==
                            (request.phase == plan::Phase::Whole),
                        "a loss over slices needs those of all ranks");
}

void SplitCrossEntropy::run(const StepContext& context) {
    checkLabels();
    if (m_request.phase == plan::Phase::Collect) {
        collectAll();
    } else if (m_request.direction != Direction::Backward) {
        addLosses();
    } else if (wantsInputGradient(m_request) && m_rows > 0) {
        TRAINYARD_CHECK_MSG(context.globalRows > 0, describePair(context.globalRows, 0));
        writeGradients(static_cast<double>(context.globalRows * (m_rows / m_request.rows)));
    }
}

void SplitCrossEntropy::checkLabels() const {
    for (std::int64_t row = 0; row < m_rows; ++row)
        TRAINYARD_CHECK_MSG(!counts(row) || m_request.labels[row] < m_attributes.classes,
                            describePair(m_request.labels[row], m_attributes.classes));
}

/// Rows that do not count travel, too, as if they had no scores.
void SplitCrossEntropy::collectAll() {
    for (std::int64_t row = 0; row < m_rows; ++row)
        ownPart(row) = {};
    collect();
}

SliceScores SplitCrossEntropy::sumOf(std::int64_t row) const {
    SliceScores all;
    for (std::int64_t part = 0; part < m_attributes.parts; ++part)
        addSum(all, m_parts[part * m_rows + row]);
    return all;
}

/// In row order, so that the sums do not depend on threads.
void SplitCrossEntropy::addLosses() const {
    for (std::int64_t row = 0; row < m_rows; ++row)
        if (counts(row))
            addLoss(row);
}

void SplitCrossEntropy::addLoss(std::int64_t row) const {
    const SliceScores all = joinedScores(m_parts + row, m_rows, m_attributes.parts);
    const std::int64_t label = m_request.labels[row];
    const auto place =
        std::ranges::find(all.bestClass, static_cast<double>(label)) - all.bestClass.begin();
    m_request.lossSums[kLoss] += lossOf(all, m_attributes.labelSmoothing, m_attributes.classes);
    m_request.lossSums[kCounted] += 1;
    m_request.lossSums[kCorrect] += place == 0 ? 1 : 0;
    m_request.lossSums[kCorrectTop5] += place < 5 ? 1 : 0;
    // Where no score is a number the first class is as good as any.
    if (m_request.confusion)
        ++m_request.confusion[label * m_attributes.classes +
                              std::max<std::int64_t>(0, std::llround(all.bestClass[0]))];
}

} // namespace trainyard::engine
