// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Goes on with a sequence of tokens: what a model holds for likely after them, drawn one by one.
// The draws are a function of seed and position, so the same question has the same answer.
#pragma once

#include "engine/runtime/predictor.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace trainyard::engine {

struct Sampling {
    double temperature = 1; ///< scores are divided by it; 0: always the most likely token
    std::int64_t topK = 0;  ///< only so many of the most likely ones; 0: all
    std::uint64_t seed = 1;
};

/// The index of a score. `position` counts the draws of a sequence. Of equal scores the first one
/// is the larger.
std::int32_t drawToken(std::span<const double> scores, const Sampling& sampling,
                       std::int64_t position);

using TokensGrown = std::function<void(std::span<const std::int32_t>)>;

/// An error where the model does not predict the token after each position from those before it.
Result<void> checkGoesOn(const graph::Graph& graph);

/// `count` tokens after `prompt`, which has at least one. The model sees as many of the last ones
/// as it was trained on. `vocabulary`: tokens are below it; the model may know more.
/// `predictor` is for one row and has passed checkGoesOn(). `grown`, if given, hears after each
/// token of all that were made.
Result<std::vector<std::int32_t>> goOn(Predictor& predictor, std::span<const std::int32_t> prompt,
                                       std::int64_t count, std::int64_t vocabulary,
                                       const Sampling& sampling, const TokensGrown& grown = {});

} // namespace trainyard::engine
