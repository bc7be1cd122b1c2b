// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/models/problem_place.h"

#include "app/models/experiment_path.h"

namespace trainyard::app {

ProblemPlace placeOf(const std::string& path, int layers) {
    ProblemPlace place{.section = Section::Training, .node = -1, .path = path};
    if (path.starts_with("data")) {
        place.section = Section::Data;
    } else if (path.starts_with("parallel") || path.starts_with("devices")) {
        place.section = Section::Parallelism;
    } else if (path.starts_with("model")) {
        place.section = Section::Model;
        const int layer = layerOfPath(path);
        if (layer >= 0)
            place.node = layer + 1;
        else if (path.starts_with("model.loss"))
            place.node = layers + 1;
        else
            place.node = 0;
    }
    return place;
}

} // namespace trainyard::app
