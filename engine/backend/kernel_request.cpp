// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/kernel_request.h"

#include "engine/base/check.h"

#include <algorithm>
#include <string>

namespace trainyard::engine {

using namespace graph; // the names of all attributes
using graph::OperationKind;

namespace {

std::int64_t windows(std::int64_t extent, std::int64_t kernel, std::int64_t stride,
                     std::int64_t padding) {
    TRAINYARD_CHECK_MSG(kernel > 0 && stride > 0 && padding >= 0, "window of an operation");
    TRAINYARD_CHECK_MSG(extent + 2 * padding >= kernel, describePair(extent, kernel));
    return (extent + 2 * padding - kernel) / stride + 1;
}

Shape convolvedShape(const Conv2dAttributes& a, const Shape& input) {
    TRAINYARD_CHECK_EQ(input.size(), std::size_t{3});
    TRAINYARD_CHECK_EQ(input[0], a.inChannels);
    return {a.outChannels,
            windows(input[1], a.dilationHeight * (a.kernelHeight - 1) + 1, a.strideHeight,
                    a.paddingHeight),
            windows(input[2], a.dilationWidth * (a.kernelWidth - 1) + 1, a.strideWidth,
                    a.paddingWidth)};
}

Shape pooledShape(const PoolAttributes& a, const Shape& input) {
    TRAINYARD_CHECK_EQ(input.size(), std::size_t{3});
    return {input[0], windows(input[1], a.kernelHeight, a.strideHeight, a.paddingHeight),
            windows(input[2], a.kernelWidth, a.strideWidth, a.paddingWidth)};
}

Shape lastReplaced(Shape shape, std::int64_t was, std::int64_t extent) {
    TRAINYARD_CHECK_EQ(shape.back(), was);
    shape.back() = extent;
    return shape;
}

Shape joinedShape(const ConcatAttributes& a, const std::vector<Shape>& inputs) {
    const auto axis = static_cast<std::size_t>(a.axis);
    Shape joined = inputs.front();
    for (std::size_t i = 1; i < inputs.size(); ++i) {
        Shape part = inputs[i];
        joined.at(axis) += part.at(axis);
        part[axis] = joined[axis];
        TRAINYARD_CHECK_MSG(part == joined, describe(inputs[i]));
    }
    return joined;
}

void checkShape(const Operand& operand, const Shape& expected, const std::string& what) {
    TRAINYARD_CHECK_MSG(operand.shape == expected, what + " is " + describe(operand.shape) +
                                                       " but should be " + describe(expected));
}

/// A rank without a sample may have no memory for values of rows either.
void checkPresent(const Operand& operand, std::int64_t rows, const std::string& what) {
    TRAINYARD_CHECK_MSG(operand.data != nullptr || rows == 0, what + " has no memory");
}

void checkSame(const Operand& a, const Operand& b, const std::string& what) {
    checkShape(a, b.shape, what);
    TRAINYARD_CHECK_MSG(a.layout == b.layout, what + " lies in another layout than its twin");
}

void checkParameters(const KernelRequest& request, const std::string& kind) {
    const std::vector<Shape> shapes =
        parameterShapes(request.kind, request.attributes, request.inputs.front().shape);
    TRAINYARD_CHECK_EQ(request.parameters.size(), shapes.size());
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        checkShape(request.parameters[i], shapes[i], kind + "'s parameter");
        TRAINYARD_CHECK_MSG(request.parameters[i].data != nullptr, kind + "'s parameter");
    }
    for (std::size_t i = 0; i < request.parameterGradients.size(); ++i)
        checkShape(request.parameterGradients[i], shapes.at(i), kind + "'s parameter gradient");
}

/// Kinds that know plain values only; the others keep their input's layout or convert.
bool isPlainOnly(OperationKind kind) {
    switch (kind) {
    case OperationKind::Linear:
    case OperationKind::LayerNorm:
    case OperationKind::RmsNorm:
    case OperationKind::Embedding:
    case OperationKind::PositionEmbedding:
    case OperationKind::Attention:
        return true;
    default:
        return isLoss(kind);
    }
}

void checkInputs(const KernelRequest& request, const std::string& kind) {
    const bool many = traits(request.kind).manyInputs;
    TRAINYARD_CHECK_MSG(many ? request.inputs.size() >= 2 : request.inputs.size() == 1, kind);
    for (const Operand& input : request.inputs)
        TRAINYARD_CHECK_MSG(!isPlainOnly(request.kind) || input.layout == Layout::Plain,
                            kind + "'s input is not plain");
}

void checkLoss(const KernelRequest& request) {
    const bool labels = request.kind == OperationKind::SoftmaxCrossEntropy;
    const void* targets = labels ? static_cast<const void*>(request.labels) : request.targets;
    TRAINYARD_CHECK_MSG(targets != nullptr || request.rows == 0, "loss without targets");
    TRAINYARD_CHECK_MSG(request.lossSums != nullptr || request.direction == Direction::Backward,
                        "loss without a place for its sums");
}

void checkOutputs(const KernelRequest& request, const std::string& kind) {
    if (isLoss(request.kind)) {
        checkLoss(request);
        return;
    }
    TRAINYARD_CHECK_EQ(request.outputs.size(), std::size_t{1});
    const Operand& output = request.outputs.front();
    std::vector<Shape> inputs;
    for (const Operand& input : request.inputs)
        inputs.push_back(input.shape);
    checkShape(output, outputShape(request.kind, request.attributes, inputs), kind + "'s output");
    const bool keeps = (traits(request.kind).keepsShape && !traits(request.kind).manyInputs) ||
                       request.kind == OperationKind::MaxPool ||
                       request.kind == OperationKind::AveragePool;
    TRAINYARD_CHECK_MSG(!keeps || output.layout == request.inputs.front().layout,
                        kind + " cannot change the layout");
    TRAINYARD_CHECK_MSG(!isPlainOnly(request.kind) || output.layout == Layout::Plain,
                        kind + "'s output is not plain");
}

bool savesSomething(const KernelRequest& request) {
    const Operand& output = (request.outputs.empty() ? request.inputs : request.outputs).front();
    return request.rows > 0 &&
           savedBytes(request.kind, request.attributes, request.inputs[0].shape, output.shape,
                      output.layout, request.rows, request.type) > 0;
}

void checkForward(const KernelRequest& request, const std::string& kind) {
    for (const Operand& input : request.inputs)
        checkPresent(input, request.rows, kind + "'s input");
    for (const Operand& output : request.outputs)
        checkPresent(output, request.rows, kind + "'s output");
    TRAINYARD_CHECK_MSG(request.direction == Direction::Inference || request.saved != nullptr ||
                            !savesSomething(request),
                        kind + " has no memory for its backward");
}

void checkInputGradient(const KernelRequest& request, std::size_t i, const std::string& kind) {
    if (!wantsInputGradient(request, i))
        return;
    const Operand& gradient = request.inputGradients[i];
    checkSame(gradient, request.inputs.at(i), kind + "'s input gradient");
    // Without rows nothing takes room, so everything may begin at one address.
    if (request.rows == 0 || request.outputGradients.empty() ||
        gradient.data != request.outputGradients[0].data)
        return;
    TRAINYARD_CHECK_MSG(traits(request.kind).mayRunInPlace, kind + " cannot run backward in place");
    TRAINYARD_CHECK_MSG(!addsToInputGradient(request, i), kind + " adds to what it overwrites");
}

void checkBackward(const KernelRequest& request, const std::string& kind) {
    if (traits(request.kind).readsInput)
        for (const Operand& input : request.inputs)
            checkPresent(input, request.rows, kind + "'s input in backward");
    if (traits(request.kind).readsOutput)
        checkPresent(request.outputs.front(), request.rows, kind + "'s output in backward");
    TRAINYARD_CHECK_MSG(request.saved != nullptr || !savesSomething(request),
                        kind + " has nothing saved by forward");
    if (!request.outputs.empty()) {
        TRAINYARD_CHECK_EQ(request.outputGradients.size(), std::size_t{1});
        checkPresent(request.outputGradients.front(), request.rows, kind + "'s output gradient");
        checkSame(request.outputGradients.front(), request.outputs.front(),
                  kind + "'s output gradient");
    }
    for (std::size_t i = 0; i < request.inputGradients.size(); ++i)
        checkInputGradient(request, i, kind);
}

} // namespace

