// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The sum kernels against plain loops, bit for bit, at every length around their block sizes.
#include "engine/comm/sums.h"

#include "engine/base/bfloat16.h"
#include "engine/base/check.h"
#include "engine/base/float16.h"

#include <QtTest>

#include <array>
#include <cmath>
#include <cstring>
#include <vector>

using namespace trainyard;
using namespace trainyard::engine;

namespace {

/// Of very different sizes, so that the order of addition shows in the bits.
template <class Real>
Real valueAt(std::size_t buffer, std::size_t index) {
    const std::uint32_t mixed = static_cast<std::uint32_t>(index * 2654435761u + buffer * 40503u);
    const auto mantissa = static_cast<Real>(static_cast<std::int32_t>(mixed) >> 8);
    return mantissa * static_cast<Real>(1u << (mixed & 15u)) / static_cast<Real>(3);
}

template <class Real>
constexpr DType kType = sizeof(Real) == 8 ? DType::Fp64 : DType::Fp32;

template <class Real>
bool sameBits(const std::vector<Real>& data, const std::vector<Real>& expected) {
    return expected.empty() ||
           std::memcmp(data.data(), expected.data(), expected.size() * sizeof(Real)) == 0;
}

/// A sum that is begun, continued at three places and finished has the same bits.
template <class Element>
bool goesOnElsewhere(const std::vector<std::vector<Element>>& data, std::size_t count, DType type,
                     const std::vector<Element>& expected) {
    std::vector<std::byte> sum(count * bytesOf(runningTypeOf(type)));
    std::vector<const void*> addends;
    for (const std::vector<Element>& buffer : data)
        addends.push_back(buffer.data());
    const std::span<const void* const> all(addends);
    const std::size_t half = addends.size() / 2;
    beginSum(sum.data(), addends[0], count, type);
    continueSum(sum.data(), all.subspan(1, half - 1), count, type);
    continueSum(sum.data(), all.subspan(half), count, type);
    continueSum(sum.data(), {}, count, type);
    std::vector<Element> out(count + 1, data[0][count]);
    finishSum(out.data(), sum.data(), count, type);
    return sameBits(out, expected) &&
           std::memcmp(&out[count], &data[0][count], sizeof(Element)) == 0;
}

template <class Real>
void checkSums(std::size_t buffers, std::size_t count) {
    std::vector<std::vector<Real>> data(buffers, std::vector<Real>(count + 1));
    for (std::size_t buffer = 0; buffer < buffers; ++buffer)
        for (std::size_t i = 0; i <= count; ++i)
            data[buffer][i] = valueAt<Real>(buffer, i);
    std::vector<Real> expected(count);
    for (std::size_t i = 0; i < count; ++i) {
        expected[i] = data[0][i];
        for (std::size_t buffer = 1; buffer < buffers; ++buffer)
            expected[i] = expected[i] + data[buffer][i];
    }

    QVERIFY(goesOnElsewhere(data, count, kType<Real>, expected));

    std::vector<Real> out(count + 1, Real{-7});
    std::vector<const void*> addends;
    for (const std::vector<Real>& buffer : data)
        addends.push_back(buffer.data());
    sumTo(out.data(), addends, count, kType<Real>);
    QVERIFY(sameBits(out, expected));
    QCOMPARE(out[count], Real{-7});

    for (const std::size_t place : {std::size_t{0}, buffers - 1}) {
        std::vector<Real> own = data[place];
        addends[place] = own.data();
        sumOver(own.data(), addends, count, kType<Real>);
        addends[place] = data[place].data();
        QVERIFY(sameBits(own, expected));
        QCOMPARE(own[count], valueAt<Real>(place, count));
    }

    std::vector<void*> places;
    for (std::vector<Real>& buffer : data)
        places.push_back(buffer.data());
    sumInPlace(places, count, kType<Real>);
    for (std::size_t buffer = 0; buffer < buffers; ++buffer) {
        QVERIFY(sameBits(data[buffer], expected));
        QCOMPARE(data[buffer][count], valueAt<Real>(buffer, count));
    }
}

template <class Half>
constexpr DType kHalfType = std::is_same_v<Half, Fp16> ? DType::Fp16 : DType::Bf16;

template <class Half>
Half halfOf(float value) {
    if constexpr (std::is_same_v<Half, Fp16>)
        return narrowedToFp16(value);
    else
        return narrowed(value);
}

/// Halves are added in fp32 and rounded at the end.
template <class Half>
void checkHalves(std::size_t buffers, std::size_t count) {
    const float scale = std::is_same_v<Half, Fp16> ? 1e-7F : 1; // into its range
    std::vector<std::vector<Half>> data(buffers, std::vector<Half>(count + 1));
    for (std::size_t buffer = 0; buffer < buffers; ++buffer)
        for (std::size_t i = 0; i <= count; ++i)
            data[buffer][i] = halfOf<Half>(valueAt<float>(buffer, i) * scale);
    std::vector<Half> expected(count);
    for (std::size_t i = 0; i < count; ++i) {
        float sum = widened(data[0][i]);
        for (std::size_t buffer = 1; buffer < buffers; ++buffer)
            sum = sum + widened(data[buffer][i]);
        expected[i] = halfOf<Half>(sum);
    }

    QVERIFY(goesOnElsewhere(data, count, kHalfType<Half>, expected));

    std::vector<Half> out(count + 1, Half{77});
    std::vector<const void*> addends;
    for (const std::vector<Half>& buffer : data)
        addends.push_back(buffer.data());
    sumTo(out.data(), addends, count, kHalfType<Half>);
    QVERIFY(sameBits(out, expected));
    QCOMPARE(out[count].bits, std::uint16_t{77});

    std::vector<Half> last = data.back();
    addends.back() = last.data();
    sumOver(last.data(), addends, count, kHalfType<Half>);
    QVERIFY(sameBits(last, expected));

    std::vector<void*> places;
    for (std::vector<Half>& buffer : data)
        places.push_back(buffer.data());
    sumInPlace(places, count, kHalfType<Half>);
    for (std::size_t buffer = 0; buffer < buffers; ++buffer) {
        QVERIFY(sameBits(data[buffer], expected));
        QVERIFY(data[buffer][count] == halfOf<Half>(valueAt<float>(buffer, count) * scale));
    }
}

} // namespace

