// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What ranks print: cleaned, cut into lines, bounded.
#include "engine/agent/log_lines.h"

#include <QtTest>

#include <random>

using namespace trainyard::engine;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

QStringList linesOf(const QByteArray& bytes, int piece) {
    LineSplitter splitter;
    QStringList out;
    const auto take = [&](const std::vector<std::string>& lines) {
        for (const std::string& line : lines)
            out += QString::fromStdString(line);
    };
    for (qsizetype at = 0; at < bytes.size(); at += piece) {
        const QByteArray part = bytes.mid(at, piece);
        take(splitter.take({part.constData(), static_cast<std::size_t>(part.size())}));
    }
    take(splitter.finish());
    return out;
}

} // namespace

class LogLinesTest : public QObject {
    Q_OBJECT

private slots:
    void text_data();
    void text();
    void lines_data();
    void lines();
    void longLinesAreCutAndSaySo();
    void randomBytesGiveValidText();
    void throttleLetsABurstThroughThenARate();
    void throttleEndsForGood();
};

void LogLinesTest::text_data() {
    QTest::addColumn<QByteArray>("raw");
    QTest::addColumn<QString>("clean");
    QTest::newRow("plain") << QByteArray("loss 0.5") << QStringLiteral("loss 0.5");
    QTest::newRow("non-ASCII") << QByteArray("обучение 实验 ü")
                               << QStringLiteral("обучение 实验 ü");
    QTest::newRow("colours") << QByteArray("\x1b[31;1mred\x1b[0m!") << QStringLiteral("red!");
    QTest::newRow("title") << QByteArray("\x1b]0;evil\atext") << QStringLiteral("text");
    QTest::newRow("title, long end")
        << QByteArray("\x1b]0;evil\x1b\\text") << QStringLiteral("text");
    QTest::newRow("cut sequence") << QByteArray("a\x1b[31") << QStringLiteral("a");
    QTest::newRow("lone escape") << QByteArray("a\x1b") << QStringLiteral("a");
    QTest::newRow("tab, bell, delete") << QByteArray("a\tb\ac\x7f") << QStringLiteral("a bc");
    QTest::newRow("zero") << QByteArray("a\0b", 3) << QStringLiteral("ab");
    QTest::newRow("C1 control") << QByteArray("a\xc2\x9b"
                                              "31mb")
                                << QStringLiteral("a31mb");
    QTest::newRow("no UTF-8") << QByteArray("a\xff\xc3(") << QStringLiteral("a\uFFFD\uFFFD(");
    QTest::newRow("surrogate") << QByteArray("\xed\xa0\x80")
                               << QStringLiteral("\uFFFD\uFFFD\uFFFD");
    QTest::newRow("overlong") << QByteArray("\xc0\xaf") << QStringLiteral("\uFFFD\uFFFD");
}

void LogLinesTest::text() {
    QFETCH(QByteArray, raw);
    QFETCH(QString, clean);
    const std::string out = cleanText({raw.constData(), static_cast<std::size_t>(raw.size())});
    QCOMPARE(QString::fromUtf8(out.c_str(), static_cast<qsizetype>(out.size())), clean);
}

void LogLinesTest::lines_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QStringList>("expected");
    const auto list = [](const char* text) {
        return QString::fromUtf8(text).split(QLatin1Char('|'));
    };
    QTest::newRow("lines") << QByteArray("a\nb\n") << list("a|b");
    QTest::newRow("no end") << QByteArray("a\nb") << list("a|b");
    QTest::newRow("empty ones") << QByteArray("\n\na\n\n") << list("a");
    QTest::newRow("windows") << QByteArray("a\r\nb\r\n") << list("a|b");
    QTest::newRow("twice returned") << QByteArray("a\r\r\nb") << list("a|b");
    QTest::newRow("progress bar") << QByteArray("10%\r20%\r30%\ndone\n") << list("30%|done");
    QTest::newRow("progress bar without end") << QByteArray("10%\r20%") << list("20%");
}

void LogLinesTest::lines() {
    QFETCH(QByteArray, bytes);
    QFETCH(QStringList, expected);
    for (int piece = 1; piece <= 7; ++piece)
        QCOMPARE(linesOf(bytes, piece), expected);
}

void LogLinesTest::longLinesAreCutAndSaySo() {
    const QStringList lines = linesOf(QByteArray(100'000, 'x') + "\nshort\n", 1000);
    QCOMPARE(lines.size(), 2);
    QCOMPARE(lines.at(0), QString(static_cast<qsizetype>(kLogLineBytes), QLatin1Char('x')) +
                              QStringLiteral(" ... (95904 more bytes)"));
    QCOMPARE(lines.at(1), QStringLiteral("short"));
}

void LogLinesTest::randomBytesGiveValidText() {
    std::mt19937 random(5);
    for (int round = 0; round < 2000; ++round) {
        QByteArray bytes(static_cast<qsizetype>(random() % 200), '\0');
        for (char& byte : bytes)
            byte = static_cast<char>(random() % 3 ? random() : 0x1b);
        for (const QString& line : linesOf(bytes, 13)) {
            // Text that was valid UTF-8 survives the way to QString and back.
            QVERIFY(!line.isEmpty());
            for (const QChar c : line)
                QVERIFY(c.unicode() >= 0x20 && c.unicode() != 0x7f);
        }
        const std::string clean =
            cleanText({bytes.constData(), static_cast<std::size_t>(bytes.size())});
        QCOMPARE(QString::fromStdString(clean).toStdString(), clean);
    }
}

void LogLinesTest::throttleLetsABurstThroughThenARate() {
    LogThrottle throttle({10, 100, 1u << 20});
    int passed = 0;
    for (int i = 0; i < 1000; ++i)
        passed += throttle.allows(20, kSecond);
    QCOMPARE(passed, 100);
    for (int i = 0; i < 1000; ++i)
        passed += throttle.allows(20, 3 * kSecond);
    QCOMPARE(passed, 120);
    const LogThrottle::Dropped dropped = throttle.takeDropped();
    QCOMPARE(dropped.lines, 1880u);
    QCOMPARE(dropped.bytes, 1880u * 20);
    QCOMPARE(throttle.takeDropped().lines, 0u);
    QVERIFY(!throttle.isExhausted());
}

void LogLinesTest::throttleEndsForGood() {
    LogThrottle throttle({1000, 1000, 1000});
    std::uint64_t bytes = 0;
    for (int second = 1; second <= 1000; ++second)
        if (throttle.allows(100, second * kSecond))
            bytes += 100;
    QCOMPARE(bytes, 1000u);
    QVERIFY(throttle.isExhausted());
}

QTEST_APPLESS_MAIN(LogLinesTest)
#include "tst_log_lines.moc"
