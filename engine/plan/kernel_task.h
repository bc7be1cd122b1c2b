// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What a kernel is to a calibration: its table, its size, and what its speed depends on. The one
// place that knows it, for who measures and for who predicts.
#pragma once

#include "engine/graph/operation.h"
#include "engine/plan/calibration.h"

#include <cstdint>

namespace trainyard::plan {

struct KernelShape {
    graph::OperationKind kind = graph::OperationKind::Linear;
    const graph::OperationAttributes& attributes;
    Shape input;  ///< of the first input, per sample
    Shape output; ///< a loss: as the input
    DType type = DType::Fp32;
    std::int64_t rows = 0;
    bool backward = false;
    bool inputGradient = true; ///< backward computes it, too
};

CalibrationTask kernelTask(const KernelShape& shape);

/// The optimizer's pass over so many elements; `slots`: what it keeps of each.
CalibrationTask updateTask(int slots, std::int64_t elements);
/// The sum of their squares.
CalibrationTask squaresTask(std::int64_t elements);
/// Bytes of a batch put into memory.
CalibrationTask copyTask(std::int64_t bytes);
/// What an instruction takes besides its kernel.
CalibrationTask instructionTask();

} // namespace trainyard::plan
