// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the ranks of an experiment are. A device is named by its host and what it is there, as in
// "local/cpu:0".
#pragma once

#include "engine/spec/experiment.h"

#include <vector>

namespace trainyard::spec {

/// The host of each rank, numbered in the order of their first ranks; all alike without devices.
std::vector<int> hostsOfRanks(const Experiment& experiment);

/// Then ranks exchange over a network whatever else they could.
bool isOnSeveralHosts(const Experiment& experiment);

} // namespace trainyard::spec
