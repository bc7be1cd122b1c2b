// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Initial values of parameters: a pure function of seed, parameter and element, so every world size
// and every placement starts alike.
#pragma once

#include "engine/base/tensor_type.h"
#include "engine/graph/graph.h"

#include <cstdint>

namespace trainyard::engine {

/// Fills `data` (elementCount(parameter.shape) values, row-major). `number` is the parameter's id.
void initialize(const graph::ParameterInfo& parameter, graph::ParameterId number,
                std::uint64_t seed, DType type, void* data);

} // namespace trainyard::engine
