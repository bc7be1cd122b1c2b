// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The order in which a pipeline rank takes its stages and micro-batches.
//
//   GPipe        all forwards, then all backwards (Huang et al., 2019)
//   1F1B         as few forwards ahead as fill the pipeline, then one forward, one backward:
//                at most (ranks - rank) micro-batches are alive (Narayanan et al., "PipeDream-2BW",
//                2021)
//   interleaved  1F1B over several stages of each rank, so that the pipeline fills sooner
//                (Narayanan et al., "Efficient large-scale language model training", 2021)
//
// With m micro-batches on p ranks with v stages each, the share of a step that a rank waits is
// (p - 1) / (v m + p - 1).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace trainyard::plan {

enum class ScheduleKind : std::uint8_t { GPipe, OneForwardOneBackward, Interleaved };

/// Of "gpipe", "1f1b", "interleaved".
ScheduleKind scheduleOf(std::string_view name);
std::string_view name(ScheduleKind kind);

struct PipelineShape {
    ScheduleKind kind = ScheduleKind::OneForwardOneBackward;
    int ranks = 1;
    int stagesOfRank = 1; ///< stage s is of rank s modulo ranks
    int microBatches = 1; ///< interleaved: a multiple of the ranks
};

struct Turn {
    bool backward = false;
    int stage = 0;
    int microBatch = 0;
    bool operator==(const Turn&) const = default;
};

/// Each stage of the rank takes each micro-batch forward and then backward once, in ascending order
/// of micro-batches.
std::vector<Turn> trainingTurns(const PipelineShape& shape, int rank);
/// Forward only.
std::vector<Turn> evaluationTurns(const PipelineShape& shape, int rank);

/// Most that have begun and are not done yet. They follow each other, so micro-batch m may take
/// place m modulo this.
int microBatchesAlive(const std::vector<Turn>& turns);

/// For so many micro-batches the channels between ranks have room, so that nobody waits to send
/// while others wait for him.
int microBatchesOnTheWay(const PipelineShape& shape);

/// Of a step, for stages that take equally long.
double bubbleShare(const PipelineShape& shape);

} // namespace trainyard::plan
