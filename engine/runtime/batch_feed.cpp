// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/batch_feed.h"

#include "engine/base/check.h"
#include "engine/data/augmentation.h"
#include "engine/data/sampler.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace trainyard::engine {

namespace {

/// Nothing where no augmentation is chosen; openData() has checked that it fits.
BatchLoader::ChangeInputs augmentation(const plan::Plan& plan, const spec::Experiment& experiment,
                                       const Dataset& data) {
    const AugmentationSettings settings = augmentationOf(experiment.data);
    if (!settings.any())
        return {};
    const auto augmenter =
        std::make_shared<Augmenter>(settings, experiment.training.seed, data.info().sampleShape);
    return [augmenter, stepsPerEpoch = plan.stepsPerEpoch](
               std::int64_t step, std::span<const std::int64_t> samples, void* inputs, DType type) {
        augmenter->apply(step / stepsPerEpoch, samples, inputs, type);
    };
}

} // namespace

std::int64_t validationRows(const plan::Plan& plan, std::int64_t index) {
    return std::min(plan.batch, plan.data.validationSamples - index * plan.batch);
}

BatchFeed::BatchFeed(const plan::Plan& plan, std::unique_ptr<BatchLoader> loader)
    : m_loader(std::move(loader)),
      m_rowBytes(static_cast<std::size_t>(elementCount(plan.data.sampleShape)) *
                 bytesOf(plan.data.vocabulary > 0 ? DType::Int32 : exactType(plan.type))),
      m_rowNumbers(static_cast<std::size_t>(plan.data.numbers)) {}

BatchFeed BatchFeed::training(const plan::Plan& plan, const spec::Experiment& experiment,
                              int dataCoordinate, const Dataset& data, std::int64_t firstStep) {
    const auto samples = [&plan, seed = experiment.training.seed,
                          dataCoordinate](std::int64_t step, std::vector<std::int64_t>& list) {
        const std::int64_t epoch = step / plan.stepsPerEpoch;
        const std::int64_t index = step % plan.stepsPerEpoch;
        const plan::RowRange rows = plan.rowsOf(plan.rowsOfStep(index), dataCoordinate);
        for (std::int64_t row = 0; row < rows.count; ++row)
            list.push_back(sampleAt(seed, epoch, index * plan.batch + rows.first + row,
                                    plan.data.trainSamples));
    };
    return {plan, std::make_unique<BatchLoader>(data, exactType(plan.type),
                                                plan.mostRowsOf(plan.batch), samples, firstStep,
                                                plan.steps, augmentation(plan, experiment, data))};
}

BatchFeed BatchFeed::validation(const plan::Plan& plan, int dataCoordinate, const Dataset& data) {
    const auto samples = [&plan, dataCoordinate](std::int64_t index,
                                                 std::vector<std::int64_t>& list) {
        const plan::RowRange rows = plan.rowsOf(validationRows(plan, index), dataCoordinate);
        for (std::int64_t row = 0; row < rows.count; ++row)
            list.push_back(index * plan.batch + rows.first + row);
    };
    const std::int64_t batches = (plan.data.validationSamples + plan.batch - 1) / plan.batch;
    return {plan, std::make_unique<BatchLoader>(data, exactType(plan.type),
                                                plan.mostRowsOf(plan.batch), samples, 0, batches)};
}

LoadBatch BatchFeed::load() {
    const Batch* batch = nullptr;
    std::size_t done = 0; // rows of the batch
    return [this, batch, done](const BatchMemory& memory, const BatchPart& part) mutable {
        if (part.microBatch == 0) {
            batch = m_loader->next();
            done = 0;
        }
        TRAINYARD_CHECK(batch != nullptr);
        const auto rows = static_cast<std::size_t>(part.rows.count);
        if (rows == 0)
            return;
        TRAINYARD_CHECK(done + rows <= static_cast<std::size_t>(batch->rows));
        const std::size_t rowLabels = batch->labels.size() / static_cast<std::size_t>(batch->rows);
        if (memory.inputs)
            std::memcpy(memory.inputs,
                        static_cast<const std::byte*>(batch->inputs) + done * m_rowBytes,
                        rows * m_rowBytes);
        if (memory.labels)
            std::ranges::copy(batch->labels.subspan(done * rowLabels, rows * rowLabels),
                              memory.labels);
        const std::size_t numberBytes = m_rowNumbers * bytesOf(memory.numberType);
        if (batch->numbers && memory.numbers)
            std::memcpy(memory.numbers,
                        static_cast<const std::byte*>(batch->numbers) + done * numberBytes,
                        rows * numberBytes);
        done += rows;
    };
}

} // namespace trainyard::engine