class TestSums : public QObject {
    Q_OBJECT

private slots:
    void inOrder() {
        for (const std::size_t buffers : {2u, 3u, 4u, 7u})
            for (const std::size_t count : {0u, 1u, 7u, 15u, 16u, 17u, 1000u, 1023u, 1024u, 1025u,
                                            2047u, 2048u, 2049u, 9999u}) {
                checkSums<float>(buffers, count);
                checkSums<double>(buffers, count);
                checkHalves<Bf16>(buffers, count);
                checkHalves<Fp16>(buffers, count);
            }
    }
    void halvesAreRoundedOnce() {
        // 1 + 1/256 + 1/256: in bf16, whose step is 1/128 there, each addition alone rounds to 1.
        const Bf16 one = narrowed(1);
        const Bf16 little = narrowed(0x1p-8F);
        Bf16 sum;
        const std::array<const void*, 3> addends = {&one, &little, &little};
        sumTo(&sum, addends, 1, DType::Bf16);
        QCOMPARE(widened(sum), 1.0078125F);
        QCOMPARE(widened(narrowed(widened(one) + widened(little))), 1.0F);
        // Likewise in fp16, whose step is 1/1024 there.
        const Fp16 first = narrowedToFp16(1);
        const Fp16 tiny = narrowedToFp16(0x1p-11F);
        Fp16 total;
        const std::array<const void*, 3> finer = {&first, &tiny, &tiny};
        sumTo(&total, finer, 1, DType::Fp16);
        QCOMPARE(widened(total), 1.0009765625F);
    }
    void minusZeroStays() {
        const float zero = -0.0F;
        float sum = 1;
        const std::array<const void*, 1> addends = {&zero};
        beginSum(&sum, &zero, 1, DType::Fp32);
        continueSum(&sum, addends, 1, DType::Fp32);
        QVERIFY(std::signbit(sum));
    }
    void refusesWholeNumbers() {
        std::int32_t value = 1;
        const std::array<const void*, 2> addends = {&value, &value};
        QVERIFY_THROWS_EXCEPTION(BrokenInvariant, sumTo(&value, addends, 1, DType::Int32));
    }
    void orderShows() {
        // The values are chosen so that a wrong order cannot pass unseen.
        int different = 0;
        for (std::size_t i = 0; i < 1000; ++i) {
            const float a = valueAt<float>(0, i);
            const float b = valueAt<float>(1, i);
            const float c = valueAt<float>(2, i);
            different += (a + b) + c != a + (b + c);
        }
        QVERIFY2(different > 100, qPrintable(QString::number(different)));
    }
};

QTEST_APPLESS_MAIN(TestSums)
#include "tst_sums.moc"
