// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/plan.h"

#include "engine/base/json.h"
#include "engine/program/price.h"

#include <nlohmann/json.hpp>

#include <array>
#include <charconv>

namespace trainyard::plan {

namespace {

using Json = nlohmann::ordered_json;

std::string hexadecimal(std::uint64_t value) {
    std::array<char, 17> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
    return {digits.data(), end};
}

Json toJson(const RankPlan& rank, const Section& section) {
    return {{"rank", rank.rank},
            {"coordinate",
             {{"data", rank.place.data},
              {"tensor", rank.place.tensor},
              {"pipeline", rank.place.pipeline}}},
            {"device", rank.device},
            {"layers", section.layers()},
            {"rows", rank.rows.count},
            {"bytes",
             {{"parameters", rank.memory.parameters},
              {"gradients", rank.memory.gradients},
              {"optimizer", rank.memory.optimizer},
              {"activations", rank.memory.activations},
              {"total", rank.memory.total()}}},
            {"bytes_sent_per_step",
             {{"gradients", rank.sentPerStep.gradients},
              {"gradients_uncompressed", rank.sentPerStep.uncompressedGradients},
              {"tensors", rank.sentPerStep.tensors},
              {"messages", rank.sentPerStep.messages},
              {"total", rank.sentPerStep.total()}}},
            {"flops_per_step", rank.flopsPerStep}};
}

} // namespace

std::string toJson(const Plan& plan, const Price* price) {
    Json ranks = Json::array();
    for (const RankPlan& rank : plan.ranks) {
        ranks.push_back(toJson(rank, plan.sectionOf(rank.rank)));
        if (!price)
            continue;
        const RankSeconds& seconds = price->ranks[static_cast<std::size_t>(rank.rank)];
        ranks.back()["seconds"] = {{"compute", seconds.compute},
                                   {"communication", seconds.communication},
                                   {"bubble", seconds.bubble}};
    }
    Json buckets = Json::array();
    for (const Bucket& bucket : plan.sectionOf(0).buckets)
        buckets.push_back(bucket.elements * bytesOf(exactType(plan.type)));
    Json json = {{"format", "trainyard.plan/1"},
                 {"hash", hexadecimal(plan.hash)},
                 {"world_size", plan.worldSize},
                 {"mesh",
                  {{"data", plan.mesh.data},
                   {"tensor", plan.mesh.tensor},
                   {"pipeline", plan.mesh.pipeline}}},
                 {"precision", name(plan.type)},
                 {"batch", plan.batch},
                 {"awaits_speeds", plan.awaitsSpeeds},
                 {"micro_batches", plan.microBatches},
                 {"schedule", name(plan.schedule)},
                 {"stages", plan.stages},
                 {"bubble_share", bubbleShare(plan.pipelineShape())},
                 {"replicated_layers", plan.sectionOf(0).replicated},
                 {"layers_with_shared_classes", plan.sectionOf(0).sharedClasses},
                 {"zero", plan.zero()},
                 {"compression", name(plan.compression)},
                 {"compression_rank", plan.compressionRank},
                 {"compression_warmup", plan.compressionWarmup},
                 {"recompute", plan.recompute ? "blocks" : "none"},
                 {"train_samples", plan.data.trainSamples},
                 {"validation_samples", plan.data.validationSamples},
                 {"steps_per_epoch", plan.stepsPerEpoch},
                 {"steps", plan.steps},
                 {"learning_rate_factor", plan.learningRateFactor},
                 {"parameters", plan.graph.parameterElements()},
                 {"forward_flops_per_sample", plan.graph.forwardFlops()},
                 {"bucket_size", plan.bucketBytes},
                 {"bucket_bytes", std::move(buckets)},
                 {"ranks", std::move(ranks)}};
    if (price) {
        json["step_seconds"] = price->stepSeconds;
        json["samples_per_second"] = price->samplesPerSecond;
        json["efficiency"] = price->efficiency ? Json(*price->efficiency) : Json(nullptr);
        json["calibrated_at"] = price->measuredAt;
    }
    return jsonText(json, 2) + "\n";
}

} // namespace trainyard::plan
