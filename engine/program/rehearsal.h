// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Rehearsal: plays the programs of a pipeline's ranks against each other with the messages between
// them, without computing anything. It tells whether they come to their end, and how long they
// would take if each instruction took a given time.
#pragma once

#include "engine/program/program.h"

#include <functional>
#include <string>
#include <vector>

namespace trainyard::plan {

/// Seconds that an instruction of a pipeline rank takes. Waiting for others comes on top.
using InstructionCost =
    std::function<double(int pipelineRank, const Program& program, const Instruction& instruction)>;

/// A rank computes one micro-batch of one stage.
struct StageTime {
    int rank = 0; ///< in the pipeline
    Turn turn;
    double begin = 0;
    double end = 0;
};

struct Rehearsal {
    /// Empty: all came to the end. Else who waits for what: programs that do not fit each other.
    std::string problem;
    double seconds = 0;           ///< until the last one is done
    std::vector<double> busy;     ///< by pipeline rank: the sum of its instructions' costs
    std::vector<StageTime> times; ///< of each rank in order
};

/// In proportion to the multiply-adds of operations, backward twice those of forward; the rest
/// takes nothing: for drawings.
InstructionCost costByFlops(const Plan& plan);

/// Of the ranks at tensor coordinate 0 and a data coordinate; those at others do the same with rows
/// of their own.
Rehearsal rehearse(const Plan& plan, Purpose purpose, std::int64_t batchRows,
                   const InstructionCost& cost, int dataCoordinate = 0);

} // namespace trainyard::plan
