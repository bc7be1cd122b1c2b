// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// BatchLoader: gathers the next batch in a thread while the current one is being computed. Two
// buffers: the caller holds one, the thread fills the other. A step waits only when reading is
// slower than computing, and how long it waited is measured.
#pragma once

#include "engine/base/tensor_type.h"
#include "engine/data/dataset.h"

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace trainyard::engine {

/// Samples of one step on this rank, in the order in which they come.
struct Batch {
    std::int64_t step = 0;
    std::int64_t rows = 0;                ///< may be 0
    const void* inputs = nullptr;         ///< {rows, sampleShape...}, 64-byte aligned
    std::span<const std::int32_t> labels; ///< {rows, targetShape...}, or empty
    const void* numbers = nullptr; ///< likewise, of the loader's type, where there are numbers
};

class BatchLoader {
public:
    /// Appends the samples of `step` to an empty list. Called in the loader's thread.
    using SamplesOfStep =
        std::function<void(std::int64_t step, std::vector<std::int64_t>& samples)>;

    /// Changes the inputs of a step that were gathered. Called in the loader's thread.
    using ChangeInputs = std::function<void(
        std::int64_t step, std::span<const std::int64_t> samples, void* inputs, DType type)>;

    /// Steps [firstStep, endStep). `type`: Fp32 or Fp64, of inputs (which are Int32 where the data
    /// has a vocabulary) and of numbers to predict. `largestRows`: no step has
    /// more. The data set must outlive the loader. Starts gathering at once.
    BatchLoader(const Dataset& dataset, DType type, std::int64_t largestRows,
                SamplesOfStep samplesOfStep, std::int64_t firstStep, std::int64_t endStep,
                ChangeInputs changeInputs = {});
    /// Ends the thread; batches not taken are dropped.
    ~BatchLoader();
    BatchLoader(const BatchLoader&) = delete;
    BatchLoader& operator=(const BatchLoader&) = delete;

    /// The batch of the next step, null after the last. It stays valid until the next call. An
    /// exception of the loader's thread is thrown here.
    const Batch* next();

    /// Seconds next() has waited for the thread so far.
    double secondsWaited() const { return m_secondsWaited; }

private:
    struct FreeMemory {
        void operator()(std::byte* memory) const;
    };
    struct Buffer {
        std::unique_ptr<std::byte[], FreeMemory> inputs;
        std::unique_ptr<std::byte[], FreeMemory> numbers;
        std::vector<std::int32_t> labels;
        Batch batch;
    };

    void run();
    void fill(Buffer& buffer, std::int64_t step);

    const Dataset& m_dataset;
    const DType m_type;
    const DType m_inputType;
    const std::int64_t m_largestRows;
    const SamplesOfStep m_samplesOfStep;
    const ChangeInputs m_changeInputs;
    const std::int64_t m_firstStep;
    const std::int64_t m_endStep;
    std::array<Buffer, 2> m_buffers;     ///< step s lies in buffer s % 2
    std::vector<std::int64_t> m_samples; ///< loader's thread only
    double m_secondsWaited = 0;

    std::mutex m_mutex; ///< guards what follows
    std::condition_variable m_changed;
    std::int64_t m_filledEnd = 0; ///< steps below it are filled
    std::int64_t m_takenEnd = 0;  ///< steps below it have been handed out
    bool m_stopping = false;
    std::exception_ptr m_failure;

    std::thread m_thread; ///< last: starts when everything else is there
};

} // namespace trainyard::engine
