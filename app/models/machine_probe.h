// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What a worker's probe says of a machine ("trainyard.probe/1"). What it does not say stays empty
// and is shown as not available.
#pragma once

#include <QJsonObject>
#include <QString>

#include <cstdint>
#include <optional>
#include <vector>

namespace trainyard::app {

struct ProbedDevice {
    QString id;   ///< "cpu:0"
    QString kind; ///< "cpu"
    QString name;
    int cores = 0; ///< that a run may use
    bool operator==(const ProbedDevice&) const = default;
};

struct ProbedRun {
    QString run;
    qint64 pid = 0; ///< of its supervisor
    bool operator==(const ProbedRun&) const = default;
};

struct MachineProbe {
    QString host, os, kernel, architecture, glibc, engineVersion;
    QString cpuModel, simd;
    bool avx512Bf16 = false, amxBf16 = false;
    int cores = 1; ///< that can be busy at the same time
    std::optional<int> onlineCores;
    std::optional<double> quotaCores;
    std::optional<std::int64_t> memoryTotal, memoryAvailable;
    QString folder; ///< where runs are kept
    bool folderWritable = true;
    std::optional<std::int64_t> folderFree;
    std::vector<ProbedDevice> devices;
    std::vector<ProbedRun> runs; ///< that are active now
    bool operator==(const MachineProbe&) const = default;
};

MachineProbe probeFromJson(const QJsonObject& json);

/// "AVX-512 with bf16, AMX bf16": for people.
QString instructionSetsText(const MachineProbe& probe);

} // namespace trainyard::app
