// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The loss over slices of the classes is the loss over all of them: sums, predictions, gradients,
// on every rank the same bits; with equal scores, ignored labels and slices of a few classes.
#include "engine/backend/kernel_request.h"
#include "engine/backend/split_cross_entropy.h"
#include "engine/base/bfloat16.h"
#include "engine/plan/parameter_slice.h"
#include "tests/engine/operation_bench.h"

#include <QTest>

#include <cmath>
#include <cstring>
#include <random>

using namespace trainyard;
using namespace trainyard::engine;
using test::relativeDistance;

namespace {

/// What goes in, and what comes out of it.
struct Scores {
    std::int64_t rows = 0, positions = 1, classes = 0;
    graph::CrossEntropyAttributes attributes;
    std::vector<double> values;
    std::vector<std::int32_t> labels;
};

struct Outcome {
    std::array<double, kLossSums> sums{};
    std::vector<std::int64_t> confusion;
    std::vector<double> gradient; ///< {rows, positions, classes}
};

/// Small whole numbers over eight, so that many scores are equal and bf16 holds them all.
Scores someScores(std::int64_t rows, std::int64_t positions, std::int64_t classes,
                  graph::CrossEntropyAttributes attributes) {
    std::mt19937 random(static_cast<unsigned>(rows + 7 * classes));
    Scores scores{rows, positions, classes, attributes, {}, {}};
    for (std::int64_t i = 0; i < rows * positions * classes; ++i)
        scores.values.push_back(static_cast<double>(random() % 25) / 8 - 1);
    for (std::int64_t i = 0; i < rows * positions; ++i)
        scores.labels.push_back(static_cast<std::int32_t>(random() % classes));
    if (!scores.labels.empty())
        scores.labels.front() = -1;
    return scores;
}

/// One rank's scores in its backend's type.
class Slice {
public:
    Slice(const Scores& scores, DType type, int part, int parts) : m_scores(scores), m_type(type) {
        const plan::IndexRange range = plan::evenRange(scores.classes, parts, part);
        m_first = range.first;
        m_classes = range.count;
        m_attributes = scores.attributes;
        if (parts > 1) {
            m_attributes.classes = scores.classes;
            m_attributes.first = m_first;
            m_attributes.part = part;
            m_attributes.parts = parts;
        }
        const std::int64_t labels = scores.rows * scores.positions;
        m_values.resize(static_cast<std::size_t>(labels * m_classes) * bytesOf(type));
        m_gradient.resize(m_values.size());
        for (std::int64_t row = 0; row < labels; ++row)
            for (std::int64_t c = 0; c < m_classes; ++c)
                put(row * m_classes + c,
                    scores.values[static_cast<std::size_t>(row * scores.classes + m_first + c)]);
        m_saved.resize(static_cast<std::size_t>(labels * parts));
        m_outcome.confusion.resize(static_cast<std::size_t>(scores.classes * scores.classes));
    }

    void run(Backend& backend, Direction direction, plan::Phase phase) {
        const Shape shape =
            m_scores.positions == 1 ? Shape{m_classes} : Shape{m_scores.positions, m_classes};
        KernelRequest request;
        request.kind = graph::OperationKind::SoftmaxCrossEntropy;
        request.attributes = m_attributes;
        request.direction = direction;
        request.type = m_type;
        request.rows = m_scores.rows;
        request.inputs = {{m_values.data(), shape, Layout::Plain}};
        if (direction == Direction::Backward) {
            request.inputGradients = {{m_gradient.data(), shape, Layout::Plain}};
            request.addToInputGradient = {false};
        }
        request.saved = m_saved.data();
        request.phase = phase;
        request.labels = m_scores.labels.data();
        request.lossSums = m_outcome.sums.data();
        request.confusion = m_outcome.confusion.data();
        backend.compile(request)->run(
            {.seed = 1, .step = 0, .firstRow = 0, .globalRows = 2 * m_scores.rows});
    }

    std::vector<SliceScores>& saved() { return m_saved; }
    Outcome& outcome() { return m_outcome; }

