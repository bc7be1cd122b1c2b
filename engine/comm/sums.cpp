// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/sums.h"

#include "engine/base/check.h"
#include "engine/base/multiversion.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace trainyard::engine {

namespace {

/// Partial sums of more than two buffers are kept in the first-level cache.
constexpr std::size_t kBlockBytes = 8192;

TRAINYARD_MULTIVERSION
void addIntoFloats(float* __restrict sum, const float* __restrict addend, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        sum[i] += addend[i];
}

TRAINYARD_MULTIVERSION
void addIntoDoubles(double* __restrict sum, const double* __restrict addend, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        sum[i] += addend[i];
}

TRAINYARD_MULTIVERSION
void sumBothFloats(float* __restrict a, float* __restrict b, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const float sum = a[i] + b[i];
        a[i] = sum;
        b[i] = sum;
    }
}

TRAINYARD_MULTIVERSION
void sumBothDoubles(double* __restrict a, double* __restrict b, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const double sum = a[i] + b[i];
        a[i] = sum;
        b[i] = sum;
    }
}

TRAINYARD_MULTIVERSION
void sumTwoFloats(float* __restrict out, const float* __restrict a, const float* __restrict b,
                  std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        out[i] = a[i] + b[i];
}

TRAINYARD_MULTIVERSION
void sumTwoDoubles(double* __restrict out, const double* __restrict a, const double* __restrict b,
                   std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        out[i] = a[i] + b[i];
}

void add(float* sum, const float* addend, std::size_t count) {
    addIntoFloats(sum, addend, count);
}
void add(double* sum, const double* addend, std::size_t count) {
    addIntoDoubles(sum, addend, count);
}
void sumBoth(float* a, float* b, std::size_t count) {
    sumBothFloats(a, b, count);
}
void sumBoth(double* a, double* b, std::size_t count) {
    sumBothDoubles(a, b, count);
}
void sumTwo(float* out, const float* a, const float* b, std::size_t count) {
    sumTwoFloats(out, a, b, count);
}
void sumTwo(double* out, const double* a, const double* b, std::size_t count) {
    sumTwoDoubles(out, a, b, count);
}

template <class Real>
void sumInPlaceAs(std::span<void* const> buffers, std::size_t count) {
    if (buffers.size() == 2) {
        sumBoth(static_cast<Real*>(buffers[0]), static_cast<Real*>(buffers[1]), count);
        return;
    }
    constexpr std::size_t kBlock = kBlockBytes / sizeof(Real);
    alignas(64) std::array<Real, kBlock> sum;
    for (std::size_t begin = 0; begin < count; begin += kBlock) {
        const std::size_t size = std::min(kBlock, count - begin);
        sumTwo(sum.data(), static_cast<const Real*>(buffers[0]) + begin,
               static_cast<const Real*>(buffers[1]) + begin, size);
        for (std::size_t i = 2; i < buffers.size(); ++i)
            add(sum.data(), static_cast<const Real*>(buffers[i]) + begin, size);
        for (void* const buffer : buffers)
            std::memcpy(static_cast<Real*>(buffer) + begin, sum.data(), size * sizeof(Real));
    }
}

template <class Real>
void sumToAs(Real* out, std::span<const void* const> addends, std::size_t count) {
    constexpr std::size_t kBlock = kBlockBytes / sizeof(Real);
    for (std::size_t begin = 0; begin < count; begin += kBlock) {
        const std::size_t size = std::min(kBlock, count - begin);
        sumTwo(out + begin, static_cast<const Real*>(addends[0]) + begin,
               static_cast<const Real*>(addends[1]) + begin, size);
        for (std::size_t i = 2; i < addends.size(); ++i)
            add(out + begin, static_cast<const Real*>(addends[i]) + begin, size);
    }
}

bool isDouble(DType type) {
    TRAINYARD_CHECK_MSG(type == DType::Fp32 || type == DType::Fp64, std::string(name(type)));
    return type == DType::Fp64;
}

} // namespace

void addInto(void* sum, const void* addend, std::size_t count, DType type) {
    if (isDouble(type))
        add(static_cast<double*>(sum), static_cast<const double*>(addend), count);
    else
        add(static_cast<float*>(sum), static_cast<const float*>(addend), count);
}

void sumInPlace(std::span<void* const> buffers, std::size_t count, DType type) {
    TRAINYARD_CHECK(buffers.size() >= 2);
    if (isDouble(type))
        sumInPlaceAs<double>(buffers, count);
    else
        sumInPlaceAs<float>(buffers, count);
}

void sumTo(void* out, std::span<const void* const> addends, std::size_t count, DType type) {
    TRAINYARD_CHECK(addends.size() >= 2);
    if (isDouble(type))
        sumToAs(static_cast<double*>(out), addends, count);
    else
        sumToAs(static_cast<float*>(out), addends, count);
}

} // namespace trainyard::engine
