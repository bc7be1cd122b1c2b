// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The op table: one row per operation, attributes, rows, shape, layout, backend and type. The
// reference in fp64 is held against central differences, everything else against the reference in
// fp64; every row is also run in place, added to gradients that are there, for inference, and twice
// for equal bits.
#include "engine/backend/cpu/cpu_backend.h"
#include "engine/base/check.h"
#include "tests/engine/operation_cases.h"

#include <QTest>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <span>

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
    Layout pictures;  ///< what blocked pictures of a case become; Plain: it takes no such case
    std::size_t form; ///< which of several the CPU backend takes
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
    return {name, DType::Fp32, Layout::Blocked16, form, [=] {
                return engine::makeCpuBackend(threads, std::make_unique<NthForm>(form));
            }};
}

Contestant halfContestant(const char* name, int threads, std::size_t form) {
    Contestant contestant = cpuContestant(name, threads, form);
    contestant.type = DType::Bf16;
    contestant.pictures = Layout::ChannelsLast;
    return contestant;
}

std::vector<Contestant> makeContestants() {
    std::vector<Contestant> all = {
        {"reference fp64", DType::Fp64, Layout::Plain, 0, engine::makeReferenceBackend},
        {"reference fp32", DType::Fp32, Layout::Plain, 0, engine::makeReferenceBackend},
        {"reference bf16", DType::Bf16, Layout::Plain, 0, engine::makeReferenceBackend},
        cpuContestant("cpu fp32, 1 thread, form 1", 1, 0),
        cpuContestant("cpu fp32, 2 threads, form 1", 2, 0),
        cpuContestant("cpu fp32, 1 thread, form 2", 1, 1),
        cpuContestant("cpu fp32, 1 thread, form 3", 1, 2),
        cpuContestant("cpu fp32, 1 thread, form 4", 1, 3),
        cpuContestant("cpu fp32, 2 threads, last form", 2, 9),
    };
    if (engine::cpuBackendSupports(DType::Bf16))
        for (const Contestant& contestant :
             {halfContestant("cpu bf16, 1 thread, form 1", 1, 0),
              halfContestant("cpu bf16, 2 threads, form 1", 2, 0),
              halfContestant("cpu bf16, 1 thread, form 2", 1, 1),
              halfContestant("cpu bf16, 2 threads, last form", 2, 9)})
            all.push_back(contestant);
    return all;
}

const std::vector<Contestant>& contestants() {
    static const std::vector<Contestant> all = makeContestants();
    return all;
}

/// A case as a contestant computes it: its layouts and its tolerance.
OperationCase caseFor(const Contestant& contestant, const OperationCase& c) {
    OperationCase own = contestant.pictures == Layout::Plain ? c : c.with(contestant.pictures);
    if (contestant.type == DType::Fp64)
        own.tolerance = 1e-15;
    // A rounded number is off by at most 1/512 and by a third of that on average; sums of rounded
    // products that cancel each other are off by more.
    if (contestant.type == DType::Bf16)
        own.tolerance = c.tolerance == 0 ? 3e-3 : 6e-3;
    return own;
}

QByteArray rowName(const Contestant& contestant, const OperationCase& c) {
    const auto letter = [](Layout layout) {
        return layout == Layout::Plain ? "plain" : layout == Layout::Blocked16 ? "blocked" : "last";
    };
    QByteArray row = QByteArray(contestant.name) + " " + c.name.c_str() + " ";
    for (const Port& port : c.inputs())
        row += letter(port.layout) + QByteArray("-");
    return row + letter(c.outputLayout);
}

/// Values of a case and what the reference makes of them in fp64; made once, used by all
/// contestants.
struct Expectation {
    OperationValues values;
    OperationResults results;
};

const Expectation& expectation(int caseIndex, const Contestant& contestant) {
    static std::map<std::pair<int, bool>, Expectation> made;
    const bool rounded = contestant.type == DType::Bf16;
    const auto found = made.find({caseIndex, rounded});
    if (found != made.end())
        return found->second;
    const OperationCase c = operationCases()[static_cast<std::size_t>(caseIndex)].inPlainLayout();
    Expectation& e = made[{caseIndex, rounded}];
    e.values = rounded ? roundedValues(c, randomValues(c)) : randomValues(c);
    e.results = evaluate(*engine::makeReferenceBackend(), DType::Fp64, c, e.values);
    return e;
}

