// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/models/data_facts.h"

namespace trainyard::app {

plan::DataCounts DataFacts::counts() const {
    return {.trainSamples = training.samples,
            .validationSamples = validation ? validation->samples : 0,
            .sampleShape = training.sampleShape,
            .classes = training.classes,
            .numbers = training.numbers,
            .vocabulary = training.vocabulary};
}

} // namespace trainyard::app
