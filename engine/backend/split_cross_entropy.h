// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Softmax and cross-entropy over scores of which each of several ranks has a slice of the classes
// (Shoeybi et al., "Megatron-LM", 2019, section 3: only a few numbers a row travel, not the
// scores). Each rank tells of each row of scores z what its slice k knows: m_k = max z,
// s_k = sum exp(z - m_k), the label's score if it is there, the sum of z, the five largest scores.
// Together: m = max m_k, s = sum over k of s_k exp(m_k - m), so that -log p[c] = log s + m - z[c].
// Who has what all ranks know computes the same bits as the others: slices are joined in order.
// The formulas of loss and gradient are those of reference/softmax_cross_entropy.cpp.
#pragma once

#include "engine/backend/backend.h"

#include <array>
#include <cstdint>
#include <limits>

namespace trainyard::engine {

/// What is known of a row of scores, or of a slice of it. As it travels between the ranks.
struct SliceScores {
    static constexpr std::size_t kBest = 5;

    double largest = -std::numeric_limits<double>::infinity();
    double sum = 0;   ///< of exp(score - largest)
    double own = 0;   ///< the label's score; 0 where it is not in the slice
    double total = 0; ///< of all scores; only where labels are smoothed
    /// The largest scores, of equal ones the earlier class first. Places that no score takes (of
    /// fewer classes, or what is no number) have class -1.
    std::array<double, kBest> best = filledWith(-std::numeric_limits<double>::infinity());
    std::array<double, kBest> bestClass = filledWith(-1);

    /// Scores come in the order of their classes.
    void offer(double score, double ofClass) {
        if (score > best.back())
            insert(score, ofClass);
    }

private:
    static constexpr std::array<double, kBest> filledWith(double value) {
        std::array<double, kBest> all{};
        all.fill(value);
        return all;
    }
    void insert(double score, double ofClass);
};
static_assert(sizeof(SliceScores) == graph::kSliceNumbers * sizeof(double));

/// Of all slices, which follow each other `stride` apart, in the order of their classes.
SliceScores joinedScores(const SliceScores* first, std::int64_t stride, std::int64_t parts);

/// What backends share. `request.saved` is {parts, rows of scores} of SliceScores: Collect fills
/// the part of this rank, Apply and Backward read all. Apply adds to the sums what all classes
/// make, on every rank the same.
class SplitCrossEntropy : public Kernel {
public:
    explicit SplitCrossEntropy(const KernelRequest& request);

    void run(const StepContext& context) final;

protected:
    /// Fills ownPart() of the rows that count.
    virtual void collect() = 0;
    /// Of this rank's scores; every gradient is divided by `divisor`.
    virtual void writeGradients(double divisor) = 0;

    std::int64_t rows() const { return m_rows; }
    std::int64_t sliceClasses() const { return m_sliceClasses; }
    const graph::CrossEntropyAttributes& attributes() const { return m_attributes; }
    const KernelRequest& request() const { return m_request; }
    SliceScores& ownPart(std::int64_t row) const {
        return m_parts[m_attributes.part * m_rows + row];
    }
    /// The largest score of all classes, and the sum around it.
    SliceScores sumOf(std::int64_t row) const;
    bool counts(std::int64_t row) const {
        const std::int32_t label = m_request.labels[row];
        return label >= 0 && label != m_attributes.ignoredLabel;
    }
    /// The label's place in this slice; -1: it is in another.
    std::int64_t placeInSlice(std::int64_t row) const {
        const std::int64_t place = m_request.labels[row] - m_attributes.first;
        return place >= 0 && place < m_sliceClasses ? place : -1;
    }

private:
    void checkLabels() const;
    void collectAll();
    void addLosses() const;
    void addLoss(std::int64_t row) const;

    KernelRequest m_request;
    graph::CrossEntropyAttributes m_attributes;
    std::int64_t m_sliceClasses;
    std::int64_t m_rows; ///< of scores: one for each label
    SliceScores* m_parts;
};

} // namespace trainyard::engine