/// The scalar whose gradient backward gives: the loss, or output . outputGradient.
double objective(const OperationCase& c, const OperationValues& values,
                 const OperationResults& results) {
    if (c.isLoss())
        return results.lossSums[engine::kLoss] /
               static_cast<double>(values.context.globalRows * c.targetsPerRow());
    double sum = 0;
    for (std::size_t i = 0; i < results.output.size(); ++i)
        sum += results.output[i] * values.outputGradient[i];
    return sum;
}

/// Arithmetic of one forward, roughly.
double work(const OperationCase& c) {
    double perOutput = 10;
    if (c.hasForms())
        for (const Shape& shape : c.parameterShapes())
            perOutput += 2.0 * static_cast<double>(elementCount(shape) /
                                                   (c.kind == graph::OperationKind::Linear
                                                        ? c.output().back()
                                                        : c.output().front()));
    if (c.kind == graph::OperationKind::Attention)
        perOutput += 8.0 * static_cast<double>(c.input.front());
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

/// What batch norm makes of its input outside training.
std::vector<double> withRunningStatistics(const OperationCase& c, const OperationValues& values) {
    const double epsilon = std::get<graph::NormAttributes>(c.attributes).epsilon;
    const std::size_t channels = static_cast<std::size_t>(c.input[0]);
    const std::size_t plane = static_cast<std::size_t>(elementCount(c.input)) / channels;
    std::vector<double> output = values.inputs[0];
    for (std::size_t i = 0; i < output.size(); ++i) {
        const std::size_t channel = i / plane % channels;
        const auto parameter = [&](std::size_t which) {
            return values.parameters[which][channel];
        };
        output[i] = (output[i] - parameter(2)) / std::sqrt(parameter(3) + epsilon) * parameter(0) +
                    parameter(1);
    }
    return output;
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
    void checkLoss(const OperationResults& actual, const OperationResults& expected,
                   double tolerance) {
        for (const engine::LossSum sum :
             {engine::kLoss, engine::kAbsoluteError, engine::kSquaredError, engine::kTarget,
              engine::kTargetSquared})
            compare("loss sum", {actual.lossSums[sum]}, {expected.lossSums[sum]}, tolerance);
        for (const engine::LossSum sum : {engine::kCounted, engine::kCorrect, engine::kCorrectTop5})
            QCOMPARE(actual.lossSums[sum], expected.lossSums[sum]);
        QVERIFY(actual.confusion == expected.confusion);
    }

    void checkAgainst(const OperationResults& actual, const OperationResults& expected,
                      double tolerance, bool gradientsAdded) {
        const auto sum = [&](const std::vector<double>& gradient) {
            return gradientsAdded ? added(gradient) : gradient;
        };
        compare("output", actual.output, expected.output, tolerance);
        checkLoss(actual, expected, tolerance);
        QCOMPARE(actual.inputGradients.size(), expected.inputGradients.size());
        for (std::size_t i = 0; i < actual.inputGradients.size(); ++i)
            compare("input gradient", actual.inputGradients[i], sum(expected.inputGradients[i]),
                    tolerance);
        QCOMPARE(actual.parameterGradients.size(), expected.parameterGradients.size());
        for (std::size_t i = 0; i < actual.parameterGradients.size(); ++i)
            compare(i == 0 ? "weight gradient" : "gradient of a later parameter",
                    actual.parameterGradients[i], sum(expected.parameterGradients[i]), tolerance);
    }

    void addRows(bool wanted(const OperationCase&)) {
        QTest::addColumn<int>("contestantIndex");
        QTest::addColumn<int>("caseIndex");
        for (std::size_t b = 0; b < contestants().size(); ++b)
            for (std::size_t i = 0; i < operationCases().size(); ++i) {
                const OperationCase& c = operationCases()[i];
                const Contestant& contestant = contestants()[b];
                const bool same = contestant.form > 0 && !c.hasForms(); // as with the first form
                if (!same && (contestant.pictures != Layout::Plain || c.plain()) && wanted(c))
                    QTest::newRow(rowName(contestant, caseFor(contestant, c)).constData())
                        << static_cast<int>(b) << static_cast<int>(i);
            }
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
        const auto check = [&](const char* what, std::vector<double>& variable,
                               const std::vector<double>& gradient) {
            const double error = differenceError(*backend, c, values, variable, gradient);
            QVERIFY2(error <= kDifferenceTolerance,
                     qPrintable(QStringLiteral("%1 gradient is off by %2")
                                    .arg(QLatin1StringView(what))
                                    .arg(error)));
        };
        for (std::size_t i = 0; i < values.inputs.size() && !c.hasIndices(); ++i)
            check("input", values.inputs[i], results.inputGradients[i]);
        for (std::size_t i = 0; i < values.parameters.size(); ++i)
            if (!c.isStatistic(i))
                check("parameter", values.parameters[i], results.parameterGradients[i]);
    }

    void agreesWithReference_data() {
        addRows([](const OperationCase&) { return true; });
    }

    void agreesWithReference() {
        QFETCH(int, contestantIndex);
        QFETCH(int, caseIndex);
        const Contestant& contestant = contestants()[static_cast<std::size_t>(contestantIndex)];
        const OperationCase c =
            caseFor(contestant, operationCases()[static_cast<std::size_t>(caseIndex)]);
        const auto& [values, expected] = expectation(caseIndex, contestant);
        const double tolerance = c.tolerance;
        const auto backend = contestant.make();
        const auto run = [&](const OperationOptions& options) {
            return evaluate(*backend, contestant.type, c, expectation(caseIndex, contestant).values,
                            options);
        };

        const OperationResults once = run({});
        checkAgainst(once, expected, tolerance, false);
        QVERIFY2(run({}) == once, "the second run gave other bits");
        checkAgainst(run({.addToGradients = true}), expected, std::max(tolerance, 2e-7), true);
        const std::vector<Port> inputs = c.inputs();
        for (std::size_t i = 0; i < inputs.size(); ++i)
            if (graph::traits(c.kind).mayRunInPlace && inputs[i].layout == c.outputLayout)
                QVERIFY2(run({.inPlace = static_cast<int>(i)}) == once, "in place gave other bits");
    }

    void gradientsCanBeLeftOut_data() {
        addRows([](const OperationCase& c) {
            return c.inputs().size() + c.parameterShapes().size() > 1;
        });
    }

    /// Each gradient alone is the one it is among all.
    void gradientsCanBeLeftOut() {
        QFETCH(int, contestantIndex);
        QFETCH(int, caseIndex);
        const Contestant& contestant = contestants()[static_cast<std::size_t>(contestantIndex)];
        const OperationCase c =
            caseFor(contestant, operationCases()[static_cast<std::size_t>(caseIndex)]);
        const auto& [values, expected] = expectation(caseIndex, contestant);
        const double tolerance = c.tolerance;
        const auto backend = contestant.make();
        const std::size_t inputs = c.inputs().size();
        for (std::size_t i = 0; i < inputs + expected.parameterGradients.size(); ++i) {
            const OperationResults results = evaluate(*backend, contestant.type, c, values,
                                                      {.onlyGradient = static_cast<int>(i)});
            const bool parameter = i >= inputs;
            compare("gradient",
                    parameter ? results.parameterGradients[i - inputs] : results.inputGradients[i],
                    parameter ? expected.parameterGradients[i - inputs]
                              : expected.inputGradients[i],
                    tolerance);
        }
    }

    void phasesOverRanksAreTheWhole_data() {
        addRows([](const OperationCase& c) { return c.kind == graph::OperationKind::BatchNorm; });
    }

    /// The rows shared by one, two, four ranks, one of them without rows.
    void phasesOverRanksAreTheWhole() {
        QFETCH(int, contestantIndex);
        QFETCH(int, caseIndex);
        const Contestant& contestant = contestants()[static_cast<std::size_t>(contestantIndex)];
        const OperationCase c =
            caseFor(contestant, operationCases()[static_cast<std::size_t>(caseIndex)]);
        const auto& [values, expected] = expectation(caseIndex, contestant);
        const double tolerance = std::max(c.tolerance, 1e-13);
        const auto backend = contestant.make();
        const std::int64_t n = c.rows;
        for (const std::vector<std::int64_t>& rows : {std::vector<std::int64_t>{n},
                                                      {n / 2, n - n / 2},
                                                      {n / 3, 0, n / 4, n - n / 3 - n / 4}})
            checkAgainst(evaluateInParts(*backend, contestant.type, c, values, rows), expected,
                         tolerance, false);
    }

    void inferenceIsForwardWithoutDropout_data() { agreesWithReference_data(); }

    void inferenceIsForwardWithoutDropout() {
        QFETCH(int, contestantIndex);
        QFETCH(int, caseIndex);
        const Contestant& contestant = contestants()[static_cast<std::size_t>(contestantIndex)];
        const OperationCase c =
            caseFor(contestant, operationCases()[static_cast<std::size_t>(caseIndex)]);
        const auto& [values, expected] = expectation(caseIndex, contestant);
        const auto backend = contestant.make();
        const OperationOptions inference{.inference = true};
        const OperationResults results = evaluate(*backend, contestant.type, c, values, inference);
        if (c.kind == graph::OperationKind::Dropout)
            QVERIFY(results.output == values.inputs[0]);
        else if (c.kind == graph::OperationKind::BatchNorm)
            compare("output", results.output, withRunningStatistics(c, values),
                    std::max(c.tolerance, 1e-12));
        else
            compare("output", results.output, expected.output, c.tolerance);
        checkLoss(results, expected, c.tolerance);
    }

    void dropoutDependsOnItsKeyOnly();
    void poolsPreferTheFirstAndKeepNaN();
    void lossIsSafeAndCountsTies();
    void reluKeepsNaN();
    void batchStatisticsAreHandedOver();
    void strangeTargetsAndIndicesAreRefused();
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
    std::ranges::fill(values.inputs[0], 1.0);
    for (const Contestant& contestant : contestants()) {
        const auto backend = contestant.make();
        const OperationResults whole = evaluate(*backend, contestant.type, c, values);
        const auto kept = std::count_if(whole.output.begin(), whole.output.end(),
                                        [](double x) { return x != 0; });
        const double share = static_cast<double>(kept) / static_cast<double>(whole.output.size());
        QVERIFY2(std::abs(share - 0.7) < 0.05, contestant.name);

        OperationCase one = c;
        one.rows = 1;
        for (std::int64_t row = 0; row < 4; ++row) {
            const OperationResults single =
                evaluate(*backend, contestant.type, one, partOf(c, values, row, 1));
            QVERIFY(std::ranges::equal(
                single.output, std::span(whole.output)
                                   .subspan(static_cast<std::size_t>(row) * single.output.size(),
                                            single.output.size())));
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
            if (layout == Layout::Blocked16 && contestant.pictures == Layout::Plain)
                continue;
            const OperationCase c{.name = "pool",
                                  .kind = graph::OperationKind::MaxPool,
                                  .attributes = graph::PoolAttributes{},
                                  .rows = 1,
                                  .input = {1, 2, 6},
                                  .inputLayout = layout,
                                  .outputLayout = layout};
            const OperationCase own = caseFor(contestant, c);
            OperationValues values;
            values.inputs = {{4, 4, 1, nan, -7, -5, //
                              4, 4, 2, 9, -6, -5}};
            values.outputGradient = {1, 2, 3};
            const auto backend = contestant.make();
            const OperationResults r = evaluate(*backend, contestant.type, own, values);
            QCOMPARE(r.output[0], 4.0);
            QVERIFY(std::isnan(r.output[1]));
            QCOMPARE(r.output[2], -5.0);
            QCOMPARE(r.inputGradients[0],
                     (std::vector<double>{1, 0, 0, 2, 0, 3, 0, 0, 0, 0, 0, 0}));
        }
}

void TestOpTable::lossIsSafeAndCountsTies() {
    const OperationCase c{.name = "loss",
                          .kind = graph::OperationKind::SoftmaxCrossEntropy,
                          .attributes = graph::CrossEntropyAttributes{},
                          .rows = 4,
                          .input = {3}};
    OperationValues values;
    values.inputs = {{1000, 0, -1000,   // whole numbers that bf16 holds, too
                      -32768, 32768, 0, //
                      2, 2, 2,          //
                      2, 2, 2}};
    values.labels = {0, 0, 0, 1};
    values.context.globalRows = 8;
    for (const Contestant& contestant : contestants()) {
        const auto backend = contestant.make();
        const OperationResults r = evaluate(*backend, contestant.type, c, values);
        // Rows: 0, 65536, log 3, log 3; the first of equal logits is the prediction.
        QVERIFY(std::abs(r.lossSums[engine::kLoss] - (65536 + 2 * std::log(3.0))) < 1e-2);
        QCOMPARE(r.lossSums[engine::kCounted], 4.0);
        QCOMPARE(r.lossSums[engine::kCorrect], 2.0);
        QCOMPARE(r.lossSums[engine::kCorrectTop5], 4.0);
        QCOMPARE(r.confusion, (std::vector<std::int64_t>{2, 1, 0, 1, 0, 0, 0, 0, 0}));
        const std::vector<double> expected = {0,        0,        0,         -0.125,
                                              0.125,    0,        -2.0 / 24, 1.0 / 24,
                                              1.0 / 24, 1.0 / 24, -2.0 / 24, 1.0 / 24};
        compare("gradient", r.inputGradients[0], expected,
                contestant.type == DType::Bf16 ? 3e-3 : 1e-6);
    }
}

void TestOpTable::reluKeepsNaN() {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const OperationCase c{
        .name = "relu", .kind = graph::OperationKind::Relu, .rows = 1, .input = {4}};
    OperationValues values;
    values.inputs = {{nan, -2, 3, 0}};
    values.outputGradient = {1, 2, nan, 4};
    for (const Contestant& contestant : contestants()) {
        const auto backend = contestant.make();
        const OperationResults r = evaluate(*backend, contestant.type, c, values);
        QVERIFY(std::isnan(r.output[0]));
        QCOMPARE(r.output[1], 0.0);
        QCOMPARE(r.output[2], 3.0);
        QCOMPARE(r.inputGradients[0][0], 1.0);
        QCOMPARE(r.inputGradients[0][1], 0.0);
        QVERIFY(std::isnan(r.inputGradients[0][2]));
        QCOMPARE(r.inputGradients[0][3], 0.0);
    }
}

/// Mean and variance (by n - 1) of the batch, times the rank's share of the global rows.
void TestOpTable::batchStatisticsAreHandedOver() {
    const OperationCase c{.name = "norm",
                          .kind = graph::OperationKind::BatchNorm,
                          .attributes = graph::NormAttributes{.epsilon = 0.5},
                          .rows = 2,
                          .input = {2, 1, 2}};
    OperationValues values;
    values.inputs = {{1, 2, 7, 7, //
                      3, 6, 7, 7}};
    values.parameters = {{1, 1}, {0, 0}, {50, 60}, {70, 80}};
    values.outputGradient = {1, 2, 3, 4, 5, 6, 7, 8};
    values.context.globalRows = 8;
    for (const Contestant& contestant : contestants()) {
        const auto backend = contestant.make();
        const OperationResults r = evaluate(*backend, contestant.type, c, values);
        // Channel 0: 1, 2, 3, 6 with mean 3 and squares 4 + 1 + 0 + 9; channel 1: always 7.
        compare("mean", r.parameterGradients[2], {0.25 * 3, 0.25 * 7}, 1e-6);
        compare("variance", r.parameterGradients[3], {0.25 * 14 / 3, 0}, 1e-6);
    }
}

void TestOpTable::strangeTargetsAndIndicesAreRefused() {
    OperationCase table{.name = "table",
                        .kind = graph::OperationKind::Embedding,
                        .attributes = graph::EmbeddingAttributes{3, 2},
                        .rows = 2,
                        .input = {2}};
    OperationCase loss{.name = "loss",
                       .kind = graph::OperationKind::SoftmaxCrossEntropy,
                       .attributes = graph::CrossEntropyAttributes{0, 5},
                       .rows = 2,
                       .input = {3}};
    for (const Contestant& contestant : contestants()) {
        const auto backend = contestant.make();
        OperationValues values = randomValues(table);
        for (const double index : {3.0, -1.0}) {
            values.inputs[0][1] = index;
            QVERIFY_EXCEPTION_THROWN(evaluate(*backend, contestant.type, table, values),
                                     BrokenInvariant);
        }
        values = randomValues(loss);
        values.labels = {1, 3};
        QVERIFY_EXCEPTION_THROWN(evaluate(*backend, contestant.type, loss, values),
                                 BrokenInvariant);
        values.labels = {-4, 5}; // ignored both
        const OperationResults r = evaluate(*backend, contestant.type, loss, values);
        QVERIFY(r.lossSums == std::vector<double>(engine::kLossSums));
        QVERIFY(r.inputGradients[0] == std::vector<double>(6));
    }
}

QTEST_APPLESS_MAIN(TestOpTable)
#include "tst_op_table.moc"
