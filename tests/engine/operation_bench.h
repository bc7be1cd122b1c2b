// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A bench to try one operation on: it lays values out as a backend wants them, between guard bytes
// and over memory full of NaN, runs forward and backward, and brings back plain fp64 values. So a
// kernel that writes too much, too little or dirties the padding of a blocked picture is seen by
// every test.
#pragma once

#include "engine/backend/backend.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace trainyard::test {

/// A value that goes in: its shape without rows, and how it lies.
struct Port {
    Shape shape = {};
    Layout layout = Layout::Plain;
};

struct OperationCase {
    std::string name = {};
    graph::OperationKind kind = graph::OperationKind::Linear;
    graph::OperationAttributes attributes = {};
    std::int64_t rows = 0;
    Shape input = {};
    Layout inputLayout = Layout::Plain;
    Layout outputLayout = Layout::Plain;
    /// Allowed relative L2 distance of fp32 from the reference in fp64, for every tensor.
    double tolerance = 2e-6;
    std::vector<Port> moreInputs = {}; ///< from the second on

    std::vector<Port> inputs() const;
    Shape output() const;
    bool plain() const;
    /// The same with plain layouts, as the reference backend takes it.
    OperationCase inPlainLayout() const { return with(Layout::Plain); }
    /// The same with this layout for all that is blocked.
    OperationCase with(Layout layout) const;
    bool isLoss() const { return graph::isLoss(kind); }
    bool hasIndices() const { return kind == graph::OperationKind::Embedding; }
    /// The CPU backend has several forms of it.
    bool hasForms() const;
    std::vector<Shape> parameterShapes() const;
    /// Running statistics: no derivative but the batch's statistics are handed over for them.
    bool isStatistic(std::size_t parameter) const;
    /// Labels or numbers that a loss reads for each row.
    std::int64_t targetsPerRow() const;
};

/// Values in row-major order, {rows, shape}; all are exact in fp32.
struct OperationValues {
    std::vector<std::vector<double>> inputs;
    std::vector<std::vector<double>> parameters;
    std::vector<double> outputGradient;
    std::vector<std::int32_t> labels;
    std::vector<double> targets; ///< numbers
    engine::StepContext context;
};

/// Random, the same for the same case; away from the kinks of relu, pool and losses.
OperationValues randomValues(const OperationCase& c);
/// What bf16 can hold of them: all values and the parameters that are read in it.
OperationValues roundedValues(const OperationCase& c, OperationValues values);
/// What a rank gets that computes `count` rows from `first` on.
OperationValues partOf(const OperationCase& c, const OperationValues& values, std::int64_t first,
                       std::int64_t count);

struct OperationOptions {
    int inPlace = -1;            ///< output over this input, its gradient over the output's
    bool addToGradients = false; ///< all gradients are added to kInitialGradient
    bool inference = false;      ///< forward by Direction::Inference, no backward
    int onlyGradient = -1;       ///< the one that is wanted: inputs, then parameters; -1: all
    bool phases = false;         ///< Collect and Apply instead of Whole
};
inline constexpr double kInitialGradient = 0.5;

/// Gradients that were not wanted are empty.
struct OperationResults {
    std::vector<double> output;
    std::vector<std::vector<double>> inputGradients;
    std::vector<std::vector<double>> parameterGradients;
    std::vector<double> lossSums; ///< by engine::LossSum
    std::vector<std::int64_t> confusion;
    bool operator==(const OperationResults&) const = default;
};

/// One operation over memory of its own, made once and run as often as wanted.
class OperationBench {
public:
    /// Makes the kernels. `c` and `values` must outlive the bench.
    OperationBench(engine::Backend& backend, DType type, const OperationCase& c,
                   const OperationValues& values, const OperationOptions& options = {});
    ~OperationBench();
    OperationBench(const OperationBench&) = delete;
    OperationBench& operator=(const OperationBench&) = delete;

    /// Makes the kernels anew, by another backend, over what lies in the memory.
    void compile(engine::Backend& backend);

    /// Spoils what the kernels have to fill and writes what they read.
    void prepare();
    /// prepare(), then forward and backward.
    void run();
    /// Only the kernels, on what lies there.
    void runKernels();
    /// One kernel by number: with phases forward Collect, Apply, backward Collect, Apply.
    void runKernel(std::size_t index);
    std::vector<double>& statistics();
    /// Throws std::runtime_error when a guard byte or padding was touched.
    OperationResults results() const;

private:
    class Memory;
    std::unique_ptr<Memory> m_memory;
};

/// One run on a fresh bench.
OperationResults evaluate(engine::Backend& backend, DType type, const OperationCase& c,
                          const OperationValues& values, const OperationOptions& options = {});

/// Batch norm over the rows of several ranks: each has `rows` of them, their statistics are summed
/// between the phases. Outputs and input gradients are joined, parameter gradients summed up.
OperationResults evaluateInParts(engine::Backend& backend, DType type, const OperationCase& c,
                                 const OperationValues& values,
                                 const std::vector<std::int64_t>& rows);

/// L2 distance over the L2 norm of `expected`; plain distance when that is zero but for rounding.
double relativeDistance(const std::vector<double>& actual, const std::vector<double>& expected);

} // namespace trainyard::test
