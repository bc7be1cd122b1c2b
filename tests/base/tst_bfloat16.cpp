// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/base/bfloat16.h"

#include <QTest>

#include <cmath>
#include <limits>
#include <vector>

using namespace trainyard;

class TestBfloat16 : public QObject {
    Q_OBJECT

private slots:
    /// All 65536 of them.
    void whatBf16HoldsIsKept() {
        for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
            const Bf16 value{static_cast<std::uint16_t>(bits)};
            const float wide = widened(value);
            if (std::isnan(wide))
                QVERIFY(std::isnan(widened(narrowed(wide))));
            else
                QCOMPARE(narrowed(wide).bits, value.bits);
        }
    }

    void roundsToTheNearestTiesToEven_data() {
        QTest::addColumn<float>("value");
        QTest::addColumn<float>("expected");
        QTest::newRow("below the middle") << 1.0038F << 1.0F;
        QTest::newRow("above the middle") << 1.0040F << 1.0078125F;
        QTest::newRow("a tie, even below") << 1.00390625F << 1.0F;
        QTest::newRow("a tie, even above") << 1.01171875F << 1.015625F;
        QTest::newRow("negative") << -1.01171875F << -1.015625F;
        QTest::newRow("zero") << -0.0F << -0.0F;
        QTest::newRow("too large")
            << std::numeric_limits<float>::max() << std::numeric_limits<float>::infinity();
        QTest::newRow("infinite") << -std::numeric_limits<float>::infinity()
                                  << -std::numeric_limits<float>::infinity();
    }

    void roundsToTheNearestTiesToEven() {
        QFETCH(float, value);
        QFETCH(float, expected);
        const float rounded = widened(narrowed(value));
        QVERIFY(rounded == expected);
        QCOMPARE(std::signbit(rounded), std::signbit(expected));
    }

    /// The loops over arrays do the same, whatever the instruction set and the length.
    void arraysAreRoundedLikeNumbers() {
        for (const std::size_t count : {0, 1, 7, 16, 33, 100}) {
            std::vector<float> values(count), back(count);
            for (std::size_t i = 0; i < count; ++i)
                values[i] = std::sin(static_cast<float>(i)) * 3;
            if (count > 3)
                values[3] = std::numeric_limits<float>::quiet_NaN();
            std::vector<Bf16> rounded(count);
            narrow(values.data(), rounded.data(), static_cast<std::int64_t>(count));
            widen(rounded.data(), back.data(), static_cast<std::int64_t>(count));
            for (std::size_t i = 0; i < count; ++i) {
                QCOMPARE(rounded[i].bits, narrowed(values[i]).bits);
                QVERIFY(back[i] == widened(rounded[i]) || std::isnan(values[i]));
            }
        }
    }
};

QTEST_APPLESS_MAIN(TestBfloat16)
#include "tst_bfloat16.moc"
