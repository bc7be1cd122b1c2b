// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// PowerSGD by itself, on gradients that are made up: what it sums up, what it keeps back, what it
// sends, and the small linear algebra below it.
#include "engine/runtime/power_sgd.h"

#include "engine/base/check.h"
#include "engine/base/random.h"
#include "engine/plan/section.h"
#include "engine/runtime/low_rank_math.h"
#include "tests/engine/allocation_counter.h"

#include <QTest>

#include <cmath>
#include <functional>
#include <limits>
#include <thread>
#include <vector>

#include <omp.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace trainyard;
using namespace trainyard::engine;

namespace {

template <class Real>
constexpr DType kType = sizeof(Real) == 8 ? DType::Fp64 : DType::Fp32;

double made(std::uint32_t what, std::int64_t step, std::size_t i) {
    const Philox4 words =
        randomWords(5, RandomStream::Weights, what, static_cast<std::uint64_t>(step), i);
    return 2 * unitDouble(words[0], words[1]) - 1;
}

/// Matrices of one bucket, one after the other.
struct Bench {
    Bench(std::vector<Shape> shapes, std::int64_t rank) {
        plan::Bucket bucket;
        bucket.compressed = true;
        std::vector<std::size_t> offsets;
        for (Shape& shape : shapes) {
            bucket.parameters.push_back(static_cast<graph::ParameterId>(offsets.size()));
            offsets.push_back(bucket.elements);
            bucket.elements += static_cast<std::size_t>(elementCount(shape));
            graph::ParameterInfo info;
            info.shape = std::move(shape);
            graph.parameters.push_back(std::move(info));
        }
        elements = bucket.elements;
        layout = plan::layOutLowRank(graph, {bucket}, offsets, rank, 8);
    }
    graph::Graph graph;
    plan::LowRankLayout layout;
    std::size_t elements = 0;
};

/// Each rank a thread; they meet in shared memory.
void onRanks(int world, const std::function<void(int rank, Communicator& group)>& body) {
    const int segment = ::memfd_create("power-sgd", MFD_CLOEXEC);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < world; ++rank)
        threads.emplace_back([&, rank] {
            const CommunicatorOptions options{.rank = rank, .worldSize = world};
            body(rank, *makeSharedMemoryCommunicator(options, segment).value());
        });
    for (std::thread& thread : threads)
        thread.join();
    ::close(segment);
}

template <class Real>
struct Outcome {
    std::vector<std::vector<Real>> sums; ///< by step
    std::vector<double> errors;          ///< after the last step, like the gradients
};

template <class Real>
using MakeGradient = std::function<Real(int rank, std::int64_t step, std::size_t element)>;

/// By rank.
template <class Real>
std::vector<Outcome<Real>> run(const Bench& bench, int world, std::int64_t steps,
                               const MakeGradient<Real>& gradient) {
    std::vector<Outcome<Real>> outcomes(static_cast<std::size_t>(world));
    onRanks(world, [&](int rank, Communicator& group) {
        Outcome<Real>& outcome = outcomes[static_cast<std::size_t>(rank)];
        const auto powerSgd =
            PowerSgd::make({.layout = bench.layout, .type = kType<Real>, .ranks = group}).value();
        std::vector<Real> values(bench.elements);
        for (std::int64_t step = 0; step < steps; ++step) {
            for (std::size_t i = 0; i < values.size(); ++i)
                values[i] = gradient(rank, step, i);
            TRAINYARD_CHECK(
                powerSgd->sum(reinterpret_cast<std::byte*>(values.data()), 0, step, 7).ok());
            outcome.sums.push_back(values);
        }
        outcome.errors.assign(bench.elements, 0);
        const auto* const errors = reinterpret_cast<const Real*>(powerSgd->errors().data());
        for (const plan::LowRankMatrix& one : bench.layout.buckets[0].matrices)
            for (std::size_t i = 0; i < static_cast<std::size_t>(one.rows * one.columns); ++i)
                outcome.errors[one.gradient + i] = errors[one.error + i];
    });
    return outcomes;
}

