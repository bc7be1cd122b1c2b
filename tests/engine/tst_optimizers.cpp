// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Optimizers against closed forms and against the textbook recurrence written out in long double;
// norms against exact sums; schedules against their formulas at the points that matter.
#include "engine/optim/optimizer.h"

#include <QTest>

#include <omp.h>

#include <cmath>
#include <functional>
#include <numbers>

using namespace trainyard;
using engine::Optimizer;
using engine::ParameterRange;
using engine::UpdateContext;
using spec::Choice;

namespace {

/// Parameters, gradients and state of one type, with everything an optimizer touches.
template <class T>
class Fixture {
public:
    Fixture(const Choice& choice, std::vector<double> start)
        : m_optimizer(std::move(engine::makeOptimizer(choice)).value()),
          m_parameters(start.begin(), start.end()) {
        for (int slot = 0; slot < m_optimizer->slots(); ++slot)
            m_state.emplace_back(m_parameters.size(), T{0});
        m_ranges = {{.first = 0, .count = m_parameters.size(), .decays = true}};
    }

    void setRanges(std::vector<ParameterRange> ranges) { m_ranges = std::move(ranges); }

    void step(const std::vector<double>& gradients, double rate, double scale = 1) {
        const std::vector<T> typed(gradients.begin(), gradients.end());
        std::vector<void*> state;
        for (std::vector<T>& slot : m_state)
            state.push_back(slot.data());
        m_optimizer->update({.update = ++m_updates, .learningRate = rate, .gradientScale = scale},
                            sizeof(T) == 8 ? DType::Fp64 : DType::Fp32, m_parameters.size(),
                            m_ranges, m_parameters.data(), typed.data(), state);
    }

    const std::vector<T>& parameters() const { return m_parameters; }
    int stateBuffers() const { return m_optimizer->slots(); }

private:
    std::unique_ptr<Optimizer> m_optimizer;
    std::vector<T> m_parameters;
    std::vector<std::vector<T>> m_state;
    std::vector<ParameterRange> m_ranges;
    std::int64_t m_updates = 0;
};

/// The textbook recurrence of one parameter in long double.
struct Recurrence {
    long double p = 0, first = 0, second = 0;

    void adam(long double g, int t, long double rate, long double decay, bool decoupled) {
        const long double b1 = 0.9L, b2 = 0.999L, epsilon = 1e-8L;
        if (decoupled)
            p -= rate * decay * p;
        else
            g += decay * p;
        first = b1 * first + (1 - b1) * g;
        second = b2 * second + (1 - b2) * g * g;
        const long double m = first / (1 - std::pow(b1, static_cast<long double>(t)));
        const long double v = second / (1 - std::pow(b2, static_cast<long double>(t)));
        p -= rate * m / (std::sqrt(v) + epsilon);
    }
};

double gradientAt(std::size_t i, int step) {
    return std::sin(0.7 * static_cast<double>(i) + 1.3 * step) * (i % 3 == 0 ? 10 : 0.1);
}

std::vector<double> gradientsAt(std::size_t count, int step) {
    std::vector<double> gradients(count);
    for (std::size_t i = 0; i < count; ++i)
        gradients[i] = gradientAt(i, step);
    return gradients;
}

Choice sgd(double momentum, bool nesterov = false, double decay = 0) {
    return {"sgd", {{"momentum", momentum}, {"nesterov", nesterov}, {"weight_decay", decay}}};
}

constexpr double kRate = 0.05;

} // namespace

