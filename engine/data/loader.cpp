// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/data/loader.h"

#include <chrono>
#include <new>
#include <utility>

namespace trainyard::engine {

namespace {

constexpr std::align_val_t kAlignment{64};

std::size_t bufferOf(std::int64_t step) {
    return static_cast<std::size_t>(step) % 2;
}

} // namespace

void BatchLoader::FreeMemory::operator()(std::byte* memory) const {
    ::operator delete(memory, kAlignment);
}

BatchLoader::BatchLoader(const Dataset& dataset, DType type, std::int64_t largestRows,
                         SamplesOfStep samplesOfStep, std::int64_t firstStep, std::int64_t endStep,
                         ChangeInputs changeInputs)
    : m_dataset(dataset), m_type(type),
      m_inputType(dataset.info().vocabulary > 0 ? DType::Int32 : type), m_largestRows(largestRows),
      m_samplesOfStep(std::move(samplesOfStep)), m_changeInputs(std::move(changeInputs)),
      m_firstStep(firstStep), m_endStep(endStep), m_filledEnd(firstStep), m_takenEnd(firstStep) {
    TRAINYARD_CHECK_MSG(type == DType::Fp32 || type == DType::Fp64, std::string(name(type)));
    TRAINYARD_CHECK_MSG(firstStep >= 0 && largestRows >= 0, describePair(firstStep, largestRows));
    const auto rows = static_cast<std::size_t>(largestRows);
    const DatasetInfo& info = dataset.info();
    const auto memory = [rows](const Shape& shape, DType of) {
        const std::size_t elements = rows * static_cast<std::size_t>(elementCount(shape));
        return static_cast<std::byte*>(::operator new(elements* bytesOf(of), kAlignment));
    };
    for (Buffer& buffer : m_buffers) {
        buffer.inputs.reset(memory(info.sampleShape, m_inputType));
        if (info.target == TargetKind::Numbers)
            buffer.numbers.reset(memory(info.targetShape, type));
        else
            buffer.labels.resize(rows * static_cast<std::size_t>(elementCount(info.targetShape)));
    }
    m_samples.reserve(rows);
    m_thread = std::thread([this] { run(); });
}

BatchLoader::~BatchLoader() {
    {
        const std::lock_guard lock(m_mutex);
        m_stopping = true;
    }
    m_changed.notify_all();
    m_thread.join();
}

const Batch* BatchLoader::next() {
    std::unique_lock lock(m_mutex);
    if (m_takenEnd >= m_endStep)
        return nullptr;
    const std::int64_t step = m_takenEnd;
    // The batch handed out before is given back here: only now may the thread fill its buffer.
    m_takenEnd = step + 1;
    m_changed.notify_all();
    if (m_filledEnd <= step && !m_failure) {
        const auto start = std::chrono::steady_clock::now();
        m_changed.wait(lock, [&] { return m_filledEnd > step || m_failure; });
        m_secondsWaited +=
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    if (m_filledEnd <= step)
        std::rethrow_exception(m_failure);
    return &m_buffers[bufferOf(step)].batch;
}

void BatchLoader::run() {
    try {
        for (std::int64_t step = m_firstStep; step < m_endStep; ++step) {
            {
                std::unique_lock lock(m_mutex);
                // Step s shares its buffer with s - 2, which the caller holds until it takes s - 1.
                m_changed.wait(lock, [&] {
                    return m_stopping || step <= m_takenEnd || step < m_firstStep + 2;
                });
                if (m_stopping)
                    return;
            }
            fill(m_buffers[bufferOf(step)], step);
            {
                const std::lock_guard lock(m_mutex);
                m_filledEnd = step + 1;
            }
            m_changed.notify_all();
        }
    } catch (...) {
        {
            const std::lock_guard lock(m_mutex);
            m_failure = std::current_exception();
        }
        m_changed.notify_all();
    }
}

void BatchLoader::fill(Buffer& buffer, std::int64_t step) {
    m_samples.clear();
    m_samplesOfStep(step, m_samples);
    const auto rows = static_cast<std::int64_t>(m_samples.size());
    TRAINYARD_CHECK_MSG(rows <= m_largestRows, describePair(rows, m_largestRows));
    m_dataset.gather(m_samples, {.inputs = buffer.inputs.get(),
                                 .inputType = m_inputType,
                                 .labels = buffer.labels.data(),
                                 .numbers = buffer.numbers.get(),
                                 .numberType = m_type});
    if (m_changeInputs)
        m_changeInputs(step, m_samples, buffer.inputs.get(), m_inputType);
    const std::size_t labelsOfRow =
        buffer.labels.empty() ? 0 : buffer.labels.size() / static_cast<std::size_t>(m_largestRows);
    buffer.batch = {
        step, rows, buffer.inputs.get(),
        std::span<const std::int32_t>(buffer.labels.data(), m_samples.size() * labelsOfRow),
        buffer.numbers.get()};
}

} // namespace trainyard::engine
