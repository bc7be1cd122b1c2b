// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/loss_metrics.h"

#include "engine/base/number_text.h"

#include <cmath>
#include <optional>

namespace trainyard::engine {

namespace {

bool hasLabels(const graph::Graph& graph) {
    return graph.classes() > 0;
}

bool isSequence(const graph::Graph& graph) {
    return hasLabels(graph) && !graph.targetShape().empty();
}

std::optional<double> rSquared(const BatchSums& sums) {
    const double n = sums[kCounted];
    const double spread = n > 0 ? sums[kTargetSquared] - sums[kTarget] * sums[kTarget] / n : 0;
    if (!(spread > 0))
        return std::nullopt;
    return 1 - sums[kSquaredError] / spread;
}

} // namespace

bool hasAccuracy(const graph::Graph& graph) {
    return hasLabels(graph) || graph.loss().kind == graph::OperationKind::BinaryCrossEntropy;
}

std::vector<spec::NamedValue> trainingMetrics(const graph::Graph& graph, const BatchSums& sums) {
    std::vector<spec::NamedValue> values = {{spec::metric::kTrainLoss, sums.meanLoss()}};
    if (hasAccuracy(graph))
        values.emplace_back(spec::metric::kTrainAccuracy, sums.accuracy());
    return values;
}

std::vector<spec::NamedValue> validationMetrics(const graph::Graph& graph, const BatchSums& sums) {
    std::vector<spec::NamedValue> values = {{spec::metric::kValidationLoss, sums.meanLoss()}};
    if (hasAccuracy(graph))
        values.emplace_back(spec::metric::kValidationAccuracy, sums.accuracy());
    if (graph.classes() > 5)
        values.emplace_back(spec::metric::kValidationTop5, sums.share(kCorrectTop5));
    if (isSequence(graph))
        values.emplace_back(spec::metric::kValidationPerplexity, std::exp(sums.meanLoss()));
    if (!hasAccuracy(graph)) {
        values.emplace_back(spec::metric::kValidationMae, sums.share(kAbsoluteError));
        if (const auto r2 = rSquared(sums))
            values.emplace_back(spec::metric::kValidationR2, *r2);
    }
    return values;
}

Message validationSentence(const graph::Graph& graph, std::int64_t step, const BatchSums& sums,
                           bool best) {
    std::vector<std::string> arguments = {grouped(step), rounded(sums.meanLoss(), 4)};
    const auto add = [&](double value) {
        arguments.push_back(rounded(value, 4));
    };
    if (isSequence(graph)) {
        add(std::exp(sums.meanLoss()));
        return {best ? "Validation at step %1: loss %2, perplexity %3, best so far."
                     : "Validation at step %1: loss %2, perplexity %3.",
                std::move(arguments)};
    }
    if (hasAccuracy(graph)) {
        add(sums.accuracy());
        return {best ? "Validation at step %1: loss %2, accuracy %3, best so far."
                     : "Validation at step %1: loss %2, accuracy %3.",
                std::move(arguments)};
    }
    add(sums.share(kAbsoluteError));
    return {best ? "Validation at step %1: loss %2, mean absolute error %3, best so far."
                 : "Validation at step %1: loss %2, mean absolute error %3.",
            std::move(arguments)};
}

} // namespace trainyard::engine
