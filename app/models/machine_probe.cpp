// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/models/machine_probe.h"

#include <QCoreApplication>
#include <QJsonArray>

#include <algorithm>

namespace trainyard::app {

namespace {

std::optional<std::int64_t> wholeOrNone(const QJsonValue& value) {
    return value.isDouble() ? std::optional<std::int64_t>(value.toInteger()) : std::nullopt;
}

QString word(const QJsonObject& json, QLatin1StringView key) {
    return json[key].toString();
}

void readCpu(const QJsonObject& json, MachineProbe& probe) {
    probe.cpuModel = word(json, QLatin1StringView("model"));
    probe.simd = word(json, QLatin1StringView("simd"));
    probe.avx512Bf16 = json[QLatin1StringView("avx512_bf16")].toBool();
    probe.amxBf16 = json[QLatin1StringView("amx_bf16")].toBool();
    if (const QJsonValue online = json[QLatin1StringView("online_cores")]; online.isDouble())
        probe.onlineCores = online.toInt();
    if (const QJsonValue quota = json[QLatin1StringView("quota_cores")]; quota.isDouble())
        probe.quotaCores = quota.toDouble();
}

} // namespace

MachineProbe probeFromJson(const QJsonObject& json) {
    MachineProbe probe;
    probe.host = word(json, QLatin1StringView("host"));
    probe.os = word(json, QLatin1StringView("os"));
    probe.kernel = word(json, QLatin1StringView("kernel"));
    probe.architecture = word(json, QLatin1StringView("arch"));
    probe.glibc = word(json, QLatin1StringView("glibc"));
    probe.engineVersion = word(json, QLatin1StringView("engine_version"));
    probe.cores = std::max(1, json[QLatin1StringView("cores")].toInt(1));
    readCpu(json[QLatin1StringView("cpu")].toObject(), probe);
    const QJsonObject memory = json[QLatin1StringView("memory")].toObject();
    probe.memoryTotal = wholeOrNone(memory[QLatin1StringView("total")]);
    probe.memoryAvailable = wholeOrNone(memory[QLatin1StringView("available")]);
    const QJsonObject root = json[QLatin1StringView("root")].toObject();
    probe.folder = word(root, QLatin1StringView("path"));
    probe.folderWritable = root[QLatin1StringView("writable")].toBool(true);
    probe.folderFree = wholeOrNone(root[QLatin1StringView("free")]);
    for (const QJsonValue& item : json[QLatin1StringView("devices")].toArray()) {
        const QJsonObject device = item.toObject();
        probe.devices.push_back(
            {word(device, QLatin1StringView("id")), word(device, QLatin1StringView("kind")),
             word(device, QLatin1StringView("name")), device[QLatin1StringView("cores")].toInt()});
    }
    for (const QJsonValue& item : json[QLatin1StringView("runs")].toArray()) {
        const QJsonObject run = item.toObject();
        probe.runs.push_back(
            {word(run, QLatin1StringView("run")), run[QLatin1StringView("pid")].toInteger()});
    }
    return probe;
}

QString instructionSetsText(const MachineProbe& probe) {
    static const std::pair<QLatin1StringView, QLatin1StringView> kNames[] = {
        {QLatin1StringView("avx512"), QLatin1StringView("AVX-512")},
        {QLatin1StringView("avx2"), QLatin1StringView("AVX2")},
        {QLatin1StringView("avx"), QLatin1StringView("AVX")},
        {QLatin1StringView("sse4.2"), QLatin1StringView("SSE4.2")},
        {QLatin1StringView("neon"), QLatin1StringView("NEON")},
    };
    if (probe.simd == QLatin1StringView("none"))
        return QCoreApplication::translate("MachineProbe", "none");
    QString text = probe.simd;
    for (const auto& [key, name] : kNames)
        if (probe.simd == key)
            text = name;
    if (probe.avx512Bf16)
        text += QCoreApplication::translate("MachineProbe", " with bf16");
    if (probe.amxBf16)
        text += QStringLiteral(", AMX bf16");
    return text;
}

} // namespace trainyard::app
