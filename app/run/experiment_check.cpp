// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/run/experiment_check.h"

#include "engine/graph/graph.h"
#include "engine/spec/experiment_json.h"

#include <QTimer>

#include <algorithm>

namespace trainyard::app {

namespace {

/// Two parts may find the same fault.
void addNew(Problems& problems, const Problems& more) {
    for (const Error& problem : more)
        if (std::find(problems.begin(), problems.end(), problem) == problems.end())
            problems.push_back(problem);
}

CheckedExperiment checkWithData(const spec::Experiment& experiment, Inspection inspection) {
    CheckedExperiment checked;
    checked.problems = inspection.problems;
    if (checked.problems.empty()) {
        plan::PlanOutcome outcome =
            plan::makePlan(experiment, inspection.counts, inspection.machine);
        addNew(checked.problems, outcome.problems);
        checked.plan = std::move(outcome.plan);
    } else {
        addNew(checked.problems, graph::buildGraph(experiment.model, {}).problems);
    }
    checked.inspection = std::move(inspection);
    return checked;
}

} // namespace

void checkExperiment(const LocalLauncher& launcher, const spec::Experiment& experiment,
                     QObject* context, Handler<CheckedExperiment> handler) {
    CheckedExperiment checked;
    checked.problems = spec::validate(experiment);
    if (!checked.problems.empty()) {
        QTimer::singleShot(
            0, context,
            [handler = std::move(handler), checked = std::move(checked)] { handler(checked); });
        return;
    }
    launcher.inspect(QByteArray::fromStdString(spec::toJson(experiment)), context,
                     [experiment, handler = std::move(handler)](Result<Inspection> inspection) {
                         if (!inspection.ok())
                             return handler(inspection.error());
                         handler(checkWithData(experiment, std::move(*inspection)));
                     });
}

} // namespace trainyard::app
