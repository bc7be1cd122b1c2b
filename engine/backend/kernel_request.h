// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What all backends ask of a kernel request before they make a kernel of it. A request that breaks
// these rules is a bug of whoever planned it, so every breach is a BrokenInvariant that names it.
#pragma once

#include "engine/backend/backend.h"

#include <cstdint>

namespace trainyard::engine {

/// The shape a kind makes of its inputs; empty for a loss.
Shape outputShape(graph::OperationKind kind, const graph::OperationAttributes& attributes,
                  const std::vector<Shape>& inputs);
/// Shapes of the parameters a kind has.
std::vector<Shape> parameterShapes(graph::OperationKind kind,
                                   const graph::OperationAttributes& attributes,
                                   const Shape& input);

/// Shapes, counts and layouts fit the kind, and every operand that this direction needs has memory:
/// all lists are whole (an operand that is not there has its shape and null data).
void checkRequest(const KernelRequest& request);

/// Elements of all rows as they lie in memory, padding included.
std::int64_t storedElements(const Operand& operand, std::int64_t rows);

/// Empty lists and null data are both "not wanted".
bool wantsInputGradient(const KernelRequest& request, std::size_t input = 0);
bool wantsAnyGradient(const KernelRequest& request);
bool wantsParameterGradient(const KernelRequest& request, std::size_t parameter);
bool addsToInputGradient(const KernelRequest& request, std::size_t input = 0);
bool addsToParameterGradient(const KernelRequest& request, std::size_t parameter);

/// Rows a feature operation sees: a sequence {T, C} counts T for each sample.
std::int64_t featureRows(const KernelRequest& request);

/// Typed memory of an operand.
template <class T>
T* dataOf(const Operand& operand) {
    return static_cast<T*>(operand.data);
}

} // namespace trainyard::engine
