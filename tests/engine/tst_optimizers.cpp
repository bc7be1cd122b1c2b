// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Optimizers against closed forms and against the textbook recurrence written out in long double;
// norms against exact sums; schedules against their formulas at the points that matter.
#include "engine/optim/optimizer.h"

#include "engine/optim/early_stopping.h"
#include "engine/spec/catalogue.h"
#include "engine/spec/training.h"

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
        for (int slot = 0; slot < m_optimizer->slotCount(); ++slot)
            m_state.emplace_back(m_parameters.size(), T{0});
        m_ranges = {{.first = 0, .count = m_parameters.size(), .decays = true}};
    }

    void setRanges(std::vector<ParameterRange> ranges) { m_ranges = std::move(ranges); }

    void step(const std::vector<double>& gradients, double rate, double scale = 1,
              Bf16* rounded = nullptr) {
        const std::vector<T> typed(gradients.begin(), gradients.end());
        std::vector<void*> state;
        for (std::vector<T>& slot : m_state)
            state.push_back(slot.data());
        m_optimizer->update({.update = ++m_updates,
                             .learningRate = rate,
                             .gradientScale = scale,
                             .rounded = rounded},
                            sizeof(T) == 8 ? DType::Fp64 : DType::Fp32, m_parameters.size(),
                            m_ranges, m_parameters.data(), typed.data(), state);
    }

    const std::vector<T>& parameters() const { return m_parameters; }
    int stateBuffers() const { return m_optimizer->slotCount(); }

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

/// LARS and LAMB of one tensor, whole vectors at a time, in long double.
struct LayerwiseRecurrence {
    std::vector<long double> p, first, second;

    static long double length(const std::vector<long double>& values) {
        long double sum = 0;
        for (const long double value : values)
            sum += value * value;
        return std::sqrt(sum);
    }

    void lars(std::vector<long double> g, long double rate, long double decay, bool adapts) {
        const long double weights = length(p), gradients = length(g);
        if (!adapts)
            decay = 0;
        if (adapts && weights > 0 && gradients > 0)
            rate *= 0.02L * weights / (gradients + decay * weights);
        for (std::size_t i = 0; i < p.size(); ++i) {
            first[i] = 0.9L * first[i] + rate * (g[i] + decay * p[i]);
            p[i] -= first[i];
        }
    }

    void lamb(const std::vector<long double>& g, int t, long double rate, long double decay,
              bool adapts) {
        const long double b1 = 0.9L, b2 = 0.999L, epsilon = 1e-6L;
        std::vector<long double> u(p.size());
        for (std::size_t i = 0; i < p.size(); ++i) {
            first[i] = b1 * first[i] + (1 - b1) * g[i];
            second[i] = b2 * second[i] + (1 - b2) * g[i] * g[i];
            const long double m = first[i] / (1 - std::pow(b1, static_cast<long double>(t)));
            const long double v = second[i] / (1 - std::pow(b2, static_cast<long double>(t)));
            u[i] = m / (std::sqrt(v) + epsilon) + (adapts ? decay * p[i] : 0);
        }
        if (adapts && length(p) > 0 && length(u) > 0)
            rate *= length(p) / length(u);
        for (std::size_t i = 0; i < p.size(); ++i)
            p[i] -= rate * u[i];
    }
};

/// Feeds validation values; gives the epoch after which the run would end, 0: never.
std::int64_t lastEpoch(engine::EarlyStopping& stopping, const std::vector<double>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        stopping.add(static_cast<std::int64_t>(i) + 1, values[i]);
        if (stopping.isOver())
            return static_cast<std::int64_t>(i) + 1;
    }
    return 0;
}

} // namespace

class TestOptimizers : public QObject {
    Q_OBJECT

private slots:
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

