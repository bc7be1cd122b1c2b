// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Which backend computes an experiment on this machine, and what the plan must know of it.
#pragma once

#include "engine/backend/backend.h"
#include "engine/plan/plan.h"
#include "engine/spec/experiment.h"

#include <memory>
#include <string>

namespace trainyard::engine {

/// fp64: the reference backend (one thread); else oneDNN with `threads`.
std::unique_ptr<Backend> makeBackend(spec::Precision precision, int threads);
plan::MachineFacts machineFacts(spec::Precision precision);

/// "1,234 MiB"
std::string describeFreeMemory();

} // namespace trainyard::engine
