// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/machine.h"

#include "engine/base/number_text.h"

#include <fstream>

namespace trainyard::engine {

std::unique_ptr<Backend> makeBackend(spec::Precision precision, int threads) {
    return precision == spec::Precision::Fp64 ? makeReferenceBackend() : makeCpuBackend(threads);
}

plan::MachineFacts machineFacts(spec::Precision precision) {
    return {.blockedPictures = precision != spec::Precision::Fp64,
            .bf16 = cpuBackendSupports(DType::Bf16)};
}

std::string describeFreeMemory() {
    std::ifstream file("/proc/meminfo");
    std::string key;
    std::int64_t kibibytes = 0;
    std::string unit;
    while (file >> key >> kibibytes >> unit)
        if (key == "MemAvailable:")
            return grouped(kibibytes / 1024) + " MiB";
    return "an unknown amount";
}

} // namespace trainyard::engine
