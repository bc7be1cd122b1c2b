// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// PowerSgd: sums of gradients over data parallel ranks of which only two thin matrices travel
// (Vogels et al., 2019, algorithms 1 and 2). Of a matrix M of each rank w, its gradient plus what
// was left out so far, with Q kept from the step before:
//     P = orthonormal(sum of M_w Q),  Q_w = M_w' P,  Q = sum of Q_w,  sum of M_w ~ P Q'
// and rank w keeps M_w - P Q_w' for the next step. These errors of all ranks together are what the
// sum lacks: nothing is ever lost, only late. Other than in the paper sums are made, not means:
// gradients are already divided by the rows of all ranks.
#pragma once

#include "engine/base/result.h"
#include "engine/base/tensor_type.h"
#include "engine/comm/communicator.h"
#include "engine/plan/low_rank.h"
#include "engine/runtime/arena.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace trainyard::engine {

class PowerSgd {
public:
    struct Parts {
        const plan::LowRankLayout& layout;
        DType type = DType::Fp32; ///< of gradients: Fp32, Fp64
        std::uint64_t seed = 1;   ///< of Q, where there is none from the step before
        Communicator& ranks;
    };

    /// Takes all memory; collective, for the thin matrices lie where they are added up. Throws
    /// std::bad_alloc.
    static Result<std::unique_ptr<PowerSgd>> make(const Parts& parts);

    /// The bucket's matrices in the arena of `gradients` become the sums over the ranks, as near as
    /// they can be. Collective, the same bits on all ranks. `step`: a number of the update.
    Result<void> sum(std::byte* gradients, int bucket, std::int64_t step, std::uint32_t tag);

    /// What this rank has left out so far, as the layout says.
    std::span<const std::byte> errors() const { return {m_errors.data(), m_errors.bytes()}; }
    std::size_t bytes() const { return m_errors.bytes() + m_left.size() + m_right.size(); }

private:
    explicit PowerSgd(const Parts& parts) : m_parts(parts) {}
    template <class Real>
    Result<void> sumAs(Real* gradients, const plan::LowRankBucket& bucket, std::int64_t step,
                       std::uint32_t tag);
    template <class Real>
    void prepareRight(const plan::LowRankMatrix& matrix, Real* right, std::int64_t step) const;
    template <class Real>
    void seed(const plan::LowRankMatrix& matrix, Real* right, std::int64_t vector,
              std::int64_t step) const;

    Parts m_parts;
    Arena m_errors;
    std::span<std::byte> m_left;  ///< the communicator's, as the next
    std::span<std::byte> m_right; ///< kept from step to step
};

} // namespace trainyard::engine
