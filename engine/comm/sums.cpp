// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/sums.h"

#include "engine/base/bfloat16.h"
#include "engine/base/check.h"
#include "engine/base/float16.h"
#include "engine/base/multiversion.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace trainyard::engine {

namespace {

/// Partial sums of more than two buffers are kept in the first-level cache.
constexpr std::size_t kBlockBytes = 8192;

TRAINYARD_MULTIVERSION
void addInto(float* __restrict sum, const float* __restrict addend, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        sum[i] += addend[i];
}

TRAINYARD_MULTIVERSION
void addInto(double* __restrict sum, const double* __restrict addend, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        sum[i] += addend[i];
}

TRAINYARD_MULTIVERSION
void sumBoth(float* __restrict a, float* __restrict b, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const float sum = a[i] + b[i];
        a[i] = sum;
        b[i] = sum;
    }
}

TRAINYARD_MULTIVERSION
void sumBoth(double* __restrict a, double* __restrict b, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const double sum = a[i] + b[i];
        a[i] = sum;
        b[i] = sum;
    }
}

TRAINYARD_MULTIVERSION
void sumTwo(float* __restrict out, const float* __restrict a, const float* __restrict b,
            std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        out[i] = a[i] + b[i];
}

TRAINYARD_MULTIVERSION
void sumTwo(double* __restrict out, const double* __restrict a, const double* __restrict b,
            std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        out[i] = a[i] + b[i];
}

TRAINYARD_MULTIVERSION
void sumTwo(float* __restrict out, const Bf16* __restrict a, const Bf16* __restrict b,
            std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        out[i] = widened(a[i]) + widened(b[i]);
}

TRAINYARD_MULTIVERSION
void addInto(float* __restrict sum, const Bf16* __restrict addend, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        sum[i] += widened(addend[i]);
}

/// By way of fp32 in the first-level cache: there are instructions for whole arrays of them.
void addInto(float* sum, const Fp16* addend, std::size_t count) {
    alignas(64) std::array<float, kBlockBytes / sizeof(float)> wide;
    for (std::size_t begin = 0; begin < count; begin += wide.size()) {
        const std::size_t size = std::min(wide.size(), count - begin);
        widen(addend + begin, wide.data(), static_cast<std::int64_t>(size));
        addInto(sum + begin, wide.data(), size);
    }
}

void sumTwo(float* out, const Fp16* a, const Fp16* b, std::size_t count) {
    widen(a, out, static_cast<std::int64_t>(count));
    addInto(out, b, count);
}

/// How a sum of elements is added up and kept: `Sum` holds partial ones.
template <class Element>
struct Adding {
    using Sum = Element;
    static void keep(Element* out, const Sum* sum, std::size_t count) {
        std::copy_n(sum, count, out);
    }
};

template <class Half>
struct AddingHalves {
    using Sum = float;
    static void keep(Half* out, const float* sum, std::size_t count) {
        narrow(sum, out, static_cast<std::int64_t>(count));
    }
};

template <>
struct Adding<Bf16> : AddingHalves<Bf16> {};
template <>
struct Adding<Fp16> : AddingHalves<Fp16> {};

/// Block by block through the cache; each sum goes to `keep(sum, begin, size)`.
template <class Element, class Keep>
void sumBlocks(std::span<const void* const> addends, std::size_t count, Keep keep) {
    using Sum = typename Adding<Element>::Sum;
    constexpr std::size_t kBlock = kBlockBytes / sizeof(Sum);
    alignas(64) std::array<Sum, kBlock> sum;
    for (std::size_t begin = 0; begin < count; begin += kBlock) {
        const std::size_t size = std::min(kBlock, count - begin);
        const auto addend = [&](std::size_t i) {
            return static_cast<const Element*>(addends[i]) + begin;
        };
        sumTwo(sum.data(), addend(0), addend(1), size);
        for (std::size_t i = 2; i < addends.size(); ++i)
            addInto(sum.data(), addend(i), size);
        keep(sum.data(), begin, size);
    }
}

template <class Element>
void sumOverAs(Element* out, std::span<const void* const> addends, std::size_t count) {
    sumBlocks<Element>(addends, count, [&](const auto* sum, std::size_t begin, std::size_t size) {
        Adding<Element>::keep(out + begin, sum, size);
    });
}

