// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What each operation gives for inputs from a formula, against numbers that were computed
// elsewhere: with NumPy, by loops over the textbook formulas. The op table holds gradients against
// differences and backends against the reference; here is what the reference itself is held
// against.
#include "tests/engine/operation_bench.h"

#include <QTest>

#include <numeric>

using namespace trainyard;
using namespace trainyard::graph;
using namespace trainyard::test;
using graph::OperationKind;

namespace {

using Numbers = std::vector<double>;

struct Known {
    OperationCase operation;
    Numbers output;
};

/// Eighths between -1 and 1.
Numbers pattern(std::int64_t count, std::int64_t a, std::int64_t b) {
    Numbers values;
    for (std::int64_t i = 0; i < count; ++i)
        values.push_back(static_cast<double>((i * a + b) % 17 - 8) / 8);
    return values;
}

OperationValues patterns(const OperationCase& c) {
    OperationValues values;
    for (const Port& port : c.inputs()) {
        const auto i = static_cast<std::int64_t>(values.inputs.size());
        values.inputs.push_back(pattern(c.rows * elementCount(port.shape), 7 + 2 * i, 1 + i));
    }
    for (const Shape& shape : c.parameterShapes()) {
        const auto i = static_cast<std::int64_t>(values.parameters.size());
        values.parameters.push_back(pattern(elementCount(shape), 5 + 2 * i, 3 + i));
    }
    if (c.isLoss())
        for (double& x : values.inputs[0])
            x *= 4;
    else
        values.outputGradient.assign(static_cast<std::size_t>(c.rows * elementCount(c.output())),
                                     0);
    values.context.globalRows = c.rows;
    return values;
}

OperationCase operation(OperationKind kind, OperationAttributes attributes, std::int64_t rows,
                        Shape input) {
    return {.name = std::string(name(kind)),
            .kind = kind,
            .attributes = std::move(attributes),
            .rows = rows,
            .input = std::move(input)};
}

OperationCase joined(OperationKind kind, OperationAttributes attributes,
                     const std::vector<Shape>& inputs) {
    OperationCase c = operation(kind, std::move(attributes), 1, inputs.front());
    for (std::size_t i = 1; i < inputs.size(); ++i)
        c.moreInputs.push_back({inputs[i]});
    return c;
}

std::vector<Known> knownPictures() {
    const Conv2dAttributes conv{.inChannels = 4,
                                .outChannels = 2,
                                .kernelHeight = 2,
                                .kernelWidth = 3,
                                .strideWidth = 2,
                                .paddingHeight = 1,
                                .paddingWidth = 1,
                                .dilationHeight = 2,
                                .groups = 2};
    const NormAttributes norm{.epsilon = 0.1};
    return {
        {operation(OperationKind::Conv2d, conv, 1, {4, 5, 4}),
         {-1.625,    -0.078125, -0.015625, -0.890625, -0.96875,  0.625,    -1.390625,
          -1.046875, -0.28125,  0.078125,  0.375,     -0.359375, 1.453125, 2.625,
          -0.9375,   1.71875,   -0.9375,   1.875,     1.015625,  0.203125}},
        {operation(OperationKind::AveragePool, PoolAttributes{3, 2, 2, 2, 1, 1}, 1, {1, 4, 3}),
         {-0.20833333333333334, 0.10416666666666667, 0.0625, 0.020833333333333332}},
        {operation(OperationKind::GlobalAveragePool, {}, 2, {2, 2, 3}),
         {-0.10416666666666667, 0.1875, -0.22916666666666666, 0.0625}},
        {operation(OperationKind::BatchNorm, norm, 2, {2, 1, 3}),
         {0.39024658195208484, -0.37282191686398786, -1.1358904156800604, 0.375, 0.375, 0.375,
          -0.48183170240914114, -1.2449002012252137, -0.15480234577368135, 0.375, 0.375, 0.375}},
        {operation(OperationKind::LayerNorm, norm, 1, {2, 3}),
         {0.19996266965306797, 0.375, -0.17503733034693203, -0.3297388233490014, 0.375,
          -1.4283488241157456}},
        {operation(OperationKind::RmsNorm, norm, 1, {2, 3}),
         {0.699962669653068, 0.0, 0.699962669653068, 0.3626391726993373, 0.0, -0.7252783453986746}},
    };
}

std::vector<Known> knownSequences() {
    return {
        {operation(OperationKind::PositionEmbedding, {}, 2, {2, 2}),
         {-1.5, 0.0, 1.5, -1.25, -0.125, -0.75, 0.75, 0.125}},
        {operation(OperationKind::Attention, AttentionAttributes{2, 1, 4, true, 100}, 1, {3, 16}),
         {-1.0,
          -0.125,
          0.75,
          -0.5,
          -1.0,
          -0.125,
          0.75,
          -0.5,
          -0.26708137999700293,
          -0.638043034002098,
          0.23695696599790209,
          0.2329186200029971,
          -0.6305355263414677,
          -0.3836251315609726,
          0.49137486843902745,
          -0.1305355263414677,
          -0.5003468827897648,
          -0.2175301338532027,
          -0.1999536278330757,
          -0.0003468827897648473,
          -0.2183238512001751,
          -0.5461966697782438,
          -0.09111878438368937,
          0.2816761487998249}},
        {operation(OperationKind::Attention, AttentionAttributes{2, 2, 2, false, 0}, 1, {3, 12}),
         {-0.38143856694531764, 0.4935614330546823, -0.7463183505179111, 0.12868164948208902,
          -0.3832727812029056, 0.49172721879709425, -0.7481587259302692, 0.1268412740697307,
          -0.3694797705207618, 0.5055202294792381, -0.75, 0.125}},
    };
}

std::vector<Known> knownFunctions() {
    const auto of = [](OperationKind kind, OperationAttributes attributes, Numbers output) {
        return Known{operation(kind, std::move(attributes), 2, {3}), std::move(output)};
    };
    return {
        of(OperationKind::Relu, {}, {0.0, 0.0, 0.875, 0.0, 0.5, 0.0}),
        of(OperationKind::Gelu, GeluAttributes{},
           {-0.1669385837459468, 0.0, 0.7080614162540533, -0.1326863374977286, 0.34573123063700656,
            -0.16997051428265114}),
        of(OperationKind::Gelu, GeluAttributes{true},
           {-0.167047319461545, 0.0, 0.7079526805384551, -0.13269223310848838, 0.34571400982514394,
            -0.17003944483437966}),
        of(OperationKind::Silu, {},
           {-0.2574381006426152, 0.0, 0.6175618993573848, -0.15275002501722384, 0.3112296656009273,
            -0.24061597561845527}),
        of(OperationKind::Tanh, {},
           {-0.7039056039366212, 0.0, 0.7039056039366212, -0.35835739835078595, 0.46211715726000974,
            -0.6351489523872873}),
        of(OperationKind::Sigmoid, {},
           {0.29421497216298875, 0.5, 0.7057850278370112, 0.40733340004593027, 0.6224593312018546,
            0.320821300824607}),
        of(OperationKind::Softmax, {},
           {0.10924809163035198, 0.2620725479251051, 0.6286793604445429, 0.24472827322395932,
            0.5870726083721857, 0.16819911840385499}),
        {joined(OperationKind::Add, {}, {{2, 2}, {2, 2}, {2, 2}}), {-2.25, 1.125, 0.25, -0.625}},
        {joined(OperationKind::Multiply, {}, {{2, 2}, {2, 2}, {2, 2}}),
         {-0.41015625, 0.0, 0.0, 0.140625}},
        {joined(OperationKind::Concat, ConcatAttributes{1}, {{2, 3}, {2, 1}}),
         {-0.875, 0.0, 0.875, -0.75, -0.375, 0.5, -0.75, 0.375}},
    };
}

const std::vector<Known>& allKnown() {
    static const std::vector<Known> all = [] {
        std::vector<Known> joined;
        for (auto part : {knownPictures, knownSequences, knownFunctions})
            for (Known& known : part())
                joined.push_back(std::move(known));
        return joined;
    }();
    return all;
}

OperationResults results(const OperationCase& c, const OperationValues& values) {
    return evaluate(*engine::makeReferenceBackend(), DType::Fp64, c, values);
}

void compare(const Numbers& actual, const Numbers& expected) {
    const double distance = relativeDistance(actual, expected);
    QVERIFY2(distance <= 1e-14, qPrintable(QString::number(distance)));
}

} // namespace

