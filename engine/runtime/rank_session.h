// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// One rank's whole life: open data, plan, meet the other ranks, train, validate, report.
#pragma once

#include "engine/runtime/rank_environment.h"
#include "engine/spec/experiment.h"

namespace trainyard::engine {

/// Never throws: what goes wrong is sent as a Failure event and told by the exit code.
RankExit trainRank(const spec::Experiment& experiment, RankEnvironment& environment);

} // namespace trainyard::engine
