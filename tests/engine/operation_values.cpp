// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/kernel_request.h"
#include "engine/base/bfloat16.h"
#include "engine/base/random.h"
#include "tests/engine/operation_bench.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace trainyard::test {

using graph::OperationKind;

namespace {

/// Uniform in [-1, 1], exact in fp32.
double uniform(std::uint64_t seed, std::uint64_t index) {
    const Philox4 words = randomWords(seed, RandomStream::Weights, 0, 0, index);
    return 2.0 * static_cast<double>(unitFloat(words[0])) - 1.0;
}

std::vector<double> uniforms(std::uint64_t seed, std::int64_t count) {
    std::vector<double> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = uniform(seed, i);
    return values;
}

/// Distinct values, 1/128 apart, in random order: no two of a window are near each other.
std::vector<double> distinct(std::uint64_t seed, std::int64_t count) {
    std::vector<double> values(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t place = permuted(seed, RandomStream::Shuffle, 0, i, count);
        values[static_cast<std::size_t>(i)] = static_cast<double>(place - count / 2) / 128.0;
    }
    return values;
}

/// Labels of all classes in turn, and in between some that are to be ignored.
std::vector<std::int32_t> labelsFor(const OperationCase& c, std::uint64_t seed) {
    const std::int64_t classes = c.input.back();
    std::vector<std::int32_t> labels;
    for (std::int64_t i = 0; i < c.rows * c.targetsPerRow(); ++i)
        labels.push_back(static_cast<std::int32_t>(
            permuted(seed, RandomStream::Shuffle, 1, i % classes, classes)));
    const auto* a = std::get_if<graph::CrossEntropyAttributes>(&c.attributes);
    for (std::size_t i = 1; i < labels.size() && a && a->ignoredLabel >= 0; i += 4)
        labels[i] = i % 8 == 1 ? -7 : static_cast<std::int32_t>(a->ignoredLabel);
    return labels;
}

/// Errors are odd multiples of 1/64: never near 0 or a whole delta, where losses have their kinks.
std::vector<double> targetsFor(const OperationCase& c, std::uint64_t seed,
                               const std::vector<double>& predictions) {
    std::vector<double> targets = uniforms(seed, c.rows * c.targetsPerRow());
    for (std::size_t i = 0; i < targets.size(); ++i) {
        const double u = targets[i];
        if (c.kind == OperationKind::BinaryCrossEntropy)
            targets[i] = i % 3 == 0 ? (u > 0 ? 1 : 0) : (u + 1) / 2;
        else
            targets[i] = predictions[i] + (std::floor(u * 32) + 0.5) / 32;
        targets[i] = static_cast<double>(static_cast<float>(targets[i]));
    }
    return targets;
}

std::vector<double> inputFor(const OperationCase& c, std::uint64_t seed, const Shape& shape) {
    const std::int64_t count = c.rows * elementCount(shape);
    if (c.kind == OperationKind::MaxPool)
        return distinct(seed, count);
    std::vector<double> values = uniforms(seed, count);
    for (double& x : values) {
        if (c.kind == OperationKind::Relu)
            x += x < 0 ? -0.125 : 0.125;
        if (c.isLoss())
            x *= 4;
        if (const auto* table = std::get_if<graph::EmbeddingAttributes>(&c.attributes))
            x = std::floor((x + 1) / 2 * static_cast<double>(table->vocabulary) * 0.999);
    }
    return values;
}

template <class Item>
std::vector<Item> slice(const std::vector<Item>& items, std::int64_t first, std::int64_t count) {
    return {items.begin() + first, items.begin() + first + count};
}

} // namespace

std::vector<Port> OperationCase::inputs() const {
    std::vector<Port> all = {{input, inputLayout}};
    all.insert(all.end(), moreInputs.begin(), moreInputs.end());
    return all;
}

Shape OperationCase::output() const {
    std::vector<Shape> shapes;
    for (const Port& port : inputs())
        shapes.push_back(port.shape);
    return engine::outputShape(kind, attributes, shapes);
}

bool OperationCase::plain() const {
    return outputLayout == Layout::Plain && std::ranges::all_of(inputs(), [](const Port& port) {
               return port.layout == Layout::Plain;
           });
}

OperationCase OperationCase::with(Layout layout) const {
    OperationCase c = *this;
    const auto change = [layout](Layout& of) {
        of = of == Layout::Plain ? Layout::Plain : layout;
    };
    change(c.inputLayout);
    change(c.outputLayout);
    for (Port& port : c.moreInputs)
        change(port.layout);
    return c;
}

bool OperationCase::hasForms() const {
    return kind == OperationKind::Linear || kind == OperationKind::Conv2d;
}

std::vector<Shape> OperationCase::parameterShapes() const {
    return engine::parameterShapes(kind, attributes, input);
}

bool OperationCase::isStatistic(std::size_t parameter) const {
    return kind == OperationKind::BatchNorm && parameter >= 2;
}

std::int64_t OperationCase::targetsPerRow() const {
    if (!isLoss())
        return 0;
    const std::int64_t elements = elementCount(input);
    return kind == OperationKind::SoftmaxCrossEntropy ? elements / input.back() : elements;
}

OperationValues randomValues(const OperationCase& c) {
    const std::uint64_t seed = std::hash<std::string>{}(c.inPlainLayout().name);
    OperationValues values;
    for (const Port& port : c.inputs())
        values.inputs.push_back(inputFor(c, seed + 20 * values.inputs.size(), port.shape));
    for (const Shape& shape : c.parameterShapes()) {
        const std::size_t i = values.parameters.size();
        values.parameters.push_back(uniforms(seed + 1 + i, elementCount(shape)));
        for (double& x : values.parameters.back())
            x = c.isStatistic(i) ? 1.25 + x : x; // a variance is positive
    }
    if (c.kind == OperationKind::SoftmaxCrossEntropy)
        values.labels = labelsFor(c, seed);
    else if (c.isLoss())
        values.targets = targetsFor(c, seed + 9, values.inputs[0]);
    else
        values.outputGradient = uniforms(seed + 9, c.rows * elementCount(c.output()));
    values.context = {.seed = seed, .step = 7, .firstRow = 5, .globalRows = c.rows + 3};
    return values;
}

OperationValues roundedValues(const OperationCase& c, OperationValues values) {
    const auto round = [](std::vector<double>& numbers) {
        for (double& number : numbers)
            number = static_cast<double>(widened(narrowed(static_cast<float>(number))));
    };
    if (!c.hasIndices())
        std::ranges::for_each(values.inputs, round);
    round(values.outputGradient);
    for (std::size_t i = 0; i < values.parameters.size(); ++i)
        if (graph::readsRounded(c.kind, i))
            round(values.parameters[i]);
    return values;
}

OperationValues partOf(const OperationCase& c, const OperationValues& values, std::int64_t first,
                       std::int64_t count) {
    OperationValues part = values;
    const std::vector<Port> ports = c.inputs();
    for (std::size_t i = 0; i < ports.size(); ++i) {
        const std::int64_t elements = elementCount(ports[i].shape);
        part.inputs[i] = slice(values.inputs[i], first * elements, count * elements);
    }
    if (!c.isLoss()) {
        const std::int64_t elements = elementCount(c.output());
        part.outputGradient = slice(values.outputGradient, first * elements, count * elements);
    }
    const std::int64_t targets = c.targetsPerRow();
    if (!values.labels.empty())
        part.labels = slice(values.labels, first * targets, count * targets);
    if (!values.targets.empty())
        part.targets = slice(values.targets, first * targets, count * targets);
    part.context.firstRow += first;
    return part;
}

} // namespace trainyard::test
