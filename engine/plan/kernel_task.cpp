// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/kernel_task.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace trainyard::plan {

namespace {

using graph::OperationKind;

double logarithm(double value) {
    return std::log2(std::max(1.0, value));
}

double real(std::int64_t value) {
    return static_cast<double>(value);
}

/// Of a picture its channels, else the last extent.
std::int64_t featuresOf(const Shape& shape) {
    if (shape.empty())
        return 1;
    return shape.size() == 3 ? shape.front() : shape.back();
}

bool dependsOnFeatures(OperationKind kind) {
    return kind == OperationKind::BatchNorm || kind == OperationKind::LayerNorm ||
           kind == OperationKind::RmsNorm || kind == OperationKind::Softmax ||
           kind == OperationKind::Embedding || kind == OperationKind::SoftmaxCrossEntropy;
}

void product(const KernelShape& shape, CalibrationTask& task) {
    const double out = real(elementCount(shape.output)) * real(shape.rows);
    if (const auto* linear = std::get_if<graph::LinearAttributes>(&shape.attributes)) {
        task.work = 2 * out * real(linear->inFeatures);
        task.axes = {logarithm(out / real(linear->outFeatures)),
                     logarithm(real(linear->inFeatures)), logarithm(real(linear->outFeatures))};
    } else if (const auto* conv = std::get_if<graph::Conv2dAttributes>(&shape.attributes)) {
        const double area = real(conv->kernelHeight * conv->kernelWidth);
        const double channels = real(conv->inChannels / conv->groups);
        task.work = 2 * out * channels * area;
        task.axes = {logarithm(out / real(conv->outChannels)), logarithm(channels),
                     logarithm(real(conv->outChannels)), logarithm(area)};
    } else {
        const auto& attention = std::get<graph::AttentionAttributes>(shape.attributes);
        const double features = real(attention.heads * attention.headSize);
        const double positions = real(elementCount(shape.output)) / features;
        task.work = 4 * out * positions * (attention.causal ? 0.5 : 1.0);
        task.axes = {logarithm(real(shape.rows * attention.heads)), logarithm(positions),
                     logarithm(real(attention.headSize))};
    }
    // Gradients of inputs and of parameters are as much work as forward, each.
    if (shape.backward)
        task.work *= shape.inputGradient ? 2 : 1;
}

} // namespace

CalibrationTask kernelTask(const KernelShape& shape) {
    CalibrationTask task;
    task.table = std::string(graph::name(shape.kind)) +
                 (shape.backward ? "/backward/" : "/forward/") + std::string(name(shape.type));
    if (shape.kind == OperationKind::Linear || shape.kind == OperationKind::Conv2d ||
        shape.kind == OperationKind::Attention) {
        product(shape, task);
        return task;
    }
    task.work =
        real(std::max(elementCount(shape.input), elementCount(shape.output))) * real(shape.rows);
    task.axes = {logarithm(task.work)};
    if (dependsOnFeatures(shape.kind))
        task.axes.push_back(logarithm(real(featuresOf(
            shape.kind == OperationKind::SoftmaxCrossEntropy ? shape.input : shape.output))));
    return task;
}

CalibrationTask updateTask(int slots, std::int64_t elements) {
    return {"update", {logarithm(real(elements)), 4.0 * slots}, real(elements)};
}

CalibrationTask squaresTask(std::int64_t elements) {
    return {"squares", {logarithm(real(elements))}, real(elements)};
}

CalibrationTask copyTask(std::int64_t bytes) {
    return {"copy", {logarithm(real(bytes))}, real(bytes)};
}

CalibrationTask instructionTask() {
    return {"instruction", {}, 1};
}

} // namespace trainyard::plan
