// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/non_finite.h"

#include "engine/backend/kernel_request.h"
#include "engine/base/bfloat16.h"
#include "engine/base/number_text.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include <unistd.h>

namespace trainyard::engine {

namespace {

using graph::at;
using What = NonFinite::What;

template <class Number>
bool allFinite(const void* data, std::int64_t count) {
    const auto* numbers = static_cast<const Number*>(data);
    return std::all_of(numbers, numbers + count, [](Number value) {
        if constexpr (std::is_same_v<Number, Bf16>)
            return std::isfinite(widened(value));
        else
            return std::isfinite(value);
    });
}

bool isFinite(const void* data, std::int64_t count, DType type) {
    if (!data)
        return true;
    switch (type) {
    case DType::Fp64:
        return allFinite<double>(data, count);
    case DType::Fp32:
        return allFinite<float>(data, count);
    case DType::Bf16:
        return allFinite<Bf16>(data, count);
    default: // numbers of samples and tokens
        return true;
    }
}

bool isFinite(const Operand& value, const KernelRequest& request) {
    return isFinite(value.data, storedElements(value, request.rows), request.type);
}

NonFinite found(What what, const graph::Graph& graph, graph::OperationId operation) {
    return {what, graph.operations[at(operation)].layer, {}, 0};
}

NonFinite foundIn(What what, const graph::Graph& graph, graph::OperationId operation,
                  std::size_t index) {
    NonFinite begin = found(what, graph, operation);
    begin.parameter = graph.parameters[at(graph.operations[at(operation)].parameters[index])].name;
    return begin;
}

} // namespace

std::optional<NonFinite> nonFiniteBefore(const KernelRequest& request, const graph::Graph& graph,
                                         graph::OperationId operation) {
    const graph::Operation& node = graph.operations[at(operation)];
    if (request.direction == Direction::Backward) {
        for (const Operand& gradient : request.outputGradients)
            if (!graph::isLoss(node.kind) && !isFinite(gradient, request))
                return found(What::Received, graph, operation);
        return std::nullopt;
    }
    for (std::size_t i = 0; i < node.parameters.size(); ++i) {
        const Operand& operand = request.parameters[i];
        const DType type = graph::readsRounded(node.kind, i) && request.type == DType::Bf16
                               ? DType::Bf16
                               : exactType(request.type);
        if (!isFinite(operand.data, elementCount(operand.shape), type))
            return foundIn(What::Parameter, graph, operation, i);
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
        if (!graph.values[at(node.inputs[i])].indices && !isFinite(request.inputs[i], request))
            return found(node.inputs[i] == graph.input ? What::Sample : What::Received, graph,
                         operation);
    return std::nullopt;
}

std::optional<NonFinite> nonFiniteAfter(const KernelRequest& request, const graph::Graph& graph,
                                        graph::OperationId operation) {
    if (request.phase == plan::Phase::Collect) // fills nothing but statistics
        return std::nullopt;
    if (request.direction == Direction::Backward) {
        for (std::size_t i = 0; i < request.parameterGradients.size(); ++i) {
            const Operand& operand = request.parameterGradients[i];
            if (!isFinite(operand.data, elementCount(operand.shape), exactType(request.type)))
                return foundIn(What::ParameterGradient, graph, operation, i);
        }
        for (const Operand& gradient : request.inputGradients)
            if (!isFinite(gradient, request))
                return found(What::ValueGradient, graph, operation);
        return std::nullopt;
    }
    if (request.lossSums && !std::isfinite(request.lossSums[kLoss]))
        return found(What::Loss, graph, operation);
    for (const Operand& output : request.outputs)
        if (!isFinite(output, request))
            return found(What::Output, graph, operation);
    return std::nullopt;
}

Message divergedAt(std::int64_t step, double loss, double gradientNorm, int rank,
                   const NonFinite& begin) {
    std::vector<std::string> arguments{grouped(step), rounded(loss, 6), rounded(gradientNorm, 6),
                                       std::to_string(rank), std::to_string(::getpid())};
    std::string format = "Training diverged at step %1: loss %2, gradient norm %3. It began on "
                         "rank %4 (process %5): ";
    arguments.push_back(begin.parameter.empty() ? begin.layer : begin.parameter);
    switch (begin.what) {
    case What::Sample:
        format += "a sample that layer %6 reads has a number that is not finite.";
        break;
    case What::Parameter:
        format += "the update before made the parameter %6 not finite.";
        break;
    case What::Loss:
        format += "the loss of finite scores is not finite (%6).";
        break;
    case What::ValueGradient:
        format += "the gradient that goes back from layer %6 is not finite.";
        break;
    case What::ParameterGradient:
        format += "the gradient of the parameter %6 is not finite.";
        break;
    default:
        format += "the output of layer %6 is not finite.";
    }
    return {std::move(format), std::move(arguments)};
}

} // namespace trainyard::engine
