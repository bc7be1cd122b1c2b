// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Results and checks: a value or a sentence; what only a bug can cause names both values and the
// place.
#include "engine/base/result.h"

#include <QtTest>

#include <memory>

using namespace trainyard;

class ResultTest : public QObject {
    Q_OBJECT

private slots:
    void holdsAValueOrAnError();
    void valuesCanBeMovedOut();
    void errorsOfTheSameTypeAsTheValueAreToldApart();
    void voidResults();
    void sentences();
    void askingForTheOtherHalfIsABug();
    void checksNameBothValuesAndThePlace();
    void checksEvaluateOnce();
};

void ResultTest::holdsAValueOrAnError() {
    Result<int> good = 3;
    QVERIFY(good.ok());
    QVERIFY(static_cast<bool>(good));
    QCOMPARE(*good, 3);
    *good = 4;
    QCOMPARE(std::as_const(good).value(), 4);
    const Result<int> bad = Error({"No such file."});
    QVERIFY(!bad.ok());
    QCOMPARE(bad.error().what.text(), std::string("No such file."));
    const Result<std::string> text = std::string("abc");
    QCOMPARE(text->size(), std::size_t{3});
}

void ResultTest::valuesCanBeMovedOut() {
    Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
    const std::unique_ptr<int> moved = *std::move(result);
    QCOMPARE(*moved, 5);
}

void ResultTest::errorsOfTheSameTypeAsTheValueAreToldApart() {
    const Result<std::vector<int>> empty = std::vector<int>();
    QVERIFY(empty.ok());
    QVERIFY(empty->empty());
}

void ResultTest::voidResults() {
    QVERIFY(Result<void>().ok());
    const Result<void> bad = Error({"Full."});
    QVERIFY(!bad);
    QCOMPARE(bad.error().what.text(), std::string("Full."));
}

void ResultTest::sentences() {
    QCOMPARE(Error({"Found %1.", {"x"}}).sentence(), std::string("Found x."));
    QCOMPARE(Error({"Found %1.", {"x"}}, "model.layers").sentence(),
             std::string("model.layers: Found x."));
    QCOMPARE(Error({"Found %1.", {"x"}}, "model.layers", {"Use %1.", {"y"}}).sentence(),
             std::string("model.layers: Found x. Use y."));
}

void ResultTest::askingForTheOtherHalfIsABug() {
    const Result<int> bad = Error({"No such file."}, "data.train");
    try {
        const int value = bad.value();
        QFAIL(qPrintable(QString::number(value)));
    } catch (const BrokenInvariant& broken) {
        const QByteArray text = broken.what();
        QVERIFY2(text.contains("data.train: No such file."), text.constData());
    }
    QVERIFY_THROWS_EXCEPTION(BrokenInvariant, static_cast<void>(Result<int>(3).error()));
    QVERIFY_THROWS_EXCEPTION(BrokenInvariant, static_cast<void>(Result<void>().error()));
}

void ResultTest::checksNameBothValuesAndThePlace() {
    TRAINYARD_CHECK(true);
    TRAINYARD_CHECK_EQ(2 + 2, 4);
    QVERIFY_THROWS_EXCEPTION(BrokenInvariant, TRAINYARD_CHECK(1 > 2));
    try {
        const std::size_t found = 3;
        TRAINYARD_CHECK_EQ(found, 4u);
        QFAIL("the check did not throw");
    } catch (const BrokenInvariant& broken) {
        const QByteArray text = broken.what();
        QVERIFY2(text.contains("tst_result.cpp:"), text.constData());
        QVERIFY2(!text.contains("/tst_result.cpp"), text.constData());
        QVERIFY2(text.contains("found == 4u (3 against 4)"), text.constData());
    }
}

void ResultTest::checksEvaluateOnce() {
    int calls = 0;
    const auto count = [&] {
        return ++calls;
    };
    TRAINYARD_CHECK_EQ(count(), 1);
    TRAINYARD_CHECK(count() == 2);
    QCOMPARE(calls, 2);
}

QTEST_GUILESS_MAIN(ResultTest)
#include "tst_result.moc"
