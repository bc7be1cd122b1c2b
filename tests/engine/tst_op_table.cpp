// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The op table: one row per operation, attributes, rows, shape, layout, backend and type. The
// reference in fp64 is held against central differences, everything else against the reference in
// fp64; every row is also run in place, added to gradients that are there, for inference, and twice
// for equal bits.
#include "engine/backend/cpu/cpu_backend.h"
#include "tests/engine/operation_cases.h"

#include <QTest>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>

using namespace trainyard;
using namespace trainyard::test;

namespace {

constexpr double kDifferenceTolerance = 1e-6;
/// Evaluations of one row of central differences are bounded by this much arithmetic.
#ifdef TRAINYARD_SANITIZED
constexpr double kDifferenceWork = 5e6;
#else
constexpr double kDifferenceWork = 5e7;
#endif

struct Contestant {
    const char* name;
    DType type;
    bool takesBlocked;
    std::function<std::unique_ptr<engine::Backend>()> make;
};

/// Takes the n-th form of every operation, or its last: so each of them is tried.
class NthForm : public engine::cpu::FormChooser {
public:
    explicit NthForm(std::size_t n) : m_n(n) {}
    std::size_t choose(const std::string&, const std::vector<std::string>& names,
                       const std::function<std::size_t()>&) override {
        return std::min(m_n, names.size() - 1);
    }

private:
    std::size_t m_n;
};

Contestant cpuContestant(const char* name, int threads, std::size_t form) {
    return {name, DType::Fp32, true, [=] {
                return engine::makeCpuBackend(threads, std::make_unique<NthForm>(form));
            }};
}

const std::vector<Contestant>& contestants() {
    static const std::vector<Contestant> all = {
        {"reference fp64", DType::Fp64, false, engine::makeReferenceBackend},
        {"reference fp32", DType::Fp32, false, engine::makeReferenceBackend},
        cpuContestant("cpu fp32, 1 thread, form 1", 1, 0),
        cpuContestant("cpu fp32, 2 threads, form 1", 2, 0),
        cpuContestant("cpu fp32, 1 thread, form 2", 1, 1),
        cpuContestant("cpu fp32, 1 thread, form 3", 1, 2),
        cpuContestant("cpu fp32, 1 thread, form 4", 1, 3),
        cpuContestant("cpu fp32, 2 threads, last form", 2, 9),
    };
    return all;
}

QByteArray rowName(const Contestant& contestant, const OperationCase& c) {
    const auto letter = [](Layout layout) {
        return layout == Layout::Plain ? "plain" : "blocked";
    };
    return QByteArray(contestant.name) + " " + c.name.c_str() + " " + letter(c.inputLayout) + "-" +
           letter(c.outputLayout);
}

/// Values of a case and what the reference makes of them in fp64; made once, used by all
/// contestants.
struct Expectation {
    OperationValues values;
    OperationResults results;
};

const Expectation& expectation(int caseIndex) {
    static std::map<int, Expectation> made;
    const auto found = made.find(caseIndex);
    if (found != made.end())
        return found->second;
    const OperationCase c = operationCases()[static_cast<std::size_t>(caseIndex)].inPlainLayout();
    Expectation& e = made[caseIndex];
    e.values = randomValues(c);
    e.results = evaluate(*engine::makeReferenceBackend(), DType::Fp64, c, e.values);
    return e;
}

/// The scalar whose gradient backward gives: the loss, or output . outputGradient.
double objective(const OperationCase& c, const OperationValues& values,
                 const OperationResults& results) {
    if (c.isLoss())
        return results.lossSum / static_cast<double>(values.context.globalRows);
    double sum = 0;
    for (std::size_t i = 0; i < results.output.size(); ++i)
        sum += results.output[i] * values.outputGradient[i];
    return sum;
}

/// Arithmetic of one forward, roughly.
double work(const OperationCase& c) {
    double perOutput = 10;
    for (std::int64_t i = 0; i < c.parameterCount(); ++i)
        perOutput +=
            2.0 * static_cast<double>(elementCount(c.parameterShape(i)) / c.output().at(0));
    return perOutput *
           static_cast<double>(c.rows * elementCount(c.isLoss() ? c.input : c.output()));
}

/// Central differences of the objective by some of `variable`'s elements against `gradient`.
double differenceError(engine::Backend& backend, const OperationCase& c, OperationValues& values,
                       std::vector<double>& variable, const std::vector<double>& gradient) {
    constexpr double kStep = 1e-4;
    const std::size_t most =
        static_cast<std::size_t>(std::clamp(kDifferenceWork / std::max(work(c), 1.0), 6.0, 500.0));
    const std::size_t stride = std::max<std::size_t>(1, variable.size() / most);
    std::vector<double> measured, derived;
    for (std::size_t i = 0; i < variable.size(); i += stride) {
        const double value = variable[i];
        double side[2];
        for (const int sign : {-1, 1}) {
            variable[i] = value + sign * kStep;
            const OperationResults results = evaluate(backend, DType::Fp64, c, values);
            side[sign > 0] = objective(c, values, results);
        }
        variable[i] = value;
        measured.push_back((side[1] - side[0]) / (2 * kStep));
        derived.push_back(gradient[i]);
    }
    return relativeDistance(derived, measured);
}

void compare(const char* what, const std::vector<double>& actual,
             const std::vector<double>& expected, double tolerance) {
    const double distance = relativeDistance(actual, expected);
    QVERIFY2(distance <= tolerance, qPrintable(QStringLiteral("%1 is off by %2, allowed %3")
                                                   .arg(QLatin1StringView(what))
                                                   .arg(distance)
                                                   .arg(tolerance)));
}

std::vector<double> added(std::vector<double> gradient) {
    for (double& g : gradient)
        g += kInitialGradient;
    return gradient;
}

} // namespace