class TestKnownValues : public QObject {
    Q_OBJECT

private slots:
    void outputs_data() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < allKnown().size(); ++i)
            QTest::addRow("%zu %s", i, allKnown()[i].operation.name.c_str()) << static_cast<int>(i);
    }

    void outputs() {
        QFETCH(int, index);
        const Known& known = allKnown()[static_cast<std::size_t>(index)];
        compare(results(known.operation, patterns(known.operation)).output, known.output);
    }

    void embeddingLooksUpRows() {
        const OperationCase c =
            operation(OperationKind::Embedding, EmbeddingAttributes{3, 2}, 2, {2});
        OperationValues values = patterns(c);
        values.inputs = {{2, 0, 2, 1}};
        compare(results(c, values).output,
                {-0.25, 0.375, -0.625, 0.0, -0.25, 0.375, 0.625, -0.875});
    }

    /// PyTorch's label smoothing; one label of four is ignored by its number, one is below 0.
    void crossEntropy() {
        const OperationCase c = operation(OperationKind::SoftmaxCrossEntropy,
                                          CrossEntropyAttributes{0.1, 2}, 2, {2, 7});
        OperationValues values = patterns(c);
        values.labels = {0, 2, 5, -1};
        const OperationResults r = results(c, values);
        compare(r.lossSums, {7.864788440068737, 2, 1, 1, 0, 0, 0, 0});
        // Labels 0 and 5; the largest scores are those of classes 2 and 5.
        QCOMPARE(r.confusion[0 * 7 + 2], std::int64_t{1});
        QCOMPARE(r.confusion[5 * 7 + 5], std::int64_t{1});
        QCOMPARE(std::accumulate(r.confusion.begin(), r.confusion.end(), std::int64_t{0}),
                 std::int64_t{2});
    }

    void lossesOfNumbers() {
        const auto sums = [](OperationKind kind, OperationAttributes attributes, bool shares) {
            const OperationCase c = operation(kind, std::move(attributes), 2, {3});
            OperationValues values = patterns(c);
            values.targets = pattern(6, 5, 3);
            for (double& target : values.targets)
                target = shares ? (target + 1) / 2 : target;
            return results(c, values).lossSums;
        };
        compare(sums(OperationKind::BinaryCrossEntropy, {}, true),
                {5.848326657704653, 6, 4, 0, 0, 0, 0, 0});
        compare(sums(OperationKind::MeanSquaredError, {}, false),
                {33.375, 6, 0, 0, 12, 33.375, -0.75, 1.75});
        compare(sums(OperationKind::MeanAbsoluteError, {}, false),
                {12, 6, 0, 0, 12, 33.375, -0.75, 1.75});
        compare(sums(OperationKind::Huber, HuberAttributes{1.5}, false),
                {12.7578125, 6, 0, 0, 12, 33.375, -0.75, 1.75});
    }
};

QTEST_APPLESS_MAIN(TestKnownValues)
#include "tst_known_values.moc"