template <class Real>
double distance(const std::vector<Real>& a, const std::vector<double>& b) {
    double difference = 0;
    double length = 0;
    for (std::size_t i = 0; i < b.size(); ++i) {
        difference += (a[i] - b[i]) * (a[i] - b[i]);
        length += b[i] * b[i];
    }
    return std::sqrt(difference / std::max(length, 1e-300));
}

const std::vector<Shape> kShapes = {{7, 5}, {5, 7}, {6, 2, 3, 3}, {20, 30}};

} // namespace

class TestPowerSgd : public QObject {
    Q_OBJECT

private slots:
    void fullRankIsTheSum();
    void fewRowsAreTheSum();
    void nothingIsLost();
    void nothingIsLostFp32();
    void errorsStaySmall();
    void ranksAndRunsAreBitEqual();
    void zeroGradientsAreNoEnd();
    void whatIsNoNumberShows();
    void takesNoMemoryInAStep();
    void dependentVectors();
    void threadsDoNotShow();
};

/// Of as many columns as the smaller side has: nothing is left out, in any step.
void TestPowerSgd::fullRankIsTheSum() {
    for (const Shape& shape : {Shape{7, 5}, Shape{5, 7}, Shape{6, 2, 3, 3}}) {
        const Bench bench({shape}, std::min(shape[0], elementCount(shape) / shape[0]));
        const MakeGradient<double> gradient = [](int rank, std::int64_t step, std::size_t i) {
            return made(static_cast<std::uint32_t>(rank), step, i);
        };
        const auto outcomes = run<double>(bench, 3, 6, gradient);
        for (std::int64_t step = 0; step < 6; ++step) {
            std::vector<double> sum(bench.elements);
            for (int rank = 0; rank < 3; ++rank)
                for (std::size_t i = 0; i < sum.size(); ++i)
                    sum[i] += gradient(rank, step, i);
            const double off = distance(outcomes[0].sums[static_cast<std::size_t>(step)], sum);
            QVERIFY2(off < 1e-12, qPrintable(QString::number(off)));
        }
    }
}

/// A gradient of as few rows of a batch as the rank has columns is a matrix of that rank. Only for
/// some steps: where each has nothing in common with the one before, what rounding leaves out
/// becomes some ten times more from step to step.
void TestPowerSgd::fewRowsAreTheSum() {
    const Bench bench({{20, 30}}, 3);
    const MakeGradient<double> gradient = [](int rank, std::int64_t step, std::size_t i) {
        const auto row = static_cast<std::uint32_t>(rank);
        return made(row, step, i / 30) * made(row + 10, step, i % 30);
    };
    const auto outcomes = run<double>(bench, 3, 4, gradient);
    for (std::int64_t step = 0; step < 4; ++step) {
        std::vector<double> sum(bench.elements);
        for (int rank = 0; rank < 3; ++rank)
            for (std::size_t i = 0; i < sum.size(); ++i)
                sum[i] += gradient(rank, step, i);
        const double off = distance(outcomes[0].sums[static_cast<std::size_t>(step)], sum);
        QVERIFY2(off < 1e-11, qPrintable(QString::number(off)));
    }
}

namespace {

/// Of all sums so far and all errors, from all gradients.
template <class Real>
double lost(const std::vector<Shape>& shapes, std::int64_t rank) {
    const Bench bench(shapes, rank);
    const MakeGradient<Real> gradient = [](int of, std::int64_t step, std::size_t i) {
        return static_cast<Real>(made(static_cast<std::uint32_t>(of), step, i));
    };
    const auto outcomes = run<Real>(bench, 3, 30, gradient);
    std::vector<double> expected(bench.elements), found(bench.elements);
    for (std::size_t i = 0; i < bench.elements; ++i) {
        for (const std::vector<Real>& sum : outcomes[0].sums)
            found[i] += sum[i];
        for (const Outcome<Real>& outcome : outcomes)
            found[i] += outcome.errors[i];
        for (std::int64_t step = 0; step < 30; ++step)
            for (int of = 0; of < 3; ++of)
                expected[i] += gradient(of, step, i);
    }
    return distance(found, expected);
}

} // namespace

