// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers typed by people and numbers written for them, in several locales (case A33).
#include "ui/widgets/format.h"
#include "ui/widgets/number_text.h"

#include <QTest>

using namespace trainyard::ui;

class TestNumbers : public QObject {
    Q_OBJECT
private slots:
    void readsReals_data();
    void readsReals();
    void refuses_data();
    void refuses();
    void wholeNumbers();
    void editTextReadsBack();
    void formats();
};

void TestNumbers::readsReals_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<double>("value");
    const std::pair<const char16_t*, double> cases[] = {{u"0.001", 0.001},
                                                        {u"0,001", 0.001},
                                                        {u" 12 ", 12},
                                                        {u"1e-3", 0.001},
                                                        {u"1,5E-4", 1.5e-4},
                                                        {u"−2", -2},
                                                        {u".5", 0.5},
                                                        {u",5", 0.5},
                                                        {u"3.", 3},
                                                        {u"18 420", 18420},
                                                        {u"1\u202F000,5", 1000.5},
                                                        {u"12,5", 12.5},
                                                        {u"0,100", 0.1},
                                                        {u"+7", 7},
                                                        {u"1234,567", 1234.567}};
    for (const char* locale : {"C", "en_US", "de_DE", "ru_RU", "zh_CN", "fr_FR"}) {
        for (const auto& [text, value] : cases)
            QTest::addRow("%s %s", locale, qUtf8Printable(QString::fromUtf16(text)))
                << QString::fromUtf16(text) << value;
    }
}

void TestNumbers::readsReals() {
    QFETCH(QString, text);
    QFETCH(double, value);
    const QString locale = QString::fromLatin1(QTest::currentDataTag()).section(u' ', 0, 0);
    const ParsedNumber parsed = parseReal(text, QLocale(locale));
    QVERIFY2(parsed.ok(), qUtf8Printable(parsed.problem));
    QCOMPARE(parsed.value, value);
}

void TestNumbers::refuses_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("locale");
    const auto add = [](const char* text, const char* locale) {
        QTest::addRow("%s in %s", text, locale)
            << QString::fromUtf8(text) << QString::fromLatin1(locale);
    };
    for (const char* text : {"0,0.1", "1.2.3", "abc", "", "nan", "inf", "1e", "--1", "1e999", "1 2",
                             "0x10", "1,2,3", "1e-3.5", "12 34"})
        add(text, "de_DE");
    // One and a bit for some eyes, more than a thousand for others.
    add("1.234", "de_DE");
    add("1.000", "de_DE");
    add("1,234", "en_US");
    add("123,456", "en_US");
}

void TestNumbers::refuses() {
    QFETCH(QString, text);
    QFETCH(QString, locale);
    const ParsedNumber parsed = parseReal(text, QLocale(locale));
    QVERIFY(!parsed.ok());
    QVERIFY(parsed.problem.endsWith(u'.'));
}

void TestNumbers::wholeNumbers() {
    const QLocale english(QStringLiteral("en_US"));
    QCOMPARE(parseWhole(QStringLiteral("128"), english).value, 128.0);
    QCOMPARE(parseWhole(QStringLiteral("1e6"), english).value, 1e6);
    QCOMPARE(parseWhole(QStringLiteral("18 420"), english).value, 18420.0);
    QVERIFY(!parseWhole(QStringLiteral("1,000"), english).ok());
    QVERIFY(!parseWhole(QStringLiteral("1.000"), QLocale(QStringLiteral("de_DE"))).ok());
    QVERIFY(!parseWhole(QStringLiteral("1.000"), english).ok());
    QVERIFY(!parseWhole(QStringLiteral("1.5"), english).ok());
    QVERIFY(!parseWhole(QStringLiteral("1e300"), english).ok());
    QVERIFY(!parseWhole(QString(), english).ok());
}

void TestNumbers::editTextReadsBack() {
    for (const char* name : {"en_US", "de_DE", "ru_RU", "zh_CN"}) {
        const QLocale locale{QString::fromLatin1(name)};
        for (const double value : {0.1, 0.001, 1e-8, 3.0, 1234.5, 1e6, -2.75, 6.02e23, 1.0 / 3}) {
            const ParsedNumber parsed = parseReal(editText(value, locale), locale);
            QVERIFY2(parsed.ok(), qUtf8Printable(parsed.problem));
            QCOMPARE(parsed.value, value);
        }
    }
    QCOMPARE(editText(0.001, QLocale(QStringLiteral("de_DE"))), QStringLiteral("0,001"));
}

void TestNumbers::formats() {
    const QLocale english(QStringLiteral("en_US"));
    QCOMPARE(formatCount(18420, english), QStringLiteral("18,420"));
    QCOMPARE(formatCount(-5, english), QStringLiteral("−5"));
    QCOMPARE(formatFixed(std::nan(""), 2, english), QStringLiteral("NaN"));
    QCOMPARE(formatFixed(-std::numeric_limits<double>::infinity(), 2, english),
             QStringLiteral("−∞"));
    QCOMPARE(formatSignificant(2.871, 4, english), QStringLiteral("2.871"));
    QCOMPARE(formatSignificant(0.00042, 2, english), QStringLiteral("0.00042"));
    QCOMPARE(formatSignificant(1.2e-7, 2, english), QStringLiteral("1.2e−07"));
    QCOMPARE(formatCompact(7.41e6, 3, english), QStringLiteral("7.41\u202FM"));
    QCOMPARE(formatBytes(13.9 * 1024 * 1024 * 1024, english), QStringLiteral("13.9\u202FGiB"));
    QCOMPARE(formatBytes(512, english), QStringLiteral("512\u202FB"));
    QCOMPARE(formatClock(65), QStringLiteral("1:05"));
    QCOMPARE(formatClock(7509), QStringLiteral("2:05:09"));
    QCOMPARE(formatDuration(18 * 3600 + 44 * 60), QStringLiteral("18\u202Fh 44\u202Fmin"));
    QCOMPARE(formatDuration(-3), QStringLiteral("0\u202Fs"));
    QCOMPARE(formatDuration(std::nan("")), notAvailable());
}

QTEST_GUILESS_MAIN(TestNumbers)
#include "tst_ui_numbers.moc"
