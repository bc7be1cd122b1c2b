// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Lets a trained model go on with what a person has begun: from words of the request to tokens and
// back.
#pragma once

#include "engine/runtime/token_generator.h"
#include "engine/runtime/weights_file.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace trainyard::engine {

struct ContinuationRequest {
    std::string
        prompt; ///< a text; tokens as whole numbers ("5, 17, 3") where there is no tokenizer
    std::int64_t tokens = 200;
    Sampling sampling;
};

struct Continuation {
    std::vector<std::int32_t> tokens;
    std::string text; ///< of the tokens; empty where there is no tokenizer
};

/// Hears about each tenth of a second what was added to the text.
using TextGrown = std::function<void(const std::string& piece)>;

Result<Continuation> continuation(const SavedWeights& weights, const ContinuationRequest& request,
                                  int threads, const TextGrown& grown = {});

} // namespace trainyard::engine