void TestPowerSgd::nothingIsLost() {
    for (const std::int64_t rank : {1, 2, 4}) {
        const double share = lost<double>(kShapes, rank);
        QVERIFY2(share < 1e-12, qPrintable(QString::number(share)));
    }
}

void TestPowerSgd::nothingIsLostFp32() {
    const double share = lost<float>(kShapes, 2);
    QVERIFY2(share < 1e-5, qPrintable(QString::number(share)));
}

/// Gradients that stay the same arrive: what is left out at first is sent in the steps that follow,
/// and errors do not grow with the number of steps.
void TestPowerSgd::errorsStaySmall() {
    const Bench bench({{20, 30}}, 2);
    const MakeGradient<double> gradient = [](int rank, std::int64_t, std::size_t i) {
        return made(static_cast<std::uint32_t>(rank), 0, i);
    };
    const auto length = [](const std::vector<double>& values) {
        double squares = 0;
        for (const double value : values)
            squares += value * value;
        return std::sqrt(squares);
    };
    const double few = length(run<double>(bench, 2, 50, gradient)[0].errors);
    const double many = length(run<double>(bench, 2, 400, gradient)[0].errors);
    QVERIFY2(many < 2 * few, qPrintable(QStringLiteral("%1 %2").arg(few).arg(many)));
}

void TestPowerSgd::ranksAndRunsAreBitEqual() {
    const Bench bench(kShapes, 2);
    const MakeGradient<float> gradient = [](int rank, std::int64_t step, std::size_t i) {
        return static_cast<float>(made(static_cast<std::uint32_t>(rank), step, i));
    };
    const auto first = run<float>(bench, 4, 5, gradient);
    const auto second = run<float>(bench, 4, 5, gradient);
    for (const auto& outcome : first)
        QVERIFY(outcome.sums == first[0].sums);
    QVERIFY(first[0].sums == second[0].sums);
}

/// A layer that gets no gradient for a while gets it afterwards: its thin matrices begin anew.
void TestPowerSgd::zeroGradientsAreNoEnd() {
    const Bench bench({{7, 5}}, 5);
    const MakeGradient<double> gradient = [](int rank, std::int64_t step, std::size_t i) {
        return step < 2 ? 0 : made(static_cast<std::uint32_t>(rank), step, i);
    };
    const auto outcomes = run<double>(bench, 2, 3, gradient);
    std::vector<double> sum(bench.elements);
    for (int rank = 0; rank < 2; ++rank)
        for (std::size_t i = 0; i < sum.size(); ++i)
            sum[i] += gradient(rank, 2, i);
    QVERIFY(outcomes[0].sums[0] == std::vector<double>(bench.elements, 0));
    QVERIFY(distance(outcomes[0].sums[2], sum) < 1e-12);
}

/// Whoever looks at the sums sees that a rank has diverged.
void TestPowerSgd::whatIsNoNumberShows() {
    for (const float broken :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        const Bench bench({{20, 30}}, 2);
        const MakeGradient<float> gradient = [&](int rank, std::int64_t step, std::size_t i) {
            return rank == 1 && step == 1 && i == 77
                       ? broken
                       : static_cast<float>(made(static_cast<std::uint32_t>(rank), step, i));
        };
        for (const auto& outcome : run<float>(bench, 2, 2, gradient)) {
            double sum = 0;
            for (const float value : outcome.sums[1])
                sum += value;
            QVERIFY(!std::isfinite(sum));
        }
    }
}