class TestOpTable : public QObject {
    Q_OBJECT

private:
    void checkAgainst(const OperationCase& c, const OperationResults& actual,
                      const OperationResults& expected, double tolerance, bool gradientsAdded) {
        const auto sum = [&](const std::vector<double>& gradient) {
            return gradientsAdded ? added(gradient) : gradient;
        };
        compare("output", actual.output, expected.output, tolerance);
        compare("loss", {actual.lossSum}, {expected.lossSum}, tolerance);
        QCOMPARE(actual.correct, expected.correct);
        compare("input gradient", actual.inputGradient, sum(expected.inputGradient), tolerance);
        QCOMPARE(std::int64_t(actual.parameterGradients.size()), c.parameterCount());
        for (std::size_t i = 0; i < actual.parameterGradients.size(); ++i)
            compare(i == 0 ? "weight gradient" : "bias gradient", actual.parameterGradients[i],
                    sum(expected.parameterGradients[i]), tolerance);
    }

private slots:
    void everyKindHasRows() {
        for (int kind = 0; kind < graph::kOperationKinds; ++kind) {
            const auto wanted = static_cast<graph::OperationKind>(kind);
            int rows = 0;
            for (const OperationCase& c : operationCases())
                rows += c.kind == wanted;
            QVERIFY2(rows >= 3, std::string(graph::name(wanted)).c_str());
        }
    }

    void gradientsAreDerivatives_data() {
        QTest::addColumn<int>("caseIndex");
        for (std::size_t i = 0; i < operationCases().size(); ++i)
            if (operationCases()[i].plain())
                QTest::newRow(rowName(contestants().front(), operationCases()[i]).constData())
                    << static_cast<int>(i);
    }

    void gradientsAreDerivatives() {
        QFETCH(int, caseIndex);
        const OperationCase& c = operationCases()[static_cast<std::size_t>(caseIndex)];
        const auto backend = engine::makeReferenceBackend();
        OperationValues values = randomValues(c);
        const OperationResults results = evaluate(*backend, DType::Fp64, c, values);
        const double inputError =
            differenceError(*backend, c, values, values.input, results.inputGradient);
        QVERIFY2(inputError <= kDifferenceTolerance,
                 qPrintable(QStringLiteral("input gradient is off by %1").arg(inputError)));
        for (std::size_t i = 0; i < values.parameters.size(); ++i) {
            const double error = differenceError(*backend, c, values, values.parameters[i],
                                                 results.parameterGradients[i]);
            QVERIFY2(
                error <= kDifferenceTolerance,
                qPrintable(
                    QStringLiteral("gradient of parameter %1 is off by %2").arg(i).arg(error)));
        }
    }

