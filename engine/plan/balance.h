// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Balance: what ranks of unlike speed get, so that they are ready together. Data parallel ranks get
// rows of the batch, stages of a pipeline get layers. A pure function of the measured speeds: ranks
// that know the same speeds cut alike. Tensor parallel ranks share each layer equally, so the
// slowest of them is as fast as they are together.
#pragma once

#include "engine/plan/mesh.h"

#include <cstdint>
#include <vector>

namespace trainyard::plan {

/// Speeds that differ by less than this share of the slowest are alike: so much two measurements of
/// one device differ, too.
inline constexpr double kSpeedNoise = 0.05;

struct Balance {
    /// Of the batch, by data coordinate: whole numbers, at least 1, of a sum that is never above
    /// the batch, so that each rank has a row of a full batch. Empty: all alike.
    std::vector<double> shares;
    /// By pipeline coordinate, of mean 1; empty: all alike.
    std::vector<double> stageSpeeds;
};

/// `speeds`: by rank, in any unit; equal shares where one is not above 0 and finite, or where they
/// are not as many as ranks.
///
/// All data coordinates have the same stages, so a stage's speed is the mean over them. Layers are
/// then given to stages in proportion to it, and a data coordinate is as fast as its slowest stage
/// at its part. Shares are multiples of 1/64 (finer only for more than 8 ranks, coarser for
/// batches below 64), dealt out one by one to the rank that is ready first: no other way of dealing
/// makes the slowest rank faster.
Balance balanceOf(const Mesh& mesh, std::int64_t batch, const std::vector<double>& speeds);

} // namespace trainyard::plan