Shape outputShape(OperationKind kind, const OperationAttributes& attributes,
                  const std::vector<Shape>& inputs) {
    const Shape& input = inputs.front();
    switch (kind) {
    case OperationKind::Linear: {
        const auto& a = std::get<LinearAttributes>(attributes);
        return lastReplaced(input, a.inFeatures, a.outFeatures);
    }
    case OperationKind::Conv2d:
        return convolvedShape(std::get<Conv2dAttributes>(attributes), input);
    case OperationKind::MaxPool:
    case OperationKind::AveragePool:
        return pooledShape(std::get<PoolAttributes>(attributes), input);
    case OperationKind::GlobalAveragePool:
        return {input.front()};
    case OperationKind::Embedding:
        return {input.front(), std::get<EmbeddingAttributes>(attributes).features};
    case OperationKind::Attention: {
        const auto& a = std::get<AttentionAttributes>(attributes);
        return lastReplaced(input, (a.heads + 2 * a.kvHeads) * a.headSize, a.heads * a.headSize);
    }
    case OperationKind::Concat:
        return joinedShape(std::get<ConcatAttributes>(attributes), inputs);
    case OperationKind::Reshape: {
        const auto& a = std::get<ReshapeAttributes>(attributes);
        TRAINYARD_CHECK_EQ(elementCount(a.shape), elementCount(input));
        return a.shape;
    }
    default:
        if (isLoss(kind))
            return {};
        TRAINYARD_CHECK_MSG(traits(kind).keepsShape, std::string(name(kind)));
        return input;
    }
}

