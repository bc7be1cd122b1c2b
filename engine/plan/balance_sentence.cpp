// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/balance_sentence.h"

#include "engine/base/number_text.h"
#include "engine/spec/catalogue.h"

#include <algorithm>
#include <array>
#include <string>

namespace trainyard::plan {

namespace {

constexpr const char* kShares =
    "Shares of the batch by measured speed, in the order of the data parallel ranks: %1.";
constexpr const char* kStages = "Stages of the pipeline by measured speed begin at: %1.";
constexpr const char* kBoth =
    "Shares of the batch by measured speed, in the order of the data parallel ranks: %1. Stages of "
    "the pipeline, likewise, begin at: %2.";
constexpr const char* kEqual =
    "The ranks are about equally fast as measured: they have equal shares.";
constexpr std::array kAll = {kShares, kStages, kBoth, kEqual};

std::string percentages(const Plan& plan) {
    std::string text;
    double before = 0;
    for (const double end : plan.shareEnds) {
        text += (text.empty() ? "" : ", ") + rounded(100 * (end - before), 3) + " %";
        before = end;
    }
    return text;
}

} // namespace

Message balanceSentence(const Plan& equal, const Plan& balanced) {
    const bool cut = balanced.stages != equal.stages;
    const bool shared = !balanced.shareEnds.empty();
    if (shared && cut)
        return {kBoth, {percentages(balanced), spec::listed(balanced.stages)}};
    if (shared)
        return {kShares, {percentages(balanced)}};
    return cut ? Message{kStages, {spec::listed(balanced.stages)}} : Message{kEqual};
}

bool isBalanceSentence(const Message& message) {
    return std::ranges::find(kAll, message.format) != kAll.end();
}

} // namespace trainyard::plan
