// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/program/schedule.h"

#include "engine/base/check.h"

#include <algorithm>
#include <cstddef>
#include <map>

namespace trainyard::plan {

namespace {

/// Micro-batches in groups as large as the pipeline; each group goes through the rank's first
/// stage, then through its second ... Backward takes the stages the other way round.
std::vector<Turn> passes(const PipelineShape& shape, int rank, bool backward) {
    std::vector<Turn> turns;
    for (int first = 0; first < shape.microBatches; first += shape.ranks)
        for (int i = 0; i < shape.stagesOfRank; ++i) {
            const int chunk = backward ? shape.stagesOfRank - 1 - i : i;
            const int end = std::min(first + shape.ranks, shape.microBatches);
            for (int micro = first; micro < end; ++micro)
                turns.push_back({backward, chunk * shape.ranks + rank, micro});
        }
    return turns;
}

/// Forwards before the first backward.
int forwardsAhead(const PipelineShape& shape, int rank) {
    const int all = shape.microBatches * shape.stagesOfRank;
    switch (shape.kind) {
    case ScheduleKind::GPipe:
        return all;
    case ScheduleKind::OneForwardOneBackward:
        return std::min(all, shape.ranks - rank - 1);
    case ScheduleKind::Interleaved:
        break;
    }
    if (shape.microBatches == shape.ranks)
        return all;
    return std::min(all, (shape.ranks - rank - 1) * 2 + (shape.stagesOfRank - 1) * shape.ranks);
}

} // namespace

ScheduleKind scheduleOf(std::string_view name) {
    if (name == "gpipe")
        return ScheduleKind::GPipe;
    return name == "interleaved" ? ScheduleKind::Interleaved : ScheduleKind::OneForwardOneBackward;
}

std::string_view name(ScheduleKind kind) {
    switch (kind) {
    case ScheduleKind::GPipe:
        return "gpipe";
    case ScheduleKind::Interleaved:
        return "interleaved";
    case ScheduleKind::OneForwardOneBackward:
        break;
    }
    return "1f1b";
}

std::vector<Turn> trainingTurns(const PipelineShape& shape, int rank) {
    TRAINYARD_CHECK(rank >= 0 && rank < shape.ranks && shape.microBatches > 0);
    const std::vector<Turn> forward = passes(shape, rank, false);
    const std::vector<Turn> backward = passes(shape, rank, true);
    const auto ahead = static_cast<std::size_t>(forwardsAhead(shape, rank));
    std::vector<Turn> turns(forward.begin(), forward.begin() + static_cast<std::ptrdiff_t>(ahead));
    for (std::size_t i = 0; i < backward.size(); ++i) {
        if (ahead + i < forward.size())
            turns.push_back(forward[ahead + i]);
        turns.push_back(backward[i]);
    }
    return turns;
}

std::vector<Turn> evaluationTurns(const PipelineShape& shape, int rank) {
    return passes(shape, rank, false);
}

int microBatchesAlive(const std::vector<Turn>& turns) {
    std::map<int, std::size_t> last;
    for (std::size_t i = 0; i < turns.size(); ++i)
        last[turns[i].microBatch] = i;
    int most = 1;
    int begun = 0; // micro-batches begin, and end, in ascending order
    int done = 0;
    for (std::size_t i = 0; i < turns.size(); ++i) {
        begun = std::max(begun, turns[i].microBatch + 1);
        most = std::max(most, begun - done);
        if (last[turns[i].microBatch] == i)
            TRAINYARD_CHECK_EQ(turns[i].microBatch, done++);
    }
    return most;
}

int microBatchesOnTheWay(const PipelineShape& shape) {
    const int room = shape.kind == ScheduleKind::Interleaved ? 2 * shape.ranks : 2;
    return std::min(room, shape.microBatches);
}

double bubbleShare(const PipelineShape& shape) {
    const double idle = shape.ranks - 1;
    return idle / (static_cast<double>(shape.stagesOfRank) * shape.microBatches + idle);
}

} // namespace trainyard::plan
