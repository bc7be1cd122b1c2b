// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Text for people and text for files.
#include "app/base/format.h"

#include <QTest>

#include <cmath>
#include <limits>

using namespace trainyard::app;

namespace {
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
const QLocale kEnglish(QLocale::English, QLocale::UnitedStates);
const QLocale kGerman(QLocale::German, QLocale::Germany);
} // namespace

class FormatTest : public QObject {
    Q_OBJECT
private slots:
    void durations_data();
    void durations();
    void datesCarryTheirOffset_data();
    void datesCarryTheirOffset();
    void timesBeforeTheEpochRoundDown();
    void bytes_data();
    void bytes();
    void counts();
    void percents();
    void values_data();
    void values();
    void followTheLocale();
    void plainNumbersReadBack();
    void plainTimes();
};

void FormatTest::durations_data() {
    QTest::addColumn<double>("seconds");
    QTest::addColumn<QString>("text");
    QTest::newRow("zero") << 0.0 << u"0 ms"_qs;
    QTest::newRow("ms") << 0.42 << u"420 ms"_qs;
    QTest::newRow("rounds up to a second") << 0.9996 << u"1.0 s"_qs;
    QTest::newRow("s") << 14.23 << u"14.2 s"_qs;
    QTest::newRow("rounds up to a minute") << 59.96 << u"1 m 00 s"_qs;
    QTest::newRow("m") << 185.0 << u"3 m 05 s"_qs;
    QTest::newRow("h") << 9420.0 << u"2 h 37 m"_qs;
    QTest::newRow("rounds up to an hour") << 3599.7 << u"1 h 00 m"_qs;
    QTest::newRow("d") << 446400.0 << u"5 d 4 h"_qs;
    QTest::newRow("negative") << -1.0 << u"—"_qs;
    QTest::newRow("nan") << kNaN << u"—"_qs;
    QTest::newRow("inf") << kInf << u"—"_qs;
}

void FormatTest::durations() {
    QFETCH(double, seconds);
    QTEST(formatDuration(seconds, kEnglish), "text");
}

void FormatTest::datesCarryTheirOffset_data() {
    QTest::addColumn<QByteArray>("zone");
    QTest::addColumn<qint64>("utcUs");
    QTest::addColumn<QString>("text");
    // 2026-10-25 00:30 UTC and an hour later: Berlin shows 02:30 twice, told apart by the offset.
    const qint64 us = 1'792'888'200'000'000;
    QTest::newRow("UTC") << QByteArray("UTC") << us << u"2026-10-25 00:30 +00:00"_qs;
    QTest::newRow("before the change")
        << QByteArray("Europe/Berlin") << us << u"2026-10-25 02:30 +02:00"_qs;
    QTest::newRow("after the change")
        << QByteArray("Europe/Berlin") << us + 3'600'000'000 << u"2026-10-25 02:30 +01:00"_qs;
    QTest::newRow("half hours") << QByteArray("Asia/Kolkata") << us
                                << u"2026-10-25 06:00 +05:30"_qs;
    QTest::newRow("west") << QByteArray("America/New_York") << us << u"2026-10-24 20:30 -04:00"_qs;
}

void FormatTest::datesCarryTheirOffset() {
    QFETCH(QByteArray, zone);
    QFETCH(qint64, utcUs);
    QTEST(formatDateTime(utcUs, QTimeZone(zone)), "text");
}

void FormatTest::timesBeforeTheEpochRoundDown() {
    QCOMPARE(formatTimeOfDay(-1, QTimeZone::utc()), u"23:59:59"_qs);
    QCOMPARE(plainUtcTime(-1), QByteArray("1969-12-31T23:59:59.999999Z"));
}

