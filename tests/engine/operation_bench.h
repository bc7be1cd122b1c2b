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

    Shape output() const;
    bool plain() const;
    /// The same with plain layouts, as the reference backend takes it.
    OperationCase inPlainLayout() const;
    bool isLoss() const { return kind == graph::OperationKind::SoftmaxCrossEntropy; }
    std::int64_t parameterCount() const;
    Shape parameterShape(std::int64_t index) const;
};

/// Values in row-major order, {rows, shape}; all are exact in fp32.
struct OperationValues {
    std::vector<double> input;
    std::vector<std::vector<double>> parameters;
    std::vector<double> outputGradient;
    std::vector<std::int32_t> labels;
    engine::StepContext context;
};

/// Random, the same for the same case; away from the kinks of relu and pool.
OperationValues randomValues(const OperationCase& c);

struct OperationOptions {
    bool inPlace = false;        ///< output over input, input gradient over output gradient
    bool addToGradients = false; ///< all gradients are added to kInitialGradient
    bool inference = false;      ///< forward by Direction::Inference, no backward
};
inline constexpr double kInitialGradient = 0.5;

struct OperationResults {
    std::vector<double> output;
    std::vector<double> inputGradient;
    std::vector<std::vector<double>> parameterGradients;
    double lossSum = 0;
    double correct = 0;
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

    /// Spoils what the kernels have to fill, writes what they read, runs forward and backward.
    void run();
    /// Only the kernels, on what lies there.
    void runKernels();
    /// Throws std::runtime_error when a guard byte or padding was touched.
    OperationResults results() const;

private:
    class Memory;
    std::unique_ptr<Memory> m_memory;
};

/// One run on a fresh bench.
OperationResults evaluate(engine::Backend& backend, DType type, const OperationCase& c,
                          const OperationValues& values, const OperationOptions& options = {});

/// L2 distance over the L2 norm of `expected`; plain distance when that is zero.
double relativeDistance(const std::vector<double>& actual, const std::vector<double>& expected);

} // namespace trainyard::test