/// Without a copy: for elements that are their own sums.
template <class Real>
void sumToAs(Real* out, std::span<const void* const> addends, std::size_t count) {
    constexpr std::size_t kBlock = kBlockBytes / sizeof(Real);
    for (std::size_t begin = 0; begin < count; begin += kBlock) {
        const std::size_t size = std::min(kBlock, count - begin);
        sumTwo(out + begin, static_cast<const Real*>(addends[0]) + begin,
               static_cast<const Real*>(addends[1]) + begin, size);
        for (std::size_t i = 2; i < addends.size(); ++i)
            addInto(out + begin, static_cast<const Real*>(addends[i]) + begin, size);
    }
}

template <class Element>
void sumInPlaceAs(std::span<void* const> buffers, std::size_t count) {
    const std::vector<const void*> addends(buffers.begin(), buffers.end());
    sumBlocks<Element>(addends, count, [&](const auto* sum, std::size_t begin, std::size_t size) {
        auto* const first = static_cast<Element*>(buffers[0]) + begin;
        Adding<Element>::keep(first, sum, size);
        for (std::size_t i = 1; i < buffers.size(); ++i)
            std::memcpy(static_cast<Element*>(buffers[i]) + begin, first, size * sizeof(Element));
    });
}

/// `function(element)` with an element of the type.
template <class Function>
auto forElement(DType type, Function function) {
    if (type == DType::Fp32)
        return function(float());
    if (type == DType::Fp64)
        return function(double());
    if (type == DType::Bf16)
        return function(Bf16());
    if (type == DType::Fp16)
        return function(Fp16());
    throwBrokenInvariant(__FILE__, __LINE__, "a type that can be summed", std::string(name(type)));
}

template <class Element>
void beginSumAs(void* sum, const void* addend, std::size_t count) {
    using Sum = typename Adding<Element>::Sum;
    if constexpr (std::is_same_v<Sum, Element>) {
        std::copy_n(static_cast<const Element*>(addend), count, static_cast<Sum*>(sum));
    } else {
        widen(static_cast<const Element*>(addend), static_cast<Sum*>(sum),
              static_cast<std::int64_t>(count));
    }
}

template <class Element>
void continueSumAs(void* sum, std::span<const void* const> addends, std::size_t count) {
    using Sum = typename Adding<Element>::Sum;
    constexpr std::size_t kBlock = kBlockBytes / sizeof(Sum);
    for (std::size_t begin = 0; begin < count; begin += kBlock)
        for (const void* addend : addends)
            addInto(static_cast<Sum*>(sum) + begin, static_cast<const Element*>(addend) + begin,
                    std::min(kBlock, count - begin));
}

} // namespace

void sumInPlace(std::span<void* const> buffers, std::size_t count, DType type) {
    TRAINYARD_CHECK(buffers.size() >= 2);
    forElement(type, [&](auto element) {
        using Element = decltype(element);
        if constexpr (std::is_floating_point_v<Element>)
            if (buffers.size() == 2)
                return sumBoth(static_cast<Element*>(buffers[0]), static_cast<Element*>(buffers[1]),
                               count);
        sumInPlaceAs<Element>(buffers, count);
    });
}

void sumTo(void* out, std::span<const void* const> addends, std::size_t count, DType type) {
    TRAINYARD_CHECK(addends.size() >= 2);
    forElement(type, [&](auto element) {
        using Element = decltype(element);
        if constexpr (std::is_floating_point_v<Element>)
            sumToAs(static_cast<Element*>(out), addends, count);
        else
            sumOverAs(static_cast<Element*>(out), addends, count);
    });
}

void sumOver(void* out, std::span<const void* const> addends, std::size_t count, DType type) {
    TRAINYARD_CHECK(addends.size() >= 2);
    forElement(type, [&](auto element) {
        sumOverAs(static_cast<decltype(element)*>(out), addends, count);
    });
}

DType runningTypeOf(DType type) {
    return forElement(type, [](auto element) {
        using Sum = typename Adding<decltype(element)>::Sum;
        return std::is_same_v<Sum, double> ? DType::Fp64 : DType::Fp32;
    });
}

void beginSum(void* sum, const void* addend, std::size_t count, DType type) {
    forElement(type, [&](auto element) { beginSumAs<decltype(element)>(sum, addend, count); });
}

void continueSum(void* sum, std::span<const void* const> addends, std::size_t count, DType type) {
    forElement(type, [&](auto element) { continueSumAs<decltype(element)>(sum, addends, count); });
}

void finishSum(void* out, const void* sum, std::size_t count, DType type) {
    forElement(type, [&](auto element) {
        using Element = decltype(element);
        Adding<Element>::keep(static_cast<Element*>(out),
                              static_cast<const typename Adding<Element>::Sum*>(sum), count);
    });
}

} // namespace trainyard::engine
