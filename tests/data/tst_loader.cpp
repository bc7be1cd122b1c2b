// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The background loader hands out every step once, in order, with the right samples, never touches
// the batch the caller holds, and ends cleanly at any moment.
#include "engine/data/loader.h"

#include <QtTest>

#include <atomic>
#include <latch>
#include <stdexcept>

using namespace trainyard;
using namespace trainyard::engine;

namespace {

/// Inputs {sample, sample + 0.5}, label sample % 7.
class NumberedDataset : public Dataset {
public:
    explicit NumberedDataset(std::int64_t samples) {
        m_info.samples = samples;
        m_info.sampleShape = {2};
    }
    const DatasetInfo& info() const override { return m_info; }
    void gather(std::span<const std::int64_t> samples, const BatchMemory& memory) const override {
        if (memory.inputType == DType::Fp64)
            gatherAs(samples, static_cast<double*>(memory.inputs), memory.labels);
        else
            gatherAs(samples, static_cast<float*>(memory.inputs), memory.labels);
    }

private:
    template <class Real>
    void gatherAs(std::span<const std::int64_t> samples, Real* inputs, std::int32_t* labels) const {
        for (const std::int64_t sample : samples) {
            *inputs++ = static_cast<Real>(sample);
            *inputs++ = static_cast<Real>(sample) + static_cast<Real>(0.5);
            *labels++ = static_cast<std::int32_t>(sample % 7);
        }
    }
    DatasetInfo m_info;
};

/// Step s has s % 4 rows: 10 * s, 10 * s + 1 ...
void samplesOf(std::int64_t step, std::vector<std::int64_t>& samples) {
    for (std::int64_t row = 0; row < step % 4; ++row)
        samples.push_back(10 * step + row);
}

template <class Real>
bool isBatchOf(const Batch& batch, std::int64_t step) {
    if (batch.step != step || batch.rows != step % 4 ||
        static_cast<std::int64_t>(batch.labels.size()) != batch.rows)
        return false;
    const auto* inputs = static_cast<const Real*>(batch.inputs);
    for (std::int64_t row = 0; row < batch.rows; ++row) {
        const std::int64_t sample = 10 * step + row;
        if (inputs[2 * row] != static_cast<Real>(sample) ||
            inputs[2 * row + 1] != static_cast<Real>(sample) + static_cast<Real>(0.5) ||
            batch.labels[static_cast<std::size_t>(row)] != sample % 7)
            return false;
    }
    return true;
}

} // namespace

class TestLoader : public QObject {
    Q_OBJECT

private slots:
    void everyStepInOrder_data();
    void everyStepInOrder();
    void heldBatchIsNotTouched();
    void readsOnlyOneAhead();
    void endsAtAnyMoment();
    void noSteps();
    void measuresWaiting();
    void exceptionsArrive();
};

void TestLoader::everyStepInOrder_data() {
    QTest::addColumn<bool>("doubles");
    QTest::newRow("float") << false;
    QTest::newRow("double") << true;
}

void TestLoader::everyStepInOrder() {
    QFETCH(bool, doubles);
    const NumberedDataset dataset(100000);
    BatchLoader loader(dataset, doubles ? DType::Fp64 : DType::Fp32, 3, samplesOf, 5, 5005);
    for (std::int64_t step = 5; step < 5005; ++step) {
        const Batch* batch = loader.next();
        QVERIFY(batch);
        QVERIFY(doubles ? isBatchOf<double>(*batch, step) : isBatchOf<float>(*batch, step));
        QCOMPARE(reinterpret_cast<std::uintptr_t>(batch->inputs) % 64, std::uintptr_t{0});
    }
    QVERIFY(!loader.next());
    QVERIFY(!loader.next());
}

void TestLoader::heldBatchIsNotTouched() {
    const NumberedDataset dataset(100000);
    std::atomic<std::int64_t> gatheredSteps{0};
    BatchLoader loader(
        dataset, DType::Fp32, 3,
        [&](std::int64_t step, std::vector<std::int64_t>& samples) {
            samplesOf(step, samples);
            gatheredSteps = step + 1;
            gatheredSteps.notify_all();
        },
        0, 50);
    for (std::int64_t step = 0; step < 50; ++step) {
        const Batch* batch = loader.next();
        // Until the next one has been asked of the data set, so that it is being or has been
        // filled.
        for (std::int64_t seen = gatheredSteps; seen < std::min<std::int64_t>(step + 2, 50);
             seen = gatheredSteps)
            gatheredSteps.wait(seen);
        QVERIFY(isBatchOf<float>(*batch, step));
    }
}

void TestLoader::readsOnlyOneAhead() {
    const NumberedDataset dataset(100000);
    std::atomic<std::int64_t> taken{0};
    std::atomic<bool> tooFar{false};
    BatchLoader loader(
        dataset, DType::Fp32, 3,
        [&](std::int64_t step, std::vector<std::int64_t>& samples) {
            if (step > taken + 1)
                tooFar = true;
            samplesOf(step, samples);
        },
        0, 200);
    for (std::int64_t step = 0; step < 200; ++step) {
        taken = step;
        QVERIFY(isBatchOf<float>(*loader.next(), step));
    }
    QVERIFY(!tooFar);
}

void TestLoader::endsAtAnyMoment() {
    const NumberedDataset dataset(100000);
    for (int takes = 0; takes < 60; ++takes) {
        BatchLoader loader(dataset, DType::Fp32, 3, samplesOf, 0, 1000);
        for (int step = 0; step < takes % 5; ++step)
            QVERIFY(isBatchOf<float>(*loader.next(), step));
    }
}

void TestLoader::noSteps() {
    const NumberedDataset dataset(10);
    BatchLoader loader(dataset, DType::Fp32, 0, samplesOf, 3, 3);
    QVERIFY(!loader.next());
    QCOMPARE(loader.secondsWaited(), 0.0);
}

void TestLoader::measuresWaiting() {
    const NumberedDataset dataset(100000);
    // Gathering takes at least 5 ms of the loader's thread and the caller does nothing else, so
    // almost all of it is waited for.
    const auto slowly = [](std::int64_t step, std::vector<std::int64_t>& samples) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
        while (std::chrono::steady_clock::now() < end) {
        }
        samplesOf(step, samples);
    };
    BatchLoader loader(dataset, DType::Fp32, 3, slowly, 0, 10);
    while (loader.next()) {
    }
    QVERIFY2(loader.secondsWaited() > 0.025, qPrintable(QString::number(loader.secondsWaited())));
}

void TestLoader::exceptionsArrive() {
    const NumberedDataset dataset(100000);
    BatchLoader loader(
        dataset, DType::Fp32, 3,
        [](std::int64_t step, std::vector<std::int64_t>& samples) {
            if (step == 3)
                throw std::runtime_error("disk gone");
            samplesOf(step, samples);
        },
        0, 10);
    for (std::int64_t step = 0; step < 3; ++step)
        QVERIFY(isBatchOf<float>(*loader.next(), step));
    QVERIFY_THROWS_EXCEPTION(std::runtime_error, loader.next());
    QVERIFY_THROWS_EXCEPTION(std::runtime_error, loader.next());
    // More rows than announced would run over the buffer.
    BatchLoader small(dataset, DType::Fp32, 2, samplesOf, 3, 4);
    QVERIFY_THROWS_EXCEPTION(BrokenInvariant, small.next());
}

QTEST_APPLESS_MAIN(TestLoader)
#include "tst_loader.moc"
