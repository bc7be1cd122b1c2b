// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/graph/operation.h"

#include "engine/base/check.h"

#include <array>

namespace trainyard::graph {

namespace {

struct Row {
    OperationKind kind;
    std::string_view name;
    OperationTraits traits;
};

constexpr std::array<Row, kOperationKinds> kRows = {{
    {OperationKind::Linear, "linear", {.readsInput = true}},
    {OperationKind::Conv2d, "conv2d", {.readsInput = true}},
    {OperationKind::MaxPool, "max_pool", {}},
    {OperationKind::AveragePool, "average_pool", {}},
    {OperationKind::GlobalAveragePool, "global_average_pool", {}},
    {OperationKind::BatchNorm, "batch_norm", {.readsInput = true, .keepsShape = true}},
    {OperationKind::LayerNorm, "layer_norm", {.readsInput = true, .keepsShape = true}},
    {OperationKind::RmsNorm, "rms_norm", {.readsInput = true, .keepsShape = true}},
    {OperationKind::Embedding, "embedding", {.readsInput = true}},
    {OperationKind::PositionEmbedding,
     "position_embedding",
     {.mayRunInPlace = true, .keepsShape = true}},
    {OperationKind::Attention, "attention", {.readsInput = true}},
    {OperationKind::Relu, "relu", {.readsOutput = true, .mayRunInPlace = true, .keepsShape = true}},
    {OperationKind::Gelu, "gelu", {.readsInput = true, .keepsShape = true}},
    {OperationKind::Silu, "silu", {.readsInput = true, .keepsShape = true}},
    {OperationKind::Tanh, "tanh", {.readsOutput = true, .mayRunInPlace = true, .keepsShape = true}},
    {OperationKind::Sigmoid,
     "sigmoid",
     {.readsOutput = true, .mayRunInPlace = true, .keepsShape = true}},
    {OperationKind::Softmax, "softmax", {.readsOutput = true, .keepsShape = true}},
    {OperationKind::Dropout, "dropout", {.mayRunInPlace = true, .keepsShape = true}},
    {OperationKind::Add, "add", {.mayRunInPlace = true, .manyInputs = true, .keepsShape = true}},
    {OperationKind::Multiply,
     "multiply",
     {.readsInput = true, .manyInputs = true, .keepsShape = true}},
    {OperationKind::Concat, "concat", {.manyInputs = true}},
    {OperationKind::Reshape, "reshape", {.mayRunInPlace = true}},
    {OperationKind::SoftmaxCrossEntropy, "softmax_cross_entropy", {.readsInput = true}},
    {OperationKind::BinaryCrossEntropy, "binary_cross_entropy", {.readsInput = true}},
    {OperationKind::MeanSquaredError, "mean_squared_error", {.readsInput = true}},
    {OperationKind::MeanAbsoluteError, "mean_absolute_error", {.readsInput = true}},
    {OperationKind::Huber, "huber", {.readsInput = true}},
}};

const Row& row(OperationKind kind) {
    const auto index = static_cast<std::size_t>(kind);
    TRAINYARD_CHECK(index < kRows.size() && kRows[index].kind == kind);
    return kRows[index];
}

} // namespace

std::string_view name(OperationKind kind) {
    return row(kind).name;
}

bool isLoss(OperationKind kind) {
    return kind >= OperationKind::SoftmaxCrossEntropy;
}

const OperationTraits& traits(OperationKind kind) {
    return row(kind).traits;
}

bool readsRounded(OperationKind kind, std::size_t parameter) {
    const bool weights = kind == OperationKind::Linear || kind == OperationKind::Conv2d ||
                         kind == OperationKind::Embedding;
    return weights && parameter == 0;
}

std::size_t savedBytes(OperationKind kind, const OperationAttributes& attributes,
                       const Shape& input, const Shape& output, Layout outputLayout,
                       std::int64_t rows, DType type) {
    const auto count = [](std::int64_t elements) {
        return static_cast<std::size_t>(elements);
    };
    const std::size_t exact = bytesOf(exactType(type));
    switch (kind) {
    case OperationKind::MaxPool: // int32 positions
        return 4 * count(rows * storedElements(output, outputLayout));
    case OperationKind::BatchNorm: // mean and inverse deviation of each channel
        return 2 * exact * count(input.front());
    case OperationKind::LayerNorm: // mean and inverse deviation of each row
        return 2 * exact * count(rows * elementCount(input) / input.back());
    case OperationKind::RmsNorm: // inverse root of each row
        return exact * count(rows * elementCount(input) / input.back());
    case OperationKind::Attention: { // probabilities of each head
        const auto& a = std::get<AttentionAttributes>(attributes);
        return bytesOf(type) * count(rows * a.heads * input.front() * input.front());
    }
    case OperationKind::SoftmaxCrossEntropy: { // of each part
        const auto& a = std::get<CrossEntropyAttributes>(attributes);
        return a.parts == 1 ? 0
                            : sizeof(double) * kSliceNumbers *
                                  count(a.parts * rows * (elementCount(input) / input.back()));
    }
    default:
        return 0;
    }
}

} // namespace trainyard::graph
