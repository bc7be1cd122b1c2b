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
    {OperationKind::MaxPool, "max_pool", {.savedBytesPerElement = 4}},
    {OperationKind::Relu, "relu", {.readsOutput = true, .mayRunInPlace = true}},
    {OperationKind::Flatten, "flatten", {.mayRunInPlace = true}},
    {OperationKind::Dropout, "dropout", {.mayRunInPlace = true}},
    {OperationKind::SoftmaxCrossEntropy, "softmax_cross_entropy", {.readsInput = true}},
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

const OperationTraits& traits(OperationKind kind) {
    return row(kind).traits;
}

} // namespace trainyard::graph