    /// p = (1 - rate decay) p - rate sign(b1 m + (1 - b1) g);  m = b2 m + (1 - b2) g
    void lionStepsByTheSignOfTheMomentum() {
        const double decay = 0.3;
        const Choice choice{"lion", {{"beta1", 0.8}, {"beta2", 0.95}, {"weight_decay", decay}}};
        Fixture<double> wide(choice, {1.5, -0.25, 0.0});
        Fixture<float> narrow(choice, {1.5, -0.25, 0.0});
        QCOMPARE(wide.stateBuffers(), 1);
        std::vector<double> p = {1.5, -0.25, 0.0}, m(3);
        for (int step = 1; step <= 60; ++step) {
            const std::vector<double> g = {gradientAt(1, step), gradientAt(2, step), 0};
            wide.step(g, kRate);
            narrow.step(g, kRate);
            for (std::size_t i = 0; i < 3; ++i) {
                const double direction = 0.8 * m[i] + 0.2 * g[i];
                const double sign = direction > 0 ? 1 : direction < 0 ? -1 : 0;
                p[i] -= kRate * (sign + decay * p[i]);
                m[i] = 0.95 * m[i] + 0.05 * g[i];
                QVERIFY(std::abs(wide.parameters()[i] - p[i]) < 1e-13);
                QVERIFY(std::abs(narrow.parameters()[i] - p[i]) < 1e-4);
            }
        }
        QCOMPARE(p[2], 0.0); // no gradient, no step
    }

    void layerwiseFollowsTheRecurrence_data() {
        QTest::addColumn<QString>("type");
        QTest::newRow("lars") << QStringLiteral("lars");
        QTest::newRow("lamb") << QStringLiteral("lamb");
    }

    /// Tensors of very different size, one that begins at zero, one longer than a piece of the
    /// sums, and one without decay, which is not scaled to its length.
    void layerwiseFollowsTheRecurrence() {
        QFETCH(QString, type);
        const bool lars = type == QLatin1StringView("lars");
        const double decay = 0.01;
        const Choice choice =
            lars ? Choice{"lars", {{"trust_coefficient", 0.02}, {"weight_decay", decay}}}
                 : Choice{"lamb", {{"weight_decay", decay}}};
        const std::vector<ParameterRange> ranges = {{.first = 0, .count = 9},
                                                    {.first = 16, .count = 5},
                                                    {.first = 32, .count = 20000},
                                                    {.first = 20032, .count = 7, .decays = false}};
        const std::size_t count = 20039;
        std::vector<double> start(count);
        std::vector<LayerwiseRecurrence> expected;
        for (const ParameterRange& range : ranges) {
            LayerwiseRecurrence tensor;
            tensor.first.resize(range.count);
            tensor.second.resize(range.count);
            for (std::size_t i = range.first; i < range.first + range.count; ++i) {
                const double size = range.first == 0 ? 50 : range.first == 16 ? 0 : 0.3;
                start[i] = static_cast<float>(size * std::cos(static_cast<double>(i)));
                tensor.p.push_back(start[i]);
            }
            expected.push_back(std::move(tensor));
        }
        Fixture<double> wide(choice, start);
        Fixture<float> narrow(choice, start);
        wide.setRanges(ranges);
        narrow.setRanges(ranges);
        QCOMPARE(wide.stateBuffers(), lars ? 1 : 2);
        for (int t = 1; t <= 20; ++t) {
            const std::vector<double> gradients = gradientsAt(count, t);
            wide.step(gradients, kRate, 0.5);
            narrow.step(gradients, kRate, 0.5);
            for (std::size_t r = 0; r < ranges.size(); ++r) {
                std::vector<long double> g;
                for (std::size_t i = 0; i < ranges[r].count; ++i)
                    g.push_back(0.5L * gradients[ranges[r].first + i]);
                if (lars)
                    expected[r].lars(g, kRate, decay, ranges[r].decays);
                else
                    expected[r].lamb(g, t, kRate, decay, ranges[r].decays);
            }
        }
        for (std::size_t r = 0; r < ranges.size(); ++r)
            for (std::size_t i = 0; i < ranges[r].count; ++i) {
                const std::size_t at = ranges[r].first + i;
                const double p = static_cast<double>(expected[r].p[i]);
                const double scale = std::max(1.0, std::abs(p));
                QVERIFY2(std::abs(wide.parameters()[at] - p) < 1e-11 * scale,
                         qPrintable(QString::number(at)));
                QVERIFY2(std::abs(narrow.parameters()[at] - p) < 2e-4 * scale,
                         qPrintable(QString::number(at)));
            }
        QCOMPARE(wide.parameters()[10], 0.0); // padding between tensors
    }