void FormatTest::bytes_data() {
    QTest::addColumn<double>("bytes");
    QTest::addColumn<QString>("text");
    QTest::newRow("0") << 0.0 << u"0 B"_qs;
    QTest::newRow("B") << 980.0 << u"980 B"_qs;
    QTest::newRow("KiB") << 1536.0 << u"1.50 KiB"_qs;
    QTest::newRow("three digits") << 12.34 * 1024 << u"12.3 KiB"_qs;
    QTest::newRow("no fourth digit") << 99.96 * 1024 << u"100 KiB"_qs;
    QTest::newRow("next unit") << 1023.9 * 1024 << u"1.00 MiB"_qs;
    QTest::newRow("GiB") << 12.3 * 1024 * 1024 * 1024 << u"12.3 GiB"_qs;
    QTest::newRow("unknown") << kNaN << u"—"_qs;
}

void FormatTest::bytes() {
    QFETCH(double, bytes);
    QTEST(formatBytes(bytes, kEnglish), "text");
}

void FormatTest::counts() {
    QCOMPARE(formatCount(1'234'567, kEnglish), u"1,234,567"_qs);
    QCOMPARE(formatShortCount(950, kEnglish), u"950"_qs);
    QCOMPARE(formatShortCount(12'345, kEnglish), u"12.3 k"_qs);
    QCOMPARE(formatShortCount(999'600, kEnglish), u"1.00 M"_qs);
    QCOMPARE(formatShortCount(7.89e9, kEnglish), u"7.89 G"_qs);
}

void FormatTest::percents() {
    QCOMPARE(formatPercent(0.8934, 1, kEnglish), u"89.3 %"_qs);
    QCOMPARE(formatPercent(1.0, 0, kEnglish), u"100 %"_qs);
    QCOMPARE(formatPercent(kNaN, 1, kEnglish), u"NaN"_qs);
}

void FormatTest::values_data() {
    QTest::addColumn<double>("value");
    QTest::addColumn<QString>("text");
    QTest::newRow("loss") << 0.281234 << u"0.2812"_qs;
    QTest::newRow("small") << 0.00123456 << u"0.001235"_qs;
    QTest::newRow("tiny") << 1.2e-5 << u"1.200e-05"_qs;
    QTest::newRow("zero") << 0.0 << u"0.0000"_qs;
    QTest::newRow("large") << 12345.678 << u"12,346"_qs;
    QTest::newRow("negative") << -2.5 << u"-2.500"_qs;
    QTest::newRow("nan") << kNaN << u"nan"_qs; // the test compares in lower case
    QTest::newRow("inf") << kInf << u"∞"_qs;
    QTest::newRow("-inf") << -kInf << u"-∞"_qs;
}

void FormatTest::values() {
    QFETCH(double, value);
    QTEST(formatValue(value, 4, kEnglish).toLower(), "text");
}

void FormatTest::followTheLocale() {
    QCOMPARE(formatValue(0.2812, 4, kGerman), u"0,2812"_qs);
    QCOMPARE(formatBytes(1536, kGerman), u"1,50 KiB"_qs);
    QCOMPARE(formatCount(1'234'567, kGerman), u"1.234.567"_qs);
    QCOMPARE(formatValue(std::optional<double>(), 4, kGerman), u"—"_qs);
}

void FormatTest::plainNumbersReadBack() {
    QCOMPARE(plainNumber(0.1), QByteArray("0.1"));
    QCOMPARE(plainNumber(1e-320), QByteArray("1e-320"));
    QCOMPARE(plainNumber(-0.0), QByteArray("-0"));
    QCOMPARE(plainNumber(kNaN), QByteArray("NaN"));
    QCOMPARE(plainNumber(kInf), QByteArray("Infinity"));
    QCOMPARE(plainNumber(-kInf), QByteArray("-Infinity"));
    for (double value : {1.0 / 3.0, 6.02e23, 5e-324, 1.7976931348623157e308})
        QCOMPARE(plainNumber(value).toDouble(), value);
}

void FormatTest::plainTimes() {
    QCOMPARE(plainUtcTime(1'792'888'200'123'456), QByteArray("2026-10-25T00:30:00.123456Z"));
}

QTEST_GUILESS_MAIN(FormatTest)
#include "tst_format.moc"
