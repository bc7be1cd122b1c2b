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
//   wsd       1 until the last d = round(decay_share * total) updates; during them, with x = share
//             of d done, 1 + (min_factor - 1) * x, or min_factor + (1 - min_factor) * (1 - sqrt(x))
//             (Hu et al., "MiniCPM", 2024; Haegele et al., "Scaling laws and compute-optimal
//             training beyond fixed training durations", 2024)
// The first update after the warm-up has the full rate; beyond the total the last value stays.
// one_cycle has a rise of its own instead: over s = 0 .. total - 1, from 1 / start_divisor to 1 at
// s = rise_share * total - 1, then down to 1 / (start_divisor * end_divisor) at the last update
// (Smith, "A disciplined approach to neural network hyper-parameters", 2018, in the form of
// torch.optim.lr_scheduler.OneCycleLR; the momentum is left alone).
#include "engine/base/check.h"
#include "engine/optim/optimizer.h"
#include "engine/spec/catalogue.h"
#include "engine/spec/training.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace trainyard::engine {

namespace {

/// From `from` at x = 0 to `to` at x = 1, along a half cosine wave or a line.
double between(double from, double to, double x, bool cosine) {
    const double inside = std::clamp(x, 0.0, 1.0);
    return cosine ? to + (from - to) * (1 + std::cos(std::numbers::pi * inside)) / 2
                  : from + (to - from) * inside;
}

double oneCycleFactor(const spec::TypeInfo& type, const spec::Values& values, std::int64_t update,
                      std::int64_t total) {
    const double start = 1 / spec::realOf(type, values, "start_divisor");
    const double end = start / spec::realOf(type, values, "end_divisor");
    const bool cosine = spec::textOf(type, values, "shape") == "cosine";
    const double at = static_cast<double>(update - 1);
    const double last = static_cast<double>(total - 1);
    const double top = spec::realOf(type, values, "rise_share") * static_cast<double>(total) - 1;
    if (at < top)
        return between(start, 1, at / top, cosine);
    const double from = std::max(top, 0.0);
    return last > from ? between(1, end, (at - from) / (last - from), cosine) : 1;
}

double decayFactor(const spec::TypeInfo& type, const spec::Values& values, std::int64_t done,
                   std::int64_t all, std::int64_t total) {
    const auto wanted =
        std::llround(spec::realOf(type, values, "decay_share") * static_cast<double>(total));
    const std::int64_t decay = std::min<std::int64_t>(wanted, all);
    const std::int64_t into = done - (all - decay);
    if (into <= 0)
        return 1;
    const double x =
        decay > 0 ? std::min(1.0, static_cast<double>(into) / static_cast<double>(decay)) : 1.0;
    const double least = spec::realOf(type, values, "min_factor");
    return spec::textOf(type, values, "shape") == "linear"
               ? 1 + (least - 1) * x
               : least + (1 - least) * (1 - std::sqrt(x));
}

double factorAfterWarmup(const spec::TypeInfo& type, const spec::Values& values, std::int64_t done,
                         std::int64_t all, std::int64_t total) {
    if (type.type == "constant")
        return 1;
    if (type.type == "wsd")
        return decayFactor(type, values, done, all, total);
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
    if (type->type == "one_cycle")
        return rate * oneCycleFactor(*type, schedule.values, update, totalUpdates);
    const std::int64_t warmup = spec::integerOf(*type, schedule.values, "warmup_steps");
    if (update <= warmup)
        return rate * static_cast<double>(update) / static_cast<double>(warmup);
    return rate * factorAfterWarmup(*type, schedule.values, update - 1 - warmup,
                                    std::max<std::int64_t>(totalUpdates - warmup, 0), totalUpdates);
}

double learningRateAt(const spec::TrainingSpec& training, std::int64_t update,
                      std::int64_t totalUpdates) {
    return spec::learningRateFactor(training) *
           learningRateAt(training.optimizer, training.schedule, update, totalUpdates);
}

} // namespace trainyard::engine