class TestOptimizers : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void plainSgdIsOneStepDown() {
        Fixture<double> f({"sgd", {}}, {1.0, -2.0});
        QCOMPARE(f.stateBuffers(), 0);
        f.step({0.5, -1.0}, 0.1);
        QCOMPARE(f.parameters()[0], 0.95);
        QCOMPARE(f.parameters()[1], -1.9);
    }

    /// With a constant gradient g, after n steps: v = g (1 - m^n) / (1 - m), and
    /// p = p0 - rate g (n - m (1 - m^n) / (1 - m)) / (1 - m).
    void momentumFollowsTheGeometricSeries() {
        const double m = 0.9, g = 0.3;
        Fixture<double> f(sgd(m), {2.0});
        QCOMPARE(f.stateBuffers(), 1);
        for (int n = 1; n <= 50; ++n) {
            f.step({g}, kRate);
            const double expected =
                2.0 - kRate * g * (n - m * (1 - std::pow(m, n)) / (1 - m)) / (1 - m);
            QVERIFY2(std::abs(f.parameters()[0] - expected) < 1e-12,
                     qPrintable(QString::number(n)));
        }
    }

    /// Nesterov's step is the velocity after one more decay plus the gradient.
    void nesterovLooksOneStepAhead() {
        const double m = 0.8, decay = 0.01;
        Fixture<double> f(sgd(m, true, decay), {1.5});
        double p = 1.5, v = 0;
        for (int step = 1; step <= 20; ++step) {
            f.step({gradientAt(0, step)}, kRate);
            const double g = gradientAt(0, step) + decay * p;
            v = m * v + g;
            p -= kRate * (g + m * v);
            QVERIFY(std::abs(f.parameters()[0] - p) < 1e-13 * std::max(1.0, std::abs(p)));
        }
    }

    /// p shrinks by (1 - rate decay) a step where there is no gradient.
    void weightDecayShrinksOnlyWhatDecays() {
        for (const Choice& choice :
             {sgd(0, false, 0.1), Choice{"adamw", {{"weight_decay", 0.1}}}}) {
            Fixture<double> f(choice, {4.0, 4.0, 4.0});
            f.setRanges({{.first = 0, .count = 1, .decays = true},
                         {.first = 2, .count = 1, .decays = false}});
            for (int step = 0; step < 10; ++step)
                f.step({0, 5, 0}, kRate);
            QVERIFY(std::abs(f.parameters()[0] - 4.0 * std::pow(1 - kRate * 0.1, 10)) < 1e-13);
            QCOMPARE(f.parameters()[1], 4.0); // outside all ranges: padding between tensors
            QCOMPARE(f.parameters()[2], 4.0);
        }
    }

    /// With a constant gradient the corrected moments are g and g^2: every step is
    /// rate * g / (|g| + epsilon), whatever the betas.
    void adamStepsByTheSignOfAConstantGradient() {
        Fixture<double> f({"adam", {{"beta1", 0.7}, {"beta2", 0.95}}}, {1.0, 1.0});
        QCOMPARE(f.stateBuffers(), 2);
        for (int n = 1; n <= 30; ++n) {
            f.step({1e-3, -250.0}, 0.01);
            QVERIFY(std::abs(f.parameters()[0] - (1 - n * 0.01 * 1e-3 / (1e-3 + 1e-8))) < 1e-12);
            QVERIFY(std::abs(f.parameters()[1] - (1 + n * 0.01)) < 1e-10);
        }
    }

    void adamFollowsTheRecurrence_data() {
        QTest::addColumn<QString>("type");
        QTest::addColumn<double>("decay");
        QTest::newRow("adam") << QStringLiteral("adam") << 0.0;
        QTest::newRow("adam with decay") << QStringLiteral("adam") << 0.02;
        QTest::newRow("adamw") << QStringLiteral("adamw") << 0.02;
    }

    void adamFollowsTheRecurrence() {
        QFETCH(QString, type);
        QFETCH(double, decay);
        const Choice choice{type.toStdString(), {{"weight_decay", decay}}};
        const std::size_t count = 37;
        std::vector<double> start(count);
        std::vector<Recurrence> expected(count);
        for (std::size_t i = 0; i < count; ++i)
            expected[i].p = start[i] = static_cast<float>(std::cos(static_cast<double>(i)));
        Fixture<double> wide(choice, start);
        Fixture<float> narrow(choice, start);
        for (int t = 1; t <= 100; ++t) {
            const std::vector<double> gradients = gradientsAt(count, t);
            wide.step(gradients, kRate);
            narrow.step(gradients, kRate);
            for (std::size_t i = 0; i < count; ++i)
                expected[i].adam(gradients[i], t, kRate, decay, type == QLatin1StringView("adamw"));
        }
        for (std::size_t i = 0; i < count; ++i) {
            const double p = static_cast<double>(expected[i].p);
            QVERIFY2(std::abs(wide.parameters()[i] - p) < 1e-12, qPrintable(QString::number(i)));
            QVERIFY2(std::abs(narrow.parameters()[i] - p) < 2e-5, qPrintable(QString::number(i)));
        }
    }

    void gradientScaleIsAppliedFirst() {
        for (const Choice& choice :
             {sgd(0.9, true, 0.1), Choice{"adam", {{"weight_decay", 0.1}}}, Choice{"adamw", {}}}) {
            Fixture<double> scaled(choice, {1, 2, 3}), plain(choice, {1, 2, 3});
            for (int step = 1; step <= 5; ++step) {
                scaled.step({4, -8, 12}, kRate, 0.25);
                plain.step({1, -2, 3}, kRate);
            }
            QVERIFY(scaled.parameters() == plain.parameters());
        }
    }

    /// One fused pass on two threads gives the bits of one thread, over many ranges.
    void threadsDoNotChangeABit() {
        const std::size_t count = 200003;
        std::vector<ParameterRange> ranges;
        for (std::size_t first = 0; first + 700 < count; first += 761)
            ranges.push_back({.first = first, .count = 700, .decays = first % 2 == 0});
        const auto train = [&](const Choice& choice, int threads) {
            const int before = omp_get_max_threads();
            omp_set_num_threads(threads);
            Fixture<float> f(choice, gradientsAt(count, 99));
            f.setRanges(ranges);
            for (int step = 1; step <= 3; ++step)
                f.step(gradientsAt(count, step), kRate);
            omp_set_num_threads(before);
            return f.parameters();
        };
        for (const Choice& choice : {sgd(0.9, false, 0.01), sgd(0.9, true), sgd(0),
                                     Choice{"adam", {}}, Choice{"adamw", {}}})
            QVERIFY(train(choice, 1) == train(choice, 2));
    }

    void unknownOrSenselessOptimizersAreRefused() {
        const auto unknown = engine::makeOptimizer({"adagrad", {}});
        QVERIFY(!unknown);
        QVERIFY(unknown.error().sentence().find("adagrad") != std::string::npos);
        const auto nesterov = engine::makeOptimizer(sgd(0, true));
        QVERIFY(!nesterov);
        QCOMPARE(nesterov.error().where, std::string("training.optimizer.nesterov"));
    }

    void normIsExactAndIndependentOfThreads() {
        QCOMPARE(engine::norm(DType::Fp32, nullptr, 0), 0.0);
        const std::vector<float> three = {3, 0, 4};
        QCOMPARE(engine::norm(DType::Fp32, three.data(), 3), 5.0);
        // Squares that overflow fp32.
        const std::vector<float> large(100, 1e30f);
        QVERIFY(std::abs(engine::norm(DType::Fp32, large.data(), 100) / 1e31 - 1) < 1e-6);
        std::vector<double> values = gradientsAt(100003, 1);
        long double sum = 0;
        for (const double value : values)
            sum += static_cast<long double>(value) * value;
        const int before = omp_get_max_threads();
        omp_set_num_threads(1);
        const double one = engine::norm(DType::Fp64, values.data(), values.size());
        omp_set_num_threads(2);
        const double two = engine::norm(DType::Fp64, values.data(), values.size());
        omp_set_num_threads(before);
        QCOMPARE(one, two);
        QVERIFY(std::abs(one / static_cast<double>(std::sqrt(sum)) - 1) < 1e-14);
        values[4567] = std::numeric_limits<double>::quiet_NaN();
        QVERIFY(std::isnan(engine::norm(DType::Fp64, values.data(), values.size())));
        values[4567] = std::numeric_limits<double>::infinity();
        QVERIFY(std::isinf(engine::norm(DType::Fp64, values.data(), values.size())));
    }

    void schedules_data() {
        QTest::addColumn<QString>("type");
        QTest::addColumn<qint64>("update");
        QTest::addColumn<double>("factor");
        const auto row = [](const char* type, qint64 update, double factor) {
            QTest::addRow("%s at %lld", type, static_cast<long long>(update))
                << QString::fromLatin1(type) << update << factor;
        };
        // 100 updates of which 10 warm up; see schedule() below.
        for (const char* type : {"constant", "linear", "cosine", "step"}) {
            row(type, 1, 0.1);
            row(type, 5, 0.5);
            row(type, 10, 1);
            row(type, 11, 1);
        }
        row("constant", 100, 1);
        row("linear", 56, 0.6);
        row("linear", 101, 0.2);
        row("linear", 1000, 0.2);
        row("cosine", 56, 0.6);
        row("cosine", 41, 0.2 + 0.8 * (1 + std::cos(std::numbers::pi / 3)) / 2);
        row("cosine", 101, 0.2);
        row("step", 30, 1);
        row("step", 31, 0.5);
        row("step", 70, 0.25);
        row("step", 71, 0.125);
    }

    void schedules() {
        QFETCH(QString, type);
        QFETCH(qint64, update);
        QFETCH(double, factor);
        Choice schedule{type.toStdString(), {{"warmup_steps", std::int64_t{10}}}};
        if (type == QLatin1StringView("linear") || type == QLatin1StringView("cosine"))
            schedule.values["min_factor"] = 0.2;
        if (type == QLatin1StringView("step")) {
            schedule.values["every_updates"] = std::int64_t{20};
            schedule.values["factor"] = 0.5;
        }
        const Choice optimizer{"adamw", {{"learning_rate", 0.004}}};
        const double rate = engine::learningRateAt(optimizer, schedule, update, 100);
        QVERIFY2(std::abs(rate - 0.004 * factor) < 1e-15, qPrintable(QString::number(rate)));
    }

    void absentValuesHaveDefaults() {
        QCOMPARE(engine::learningRateAt({"sgd", {}}, {"constant", {}}, 1, 10), 0.01);
        QCOMPARE(engine::learningRateAt({"adam", {}}, {"constant", {}}, 1, 10), 0.001);
        // A whole number where a real is meant.
        QCOMPARE(engine::learningRateAt({"sgd", {{"learning_rate", std::int64_t{1}}}},
                                        {"cosine", {}}, 6, 10),
                 0.5);
    }
};

QTEST_APPLESS_MAIN(TestOptimizers)
#include "tst_optimizers.moc"
