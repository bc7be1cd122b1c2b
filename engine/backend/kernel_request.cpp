// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/kernel_request.h"

#include "engine/base/check.h"

#include <string>

namespace trainyard::engine {

using graph::Conv2dAttributes;
using graph::DropoutAttributes;
using graph::LinearAttributes;
using graph::OperationAttributes;
using graph::OperationKind;
using graph::PoolAttributes;

namespace {

std::int64_t windows(std::int64_t extent, std::int64_t kernel, std::int64_t stride,
                     std::int64_t padding) {
    TRAINYARD_CHECK_MSG(kernel > 0 && stride > 0 && padding >= 0, "window of an operation");
    TRAINYARD_CHECK_MSG(extent + 2 * padding >= kernel, describePair(extent, kernel));
    return (extent + 2 * padding - kernel) / stride + 1;
}

template <class Attributes>
Shape windowedShape(const Attributes& attributes, std::int64_t channels, const Shape& input) {
    TRAINYARD_CHECK_EQ(input.size(), std::size_t{3});
    return {
        channels,
        windows(input[1], attributes.kernelHeight, attributes.strideHeight,
                attributes.paddingHeight),
        windows(input[2], attributes.kernelWidth, attributes.strideWidth, attributes.paddingWidth)};
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

std::vector<Shape> parameterShapes(const KernelRequest& request) {
    std::vector<Shape> shapes;
    bool bias = false;
    if (request.kind == OperationKind::Linear) {
        const auto& a = std::get<LinearAttributes>(request.attributes);
        shapes.push_back({a.outFeatures, a.inFeatures});
        bias = a.bias;
    } else if (request.kind == OperationKind::Conv2d) {
        const auto& a = std::get<Conv2dAttributes>(request.attributes);
        shapes.push_back({a.outChannels, a.inChannels, a.kernelHeight, a.kernelWidth});
        bias = a.bias;
    }
    if (bias)
        shapes.push_back({shapes.front().front()});
    return shapes;
}

void checkParameters(const KernelRequest& request, const std::string& kind) {
    const std::vector<Shape> shapes = parameterShapes(request);
    TRAINYARD_CHECK_EQ(request.parameters.size(), shapes.size());
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        checkShape(request.parameters[i], shapes[i], kind + "'s parameter");
        TRAINYARD_CHECK_MSG(request.parameters[i].data != nullptr, kind + "'s parameter");
    }
    for (std::size_t i = 0; i < request.parameterGradients.size(); ++i)
        checkShape(request.parameterGradients[i], shapes.at(i), kind + "'s parameter gradient");
}

/// Kinds that keep their input's layout; a pool and an element-wise kernel walk both alike.
bool keepsLayout(OperationKind kind) {
    return kind == OperationKind::MaxPool || kind == OperationKind::Relu ||
           kind == OperationKind::Dropout;
}

void checkOutputs(const KernelRequest& request, const std::string& kind) {
    const Operand& input = request.inputs.front();
    if (request.kind == OperationKind::SoftmaxCrossEntropy) {
        TRAINYARD_CHECK_EQ(input.shape.size(), std::size_t{1});
        TRAINYARD_CHECK_MSG(request.labels != nullptr || request.rows == 0, "loss without labels");
        TRAINYARD_CHECK_MSG(request.lossSums != nullptr || request.direction == Direction::Backward,
                            "loss without a place for its sums");
        return;
    }
    TRAINYARD_CHECK_EQ(request.outputs.size(), std::size_t{1});
    const Operand& output = request.outputs.front();
    checkShape(output, outputShape(request.kind, request.attributes, input.shape),
               kind + "'s output");
    if (keepsLayout(request.kind))
        TRAINYARD_CHECK_MSG(output.layout == input.layout, kind + " cannot change the layout");
    if (request.kind == OperationKind::Linear || request.kind == OperationKind::Flatten)
        TRAINYARD_CHECK_MSG(output.layout == Layout::Plain, kind + "'s output is not plain");
    if (request.kind == OperationKind::Linear)
        TRAINYARD_CHECK_MSG(input.layout == Layout::Plain, kind + "'s input is not plain");
}

void checkForward(const KernelRequest& request, const std::string& kind) {
    checkPresent(request.inputs.front(), request.rows, kind + "'s input");
    if (request.kind != OperationKind::SoftmaxCrossEntropy)
        checkPresent(request.outputs.front(), request.rows, kind + "'s output");
    if (request.direction == Direction::Forward &&
        graph::traits(request.kind).savedBytesPerElement > 0)
        TRAINYARD_CHECK_MSG(request.saved != nullptr || request.rows == 0,
                            kind + " has no memory for its backward");
}

void checkBackward(const KernelRequest& request, const std::string& kind) {
    const graph::OperationTraits& traits = graph::traits(request.kind);
    if (traits.readsInput)
        checkPresent(request.inputs.front(), request.rows, kind + "'s input in backward");
    if (traits.readsOutput)
        checkPresent(request.outputs.front(), request.rows, kind + "'s output in backward");
    if (traits.savedBytesPerElement > 0)
        TRAINYARD_CHECK_MSG(request.saved != nullptr || request.rows == 0,
                            kind + " has nothing saved by forward");
    if (!request.outputs.empty()) {
        TRAINYARD_CHECK_EQ(request.outputGradients.size(), std::size_t{1});
        checkPresent(request.outputGradients.front(), request.rows, kind + "'s output gradient");
        checkSame(request.outputGradients.front(), request.outputs.front(),
                  kind + "'s output gradient");
    }
    if (!wantsInputGradient(request))
        return;
    const Operand& gradient = request.inputGradients.front();
    checkSame(gradient, request.inputs.front(), kind + "'s input gradient");
    if (!request.outputGradients.empty() && gradient.data == request.outputGradients.front().data) {
        TRAINYARD_CHECK_MSG(traits.mayRunInPlace, kind + " cannot run backward in place");
        TRAINYARD_CHECK_MSG(!addsToInputGradient(request), kind + " adds to what it overwrites");
    }
}

} // namespace

Shape outputShape(OperationKind kind, const OperationAttributes& attributes, const Shape& input) {
    switch (kind) {
    case OperationKind::Linear: {
        const auto& a = std::get<LinearAttributes>(attributes);
        TRAINYARD_CHECK_MSG(input == Shape{a.inFeatures}, describe(input));
        return {a.outFeatures};
    }
    case OperationKind::Conv2d: {
        const auto& a = std::get<Conv2dAttributes>(attributes);
        TRAINYARD_CHECK_EQ(input.at(0), a.inChannels);
        return windowedShape(a, a.outChannels, input);
    }
    case OperationKind::MaxPool:
        return windowedShape(std::get<PoolAttributes>(attributes), input.at(0), input);
    case OperationKind::Relu:
    case OperationKind::Dropout:
        return input;
    case OperationKind::Flatten:
        return {elementCount(input)};
    case OperationKind::SoftmaxCrossEntropy:
        return {};
    }
    TRAINYARD_CHECK_MSG(false, "unknown kind of operation");
    return {};
}

void checkRequest(const KernelRequest& request) {
    const std::string kind(graph::name(request.kind));
    TRAINYARD_CHECK_MSG(request.rows >= 0, kind);
    TRAINYARD_CHECK_EQ(request.inputs.size(), std::size_t{1});
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

bool wantsInputGradient(const KernelRequest& request) {
    return !request.inputGradients.empty() && request.inputGradients.front().data != nullptr;
}

bool wantsParameterGradient(const KernelRequest& request, std::size_t parameter) {
    return parameter < request.parameterGradients.size() &&
           request.parameterGradients[parameter].data != nullptr;
}

bool addsToInputGradient(const KernelRequest& request) {
    return !request.addToInputGradient.empty() && request.addToInputGradient.front();
}

} // namespace trainyard::engine
