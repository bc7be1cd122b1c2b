// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Predictor: a trained model on this machine, for batches of a fixed number of rows. It is the
// program of an evaluation without its loss, so it needs neither targets nor the memory of
// gradients and optimizer.
#pragma once

#include "engine/backend/backend.h"
#include "engine/data/dataset.h"
#include "engine/plan/plan.h"
#include "engine/program/program.h"
#include "engine/runtime/arena.h"
#include "engine/runtime/weights_file.h"

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace trainyard::engine {

class Predictor {
public:
    /// Takes all memory and makes every kernel. Throws std::bad_alloc. An error where the weights
    /// are not those of their experiment.
    static Result<std::unique_ptr<Predictor>> make(const SavedWeights& weights, std::int64_t rows,
                                                   int threads);

    const graph::Graph& graph() const { return m_plan.graph; }
    std::int64_t rows() const { return m_program.rows.count; }

    /// Computes a batch. `load` puts the inputs of up to rows() samples into memory; what it leaves
    /// out keeps what was there. Labels and numbers are there to be written to and are not read.
    void run(const std::function<void(const BatchMemory&)>& load);
    /// What the model makes of a row of the last batch, before the loss: {logits' shape}.
    std::vector<double> scores(std::int64_t row) const;
    /// Of one position of a sequence: {classes}.
    std::vector<double> scoresAt(std::int64_t row, std::int64_t position) const;
    /// As far as the last load() wrote them.
    std::span<const std::int32_t> labels() const { return m_labels; }
    std::vector<double> numbers(std::int64_t row) const;

private:
    Predictor() = default;
    void makeKernels();
    KernelRequest requestFor(const graph::Operation& operation) const;
    Operand activation(graph::ValueId value) const;
    std::vector<double> valuesAt(DType type, const std::byte* data, std::size_t first,
                                 std::size_t count) const;

    plan::Plan m_plan;
    plan::Program m_program;
    std::unique_ptr<Backend> m_backend;
    Arena m_parameters;
    Arena m_rounded; ///< the parameters in bf16; empty where values are not bf16
    Arena m_activations;
    std::vector<std::int32_t> m_labels;
    Arena m_numbers;
    std::vector<std::unique_ptr<Kernel>> m_kernels;
};

} // namespace trainyard::engine
