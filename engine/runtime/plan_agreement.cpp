// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/plan_agreement.h"

#include "engine/base/number_text.h"

#include <algorithm>
#include <vector>

#include <unistd.h>

namespace trainyard::engine {

namespace {

/// What a rank tells of its plan; travels as it lies in memory.
struct PlanCard {
    std::uint64_t hash = 0;
    std::int64_t process = 0;
    std::int64_t trainSamples = 0;
    std::int64_t validationSamples = 0;
    std::int64_t parameters = 0;
    std::int64_t batch = 0;
    std::int64_t steps = 0;
};

PlanCard cardOf(const plan::Plan& plan) {
    return {plan.hash,
            ::getpid(),
            plan.data.trainSamples,
            plan.data.validationSamples,
            plan.graph.parameterElements(),
            plan.batch,
            plan.steps};
}

/// The first thing that a person knows by name; else the plans differ in a setting.
Error difference(int rank, const PlanCard& odd, int otherRank, const PlanCard& right) {
    std::vector<std::string> arguments{std::to_string(rank), std::to_string(odd.process),
                                       std::to_string(otherRank), std::to_string(right.process)};
    const Message cure("Start the run again when nothing changes its files any more; all ranks "
                       "must read the same data with the same version of Trainyard.");
    const struct {
        std::int64_t PlanCard::*count;
        const char* of;
    } counts[] = {{&PlanCard::trainSamples, "training samples"},
                  {&PlanCard::validationSamples, "validation samples"},
                  {&PlanCard::parameters, "parameters"},
                  {&PlanCard::batch, "rows in a batch"},
                  {&PlanCard::steps, "steps"}};
    for (const auto& [count, of] : counts) {
        if (odd.*count == right.*count)
            continue;
        arguments.insert(arguments.end(), {grouped(odd.*count), of, grouped(right.*count)});
        return {Message("Rank %1 (process %2) has another plan than rank %3 (process %4): %5 %6 "
                        "instead of %7. Nothing was trained.",
                        std::move(arguments)),
                {},
                cure};
    }
    return {Message("Rank %1 (process %2) has another plan than rank %3 (process %4): a setting of "
                    "the experiment differs. Nothing was trained.",
                    std::move(arguments)),
            {},
            cure};
}

/// Of the plan that most ranks have.
std::size_t rankToFollow(const std::vector<PlanCard>& cards) {
    const auto supporters = [&](const PlanCard& card) {
        return std::ranges::count(cards, card.hash, &PlanCard::hash);
    };
    const auto most =
        std::ranges::max_element(cards, {}, supporters); // of several the first, the lowest rank
    return static_cast<std::size_t>(most - cards.begin());
}

} // namespace

Result<std::optional<OddPlan>> findOddPlan(const plan::Plan& plan, Communicator& world,
                                           std::uint32_t tag) {
    std::vector<PlanCard> cards(static_cast<std::size_t>(world.worldSize()));
    cards[static_cast<std::size_t>(world.rank())] = cardOf(plan);
    if (auto told = world.allGather(cards.data(), cards.size() * sizeof(PlanCard), tag); !told)
        return told.error();
    const std::size_t right = rankToFollow(cards);
    const auto odd = std::ranges::find_if(
        cards, [&](std::uint64_t hash) { return hash != cards[right].hash; }, &PlanCard::hash);
    if (odd == cards.end())
        return std::optional<OddPlan>();
    const auto rank = static_cast<int>(odd - cards.begin());
    return std::optional(
        OddPlan{rank, difference(rank, *odd, static_cast<int>(right), cards[right])});
}

} // namespace trainyard::engine
