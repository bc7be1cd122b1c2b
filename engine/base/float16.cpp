// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/base/float16.h"

#include "engine/base/multiversion.h"

namespace trainyard {

TRAINYARD_MULTIVERSION
void widen(const Fp16* __restrict from, float* __restrict to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
        to[i] = widened(from[i]);
}

TRAINYARD_MULTIVERSION
void narrow(const float* __restrict from, Fp16* __restrict to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
        to[i] = narrowedToFp16(from[i]);
}

} // namespace trainyard
