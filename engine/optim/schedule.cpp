// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Learning rates. A schedule is a factor on the optimizer's rate, a function of applied updates u =
// 1 .. total, never of calls or ranks. During the first w = warmup_steps updates the factor is u /
// w; then, with n = u - 1 - w updates done since and N = total - w for the rest:
//   constant  1
//   linear    1 + (min_factor - 1) * n / N
//   cosine    min_factor + (1 - min_factor) * (1 + cos(pi * n / N)) / 2
//             (Loshchilov, Hutter, "SGDR: stochastic gradient descent with warm restarts", ICLR
//             2017)
//   step      factor ^ floor(n / every_updates)
// The first update after the warm-up has the full rate; beyond the total the last value stays.
#include "engine/base/check.h"
#include "engine/optim/optimizer.h"
#include "engine/spec/catalogue.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace trainyard::engine {

namespace {

double factorAfterWarmup(const spec::TypeInfo& type, const spec::Values& values, std::int64_t done,
                         std::int64_t all) {
    if (type.type == "constant")
        return 1;
    if (type.type == "step") {
        const std::int64_t every = spec::integerOf(type, values, "every_updates");
        return std::pow(spec::realOf(type, values, "factor"), static_cast<double>(done / every));
    }
    const double least = spec::realOf(type, values, "min_factor");
    const double progress =
        all > 0 ? std::min(1.0, static_cast<double>(done) / static_cast<double>(all)) : 1.0;
    if (type.type == "linear")
        return 1 + (least - 1) * progress;
    TRAINYARD_CHECK_MSG(type.type == "cosine", type.type);
    return least + (1 - least) * (1 + std::cos(std::numbers::pi * progress)) / 2;
}

} // namespace

double learningRateAt(const spec::Choice& optimizer, const spec::Choice& schedule,
                      std::int64_t update, std::int64_t totalUpdates) {
    const spec::TypeInfo* optimizerType = spec::findType(spec::Kind::Optimizer, optimizer.type);
    const spec::TypeInfo* type = spec::findType(spec::Kind::Schedule, schedule.type);
    TRAINYARD_CHECK_MSG(optimizerType != nullptr, optimizer.type);
    TRAINYARD_CHECK_MSG(type != nullptr, schedule.type);
    TRAINYARD_CHECK_MSG(update >= 1, describePair(update, 1));
    const double rate = spec::realOf(*optimizerType, optimizer.values, "learning_rate");
    const std::int64_t warmup = spec::integerOf(*type, schedule.values, "warmup_steps");
    if (update <= warmup)
        return rate * static_cast<double>(update) / static_cast<double>(warmup);
    return rate *
           factorAfterWarmup(*type, schedule.values, update - 1 - warmup, totalUpdates - warmup);
}

} // namespace trainyard::engine