    /// The first step of LARS without momentum or decay is rate * trust * |w| long, whatever the
    /// gradient's size; LAMB's is rate * |w|.
    void layerwiseStepsAreAsLongAsTheWeights() {
        for (const bool lars : {true, false})
            for (const double size : {1e-4, 1.0, 1e4}) {
                const Choice choice =
                    lars ? Choice{"lars",
                                  {{"momentum", 0.0},
                                   {"trust_coefficient", 0.01},
                                   {"weight_decay", 0.0}}}
                         : Choice{"lamb", {{"weight_decay", 0.0}, {"epsilon", 1e-12}}};
                Fixture<double> f(choice, {3, 4});
                QCOMPARE(f.stateBuffers(), lars ? 0 : 2);
                f.step({size * 0.6, -size * 0.8}, kRate);
                const double moved = std::hypot(f.parameters()[0] - 3, f.parameters()[1] - 4);
                QVERIFY(std::abs(moved - kRate * 5 * (lars ? 0.01 : 1)) < 1e-9);
            }
    }

    /// Every optimizer of the catalogue can be made, and keeps what the plan counts for it.
    void slotsAreWhatThePlanCounts() {
        for (const std::string& type : spec::typeNames(spec::Kind::Optimizer))
            for (const double momentum : {0.0, 0.9}) {
                Choice choice{type, {}};
                if (spec::findType(spec::Kind::Optimizer, type)->field("momentum"))
                    choice.values["momentum"] = momentum;
                const auto made = engine::makeOptimizer(choice);
                QVERIFY2(made.ok(), type.c_str());
                QCOMPARE((*made)->slotCount(), spec::optimizerSlots(choice));
            }
    }