void TestPowerSgd::takesNoMemoryInAStep() {
    if (!test::canCountAllocations())
        QSKIP("sanitizers bring their own malloc");
    const Bench bench(kShapes, 2);
    const auto alone = makeSingleCommunicator();
    const auto powerSgd =
        PowerSgd::make({.layout = bench.layout, .type = DType::Fp64, .ranks = *alone}).value();
    std::vector<double> values(bench.elements, 1.0);
    for (std::int64_t step = 0; step < 3; ++step) {
        if (step == 1) // threads have started
            test::startCountingAllocations();
        values[static_cast<std::size_t>(step)] = 3;
        QVERIFY(powerSgd->sum(reinterpret_cast<std::byte*>(values.data()), 0, step, 7).ok());
    }
    QCOMPARE(test::stopCountingAllocations().count, std::size_t{0});
}

/// Vectors that are nearly one, that lie in the others' span, and that are more than there are
/// dimensions: what is left is orthonormal, or nothing.
void TestPowerSgd::dependentVectors() {
    constexpr double kLittle = 1e-9;
    const auto check = [](std::vector<double> vectors, std::int64_t length) {
        const auto count = static_cast<std::int64_t>(vectors.size()) / length;
        std::vector<bool> left;
        for (std::int64_t i = 0; i < count; ++i)
            left.push_back(orthonormalize(vectors.data(), i, length));
        for (std::int64_t a = 0; a < count; ++a)
            for (std::int64_t b = 0; b <= a; ++b) {
                double dot = 0;
                for (std::int64_t i = 0; i < length; ++i)
                    dot += vectors[static_cast<std::size_t>(a * length + i)] *
                           vectors[static_cast<std::size_t>(b * length + i)];
                const bool one = a == b && left[static_cast<std::size_t>(a)];
                if (std::abs(dot - (one ? 1 : 0)) > 1e-14)
                    return std::vector<bool>();
            }
        return left;
    };
    const std::vector<double> nearlyOne = {1, kLittle, 0, 0,       0, 1, 0, kLittle, 0, 0,
                                           1, 0,       0, kLittle, 0, 0, 0, 0,       0, 0};
    QCOMPARE(check(nearlyOne, 5), (std::vector<bool>{true, true, true, false}));
    QCOMPARE(check({1, 2, 3, 4, 2, 1, 5, 5}, 2), (std::vector<bool>{true, true, false, false}));
    // Rounding may leave something of a sum of the others.
    const std::vector<double> sum = {1,       kLittle, 0,   0,           0.3,     7,
                                     kLittle, 0,       1.3, 7 + kLittle, kLittle, 0};
    QCOMPARE(check(sum, 4).size(), std::size_t{3});
}

/// One thread or several, the bits are the same.
void TestPowerSgd::threadsDoNotShow() {
    const ThinShape shape{301, 523, 3};
    const auto filled = [](std::uint32_t what, std::int64_t count) {
        std::vector<float> values(static_cast<std::size_t>(count));
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<float>(made(what, 0, i));
        return values;
    };
    std::vector<std::vector<float>> found;
    for (const int threads : {1, 3}) {
        omp_set_num_threads(threads);
        std::vector<float> matrix = filled(1, shape.rows * shape.columns);
        const std::vector<float> addend = filled(2, shape.rows * shape.columns);
        std::vector<float> right = filled(3, shape.rank * shape.columns);
        std::vector<float> left(static_cast<std::size_t>(shape.rank * shape.rows));
        std::vector<float> rest(matrix.size());
        addAndProjectRows(shape, matrix.data(), addend.data(), right.data(), left.data());
        projectColumns(shape, matrix.data(), left.data(), right.data());
        subtractProduct(shape, matrix.data(), left.data(), right.data(), rest.data());
        multiply(shape, left.data(), right.data(), matrix.data());
        for (const auto* part : {&left, &right, &rest, &matrix})
            found.push_back(*part);
    }
    omp_set_num_threads(1);
    for (std::size_t i = 0; i < 4; ++i)
        QVERIFY(found[i] == found[i + 4]);
}

QTEST_APPLESS_MAIN(TestPowerSgd)
#include "tst_power_sgd.moc"
