// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/rank_start.h"

#include "engine/plan/balance_sentence.h"
#include "engine/runtime/machine.h"
#include "engine/runtime/measure_speeds.h"
#include "engine/runtime/plan_agreement.h"
#include "engine/spec/devices.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace trainyard::engine {

namespace {

constexpr std::uint32_t kPlanTag = 0x80000000u; ///< above any instruction number

OpenedData openedData(const RankVoice& voice) {
    const spec::Experiment& experiment = voice.experiment();
    const graph::BuiltGraph built = graph::buildGraph(experiment.model, {});
    voice.failOn(built.problems);
    DataOutcome outcome =
        openData(experiment.data, experiment.training.seed, built.graph.classes());
    voice.failOn(outcome.problems);
    return std::move(outcome.data);
}

/// `speeds`: of the ranks, where they were measured.
plan::Plan planFor(const RankVoice& voice, const OpenedData& data,
                   std::vector<double> speeds = {}) {
    const plan::DataCounts counts =
        countsOf(data.training->info(), data.validation ? &data.validation->info() : nullptr);
    plan::MachineFacts machine = machineFacts(voice.experiment().precision);
    machine.bucketBytes = machine.networkBucketBytes = voice.environment().bucketBytes;
    machine.speeds = std::move(speeds);
    plan::PlanOutcome outcome = plan::makePlan(voice.experiment(), counts, machine);
    voice.failOn(outcome.problems);
    return std::move(outcome.plan);
}

bool usesGlooOnly(const RankVoice& voice) {
    return voice.experiment().parallel.transport == "gloo" || voice.environment().segmentFd < 0;
}

bool crossesANetwork(const RankVoice& voice) {
    return usesGlooOnly(voice) || spec::isOnSeveralHosts(voice.experiment());
}

Result<std::unique_ptr<Communicator>> makeCommunicator(const RankVoice& voice) {
    const RankEnvironment& environment = voice.environment();
    if (environment.worldSize == 1)
        return makeSingleCommunicator();
    CommunicatorOptions options;
    options.rank = environment.rank;
    options.worldSize = environment.worldSize;
    options.deadline = environment.deadline;
    options.status = environment.status;
    if (!crossesANetwork(voice))
        return makeSharedMemoryCommunicator(options, environment.segmentFd);
    const std::string folder = environment.runFolder + "/rendezvous";
    std::error_code failed;
    std::filesystem::create_directory(folder, failed); // another rank may have been first
    if (usesGlooOnly(voice))
        return makeGlooCommunicator(options, folder, "127.0.0.1");
    return makeTwoLevelCommunicator(options, spec::hostsOfRanks(voice.experiment()),
                                    environment.segmentFd, folder, "127.0.0.1");
}

/// Before anything else is exchanged: groups and sizes follow from the plan.
void comparePlans(const RankVoice& voice, const StartedRank& rank) {
    const std::optional<OddPlan> odd =
        voice.check(findOddPlan(rank.plan, *rank.communicator, kPlanTag));
    if (!odd)
        return;
    if (odd->rank != voice.environment().rank)
        voice.losePeer(odd->error);
    voice.fail(odd->error);
}

std::unique_ptr<Backend> backendFor(const RankVoice& voice) {
    return makeBackend(voice.experiment().precision, voice.environment().threads);
}

/// Where the ranks' speeds decide who gets what, they are measured now, with the work of equal
/// shares, and the plan is made once more.
void balance(const RankVoice& voice, StartedRank& rank) {
    const plan::Plan equal = std::move(rank.plan);
    std::vector<double> speeds =
        voice.check(measureSpeeds({equal, voice.experiment(), *rank.backend, *rank.communicator}));
    // What it keeps for kernels of other sections is not this rank's.
    rank.backend = backendFor(voice);
    rank.plan = planFor(voice, rank.data, std::move(speeds));
    comparePlans(voice, rank);
    if (voice.isFirst())
        voice.log(spec::LogLevel::Info, plan::balanceSentence(equal, rank.plan));
}

} // namespace

void startTogether(const RankVoice& voice, StartedRank& rank) {
    rank.data = openedData(voice);
    rank.plan = planFor(voice, rank.data);
    rank.communicator = voice.check(makeCommunicator(voice));
    comparePlans(voice, rank);
    rank.backend = backendFor(voice);
    if (rank.plan.awaitsSpeeds)
        balance(voice, rank);
    rank.groups =
        voice.check(ProcessGroups::make(rank.plan, voice.environment().rank, *rank.communicator));
    rank.crossesANetwork = crossesANetwork(voice);
}

} // namespace trainyard::engine
