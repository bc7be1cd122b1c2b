// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The experiment that a command is about: FILE, changed by --set and --name.
#pragma once

#include "app/cli/arguments.h"
#include "engine/spec/experiment_json.h"

namespace trainyard::app {

OptionInfo setOption();

/// Reads and checks the file; its data paths come out absolute.
spec::ParsedExperiment loadExperiment(const Arguments& arguments);

} // namespace trainyard::app
