// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// probe: what a studio must know of a node before it can plan a run there. Sweeps first, so what it
// says of load and memory is not spoilt by the remains of a killed run.
#include "engine/agent/answer.h"
#include "engine/agent/host_facts.h"
#include "engine/agent/verbs.h"
#include "engine/spec/event.h"

namespace trainyard::engine {
namespace {

Answer cpuAnswer(const CpuFacts& cpu) {
    Answer answer{{"model", cpu.model},
                  {"online_cores", cpu.onlineCores},
                  {"allowed_cores", cpu.allowedCores}};
    if (cpu.quotaCores)
        answer["quota_cores"] = *cpu.quotaCores;
    answer["simd"] = cpu.simd;
    answer["avx512_bf16"] = cpu.avx512Bf16;
    answer["amx_bf16"] = cpu.amxBf16;
    return answer;
}

Answer activeRuns(const AgentRoot& root) {
    Answer runs = Answer::array();
    for (const std::string& id : root.runIds())
        if (RunLock::isHeld(root.run(id)))
            runs.push_back({{"run", id}, {"pid", RunLock::holder(root.run(id))}});
    return runs;
}

} // namespace

VerbExit probeVerb(const std::string& rootPath) {
    const std::optional<AgentRoot> root = AgentRoot::find(rootPath);
    const SweepReport swept = root ? sweepOrphans(*root) : SweepReport();
    const CpuFacts cpu = readCpuFacts();
    const SystemFacts system = readSystemFacts();
    const FolderFacts folder = readFolderFacts(root ? root->path() : rootPath);

    Answer answer{{"format", "trainyard.probe/1"},
                  {"engine_version", engineVersion()},
                  {"protocol_version", spec::kProtocolVersion},
                  {"host", hostName()},
                  {"os", system.os},
                  {"kernel", system.kernel},
                  {"arch", system.architecture},
                  {"glibc", system.glibc},
                  {"time_ns", wallClockNs()},
                  {"cores", cpu.usableCores()},
                  {"cpu", cpuAnswer(cpu)}};
    if (const std::optional<MemoryFacts> memory = readMemoryFacts())
        answer["memory"] = {{"total", memory->totalBytes}, {"available", memory->availableBytes}};
    answer["root"] = {{"path", root ? root->path() : rootPath}, {"writable", folder.writable}};
    if (folder.freeBytes)
        answer["root"]["free"] = *folder.freeBytes;
    answer["devices"] = Answer::array(
        {{{"id", "cpu:0"}, {"kind", "cpu"}, {"name", cpu.model}, {"cores", cpu.usableCores()}}});
    answer["runs"] = root ? activeRuns(*root) : Answer::array();
    answer["swept"] = root ? describe(swept.ended, *root) : Answer::array();
    print(answer);
    return VerbExit::Ok;
}

} // namespace trainyard::engine
