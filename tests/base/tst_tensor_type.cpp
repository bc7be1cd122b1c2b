// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Shapes and layouts: counts never overflow, blocks of 16 channels are counted with their padding.
#include "engine/base/tensor_type.h"

#include "engine/base/check.h"

#include <QtTest>

using namespace trainyard;

class TensorTypeTest : public QObject {
    Q_OBJECT

private slots:
    void countsElements();
    void describesShapes();
    void storesBlocks();
    void sizesOfTypes();
};

void TensorTypeTest::countsElements() {
    QCOMPARE(elementCount({}), std::int64_t{1});
    QCOMPARE(elementCount({64, 28, 28}), std::int64_t{50176});
    QCOMPARE(elementCount({5, 0, 7}), std::int64_t{0});
    QCOMPARE(elementCount({std::int64_t{1} << 32, std::int64_t{1} << 32}), INT64_MAX);
    QCOMPARE(elementCount({std::int64_t{1} << 31, std::int64_t{1} << 31}), std::int64_t{1} << 62);
}

void TensorTypeTest::describesShapes() {
    QCOMPARE(describe({64, 28, 28}), std::string("64 × 28 × 28"));
    QCOMPARE(describe({10}), std::string("10"));
    QCOMPARE(describe({}), std::string("scalar"));
}

void TensorTypeTest::storesBlocks() {
    QCOMPARE(storedElements({3, 5, 7}, Layout::Plain), std::int64_t{105});
    QCOMPARE(storedElements({16, 5, 7}, Layout::Blocked16), std::int64_t{560});
    QCOMPARE(storedElements({17, 5, 7}, Layout::Blocked16), std::int64_t{1120});
    QCOMPARE(storedElements({1, 1, 1}, Layout::Blocked16), std::int64_t{16});
    QVERIFY_THROWS_EXCEPTION(BrokenInvariant, storedElements({10}, Layout::Blocked16));
}

void TensorTypeTest::sizesOfTypes() {
    QCOMPARE(bytesOf(DType::Fp64), std::size_t{8});
    QCOMPARE(bytesOf(DType::Fp32), std::size_t{4});
    QCOMPARE(bytesOf(DType::Int32), std::size_t{4});
    QCOMPARE(name(DType::Fp64), std::string_view("fp64"));
    QCOMPARE(name(DType::Fp32), std::string_view("fp32"));
    QCOMPARE(name(DType::Int32), std::string_view("int32"));
}

QTEST_GUILESS_MAIN(TensorTypeTest)
#include "tst_tensor_type.moc"
