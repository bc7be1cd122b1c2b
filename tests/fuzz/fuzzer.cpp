// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What libFuzzer calls; the build chooses the target.
#include "tests/fuzz/targets.h"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    trainyard::test::TRAINYARD_FUZZ_FUNCTION({reinterpret_cast<const std::byte*>(data), size});
    return 0;
}
