// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/models/run_mesh.h"

#include "engine/spec/experiment_json.h"

namespace trainyard::app {

plan::Mesh meshOf(StoreReader& store, RunId run) {
    const Result<QByteArray> configuration = store.configuration(run);
    if (!configuration.ok())
        return {};
    const spec::ParsedExperiment parsed = spec::parseExperiment(
        {configuration->constData(), static_cast<std::size_t>(configuration->size())});
    const spec::ParallelSpec& parallel = parsed.experiment.parallel;
    return {.data = static_cast<int>(parallel.data),
            .tensor = static_cast<int>(parallel.tensor),
            .pipeline = static_cast<int>(parallel.pipeline)};
}

} // namespace trainyard::app