    void gradientScaleIsAppliedFirst() {
        for (const Choice& choice :
             {sgd(0.9, true, 0.1), Choice{"adam", {{"weight_decay", 0.1}}}, Choice{"adamw", {}},
              Choice{"lion", {}}, Choice{"lars", {}}, Choice{"lamb", {}}}) {
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
        ranges.back().count = count - ranges.back().first;
        ranges.erase(ranges.begin() + 1, ranges.begin() + 100); // the first becomes a long one
        ranges.front().count = 100 * 761;
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
        for (const Choice& choice :
             {sgd(0.9, false, 0.01), sgd(0.9, true), sgd(0), Choice{"adam", {}},
              Choice{"adamw", {}}, Choice{"lion", {}}, Choice{"lars", {}}, Choice{"lamb", {}}})
            QVERIFY(train(choice, 1) == train(choice, 2));
    }

    /// The copy in bf16 is that of the new parameters, all of them, and costs them no bit.
    void theRoundedCopyFollows() {
        const std::size_t count = 40001;
        const std::vector<ParameterRange> ranges = {
            {.first = 0, .count = 7, .decays = false},
            {.first = 16, .count = count - 16 - 100},
            {.first = count - 100, .count = 100, .trained = false}};
        for (const Choice& choice :
             {sgd(0.9, false, 0.01), sgd(0.9, true), sgd(0), Choice{"adam", {}},
              Choice{"adamw", {}}, Choice{"lion", {}}, Choice{"lars", {}}, Choice{"lamb", {}}}) {
            Fixture<float> with(choice, gradientsAt(count, 99));
            Fixture<float> without(choice, gradientsAt(count, 99));
            with.setRanges(ranges);
            without.setRanges(ranges);
            std::vector<Bf16> rounded(count);
            for (int step = 1; step <= 2; ++step) {
                with.step(gradientsAt(count, step), kRate, 1, rounded.data());
                without.step(gradientsAt(count, step), kRate);
            }
            QVERIFY(with.parameters() == without.parameters());
            for (const ParameterRange& range : ranges)
                for (std::size_t i = range.first; range.trained && i < range.first + range.count;
                     ++i)
                    QCOMPARE(rounded[i].bits, narrowed(with.parameters()[i]).bits);
        }
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
        // The last 20 updates fall.
        row("wsd", 1, 0.1);
        row("wsd", 10, 1);
        row("wsd", 81, 1);
        row("wsd", 86, 0.8);
        row("wsd", 100, 0.2 + 0.8 / 20);
        row("wsd", 101, 0.2);
        row("wsd", 5000, 0.2);
        row("wsd 1-sqrt", 81, 1);
        row("wsd 1-sqrt", 86, 0.2 + 0.8 * 0.5);
        row("wsd 1-sqrt", 101, 0.2);
        // Up until update 40 (step 39 of 0 .. 99), down until update 100.
        row("one_cycle", 1, 0.1);
        row("one_cycle", 14, 0.1 + 0.9 * (1 - std::cos(std::numbers::pi / 3)) / 2);
        row("one_cycle", 40, 1);
        row("one_cycle", 70, (1 + 0.001) / 2);
        row("one_cycle", 100, 0.001);
        row("one_cycle", 500, 0.001);
        row("one_cycle linear", 14, 0.1 + 0.9 / 3);
        row("one_cycle linear", 60, 1 - 0.999 / 3);
        row("one_cycle linear", 100, 0.001);
    }

    void schedules() {
        QFETCH(QString, type);
        QFETCH(qint64, update);
        QFETCH(double, factor);
        const bool other = type.contains(QLatin1Char(' ')); // the shape that is not the default
        Choice schedule{type.section(QLatin1Char(' '), 0, 0).toStdString(), {}};
        if (schedule.type == "one_cycle")
            schedule.values = {
                {"rise_share", 0.4}, {"start_divisor", 10.0}, {"end_divisor", 100.0}};
        else
            schedule.values = {{"warmup_steps", std::int64_t{10}}};
        if (other)
            schedule.values["shape"] =
                std::string(schedule.type == "wsd" ? "one_minus_sqrt" : "linear");
        if (schedule.type == "wsd")
            schedule.values["min_factor"] = 0.2;
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

    /// No schedule gives a rate that is no number, however few updates there are.
    void shortRunsHaveARate() {
        for (const std::string& type : spec::typeNames(spec::Kind::Schedule))
            for (std::int64_t total = 1; total <= 12; ++total)
                for (std::int64_t update = 1; update <= total + 2; ++update) {
                    const double rate =
                        engine::learningRateAt({"sgd", {}}, {type, {}}, update, total);
                    QVERIFY2(rate >= 0 && rate <= 0.01, type.c_str());
                    QVERIFY2(update > 1 || type == "one_cycle" || rate > 0, type.c_str());
                }
    }

    /// Twice the batch, twice the rate, at every update; nothing else changes.
    void theRateIsScaledToTheBatch() {
        spec::TrainingSpec training;
        training.batch = 512;
        training.schedule = {"cosine", {{"warmup_steps", std::int64_t{5}}}};
        const spec::TrainingSpec plain = training;
        training.learningRateBatch = 256;
        QCOMPARE(spec::learningRateFactor(plain), 1.0);
        QCOMPARE(spec::learningRateFactor(training), 2.0);
        for (std::int64_t update = 1; update <= 40; ++update)
            QCOMPARE(engine::learningRateAt(training, update, 40),
                     2 * engine::learningRateAt(plain.optimizer, plain.schedule, update, 40));
        training.learningRateBatch = 2048;
        QCOMPARE(spec::learningRateFactor(training), 0.25);
    }

    /// Of the weights 1, 2, 3 ... the averages with d = 2/11, 3/12, 4/13 and then 0.3 each.
    void averagesForgetTheFirstWeights() {
        double expected = 100;
        std::vector<double> wide(3, 100);
        std::vector<float> narrow(50000, 100);
        for (int t = 1; t <= 6; ++t) {
            const std::vector<double> p(3, t);
            const std::vector<float> q(50000, static_cast<float>(t));
            engine::averageWeights(DType::Fp64, 0.3, t, 3, p.data(), wide.data());
            engine::averageWeights(DType::Fp32, 0.3, t, q.size(), q.data(), narrow.data());
            const double decay = t == 1 ? 2.0 / 11 : t == 2 ? 0.25 : 0.3;
            expected = decay * expected + (1 - decay) * t;
            QVERIFY(std::abs(wide[2] - expected) < 1e-13);
            QVERIFY(std::abs(narrow[49999] - expected) < 1e-4);
        }
    }

    void earlyStopping_data() {
        QTest::addColumn<QString>("metric");
        QTest::addColumn<qint64>("patience");
        QTest::addColumn<double>("minDelta");
        QTest::addColumn<QList<double>>("values");
        QTest::addColumn<qint64>("last");
        QTest::addColumn<qint64>("best");
        const auto loss = QStringLiteral("validation_loss");
        const auto accuracy = QStringLiteral("validation_accuracy");
        const QList<double> falling = {1.0, 0.9, 0.91, 0.92, 0.93, 0.94, 0.95};
        const QList<double> flat = {1.0, 1.0, 1.0, 1.0, 1.0};
        const double nan = std::numeric_limits<double>::quiet_NaN();
        QTest::newRow("patience 1")
            << loss << qint64{1} << 0.0 << falling << qint64{3} << qint64{2};
        QTest::newRow("patience 2")
            << loss << qint64{2} << 0.0 << falling << qint64{4} << qint64{2};
        QTest::newRow("patience 3")
            << loss << qint64{3} << 0.0 << falling << qint64{5} << qint64{2};
        QTest::newRow("equal is not better")
            << loss << qint64{1} << 0.0 << flat << qint64{2} << qint64{1};
        QTest::newRow("flat, patience 3")
            << loss << qint64{3} << 0.0 << flat << qint64{4} << qint64{1};
        QTest::newRow("always better")
            << loss << qint64{1} << 0.0 << QList<double>{4, 3, 2, 1, 0} << qint64{0} << qint64{5};
        QTest::newRow("better by too little")
            << loss << qint64{2} << 0.25 << QList<double>{1, 0.9, 0.8, 0.5} << qint64{3}
            << qint64{1};
        QTest::newRow("a little better often is better in the end")
            << loss << qint64{3} << 0.25 << QList<double>{1, 0.9, 0.7, 0.7, 0.7, 0.7} << qint64{6}
            << qint64{3};
        QTest::newRow("accuracy rises")
            << accuracy << qint64{1} << 0.0 << QList<double>{0.5, 0.6, 0.7, 0.65} << qint64{4}
            << qint64{3};
        QTest::newRow("accuracy of nothing, then better")
            << accuracy << qint64{2} << 0.0 << QList<double>{0.0, 0.0, 0.1, 0.1} << qint64{0}
            << qint64{3};
        QTest::newRow("no number is never better")
            << loss << qint64{2} << 0.0 << QList<double>{2, nan, nan, 1} << qint64{3} << qint64{1};
    }

    void earlyStopping() {
        QFETCH(QString, metric);
        QFETCH(qint64, patience);
        QFETCH(double, minDelta);
        QFETCH(QList<double>, values);
        QFETCH(qint64, last);
        QFETCH(qint64, best);
        engine::EarlyStopping stopping({metric.toStdString(), patience, minDelta});
        QCOMPARE(lastEpoch(stopping, {values.begin(), values.end()}), std::int64_t{last});
        QCOMPARE(stopping.bestEpoch(), std::int64_t{best});
        QCOMPARE(stopping.bestValue(), values[best - 1]);
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
