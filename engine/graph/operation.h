// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The operations a graph is made of and what each one's backward pass reads. A new operation is one
// kind and one row of `traits` here, its shape rule in build_operations.cpp, a kernel in each
// backend, and a row in the op_table test.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

namespace trainyard::graph {

enum class OperationKind : std::uint8_t {
    Linear,             ///< {in} -> {out}; weight {out, in}, bias {out}
    Conv2d,             ///< {C, H, W} -> {K, H', W'}; weight {K, C, kh, kw}, bias {K}
    MaxPool,            ///< {C, H, W} -> {C, H', W'}
    Relu,               ///< any shape
    Flatten,            ///< any shape -> {elements}, row-major whatever the layout of its input
    Dropout,            ///< any shape; scaled by 1 / (1 - p) while training, identity otherwise
    SoftmaxCrossEntropy ///< {classes} logits and labels -> loss sum, correct count
};
inline constexpr int kOperationKinds = 7;

std::string_view name(OperationKind kind);

struct LinearAttributes {
    std::int64_t inFeatures = 0, outFeatures = 0;
    bool bias = true;
    bool operator==(const LinearAttributes&) const = default;
};

struct Conv2dAttributes {
    std::int64_t inChannels = 0, outChannels = 0;
    std::int64_t kernelHeight = 1, kernelWidth = 1;
    std::int64_t strideHeight = 1, strideWidth = 1;
    std::int64_t paddingHeight = 0, paddingWidth = 0;
    bool bias = true;
    bool operator==(const Conv2dAttributes&) const = default;
};

struct PoolAttributes {
    std::int64_t kernelHeight = 2, kernelWidth = 2;
    std::int64_t strideHeight = 2, strideWidth = 2;
    std::int64_t paddingHeight = 0, paddingWidth = 0;
    bool operator==(const PoolAttributes&) const = default;
};

struct DropoutAttributes {
    double probability = 0.5;
    std::uint32_t stream = 0; ///< tells apart the dropouts of a graph in the random numbers
    bool operator==(const DropoutAttributes&) const = default;
};

using OperationAttributes = std::variant<std::monostate, LinearAttributes, Conv2dAttributes,
                                         PoolAttributes, DropoutAttributes>;

/// What the backward rule of a kind needs besides the gradient of its output.
struct OperationTraits {
    bool readsInput = false;    ///< the forward input
    bool readsOutput = false;   ///< the forward output
    bool mayRunInPlace = false; ///< output may take the place of the input, forward and backward
    /// Bytes per stored output element that forward leaves for backward (pool positions).
    int savedBytesPerElement = 0;
};

const OperationTraits& traits(OperationKind kind);

} // namespace trainyard::graph
