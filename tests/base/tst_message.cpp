// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Messages: arguments go where their number says, and nothing inside them is looked at again.
#include "engine/base/message.h"

#include <QtTest>

using trainyard::fillIn;
using trainyard::Message;

class MessageTest : public QObject {
    Q_OBJECT

private slots:
    void fillsIn_data();
    void fillsIn();
    void insertedTextIsNotLookedThrough();
    void formatAndArgumentsStayApart();
    void excerptsFitIntoASentence();
};

void MessageTest::fillsIn_data() {
    QTest::addColumn<QByteArray>("format");
    QTest::addColumn<QByteArrayList>("arguments");
    QTest::addColumn<QByteArray>("text");
    const QByteArrayList two = {"one", "two"};
    QTest::newRow("nothing") << QByteArray() << two << QByteArray();
    QTest::newRow("plain") << QByteArray("no number") << two << QByteArray("no number");
    QTest::newRow("in order") << QByteArray("%1, %2.") << two << QByteArray("one, two.");
    QTest::newRow("other order") << QByteArray("%2%1%2") << two << QByteArray("twoonetwo");
    QTest::newRow("missing argument") << QByteArray("%1 %3") << two << QByteArray("one %3");
    QTest::newRow("no argument zero") << QByteArray("%0 %00") << two << QByteArray("%0 %00");
    QTest::newRow("percent") << QByteArray("100 % of %1%") << two << QByteArray("100 % of one%");
    QTest::newRow("percent twice") << QByteArray("%%1") << two << QByteArray("%one");
    QByteArrayList many;
    for (int i = 1; i <= 12; ++i)
        many << "<" + QByteArray::number(i) + ">";
    QTest::newRow("two digits") << QByteArray("%12 %1a %012") << many
                                << QByteArray("<12> <1>a <1>2");
}

void MessageTest::fillsIn() {
    QFETCH(QByteArray, format);
    QFETCH(QByteArrayList, arguments);
    QFETCH(QByteArray, text);
    std::vector<std::string> plain;
    for (const QByteArray& argument : arguments)
        plain.push_back(argument.toStdString());
    QCOMPARE(QByteArray::fromStdString(fillIn(format.toStdString(), plain)), text);
}

void MessageTest::insertedTextIsNotLookedThrough() {
    QCOMPARE(Message("%1 and %2", {"%2", "%1"}).text(), std::string("%2 and %1"));
}

void MessageTest::formatAndArgumentsStayApart() {
    const Message message("Found %1.", {"x"});
    QCOMPARE(message.format, std::string("Found %1."));
    QCOMPARE(message.arguments.size(), std::size_t{1});
    QVERIFY(!message.empty());
    QVERIFY(Message().empty());
    QVERIFY(message == Message("Found %1.", {"x"}));
    QVERIFY(message != Message("Found %1.", {"y"}));
}

void MessageTest::excerptsFitIntoASentence() {
    QCOMPARE(trainyard::excerpt("plain"), std::string("plain"));
    QCOMPARE(trainyard::excerpt("", 3), std::string());
    QCOMPARE(trainyard::excerpt("abcdef", 3), std::string("abc…"));
    QCOMPARE(trainyard::excerpt("abcdef", 6), std::string("abcdef"));
    QCOMPARE(trainyard::excerpt("\x1b[31mred\n\x7f"), std::string("?[31mred??"));
    // Never within a character: "é" is two bytes, the Chinese one three.
    QCOMPARE(trainyard::excerpt("aéé", 2), std::string("a…"));
    QCOMPARE(trainyard::excerpt("aéé", 3), std::string("aé…"));
    QCOMPARE(trainyard::excerpt("训训", 5), std::string("训…"));
}

QTEST_GUILESS_MAIN(MessageTest)
#include "tst_message.moc"
