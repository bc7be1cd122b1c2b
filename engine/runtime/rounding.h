// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// From fp32 to halves and back, spread over the compute threads: what executor and predictor do
// outside kernels.
#pragma once

#include "engine/base/bfloat16.h"
#include "engine/base/float16.h"
#include "engine/program/program.h"

#include <cstddef>

namespace trainyard::engine {

void roundToBf16(const float* from, Bf16* to, std::size_t count);

/// `half`: Bf16 or Fp16.
void roundToHalf(const float* from, void* to, DType half, std::size_t count);
void widenHalf(const void* from, DType half, float* to, std::size_t count);

/// After a micro-batch was loaded: the model's input from what is loaded, where there is a place
/// for that.
void roundLoaded(const graph::Graph& graph, const plan::Places& places, std::byte* activations);

} // namespace trainyard::engine
