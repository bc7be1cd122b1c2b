// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// See store_columns.h.
#include "app/store/store_columns.h"

#include "app/store/store_json.h"

#include <algorithm>
#include <cmath>

namespace trainyard::app {

namespace {

std::optional<std::int64_t> optionalInteger(const Query& row, int column) {
    return row.isNull(column) ? std::nullopt : std::optional(row.integer(column));
}

} // namespace

RunRecord readRunRecord(const Query& row) {
    int column = 0;
    RunRecord run;
    run.id = RunId{row.integer(column++)};
    run.uid = row.text(column++);
    run.name = row.text(column++);
    run.host = row.text(column++);
    run.status = runStatusFromName(row.text(column++));
    run.archived = row.integer(column++) != 0;
    run.createdUtcUs = row.integer(column++);
    run.startedUtcUs = optionalInteger(row, column++);
    run.endedUtcUs = optionalInteger(row, column++);
    run.seconds = row.real(column++);
    run.worldSize = static_cast<std::int32_t>(row.integer(column++));
    run.attempt = static_cast<std::int32_t>(row.integer(column++));
    run.stepsTotal = row.integer(column++);
    run.stepsPerEpoch = row.integer(column++);
    run.epochsTotal = row.integer(column++);
    run.trainSamples = row.integer(column++);
    run.validationSamples = row.integer(column++);
    run.planHash = static_cast<std::uint64_t>(row.integer(column++));
    run.lastStep = row.integer(column++);
    run.epoch = row.real(column++);
    run.samples = row.integer(column++);
    if (!row.isNull(column))
        run.failure = failureFromJson(objectFromText(row.bytes(column)));
    return run;
}

SeriesSummary readSummary(const Query& row) {
    int column = kSeriesRun + 1;
    SeriesSummary summary;
    summary.reported = row.integer(column++);
    summary.count = row.integer(column++);
    summary.notFinite = row.integer(column++);
    summary.lastStep = row.integer(column++);
    summary.last = row.real(column++);
    summary.lo = row.real(column++);
    summary.loStep = row.integer(column++);
    summary.hi = row.real(column++);
    summary.hiStep = row.integer(column++);
    summary.sparkline = Sparkline::unpack(row.bytes(column));
    return summary;
}

JournalPosition readPosition(const Query& row, int first) {
    return {static_cast<std::uint64_t>(row.integer(first)),
            static_cast<std::uint64_t>(row.integer(first + 1))};
}

void RunTimes::addNode(std::int64_t firstUs, std::int64_t lastUs) {
    m_firstUs = std::min(m_firstUs.value_or(firstUs), firstUs);
    m_longestUs = std::max(m_longestUs, lastUs - firstUs);
}

std::optional<std::int64_t> RunTimes::startedUs() const {
    return m_firstUs ? std::optional(std::max(*m_firstUs, m_createdUs)) : std::nullopt;
}

std::optional<std::int64_t> RunTimes::endedUs(RunStatus status) const {
    if (!isFinal(status) || !m_firstUs)
        return std::nullopt;
    return *startedUs() + static_cast<std::int64_t>(std::llround(seconds() * 1e6));
}

double RunTimes::seconds() const {
    return m_summarySeconds.value_or(static_cast<double>(m_longestUs) * 1e-6);
}

} // namespace trainyard::app
