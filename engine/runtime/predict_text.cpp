// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/predict_text.h"

#include "engine/base/number_text.h"
#include "engine/data/text_encoding.h"
#include "engine/data/tokenizer.h"
#include "engine/runtime/number_list.h"

#include <chrono>
#include <cmath>

namespace trainyard::engine {

namespace {

Result<void> checkRequest(const ContinuationRequest& request) {
    constexpr std::int64_t kMostTokens = 1'000'000;
    if (request.tokens < 1 || request.tokens > kMostTokens)
        return Error(Message("%1 tokens cannot be made.", {grouped(request.tokens)}), {},
                     Message("Ask for 1 to %1.", {grouped(kMostTokens)}));
    if (!(request.sampling.temperature >= 0 && std::isfinite(request.sampling.temperature)))
        return Error(Message("The temperature is %1.", {shortest(request.sampling.temperature)}),
                     {},
                     Message("Choose a number from 0 (always the most likely) on; 1 leaves the "
                             "probabilities as they are."));
    if (request.sampling.topK < 0)
        return Error(Message("Top-k is %1.", {std::to_string(request.sampling.topK)}), {},
                     Message("Choose how many of the most likely tokens are drawn from; 0: all."));
    return {};
}

/// All characters that are whole.
std::string textOf(const Tokenizer& tokenizer, std::span<const std::int32_t> tokens) {
    std::string text = tokenizer.decode(tokens);
    text.resize(text.size() - unfinishedBytes(text));
    return text;
}

TokensGrown toldInPieces(const Tokenizer& tokenizer, const TextGrown& grown) {
    using Clock = std::chrono::steady_clock;
    static constexpr auto kPause = std::chrono::milliseconds(100);
    return [&tokenizer, &grown, told = std::size_t{0},
            last = Clock::now()](std::span<const std::int32_t> tokens) mutable {
        if (Clock::now() - last < kPause)
            return;
        const std::string text = textOf(tokenizer, tokens);
        if (text.size() > told)
            grown(text.substr(told));
        told = text.size();
        last = Clock::now();
    };
}

Result<std::vector<std::int32_t>> tokensOfText(const std::string& prompt,
                                               const Tokenizer& tokenizer) {
    Result<std::vector<std::int32_t>> tokens = tokenizer.encode(prompt);
    if (tokens && tokens->empty())
        return Error(Message("The text to go on with is empty."), {},
                     Message("Give it a begin, if only a line break."));
    return tokens;
}

Result<std::vector<std::int32_t>> tokensOfNumbers(const std::string& prompt,
                                                  std::int64_t vocabulary) {
    std::vector<std::int32_t> tokens;
    const auto numbers = numbersIn(prompt);
    if (!numbers)
        return Error(Message("\"%1\" is no list of tokens.", {excerpt(prompt)}), {},
                     Message("Give whole numbers with commas between them."));
    for (const double number : *numbers) {
        if (!(number >= 0 && number < static_cast<double>(vocabulary)) ||
            number != std::floor(number))
            return Error(Message("There is no token %1.", {shortest(number)}), {},
                         Message("Tokens are whole numbers from 0 to %1.",
                                 {std::to_string(vocabulary - 1)}));
        tokens.push_back(static_cast<std::int32_t>(number));
    }
    return tokens;
}

} // namespace

Result<Continuation> continuation(const SavedWeights& weights, const ContinuationRequest& request,
                                  int threads, const TextGrown& grown) {
    if (Result<void> checked = checkRequest(request); !checked)
        return checked.error();
    const DatasetInfo& data = weights.data();
    const Result<std::vector<std::int32_t>> prompt =
        data.tokenizer ? tokensOfText(request.prompt, *data.tokenizer)
                       : tokensOfNumbers(request.prompt, data.vocabulary);
    if (!prompt)
        return prompt.error();
    auto predictor = Predictor::make(weights, 1, threads);
    if (!predictor)
        return predictor.error();
    if (Result<void> able = checkGoesOn((*predictor)->graph()); !able)
        return able.error();
    Result<std::vector<std::int32_t>> tokens =
        goOn(**predictor, *prompt, request.tokens, data.vocabulary, request.sampling,
             grown && data.tokenizer ? toldInPieces(*data.tokenizer, grown) : TokensGrown());
    if (!tokens)
        return tokens.error();
    Continuation made;
    if (data.tokenizer)
        made.text = textOf(*data.tokenizer, *tokens);
    made.tokens = std::move(*tokens);
    return made;
}

} // namespace trainyard::engine