    /// Of this slice, into that of all classes.
    void giveGradient(std::vector<double>& all) const {
        for (std::int64_t row = 0; row < m_scores.rows * m_scores.positions; ++row)
            for (std::int64_t c = 0; c < m_classes; ++c)
                all[static_cast<std::size_t>(row * m_scores.classes + m_first + c)] =
                    gradientAt(row * m_classes + c);
    }

private:
    void put(std::int64_t i, double value) {
        if (m_type == DType::Fp64)
            reinterpret_cast<double*>(m_values.data())[i] = value;
        else if (m_type == DType::Fp32)
            reinterpret_cast<float*>(m_values.data())[i] = static_cast<float>(value);
        else
            reinterpret_cast<Bf16*>(m_values.data())[i] = narrowed(static_cast<float>(value));
    }

    double gradientAt(std::int64_t i) const {
        if (m_type == DType::Fp64)
            return reinterpret_cast<const double*>(m_gradient.data())[i];
        if (m_type == DType::Fp32)
            return static_cast<double>(reinterpret_cast<const float*>(m_gradient.data())[i]);
        return static_cast<double>(widened(reinterpret_cast<const Bf16*>(m_gradient.data())[i]));
    }

    const Scores& m_scores;
    DType m_type;
    std::int64_t m_first = 0, m_classes = 0;
    graph::CrossEntropyAttributes m_attributes;
    std::vector<std::byte> m_values, m_gradient;
    std::vector<SliceScores> m_saved;
    Outcome m_outcome;
};

Outcome outcomeOf(Backend& backend, const Scores& scores, DType type, Direction forward) {
    Slice whole(scores, type, 0, 1);
    whole.run(backend, forward, plan::Phase::Whole);
    whole.run(backend, Direction::Backward, plan::Phase::Whole);
    whole.outcome().gradient.resize(scores.values.size());
    whole.giveGradient(whole.outcome().gradient);
    return whole.outcome();
}

/// As the ranks of a tensor group do it; the outcomes of all ranks must be the same bits.
Outcome outcomeOfSlices(Backend& backend, const Scores& scores, DType type, Direction forward,
                        int parts) {
    std::vector<Slice> slices;
    for (int part = 0; part < parts; ++part)
        slices.emplace_back(scores, type, part, parts);
    for (Slice& slice : slices)
        slice.run(backend, forward, plan::Phase::Collect);
    const std::size_t labels = scores.labels.size();
    for (std::size_t to = 0; to < slices.size(); ++to)
        for (std::size_t from = 0; from < slices.size(); ++from)
            std::copy_n(slices[from].saved().begin() + static_cast<std::ptrdiff_t>(from * labels),
                        labels,
                        slices[to].saved().begin() + static_cast<std::ptrdiff_t>(from * labels));
    Outcome all;
    all.gradient.resize(scores.values.size());
    for (Slice& slice : slices) {
        slice.run(backend, forward, plan::Phase::Apply);
        slice.run(backend, Direction::Backward, plan::Phase::Whole);
        slice.giveGradient(all.gradient);
    }
    all.sums = slices.front().outcome().sums;
    all.confusion = slices.front().outcome().confusion;
    for (Slice& slice : slices)
        if (std::memcmp(slice.outcome().sums.data(), all.sums.data(), sizeof all.sums) != 0 ||
            slice.outcome().confusion != all.confusion)
            all.sums.fill(-1); // nothing will be equal to that
    return all;
}

struct Contestant {
    const char* name;
    DType type;
    double tolerance;
    std::unique_ptr<Backend> (*make)();
};

std::vector<Contestant> contestants() {
    const auto cpu = [] {
        return makeCpuBackend(2);
    };
    std::vector<Contestant> all = {{"reference fp64", DType::Fp64, 1e-14, makeReferenceBackend},
                                   {"reference fp32", DType::Fp32, 1e-6, makeReferenceBackend},
                                   {"cpu fp32", DType::Fp32, 1e-6, cpu}};
    if (cpuBackendSupports(DType::Bf16))
        all.push_back({"cpu bf16", DType::Bf16, 4e-3, cpu});
    return all;
}

} // namespace

