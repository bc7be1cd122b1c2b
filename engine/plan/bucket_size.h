// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Bucket size: how many bytes of gradients travel together. Small buckets pay the latency of an
// exchange more often, large ones begin late and hide less behind the backward pass.
//
// An exchange of n bytes takes a + n / b: latency a (seconds) and bandwidth b (bytes per second).
// At n = a b, the half-performance length of Hockney ("The communication challenge for MPP: Intel
// Paragon and Meiko CS-2", Parallel Computing 20(3), 1994), half of the time is latency, at n = k a
// b it is 1 / (k + 1). Buckets have k = 20: latency is under 5 % of their exchange.
#pragma once

#include "engine/plan/calibration.h"
#include "engine/plan/plan.h"

#include <cstddef>
#include <string_view>

namespace trainyard::plan {

/// Where nothing was measured. Shared memory reduces it in well under a millisecond.
inline constexpr std::size_t kUsualBucketBytes = std::size_t{1} << 20;

/// 20 a b of the transport ("gloo", "shared_memory"), rounded up to a power of two, so that the
/// noise of a measurement rarely changes it, and from 64 KiB to 25 MiB. a: seconds of the shortest
/// all-reduce that was measured, whatever its size: none takes less, and the smallest one may have
/// been disturbed. b: the median of n / (t - a) over those of 64 KiB and more. 0: the calibration
/// does not say. How many ranks exchange does not matter: each takes a share of both, see
/// Calibration::exchangeSeconds().
std::size_t automaticBucketBytes(const Calibration& calibration, std::string_view transport);

/// Of both transports. What the calibration does not say stays as it is.
void setBucketBytes(MachineFacts& machine, const Calibration& calibration);

} // namespace trainyard::plan
