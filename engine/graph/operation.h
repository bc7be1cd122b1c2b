// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The operations a graph is made of and what each one's backward pass reads. A new operation is one
// kind and one row of `traits` here, its shape rule in build_operations.cpp, a kernel in each
// backend, and a row in the op_table test.
//
// Shapes are per sample. Operations on features work on the last extent and treat the ones before
// as rows: a sequence of T positions with C features is {T, C}.
#pragma once

#include "engine/base/tensor_type.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

namespace trainyard::graph {

enum class OperationKind : std::uint8_t {
    Linear,            ///< {..., in} -> {..., out}; weight {out, in}, bias {out}
    Conv2d,            ///< {C, H, W} -> {K, H', W'}; weight {K, C / groups, kh, kw}, bias {K}
    MaxPool,           ///< {C, H, W} -> {C, H', W'}
    AveragePool,       ///< {C, H, W} -> {C, H', W'}; padding counts as zeros
    GlobalAveragePool, ///< {C, H, W} -> {C}
    BatchNorm,         ///< {C, H, W} or {C}; weight, bias, running mean, running variance, each {C}
    LayerNorm,         ///< over the last extent; weight, bias {C}
    RmsNorm,           ///< over the last extent; weight {C}
    Embedding,         ///< {T} indices -> {T, C}; weight {vocabulary, C}
    PositionEmbedding, ///< {T, C} -> {T, C}; adds weight {T, C}
    Attention, ///< {T, (heads + 2 * kvHeads) * headSize}: queries, keys, values -> {T, heads *
               ///< headSize}
    Relu,      ///< any shape, as all down to Dropout
    Gelu,
    Silu,
    Tanh,
    Sigmoid,
    Softmax,             ///< over the last extent
    Dropout,             ///< scaled by 1 / (1 - p) while training, identity otherwise
    Add,                 ///< two or more inputs of one shape
    Multiply,            ///< two or more inputs of one shape, element by element
    Concat,              ///< two or more inputs that differ in the extent of one axis
    Reshape,             ///< any shape -> another of as many elements, row-major
    SoftmaxCrossEntropy, ///< {..., classes} logits and a label for each row
    BinaryCrossEntropy,  ///< {k} logits and k targets from 0 to 1
    MeanSquaredError,    ///< {k} and k targets
    MeanAbsoluteError,   ///< {k} and k targets
    Huber                ///< {k} and k targets
};
inline constexpr int kOperationKinds = 27;

std::string_view name(OperationKind kind);
/// The last operation of a graph: it has no outputs and reads targets.
bool isLoss(OperationKind kind);

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
    std::int64_t dilationHeight = 1, dilationWidth = 1; ///< 1: neighbouring elements
    std::int64_t groups =
        1; ///< divides both channel counts; each group is a convolution of its own
    bool operator==(const Conv2dAttributes&) const = default;
};

struct PoolAttributes {
    std::int64_t kernelHeight = 2, kernelWidth = 2;
    std::int64_t strideHeight = 2, strideWidth = 2;
    std::int64_t paddingHeight = 0, paddingWidth = 0;
    bool operator==(const PoolAttributes&) const = default;
};

/// Batch, layer and RMS norm: (x - mean) / sqrt(variance + epsilon) * weight + bias.
struct NormAttributes {
    double epsilon = 1e-5;
    /// Batch norm: running = (1 - momentum) * running + momentum * of the batch.
    double momentum = 0.1;
    /// Batch norm: statistics over the batch of all ranks, not of each rank alone.
    bool synchronized = true;
    bool operator==(const NormAttributes&) const = default;
};

struct EmbeddingAttributes {
    std::int64_t vocabulary = 0, features = 0;
    /// The index that the first row of the weight stands for. Others than [first, first +
    /// vocabulary) give zeros where `partial`: another rank has their rows.
    std::int64_t first = 0;
    bool partial = false;
    bool operator==(const EmbeddingAttributes&) const = default;
};

