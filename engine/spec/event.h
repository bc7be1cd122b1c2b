// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What a run says. Every process of a run reports with these values; the supervisor of a node
// numbers them and appends them to the node's journal; the studio stores and shows them. Rule: a
// reader skips types it does not know and ignores bytes after the fields it knows, so a newer
// worker can add both without a new protocol version; anything else needs kProtocolVersion + 1.
#pragma once

#include "engine/base/message.h"
#include "engine/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace trainyard::spec {

inline constexpr std::uint32_t kProtocolVersion = 1;

/// Names of the metrics the engine itself writes. Others may come; readers treat names as data.
namespace metric {
inline constexpr const char* kTrainLoss = "train_loss";
inline constexpr const char* kTrainAccuracy = "train_accuracy";
inline constexpr const char* kLearningRate = "learning_rate";
inline constexpr const char* kGradientNorm = "gradient_norm";
inline constexpr const char* kSamplesPerSecond = "samples_per_second";
inline constexpr const char* kValidationLoss = "val_loss";
inline constexpr const char* kValidationAccuracy = "val_accuracy";
inline constexpr const char* kValidationTop5 = "val_top5";
inline constexpr const char* kValidationPerplexity = "val_perplexity";
/// Mean absolute error and coefficient of determination, of numbers.
inline constexpr const char* kValidationMae = "val_mae";
inline constexpr const char* kValidationR2 = "val_r2";
/// Of a device sample: busy share of the rank's cores in percent (100 = all its threads busy).
inline constexpr const char* kUtilization = "utilization";
/// Of a device sample: resident bytes of the rank's process.
inline constexpr const char* kMemory = "memory";
} // namespace metric

/// A named number. NaN and infinities are values like any other.
using NamedValue = std::pair<std::string, double>;

enum class RunState : std::uint8_t {
    Starting = 0, ///< processes are being made, data is read, kernels are chosen
    Running = 1,
    Stopping = 2, ///< a person asked for the end
    Finished = 3, ///< reached its last step
    Failed = 4,
    Stopped = 5, ///< ended by a person
    Diverged = 6 ///< loss or gradients became non-finite
};

/// True for states after which a run says nothing more.
bool isFinal(RunState state);
/// "starting", "running" ... as written in JSON and the store.
std::string_view name(RunState state);
Result<RunState> runStateFromName(std::string_view name);

struct RankInfo {
    std::int32_t rank = 0;
    std::int64_t pid = 0;
    std::string device; ///< "cpu:0"
    std::int32_t threads = 1;
};

/// The first event of each journal.
struct Hello {
    std::uint32_t protocolVersion = kProtocolVersion;
    std::string engineVersion;
    std::string run;
    std::string host;
    std::int32_t worldSize = 1;
};

/// The ranks of this node are started.
struct RanksStarted {
    std::vector<RankInfo> ranks;
};

/// What the run will do, known before the first step.
struct Schedule {
    std::uint64_t planHash = 0;
    std::int64_t steps = 0; ///< in all
    std::int64_t stepsPerEpoch = 0;
    std::int64_t epochs = 0;
    std::int64_t trainSamples = 0;
    std::int64_t validationSamples = 0;
};

struct StateChanged {
    RunState state = RunState::Starting;
    Message reason; ///< may be empty
};

/// Measured values at one applied update. Written by rank 0.
struct Metrics {
    std::int64_t step = 0;    ///< applied updates so far, first is 1
    double epoch = 0;         ///< passes over the training data so far, e.g. 1.25
    std::int64_t samples = 0; ///< training samples seen so far
    std::vector<NamedValue> values;
};

/// Load of one device, about each second. Unknown values are left out, never 0.
struct DeviceSample {
    std::int32_t rank = 0;
    std::string device;
    std::vector<NamedValue> values;
};

enum class LogLevel : std::uint8_t { Debug = 0, Info = 1, Warning = 2, Error = 3 };

struct Log {
    LogLevel level = LogLevel::Info;
    std::int32_t rank = -1; ///< -1: the supervisor
    Message text;
};

/// Why a run failed: who, where, what, and what to do.
struct Failure {
    std::int32_t rank = -1;
    std::int64_t pid = 0;
    std::string host;
    std::string device;
    std::int64_t step = -1;        ///< -1: before the first step
    std::int64_t instruction = -1; ///< index in the rank's program
    std::string layer;
    Message what;
    Message cure;
    /// One sentence with all of it, in English.
    std::string sentence() const;
};

/// Final figures. The last event but one; a StateChanged with a final state follows.
struct Summary {
    std::int64_t steps = 0;
    double epochs = 0;
    double seconds = 0;
    std::vector<NamedValue> values; ///< train_loss, val_loss, val_accuracy, samples_per_second ...
};

/// Sent by `attach` about each second, never journaled: the link is alive.
struct Heartbeat {
    bool supervisorAlive = true;
};

/// Labels against predictions over all rows of one validation. Written by rank 0 after the Metrics
/// of that validation.
struct Confusion {
    std::int64_t step = 0;
    double epoch = 0; ///< as in Metrics
    /// The best validation so far: by what early stopping looks at, else by the loss.
    bool best = false;
    std::vector<std::string> classNames; ///< empty: classes are numbers
    std::vector<std::int64_t> counts;    ///< {classes, classes}: row = label, column = prediction
};

using Event = std::variant<Hello, RanksStarted, Schedule, StateChanged, Metrics, DeviceSample, Log,
                           Failure, Summary, Heartbeat, Confusion>;

/// Numbers on the wire; never reused.
enum class EventType : std::uint8_t {
    Hello = 1,
    RanksStarted = 2,
    Schedule = 3,
    StateChanged = 4,
    Metrics = 5,
    DeviceSample = 6,
    Log = 7,
    Failure = 8,
    Summary = 9,
    Heartbeat = 10,
    Confusion = 11
};
inline constexpr EventType kLastEventType = EventType::Confusion;

EventType typeOf(const Event& event);
/// Little-endian, strings as u32 length + UTF-8.
std::string encode(const Event& event);
/// Fails on truncated or impossible payloads and on a Hello of a newer protocol version.
Result<Event> decode(EventType type, std::string_view payload);

} // namespace trainyard::spec
