// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/base/float16.h"

#include "engine/base/multiversion.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(TRAINYARD_SANITIZED)
#include <immintrin.h>
#define TRAINYARD_HAS_F16C 1
#endif

namespace trainyard {

namespace {

TRAINYARD_MULTIVERSION
void widenPlainly(const Fp16* __restrict from, float* __restrict to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
        to[i] = widened(from[i]);
}

TRAINYARD_MULTIVERSION
void narrowPlainly(const float* __restrict from, Fp16* __restrict to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
        to[i] = narrowedToFp16(from[i]);
}

#ifdef TRAINYARD_HAS_F16C

constexpr std::int64_t kWidth = 8;

/// Every processor with AVX2 has the instructions for halves, too.
bool hasInstructions() {
    static const bool has = __builtin_cpu_supports("avx2");
    return has;
}

/// `count`: a multiple of the width. The same bits as above, but for what a NaN carries.
__attribute__((target("avx,f16c"))) void widenByInstruction(const Fp16* from, float* to,
                                                            std::int64_t count) {
    for (std::int64_t i = 0; i < count; i += kWidth)
        _mm256_storeu_ps(
            to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
}

__attribute__((target("avx,f16c"))) void narrowByInstruction(const float* from, Fp16* to,
                                                             std::int64_t count) {
    for (std::int64_t i = 0; i < count; i += kWidth)
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
}

#endif

} // namespace

void widen(const Fp16* from, float* to, std::int64_t count) {
    std::int64_t done = 0;
#ifdef TRAINYARD_HAS_F16C
    if (hasInstructions()) {
        done = count / kWidth * kWidth;
        widenByInstruction(from, to, done);
    }
#endif
    widenPlainly(from + done, to + done, count - done);
}

void narrow(const float* from, Fp16* to, std::int64_t count) {
    std::int64_t done = 0;
#ifdef TRAINYARD_HAS_F16C
    if (hasInstructions()) {
        done = count / kWidth * kWidth;
        narrowByInstruction(from, to, done);
    }
#endif
    narrowPlainly(from + done, to + done, count - done);
}

} // namespace trainyard
