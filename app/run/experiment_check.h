// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Everything that can be known of an experiment before it runs: its values, its graph, its data as
// the worker finds them, its plan.
#pragma once

#include "app/run/local_launcher.h"
#include "engine/plan/plan.h"
#include "engine/spec/experiment.h"

namespace trainyard::app {

struct CheckedExperiment {
    Problems problems; ///< empty: it can run; else what is below may be empty, too
    Inspection inspection;
    plan::Plan plan;
};

/// Finds as many problems as can be told in one go. An error only when the worker cannot be asked.
void checkExperiment(const LocalLauncher& launcher, const spec::Experiment& experiment,
                     QObject* context, Handler<CheckedExperiment> handler);

} // namespace trainyard::app
