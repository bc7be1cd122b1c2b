// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/compression.h"

#include "engine/base/number_text.h"
#include "engine/plan/plan.h"

#include <algorithm>
#include <string>

namespace trainyard::plan {

namespace {

/// Percent by which the loss of two small networks (dense, convolutional) was higher than without
/// compression after 200 steps on four ranks.
struct MeasuredCost {
    std::int64_t rank;
    const char* dense;
    const char* convolutional;
};
constexpr MeasuredCost kPowerSgdCosts[] = {{4, "6", "7"}, {2, "24", "18"}, {1, "71", "38"}};

Message powerSgdCost(std::int64_t rank) {
    const auto* const cost = std::ranges::find_if(
        kPowerSgdCosts, [rank](const MeasuredCost& one) { return one.rank <= rank; });
    return {"PowerSGD costs progress on small models: after 200 steps the loss of a dense network "
            "was %1 % higher with rank %3, that of a convolutional one %2 %.",
            {cost->dense, cost->convolutional, std::to_string(cost->rank)}};
}

/// Nothing is compressed, and why; empty where something is.
Message withoutEffect(const Plan& plan) {
    const CompressionSaving saving = compressionSaving(plan);
    if (saving.sent == saving.whole)
        return {"No matrix of this model is large enough for rank %1: nothing is saved.",
                {std::to_string(plan.compressionRank)}};
    if (plan.compression == Compression::PowerSgd && plan.compressionWarmup >= plan.steps)
        return {"The run ends before the %1 updates with whole gradients do: nothing is saved.",
                {grouped(plan.compressionWarmup)}};
    return {};
}

} // namespace

std::string_view name(Compression compression) {
    switch (compression) {
    case Compression::None:
        return "none";
    case Compression::Bf16:
        return "bf16";
    case Compression::Fp16:
        return "fp16";
    case Compression::PowerSgd:
        return "powersgd";
    }
    return "?";
}

Compression compressionOf(std::string_view text) {
    for (const Compression one : {Compression::Bf16, Compression::Fp16, Compression::PowerSgd})
        if (name(one) == text)
            return one;
    return Compression::None;
}

bool rounds(Compression compression) {
    return compression == Compression::Bf16 || compression == Compression::Fp16;
}

DType wireType(const Plan& plan, const Section& section, int bucket) {
    if (!section.buckets[graph::at(bucket)].compressed || !rounds(plan.compression))
        return exactType(plan.type);
    return plan.compression == Compression::Bf16 ? DType::Bf16 : DType::Fp16;
}

std::size_t wireBytes(const Plan& plan, const Section& section, int bucket) {
    const Bucket& whole = section.buckets[graph::at(bucket)];
    const bool thin = whole.compressed && plan.compression == Compression::PowerSgd;
    return (thin ? section.lowRank.buckets[graph::at(bucket)].elements() : whole.elements) *
           bytesOf(wireType(plan, section, bucket));
}

double CompressionSaving::percent() const {
    return whole == 0 ? 0
                      : 100 * static_cast<double>(whole - std::min(sent, whole)) /
                            static_cast<double>(whole);
}

CompressionSaving compressionSaving(const Plan& plan) {
    CompressionSaving saving;
    for (const RankPlan& rank : plan.ranks) {
        saving.sent = std::max(saving.sent, rank.sentPerStep.gradients);
        saving.whole = std::max(saving.whole, rank.sentPerStep.uncompressedGradients);
    }
    return saving;
}

std::vector<Message> compressionCosts(const Plan& plan, bool overNetwork) {
    if (plan.compression == Compression::None)
        return {};
    if (Message none = withoutEffect(plan); !none.empty())
        return {std::move(none)};
    std::vector<Message> costs;
    if (!overNetwork)
        costs.push_back({"Inside one computer ranks exchange in shared memory: smaller gradients "
                         "save little time there, and making them small costs more."});
    if (plan.compression == Compression::PowerSgd)
        costs.push_back(powerSgdCost(plan.compressionRank));
    else if (plan.compression == Compression::Fp16)
        costs.push_back({"Rounding changes the run a little: after 200 steps the loss of a small "
                         "network was 1 % higher. Gradients above 65,504 stop the run."});
    else
        costs.push_back({"Rounding changes the run a little: over 200 steps the loss of a small "
                         "network differed by up to 5 %."});
    return costs;
}

} // namespace trainyard::plan
