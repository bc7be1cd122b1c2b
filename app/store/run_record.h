// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What the store knows of a run, as values that may cross threads.
// Rule: times are UTC microseconds since 1970; durations are seconds and never negative.
#pragma once

#include "app/store/series_summary.h"
#include "engine/spec/event.h"

#include <QByteArray>
#include <QString>

#include <cstdint>
#include <optional>
#include <vector>

namespace trainyard::app {

/// Number of a run in this store. Never used again after the run is deleted.
enum class RunId : qint64 {}; // as signals can carry it

enum class RunStatus {
    Created, ///< recorded, nothing heard of it yet
    Starting,
    Running,
    Stopping,
    Finished,
    Failed,
    Stopped,
    Diverged,
    Crashed ///< its processes are gone and have not said why
};
bool isFinal(RunStatus status);
/// "created", "starting" ... as in the store and in JSON.
QString nameOf(RunStatus status);
RunStatus runStatusFromName(const QString& name);

/// The state of the whole run from the last reported state of each node. Independent of the order
/// in which the nodes were read. `crashed`: somebody found that its processes are gone.
RunStatus combinedStatus(const std::vector<std::optional<spec::RunState>>& nodes, bool crashed);

struct NewRun {
    QString name;
    QByteArray configuration; ///< the frozen experiment, JSON
    QString host;             ///< where it is started, as the person calls it
    std::int32_t worldSize = 1;
    /// Identity of the run on its nodes; made up when empty.
    QString uid;
    /// Now when absent; for runs that were started elsewhere.
    std::optional<std::int64_t> createdUtcUs;
};

struct RunRecord {
    RunId id{};
    QString uid; ///< what the nodes call it, e.g. "20260729-105607-3f9a1c"
    QString name;
    QString host;
    RunStatus status = RunStatus::Created;
    bool archived = false;
    std::int64_t createdUtcUs = 0;
    std::optional<std::int64_t> startedUtcUs; ///< never before it was created
    std::optional<std::int64_t> endedUtcUs;
    double seconds = 0; ///< so far, or in all
    std::int32_t worldSize = 1;
    std::int32_t attempt = 1;    ///< counts how often it went back to an earlier step
    std::int64_t stepsTotal = 0; ///< 0: not known yet; so below
    std::int64_t stepsPerEpoch = 0;
    std::int64_t epochsTotal = 0;
    std::int64_t trainSamples = 0;
    std::int64_t validationSamples = 0;
    std::uint64_t planHash = 0;
    std::int64_t lastStep = 0;
    double epoch = 0;
    std::int64_t samples = 0;
    std::optional<spec::Failure> failure; ///< the earliest
};

/// One metric of one run.
struct SeriesInfo {
    RunId run{};
    QString metric;
    SeriesSummary summary;
};

/// One value of one device, sampled over time.
struct DeviceSeries {
    std::int32_t rank = 0;
    QString device;
    QString metric;
    bool operator==(const DeviceSeries&) const = default;
};

struct LogLine {
    std::int64_t id = 0; ///< rises in the order of arrival
    std::int64_t utcUs = 0;
    spec::LogLevel level = spec::LogLevel::Info;
    std::int32_t rank = -1;
    QString node;
    Message text;
};

/// A change of state, or a failure.
struct RunEvent {
    std::int64_t utcUs = 0;
    QString node;
    std::optional<spec::RunState> state;
    Message reason;
    std::optional<spec::Failure> failure;
};

/// Where to go on reading the journal of a node.
struct JournalPosition {
    std::uint64_t offset = 0;   ///< bytes of the journal that are stored
    std::uint64_t sequence = 0; ///< last frame that is stored
    bool operator==(const JournalPosition&) const = default;
};

/// What happened since an earlier look, through whatever program.
struct StoreChanges {
    std::int64_t revision = 0;      ///< to ask with next time
    std::vector<RunRecord> changed; ///< new ones too
    std::vector<RunId> deleted;
};

} // namespace trainyard::app
