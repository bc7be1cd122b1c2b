// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/token_generator.h"

#include "engine/base/number_text.h"
#include "engine/base/random.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace trainyard::engine {

namespace {

/// The largest scores in their order; of equals the first.
std::vector<std::size_t> candidates(std::span<const double> scores, std::int64_t topK) {
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (topK < 1 || std::cmp_greater_equal(topK, scores.size()))
        return order;
    const auto larger = [&](std::size_t a, std::size_t b) {
        return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
    };
    std::partial_sort(order.begin(), order.begin() + topK, order.end(), larger);
    order.resize(static_cast<std::size_t>(topK));
    return order;
}

} // namespace

std::int32_t drawToken(std::span<const double> scores, const Sampling& sampling,
                       std::int64_t position) {
    const auto best = std::ranges::max_element(scores); // the first of equals
    if (sampling.temperature <= 0 || sampling.topK == 1)
        return static_cast<std::int32_t>(best - scores.begin());
    const std::vector<std::size_t> order = candidates(scores, sampling.topK);
    std::vector<double> weights;
    for (const std::size_t index : order)
        weights.push_back(std::exp((scores[index] - *best) / sampling.temperature));
    const Philox4 words = randomWords(sampling.seed, RandomStream::Sampling, 0,
                                      static_cast<std::uint64_t>(position), 0);
    double rest =
        unitDouble(words[0], words[1]) * std::accumulate(weights.begin(), weights.end(), 0.0);
    for (std::size_t i = 0; i < order.size(); ++i) {
        rest -= weights[i];
        if (rest < 0)
            return static_cast<std::int32_t>(order[i]);
    }
    // Rounding has left a little over.
    return static_cast<std::int32_t>(best - scores.begin());
}

Result<void> checkGoesOn(const graph::Graph& graph) {
    const Shape& logits = graph.values[static_cast<std::size_t>(graph.logits)].shape;
    if (graph.vocabulary == 0 || logits.size() != 2 ||
        graph.loss().kind != graph::OperationKind::SoftmaxCrossEntropy)
        return Error(Message("This model does not go on with a text."), {},
                     Message("Ask one that predicts the next token at each position."));
    for (const graph::Operation& operation : graph.operations)
        if (const auto* attention = std::get_if<graph::AttentionAttributes>(&operation.attributes);
            attention && !attention->causal)
            return Error(Message("The attention of \"%1\" sees the text that follows, so the model "
                                 "cannot go on with a text.",
                                 {operation.layer.substr(0, operation.layer.find('.'))}),
                         {}, Message("Train it with causal attention."));
    return {};
}

Result<std::vector<std::int32_t>> goOn(Predictor& predictor, std::span<const std::int32_t> prompt,
                                       std::int64_t count, std::int64_t vocabulary,
                                       const Sampling& sampling, const TokensGrown& grown) {
    TRAINYARD_CHECK(!prompt.empty());
    const graph::Graph& graph = predictor.graph();
    const auto context =
        static_cast<std::size_t>(graph.values[static_cast<std::size_t>(graph.input)].shape.front());
    std::vector<std::int32_t> tokens(prompt.begin(), prompt.end());
    for (std::int64_t i = 0; i < count; ++i) {
        const std::size_t seen = std::min(tokens.size(), context);
        predictor.run([&](const BatchMemory& memory) {
            // What comes behind the text is not looked at by the positions before it.
            auto* inputs = static_cast<std::int32_t*>(memory.inputs);
            std::copy_n(tokens.end() - static_cast<std::ptrdiff_t>(seen), seen, inputs);
            std::fill(inputs + seen, inputs + context, 0);
        });
        std::vector<double> scores = predictor.scoresAt(0, static_cast<std::int64_t>(seen) - 1);
        scores.resize(std::min(scores.size(), static_cast<std::size_t>(vocabulary)));
        if (!std::ranges::all_of(scores, [](double score) { return std::isfinite(score); }))
            return Error(Message("After %1 tokens the model computes numbers that are not finite.",
                                 {grouped(static_cast<std::int64_t>(tokens.size()))}));
        tokens.push_back(drawToken(scores, sampling, i));
        if (grown)
            grown(std::span<const std::int32_t>(tokens).subspan(prompt.size()));
    }
    tokens.erase(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(prompt.size()));
    return tokens;
}

} // namespace trainyard::engine