std::vector<Shape> parameterShapes(OperationKind kind, const OperationAttributes& attributes,
                                   const Shape& input) {
    switch (kind) {
    case OperationKind::Linear: {
        const auto& a = std::get<LinearAttributes>(attributes);
        std::vector<Shape> shapes = {{a.outFeatures, a.inFeatures}, {a.outFeatures}};
        shapes.resize(a.bias ? 2 : 1);
        return shapes;
    }
    case OperationKind::Conv2d: {
        const auto& a = std::get<Conv2dAttributes>(attributes);
        std::vector<Shape> shapes = {
            {a.outChannels, a.inChannels / a.groups, a.kernelHeight, a.kernelWidth},
            {a.outChannels}};
        shapes.resize(a.bias ? 2 : 1);
        return shapes;
    }
    case OperationKind::BatchNorm:
        return std::vector<Shape>(4, {input.front()});
    case OperationKind::LayerNorm:
        return std::vector<Shape>(2, {input.back()});
    case OperationKind::RmsNorm:
        return {{input.back()}};
    case OperationKind::Embedding: {
        const auto& a = std::get<EmbeddingAttributes>(attributes);
        return {{a.vocabulary, a.features}};
    }
    case OperationKind::PositionEmbedding:
        return {input};
    default:
        return {};
    }
}

void checkRequest(const KernelRequest& request) {
    const std::string kind(graph::name(request.kind));
    TRAINYARD_CHECK_MSG(request.rows >= 0, kind);
    checkInputs(request, kind);
    checkOutputs(request, kind);
    checkParameters(request, kind);
    if (request.direction == Direction::Backward)
        checkBackward(request, kind);
    else
        checkForward(request, kind);
}

std::int64_t storedElements(const Operand& operand, std::int64_t rows) {
    return rows * trainyard::storedElements(operand.shape, operand.layout);
}

bool wantsInputGradient(const KernelRequest& request, std::size_t input) {
    return input < request.inputGradients.size() && request.inputGradients[input].data != nullptr;
}

bool wantsAnyGradient(const KernelRequest& request) {
    const auto wanted = [](const Operand& gradient) {
        return gradient.data != nullptr;
    };
    return std::ranges::any_of(request.inputGradients, wanted) ||
           std::ranges::any_of(request.parameterGradients, wanted);
}

bool wantsParameterGradient(const KernelRequest& request, std::size_t parameter) {
    return parameter < request.parameterGradients.size() &&
           request.parameterGradients[parameter].data != nullptr;
}

bool addsToInputGradient(const KernelRequest& request, std::size_t input) {
    return input < request.addToInputGradient.size() && request.addToInputGradient[input];
}

bool addsToParameterGradient(const KernelRequest& request, std::size_t parameter) {
    return parameter < request.addToParameterGradient.size() &&
           request.addToParameterGradient[parameter];
}

std::int64_t featureRows(const KernelRequest& request) {
    const Shape& shape = request.inputs.front().shape;
    return request.rows * (elementCount(shape) / shape.back());
}

} // namespace trainyard::engine