class TestSplitCrossEntropy : public QObject {
    Q_OBJECT

private slots:
    void equalsTheWhole_data();
    void equalsTheWhole();
    void isSafeForLargeScores();
    void noRowsAreNothing();
    void whatIsNoNumberStaysSo();
};

void TestSplitCrossEntropy::equalsTheWhole_data() {
    QTest::addColumn<std::size_t>("contestant");
    QTest::addColumn<int>("parts");
    QTest::addColumn<std::int64_t>("classes");
    QTest::addColumn<double>("smoothing");
    for (std::size_t i = 0; i < contestants().size(); ++i)
        for (const auto& [parts, classes] :
             {std::pair{2, 10}, {2, 3}, {3, 10}, {4, 4}, {4, 301}, {7, 1000}})
            for (const double smoothing : {0.0, 0.2})
                QTest::addRow("%s %d classes in %d slices, smoothing %g", contestants()[i].name,
                              classes, parts, smoothing)
                    << i << parts << std::int64_t{classes} << smoothing;
}

void TestSplitCrossEntropy::equalsTheWhole() {
    QFETCH(std::size_t, contestant);
    QFETCH(int, parts);
    QFETCH(std::int64_t, classes);
    QFETCH(double, smoothing);
    const Contestant who = contestants()[contestant];
    const auto backend = who.make();
    for (const std::int64_t positions : {1, 5})
        for (const Direction forward : {Direction::Forward, Direction::Inference}) {
            const Scores scores = someScores(9, positions, classes, {smoothing, 2});
            const Outcome whole = outcomeOf(*backend, scores, who.type, forward);
            const Outcome split = outcomeOfSlices(*backend, scores, who.type, forward, parts);
            QVERIFY(whole.sums[kCounted] > 0);
            for (const LossSum sum : {kCounted, kCorrect, kCorrectTop5})
                QCOMPARE(split.sums[sum], whole.sums[sum]);
            QVERIFY(split.confusion == whole.confusion);
            QVERIFY(std::abs(split.sums[kLoss] - whole.sums[kLoss]) <=
                    std::min(who.tolerance, 1e-6) * whole.sums[kLoss]);
            const double distance = relativeDistance(split.gradient, whole.gradient);
            QVERIFY2(distance <= who.tolerance, qPrintable(QString::number(distance)));
        }
}

/// One slice is far below the other.
void TestSplitCrossEntropy::isSafeForLargeScores() {
    for (const Contestant& who : contestants()) {
        const auto backend = who.make();
        Scores scores{2, 1, 4, {}, {-32768, -32768, 1024, 1024, 32768, 0, -32768, 0}, {2, 1}};
        const Outcome split = outcomeOfSlices(*backend, scores, who.type, Direction::Forward, 2);
        QVERIFY(std::abs(split.sums[kLoss] - (std::log(2.0) + 32768)) < 1e-2);
        QCOMPARE(split.sums[kCorrect], 1.0);
        const std::vector<double> expected = {0, 0, -0.125, 0.125, 0.25, -0.25, 0, 0};
        QVERIFY(relativeDistance(split.gradient, expected) < 1e-6);
    }
}

void TestSplitCrossEntropy::noRowsAreNothing() {
    for (const Contestant& who : contestants()) {
        const auto backend = who.make();
        const Outcome split =
            outcomeOfSlices(*backend, Scores{0, 3, 4, {}, {}, {}}, who.type, Direction::Forward, 2);
        QVERIFY(split.sums == (std::array<double, kLossSums>{}));
    }
}

/// In whichever slice it is: the run has to see that it diverged.
void TestSplitCrossEntropy::whatIsNoNumberStaysSo() {
    for (const Contestant& who : contestants())
        for (std::size_t place = 0; place < 6; ++place) {
            const auto backend = who.make();
            Scores scores{1, 1, 6, {}, {1, 2, 3, 4, 5, 6}, {3}};
            scores.values[place] = std::numeric_limits<double>::quiet_NaN();
            const Outcome split =
                outcomeOfSlices(*backend, scores, who.type, Direction::Forward, 3);
            QVERIFY(std::isnan(split.sums[kLoss]));
        }
}

QTEST_APPLESS_MAIN(TestSplitCrossEntropy)
#include "tst_split_cross_entropy.moc"
