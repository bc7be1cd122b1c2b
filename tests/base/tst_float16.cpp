// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/base/float16.h"

#include <QTest>

#include <cmath>
#include <limits>
#include <vector>

using namespace trainyard;

namespace {

constexpr std::uint32_t kInfinityBits = 0x7c00;

/// By the definition of the format, of a finite positive one.
double valueOf(std::uint32_t bits) {
    const auto exponent = static_cast<int>(bits >> 10);
    const std::uint32_t fraction = bits & 0x3ff;
    return exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024.0, exponent - 25);
}

std::uint16_t roundedBits(double value) {
    return narrowedToFp16(static_cast<float>(value)).bits;
}

} // namespace

class TestFloat16 : public QObject {
    Q_OBJECT

private slots:
    void everyNumberIsWhatTheFormatSays() {
        for (std::uint32_t bits = 0; bits < kInfinityBits; ++bits) {
            QVERIFY(widened(Fp16{static_cast<std::uint16_t>(bits)}) == valueOf(bits));
            const float negative = widened(Fp16{static_cast<std::uint16_t>(bits | 0x8000)});
            QVERIFY(negative == -valueOf(bits) && std::signbit(negative));
        }
        const float infinite = std::numeric_limits<float>::infinity();
        QVERIFY(widened(Fp16{0x7c00}) == infinite && widened(Fp16{0xfc00}) == -infinite);
    }

    /// All 65536 of them.
    void whatFp16HoldsIsKept() {
        for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
            const Fp16 value{static_cast<std::uint16_t>(bits)};
            const float wide = widened(value);
            if ((bits & 0x7fff) > kInfinityBits)
                QVERIFY(std::isnan(wide) && std::isnan(widened(narrowedToFp16(wide))));
            else
                QCOMPARE(narrowedToFp16(wide).bits, value.bits);
        }
    }

    /// Between all neighbours, subnormal ones and the step to infinity included: the middle goes to
    /// the even one, and what is next to the middle to the nearer one.
    void roundsToTheNearestTiesToEven() {
        for (std::uint32_t low = 0; low < kInfinityBits; ++low) {
            const std::uint32_t high = low + 1;
            const double above = high < kInfinityBits ? valueOf(high) : 65536.0;
            const auto middle = static_cast<float>((valueOf(low) + above) / 2);
            const float less = std::nextafter(middle, 0.0F);
            const float more = std::nextafter(middle, 1e9F);
            QCOMPARE(roundedBits(middle), static_cast<std::uint16_t>(low % 2 == 0 ? low : high));
            QCOMPARE(roundedBits(less), static_cast<std::uint16_t>(low));
            QCOMPARE(roundedBits(more), static_cast<std::uint16_t>(high));
            QCOMPARE(roundedBits(-more), static_cast<std::uint16_t>(high | 0x8000));
        }
    }

    void theEndsOfTheRange() {
        QCOMPARE(roundedBits(65504), std::uint16_t{0x7bff});
        QCOMPARE(roundedBits(std::numeric_limits<float>::max()), std::uint16_t{0x7c00});
        QCOMPARE(roundedBits(-std::numeric_limits<double>::infinity()), std::uint16_t{0xfc00});
        QCOMPARE(roundedBits(std::numeric_limits<float>::denorm_min()), std::uint16_t{0});
        QCOMPARE(roundedBits(-0.0), std::uint16_t{0x8000});
    }

    /// The loops over arrays do the same, whatever the instruction set and the length.
    void arraysAreRoundedLikeNumbers() {
        std::vector<Fp16> all(0x10000 + 3); // all there are, and a rest
        for (std::size_t i = 0; i < all.size(); ++i)
            all[i].bits = static_cast<std::uint16_t>(i);
        std::vector<float> wide(all.size());
        widen(all.data(), wide.data(), static_cast<std::int64_t>(all.size()));
        std::vector<float> between(all.size() - 1); // a step of the sign, too, is a number
        for (std::size_t i = 0; i < between.size(); ++i) {
            QVERIFY(wide[i] == widened(all[i]) || std::isnan(wide[i]));
            between[i] = (wide[i] + wide[i + 1]) / 2;
        }
        std::vector<Fp16> even(between.size());
        narrow(between.data(), even.data(), static_cast<std::int64_t>(between.size()));
        for (std::size_t i = 0; i < between.size(); ++i)
            QVERIFY(even[i] == narrowedToFp16(between[i]) || std::isnan(between[i]));
        for (const std::size_t count : {0, 1, 7, 16, 33, 1000}) {
            std::vector<float> values(count), back(count);
            for (std::size_t i = 0; i < count; ++i)
                values[i] =
                    std::sin(static_cast<float>(i)) * std::exp2(static_cast<float>(i % 50) - 30);
            if (count > 3)
                values[3] = std::numeric_limits<float>::quiet_NaN();
            std::vector<Fp16> rounded(count);
            narrow(values.data(), rounded.data(), static_cast<std::int64_t>(count));
            widen(rounded.data(), back.data(), static_cast<std::int64_t>(count));
            for (std::size_t i = 0; i < count; ++i) {
                QCOMPARE(rounded[i].bits, narrowedToFp16(values[i]).bits);
                QVERIFY(back[i] == widened(rounded[i]) || std::isnan(values[i]));
            }
        }
    }
};

QTEST_APPLESS_MAIN(TestFloat16)
#include "tst_float16.moc"
