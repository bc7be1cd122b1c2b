// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// BatchFeed: the samples of one rank's rows, loaded in the background, micro-batch by micro-batch.
#pragma once

#include "engine/data/dataset.h"
#include "engine/data/loader.h"
#include "engine/plan/plan.h"
#include "engine/runtime/executor.h"
#include "engine/spec/experiment.h"

#include <cstdint>
#include <memory>

namespace trainyard::engine {

class BatchFeed {
public:
    /// All steps of a training from `firstStep` on, in the order of each epoch's shuffle, augmented
    /// where that is chosen.
    static BatchFeed training(const plan::Plan& plan, const spec::Experiment& experiment,
                              int dataCoordinate, const Dataset& data, std::int64_t firstStep = 0);
    /// One pass over the validation data.
    static BatchFeed validation(const plan::Plan& plan, int dataCoordinate, const Dataset& data);

    /// Fills what a part of the current batch asks for; the first part takes the next batch. Must
    /// not outlive the feed.
    LoadBatch load();
    double secondsWaited() const { return m_loader->secondsWaited(); }

private:
    BatchFeed(const plan::Plan& plan, std::unique_ptr<BatchLoader> loader);

    std::unique_ptr<BatchLoader> m_loader;
    std::size_t m_rowBytes; ///< of a sample's inputs
    std::size_t m_rowNumbers;
};

/// Rows of the `index`-th batch of a validation, over all ranks.
std::int64_t validationRows(const plan::Plan& plan, std::int64_t index);

} // namespace trainyard::engine
