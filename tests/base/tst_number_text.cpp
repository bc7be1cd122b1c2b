// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers as text: what is written reads back as the same number, whatever the locale.
#include "engine/base/number_text.h"
#include "engine/base/random.h"
#include "tests/support/foreign_locale.h"

#include <QtTest>

#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>

using namespace trainyard;

class NumberTextTest : public QObject {
    Q_OBJECT

private slots:
    void shortestIsShort();
    void shortestReadsBackExactly();
    void roundedKeepsDigits();
    void groupedByThousands();
    void parsesWholeTextsOnly();
    void parsesIntegersWithoutOverflow();
    void noLocaleChangesAnything_data();
    void noLocaleChangesAnything();
};

void NumberTextTest::shortestIsShort() {
    QCOMPARE(shortest(0.001), std::string("0.001"));
    QCOMPARE(shortest(0.1 + 0.2), std::string("0.30000000000000004"));
    QCOMPARE(shortest(1e21), std::string("1e+21"));
    QCOMPARE(shortest(-0.0), std::string("-0"));
    QCOMPARE(shortest(3), std::string("3"));
    QCOMPARE(shortest(std::nan("")), std::string("nan"));
    QCOMPARE(shortest(-std::nan("")), std::string("nan"));
    QCOMPARE(rounded(-std::nan(""), 6), std::string("nan"));
    QCOMPARE(shortest(-INFINITY), std::string("-inf"));
    QCOMPARE(shortest(std::numeric_limits<double>::denorm_min()), std::string("5e-324"));
}

void NumberTextTest::shortestReadsBackExactly() {
    // Random bit patterns: denormals, huge and tiny numbers all occur.
    for (std::uint64_t i = 0; i < 100'000; ++i) {
        const Philox4 words = randomWords(7, RandomStream::Weights, 0, 0, i);
        const double value = std::bit_cast<double>(std::uint64_t{words[0]} << 32 | words[1]);
        const auto back = parseReal(shortest(value));
        QVERIFY2(back.has_value(), shortest(value).c_str());
        QVERIFY2(*back == value || (std::isnan(value) && std::isnan(*back)),
                 shortest(value).c_str());
    }
}

void NumberTextTest::roundedKeepsDigits() {
    QCOMPARE(rounded(0.88123456, 4), std::string("0.8812"));
    QCOMPARE(rounded(60000, 4), std::string("6e+04"));
    QCOMPARE(rounded(0.5, 4), std::string("0.5"));
    QCOMPARE(rounded(1234.5, 5), std::string("1234.5"));
}

void NumberTextTest::groupedByThousands() {
    QCOMPARE(grouped(0), std::string("0"));
    QCOMPARE(grouped(999), std::string("999"));
    QCOMPARE(grouped(1000), std::string("1,000"));
    QCOMPARE(grouped(60000), std::string("60,000"));
    QCOMPARE(grouped(-1000), std::string("-1,000"));
    QCOMPARE(grouped(-999), std::string("-999"));
    QCOMPARE(grouped(INT64_MIN), std::string("-9,223,372,036,854,775,808"));
}

void NumberTextTest::parsesWholeTextsOnly() {
    QCOMPARE(parseReal("0.25").value_or(-1), 0.25);
    QCOMPARE(parseReal("-1e-3").value_or(-1), -0.001);
    for (const char* text : {"", " 1", "1 ", "1,5", "1.5x", "0x10", "--1", "+1", "1e999", "."})
        QVERIFY2(!parseReal(text), text);
}

void NumberTextTest::parsesIntegersWithoutOverflow() {
    QCOMPARE(parseInteger("-9223372036854775808").value_or(0), INT64_MIN);
    QCOMPARE(parseInteger("007").value_or(0), std::int64_t{7});
    for (const char* text : {"", "9223372036854775808", "1.0", "1e3", " 7", "7 ", "1.000"})
        QVERIFY2(!parseInteger(text), text);
}

void NumberTextTest::noLocaleChangesAnything_data() {
    QTest::addColumn<QString>("language");
    QTest::newRow("decimal comma, point between thousands") << QStringLiteral("de_DE");
    QTest::newRow("decimal comma, no-break space between thousands") << QStringLiteral("ru_RU");
}

void NumberTextTest::noLocaleChangesAnything() {
    QFETCH(QString, language);
    const test::ForeignLocale locale(language);
    if (!locale.active())
        QSKIP("this locale cannot be made here (Debian's package \"locales\" holds its source)");
    std::array<char, 32> usual{};
    std::snprintf(usual.data(), usual.size(), "%.3f", 0.5);
    QCOMPARE(usual.data(), "0,500"); // the locale is really at work
    QCOMPARE(shortest(0.001), std::string("0.001"));
    QCOMPARE(rounded(1234.5, 5), std::string("1234.5"));
    QCOMPARE(grouped(60000), std::string("60,000"));
    QCOMPARE(parseReal("0.001").value_or(-1), 0.001);
    QVERIFY(!parseReal("0,001"));
}

QTEST_GUILESS_MAIN(NumberTextTest)
#include "tst_number_text.moc"
