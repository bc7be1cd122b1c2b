// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Backend: what turns one operation into something that runs. A kernel is made once per run for
// fixed shapes and fixed memory and then only run: no allocation, no look-up, no choice in a step.
// Implementations: reference (fp64, fp32 and bf16, plain, the oracle), cpu (fp32 and bf16, oneDNN);
// later CUDA.
// A backend and its kernels are used by one thread.
#pragma once

#include "engine/base/result.h"
#include "engine/base/tensor_type.h"
#include "engine/graph/graph.h"
#include "engine/program/program.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace trainyard::engine {

enum class Direction : std::uint8_t {
    Forward,  ///< training: leaves what backward reads
    Backward, ///< gradients of inputs and parameters
    Inference ///< forward without dropout and without leaving anything
};

/// What changes from step to step. Counter-based random numbers are keyed by it.
struct StepContext {
    std::uint64_t seed = 0;
    std::int64_t step = 0;
    /// Position of this rank's first row in the global batch.
    std::int64_t firstRow = 0;
    /// Rows of the global batch over all ranks and micro-batches. Gradients are divided by it, and
    /// by the positions or numbers of a row that the loss looks at.
    std::int64_t globalRows = 0;
};

/// What a loss adds up over its rows: rows of scores, or single numbers. Means and metrics are made
/// of these sums, so that they do not depend on how rows are shared.
enum LossSum : std::size_t {
    kLoss,
    kCounted,     ///< rows (numbers) that count: all but ignored labels
    kCorrect,     ///< labels that have the largest score; for BCE, targets on the right side of 1/2
    kCorrectTop5, ///< labels among the five largest scores
    kAbsoluteError, ///< of numbers, as the next three
    kSquaredError,
    kTarget,
    kTargetSquared,
    kLossSums
};

/// Where an operand lies. `data` null: not wanted (for example the gradient of the model's input).
struct Operand {
    void* data = nullptr;
    Shape shape; ///< without rows
    Layout layout = Layout::Plain;
};

struct KernelRequest {
    graph::OperationKind kind = graph::OperationKind::Linear;
    graph::OperationAttributes attributes;
    Direction direction = Direction::Forward;
    /// Of values and their gradients. Parameters, their gradients, targets and what is saved are of
    /// exactType(type), but for the parameters that graph::readsRounded() names and for what
    /// attention saves.
    DType type = DType::Fp32;
    std::int64_t rows = 0;

    // Every list is whole: an operand that is not there or not wanted has its shape and layout and
    // null data. In backward, inputs and outputs have data where the kind's traits say so.
    std::vector<Operand> inputs;
    std::vector<Operand> outputs;
    /// Backward: written, or added to where `addToInputGradient` (one per input) is set.
    std::vector<Operand> inputGradients;
    /// Backward: read; may be the same memory as the input's gradient where the kind may run in
    /// place. In place never changes the layout: a flatten of a blocked picture needs its own
    /// memory.
    std::vector<Operand> outputGradients;
    std::vector<bool> addToInputGradient;
    std::vector<Operand> parameters;
    std::vector<Operand> parameterGradients;
    /// Backward: one per parameter, as with inputs.
    std::vector<bool> addToParameterGradient;
    void* saved = nullptr; ///< graph::savedBytes()

    /// Batch norm over the rows of all ranks: Collect fills the statistics with sums over this
    /// rank's rows, Apply reads what all ranks have together. Forward: for each channel the sum of
    /// x, of x², and, at the end, the number of elements; backward: the sums of dy and dy * x̂, and
    /// the number. {2 * channels + 1} doubles.
    /// The forward pass of a loss over slices of the scores has these phases, too; what its ranks
    /// tell each other is `saved` (split_cross_entropy.h).
    plan::Phase phase = plan::Phase::Whole;
    double* statistics = nullptr;

    // The loss only. For a score tensor {rows, ..., classes} a label for each of {rows, ...}; for
    // numbers {rows, k} as many targets, of exactType(type).
    const std::int32_t* labels = nullptr;
    const void* targets = nullptr;
    double* lossSums = nullptr; ///< kLossSums values; added to
    /// Labels against predictions, {classes, classes}, added to; null: not wanted.
    std::int64_t* confusion = nullptr;
};

class Kernel {
public:
    virtual ~Kernel() = default;
    virtual void run(const StepContext& context) = 0;
};

class Backend {
public:
    virtual ~Backend() = default;
    virtual std::string name() const = 0;
    virtual bool supports(DType type) const = 0;
    /// Layout for pictures with this many channels that a convolution makes.
    virtual Layout preferredLayout(std::int64_t channels) const = 0;
    /// The request's memory must outlive the kernel. Rows may be 0: the kernel then does nothing
    /// but zero what it would overwrite (parameter gradients).
    virtual std::unique_ptr<Kernel> compile(const KernelRequest& request) = 0;
    /// Scratch memory shared by all kernels made so far, bytes.
    virtual std::size_t workspaceBytes() const = 0;
};

std::unique_ptr<Backend> makeReferenceBackend();
/// `threads` for the OpenMP team of the calling thread.
std::unique_ptr<Backend> makeCpuBackend(int threads);
/// Bf16 only where the processor multiplies matrices in it (AMX): elsewhere it is slower than fp32.
bool cpuBackendSupports(DType type);

} // namespace trainyard::engine
