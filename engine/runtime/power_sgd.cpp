// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/power_sgd.h"

#include "engine/base/check.h"
#include "engine/base/random.h"
#include "engine/runtime/low_rank_math.h"

namespace trainyard::engine {

namespace {

ThinShape thinShape(const plan::LowRankMatrix& matrix, std::int64_t rank) {
    return {matrix.rows, matrix.columns, rank};
}

} // namespace

Result<std::unique_ptr<PowerSgd>> PowerSgd::make(const Parts& parts) {
    TRAINYARD_CHECK(parts.type == DType::Fp32 || parts.type == DType::Fp64);
    std::unique_ptr<PowerSgd> made(new PowerSgd(parts));
    const std::size_t size = bytesOf(parts.type);
    made->m_errors = Arena(parts.layout.errorElements * size);
    auto left = parts.ranks.allocateReducible(parts.layout.leftElements * size);
    if (!left)
        return left.error();
    auto right = parts.ranks.allocateReducible(parts.layout.rightElements * size);
    if (!right)
        return right.error();
    made->m_left = *left;
    made->m_right = *right;
    return made;
}

Result<void> PowerSgd::sum(std::byte* gradients, int bucket, std::int64_t step, std::uint32_t tag) {
    const plan::LowRankBucket& thin = m_parts.layout.buckets[graph::at(bucket)];
    return m_parts.type == DType::Fp64
               ? sumAs(reinterpret_cast<double*>(gradients), thin, step, tag)
               : sumAs(reinterpret_cast<float*>(gradients), thin, step, tag);
}

template <class Real>
Result<void> PowerSgd::sumAs(Real* gradients, const plan::LowRankBucket& bucket, std::int64_t step,
                             std::uint32_t tag) {
    auto* const errors = reinterpret_cast<Real*>(m_errors.data());
    auto* const left = reinterpret_cast<Real*>(m_left.data());
    auto* const right = reinterpret_cast<Real*>(m_right.data()) + bucket.firstRight;
    const std::int64_t rank = m_parts.layout.rank;
    for (const plan::LowRankMatrix& one : bucket.matrices) {
        prepareRight(one, right + one.right, step);
        addAndProjectRows(thinShape(one, rank), gradients + one.gradient, errors + one.error,
                          right + one.right, left + one.left);
    }
    if (auto summed = m_parts.ranks.allReduceSum(left, bucket.leftElements, m_parts.type, tag);
        !summed)
        return summed;
    for (const plan::LowRankMatrix& one : bucket.matrices) {
        const ThinShape shape = thinShape(one, rank);
        for (std::int64_t i = 0; i < rank; ++i)
            orthonormalize(left + one.left, i, one.rows);
        projectColumns(shape, gradients + one.gradient, left + one.left, right + one.right);
        // With the own part, not the sum: what others computed is no error of this rank, and the
        // errors stay as small as they can be.
        subtractProduct(shape, gradients + one.gradient, left + one.left, right + one.right,
                        errors + one.error);
    }
    if (auto summed = m_parts.ranks.allReduceSum(right, bucket.rightElements, m_parts.type, tag);
        !summed)
        return summed;
    for (const plan::LowRankMatrix& one : bucket.matrices)
        multiply(thinShape(one, rank), left + one.left, right + one.right,
                 gradients + one.gradient);
    return {};
}

/// Orthonormal, so that no direction drowns in the rounding of another; one that is lost, as all
/// are at first, begins anew at random.
template <class Real>
void PowerSgd::prepareRight(const plan::LowRankMatrix& matrix, Real* right,
                            std::int64_t step) const {
    for (std::int64_t i = 0; i < m_parts.layout.rank; ++i) {
        if (orthonormalize(right, i, matrix.columns))
            continue;
        seed(matrix, right, i, step);
        orthonormalize(right, i, matrix.columns);
    }
}

template <class Real>
void PowerSgd::seed(const plan::LowRankMatrix& matrix, Real* right, std::int64_t vector,
                    std::int64_t step) const {
    for (std::int64_t i = 0; i < matrix.columns; ++i) {
        const std::int64_t element = vector * matrix.columns + i;
        const Philox4 words = randomWords(
            m_parts.seed, RandomStream::LowRank, static_cast<std::uint32_t>(matrix.parameter),
            static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(element));
        right[element] = static_cast<Real>(2 * unitDouble(words[0], words[1]) - 1);
    }
}

} // namespace trainyard::engine