/// softmax(q k' / sqrt(headSize)) v for each head; with fewer key heads, heads / kvHeads query
/// heads share one. Su et al., "RoFormer", 2021 for rotary positions: pairs (i, i + headSize / 2)
/// of each query and key turn by position * base^(-2 i / headSize).
struct AttentionAttributes {
    std::int64_t heads = 1, kvHeads = 1, headSize = 1;
    bool causal = true;    ///< a position sees itself and those before
    double rotaryBase = 0; ///< 0: no rotary positions
    bool operator==(const AttentionAttributes&) const = default;
};

struct GeluAttributes {
    bool tanh = false; ///< the tanh approximation; else exact, by erf
    bool operator==(const GeluAttributes&) const = default;
};

struct DropoutAttributes {
    double probability = 0.5;
    std::uint32_t stream = 0; ///< tells apart the dropouts of a graph in the random numbers
    /// Where values are a slice of the whole: element i of it is element i / run * stride + offset
    /// + i % run of the whole. run 0: they are whole.
    std::int64_t run = 0, stride = 0, offset = 0;
    bool operator==(const DropoutAttributes&) const = default;
};

struct ConcatAttributes {
    std::int64_t axis = 0; ///< of the shape without rows
    bool operator==(const ConcatAttributes&) const = default;
};

struct ReshapeAttributes {
    Shape shape;
    bool operator==(const ReshapeAttributes&) const = default;
};

struct CrossEntropyAttributes {
    double labelSmoothing = 0;      ///< this share of the target is spread evenly over all classes
    std::int64_t ignoredLabel = -1; ///< rows with this label (or any below 0) count for nothing
    /// Where `parts` ranks have a slice of the scores each, these are the `part`-th slice: from
    /// class `first` on, of `classes`. One part: they are of all classes.
    std::int64_t classes = 0, first = 0, part = 0, parts = 1;
    bool operator==(const CrossEntropyAttributes&) const = default;
};

struct HuberAttributes {
    double delta = 1; ///< |error| up to which the loss is quadratic
    bool operator==(const HuberAttributes&) const = default;
};

using OperationAttributes =
    std::variant<std::monostate, LinearAttributes, Conv2dAttributes, PoolAttributes, NormAttributes,
                 EmbeddingAttributes, AttentionAttributes, GeluAttributes, DropoutAttributes,
                 ConcatAttributes, ReshapeAttributes, CrossEntropyAttributes, HuberAttributes>;

/// What the backward rule of a kind needs besides the gradient of its output.
struct OperationTraits {
    bool readsInput = false;    ///< the forward inputs
    bool readsOutput = false;   ///< the forward output
    bool mayRunInPlace = false; ///< output may take the place of an input, forward and backward
    /// Any number of inputs from two on; else exactly one.
    bool manyInputs = false;
    /// Keeps the shape and the layout of its first input.
    bool keepsShape = false;
};

const OperationTraits& traits(OperationKind kind);

/// Where values are bf16, the kernel reads this parameter from the copy in bf16 (the weights of
/// products and look-ups), not from the master in fp32.
bool readsRounded(OperationKind kind, std::size_t parameter);

/// Fp64 numbers that a rank knows of a row of its slice of the scores, see
/// engine/backend/split_cross_entropy.h.
inline constexpr std::size_t kSliceNumbers = 14;

/// Bytes that forward leaves for backward, for `rows` rows: positions of maxima (4 bytes each), the
/// mean and inverse deviation of each row or channel, the probabilities of attention; of a loss
/// over slices of the scores what all its ranks know of each row (in evaluation, too). A loss
/// without outputs passes its input's shape for that of the output.
std::size_t savedBytes(OperationKind kind, const OperationAttributes& attributes,
                       const Shape& input, const Shape& output, Layout outputLayout,
                       std::int64_t rows, DType type);

} // namespace trainyard::graph