    void agreesWithReference_data() {
        QTest::addColumn<int>("contestantIndex");
        QTest::addColumn<int>("caseIndex");
        for (std::size_t b = 0; b < contestants().size(); ++b)
            for (std::size_t i = 0; i < operationCases().size(); ++i)
                if (contestants()[b].takesBlocked || operationCases()[i].plain())
                    QTest::newRow(rowName(contestants()[b], operationCases()[i]).constData())
                        << static_cast<int>(b) << static_cast<int>(i);
    }

    void agreesWithReference() {
        QFETCH(int, contestantIndex);
        QFETCH(int, caseIndex);
        const Contestant& contestant = contestants()[static_cast<std::size_t>(contestantIndex)];
        const OperationCase& c = operationCases()[static_cast<std::size_t>(caseIndex)];
        const auto& [values, expected] = expectation(caseIndex);
        const double tolerance = contestant.type == DType::Fp64 ? 1e-15 : c.tolerance;
        const auto backend = contestant.make();
        const auto run = [&](const OperationOptions& options) {
            return evaluate(*backend, contestant.type, c, expectation(caseIndex).values, options);
        };

        const OperationResults once = run({});
        checkAgainst(c, once, expected, tolerance, false);
        QVERIFY2(run({}) == once, "the second run gave other bits");
        checkAgainst(c, run({.addToGradients = true}), expected, std::max(tolerance, 2e-7), true);
        if (graph::traits(c.kind).mayRunInPlace && c.inputLayout == c.outputLayout)
            QVERIFY2(run({.inPlace = true}) == once, "in place gave other bits");
    }

    void inferenceIsForwardWithoutDropout_data() { agreesWithReference_data(); }

    void inferenceIsForwardWithoutDropout() {
        QFETCH(int, contestantIndex);
        QFETCH(int, caseIndex);
        const Contestant& contestant = contestants()[static_cast<std::size_t>(contestantIndex)];
        const OperationCase& c = operationCases()[static_cast<std::size_t>(caseIndex)];
        const auto& [values, expected] = expectation(caseIndex);
        const auto backend = contestant.make();
        const OperationOptions inference{.inference = true};
        const OperationResults results = evaluate(*backend, contestant.type, c, values, inference);
        if (c.kind == graph::OperationKind::Dropout) {
            QVERIFY(results.output == values.input);
            return;
        }
        compare("output", results.output, expected.output, c.tolerance);
        compare("loss", {results.lossSum}, {expected.lossSum}, c.tolerance);
        QCOMPARE(results.correct, expected.correct);
    }

    void dropoutDependsOnItsKeyOnly();
    void poolsPreferTheFirstAndKeepNaN();
    void lossIsSafeAndCountsTies();
    void reluKeepsNaN();
};

/// Rows 5..8 of a global batch drop the same whether they come as one batch or one by one; another
/// step, seed or stream drops others.
void TestOpTable::dropoutDependsOnItsKeyOnly() {
    OperationCase c{.name = "dropout",
                    .kind = graph::OperationKind::Dropout,
                    .attributes = graph::DropoutAttributes{0.3, 1},
                    .rows = 4,
                    .input = {19, 5, 3}};
    OperationValues values = randomValues(c);
    std::fill(values.input.begin(), values.input.end(), 1.0);
    for (const Contestant& contestant : contestants()) {
        const auto backend = contestant.make();
        const OperationResults whole = evaluate(*backend, contestant.type, c, values);
        const auto kept = std::count_if(whole.output.begin(), whole.output.end(),
                                        [](double x) { return x != 0; });
        const double share = static_cast<double>(kept) / static_cast<double>(whole.output.size());
        QVERIFY2(std::abs(share - 0.7) < 0.05, contestant.name);

        OperationCase one = c;
        one.rows = 1;
        const std::size_t elements = static_cast<std::size_t>(elementCount(c.input));
        for (std::size_t row = 0; row < 4; ++row) {
            OperationValues part = values;
            part.input.resize(elements);
            part.outputGradient.resize(elements);
            part.context.firstRow += static_cast<std::int64_t>(row);
            const OperationResults single = evaluate(*backend, contestant.type, one, part);
            QVERIFY(std::equal(single.output.begin(), single.output.end(),
                               whole.output.begin() + static_cast<std::ptrdiff_t>(row * elements)));
        }

        OperationValues other = values;
        other.context.step += 1;
        QVERIFY(evaluate(*backend, contestant.type, c, other).output != whole.output);
        other = values;
        other.context.seed += 1;
        QVERIFY(evaluate(*backend, contestant.type, c, other).output != whole.output);
        OperationCase stream = c;
        stream.attributes = graph::DropoutAttributes{0.3, 2};
        QVERIFY(evaluate(*backend, contestant.type, stream, values).output != whole.output);
    }
}

