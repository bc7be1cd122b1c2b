// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What one click can do about a problem. Cures are found from the experiment itself, never from the
// words of the problem, so they hold in every language.
#pragma once

#include "app/models/experiment_analysis.h"

#include <QString>

#include <functional>
#include <vector>

namespace trainyard::app {

struct Cure {
    QString label; ///< a verb: "Insert flatten"
    std::function<void(spec::Experiment&)> apply;
};

/// The best one first; empty where only the person can know.
std::vector<Cure> curesOf(const Error& problem, const spec::Experiment& experiment,
                          const ExperimentAnalysis& analysis, const DataFacts* facts);

/// The experiment after the first cures of as many problems as keep it from being priced; none when
/// only the person can cure one of those.
std::optional<spec::Experiment> priceable(const spec::Experiment& experiment,
                                          const ExperimentAnalysis& analysis,
                                          const DataFacts* facts,
                                          const plan::MachineFacts& machine);

} // namespace trainyard::app