void TestOpTable::poolsPreferTheFirstAndKeepNaN() {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const Contestant& contestant : contestants())
        for (const Layout layout : {Layout::Plain, Layout::Blocked16}) {
            if (layout == Layout::Blocked16 && !contestant.takesBlocked)
                continue;
            const OperationCase c{.name = "pool",
                                  .kind = graph::OperationKind::MaxPool,
                                  .attributes = graph::PoolAttributes{},
                                  .rows = 1,
                                  .input = {1, 2, 6},
                                  .inputLayout = layout,
                                  .outputLayout = layout};
            OperationValues values;
            values.input = {4, 4, 1, nan, -7, -5, //
                            4, 4, 2, 9,   -6, -5};
            values.outputGradient = {1, 2, 3};
            const auto backend = contestant.make();
            const OperationResults r = evaluate(*backend, contestant.type, c, values);
            QCOMPARE(r.output[0], 4.0);
            QVERIFY(std::isnan(r.output[1]));
            QCOMPARE(r.output[2], -5.0);
            QCOMPARE(r.inputGradient, (std::vector<double>{1, 0, 0, 2, 0, 3, 0, 0, 0, 0, 0, 0}));
        }
}

void TestOpTable::lossIsSafeAndCountsTies() {
    const OperationCase c{
        .name = "loss", .kind = graph::OperationKind::SoftmaxCrossEntropy, .rows = 4, .input = {3}};
    OperationValues values;
    values.input = {1000, 0,   -1000, //
                    -3e4, 3e4, 0,     //
                    2,    2,   2,     //
                    2,    2,   2};
    values.labels = {0, 0, 0, 1};
    values.context.globalRows = 8;
    for (const Contestant& contestant : contestants()) {
        const auto backend = contestant.make();
        const OperationResults r = evaluate(*backend, contestant.type, c, values);
        // Rows: 0, 6e4, log 3, log 3; the first of equal logits is the prediction.
        QVERIFY(std::abs(r.lossSum - (6e4 + 2 * std::log(3.0))) < 1e-2);
        QCOMPARE(r.correct, 2.0);
        const std::vector<double> expected = {0,        0,        0,         -0.125,
                                              0.125,    0,        -2.0 / 24, 1.0 / 24,
                                              1.0 / 24, 1.0 / 24, -2.0 / 24, 1.0 / 24};
        compare("gradient", r.inputGradient, expected, 1e-6);
    }
}

void TestOpTable::reluKeepsNaN() {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const OperationCase c{
        .name = "relu", .kind = graph::OperationKind::Relu, .rows = 1, .input = {4}};
    OperationValues values;
    values.input = {nan, -2, 3, 0};
    values.outputGradient = {1, 2, nan, 4};
    for (const Contestant& contestant : contestants()) {
        const auto backend = contestant.make();
        const OperationResults r = evaluate(*backend, contestant.type, c, values);
        QVERIFY(std::isnan(r.output[0]));
        QCOMPARE(r.output[1], 0.0);
        QCOMPARE(r.output[2], 3.0);
        QCOMPARE(r.inputGradient[0], 1.0);
        QCOMPARE(r.inputGradient[1], 0.0);
        QVERIFY(std::isnan(r.inputGradient[2]));
        QCOMPARE(r.inputGradient[3], 0.0);
    }
}

QTEST_APPLESS_MAIN(TestOpTable)
#include "tst_op_table.moc"
