// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Graphs: the shapes of every layer, counts that were worked out by hand, and problems that name
// the layer before anything runs.
#include "engine/graph/graph.h"
#include "tests/support/experiments.h"

#include <QtTest>

#include <cmath>
#include <random>
#include <set>

using namespace trainyard;
using namespace trainyard::graph;
using test::layer;
using test::sentences;
using test::whole;

namespace {

using Layers = std::vector<spec::LayerSpec>;

spec::ModelSpec model(Shape input, Layers layers) {
    return {std::move(input), std::move(layers), {"cross_entropy", {}}};
}

/// LeNet-5 with rectifiers and max pooling.
spec::ModelSpec leNet() {
    return model({1, 28, 28},
                 {layer("conv1", "conv2d",
                        {{"out_channels", whole(6)}, {"kernel", whole(5)}, {"padding", whole(2)}}),
                  layer("relu1", "relu"), layer("pool1", "max_pool"),
                  layer("conv2", "conv2d", {{"out_channels", whole(16)}, {"kernel", whole(5)}}),
                  layer("relu2", "relu"), layer("pool2", "max_pool"), layer("flatten", "flatten"),
                  layer("dense1", "linear", {{"out_features", whole(120)}}), layer("relu3", "relu"),
                  layer("dense2", "linear", {{"out_features", whole(84)}}), layer("relu4", "relu"),
                  layer("classes", "linear", {{"out_features", whole(10)}})});
}

spec::Value pair(std::int64_t height, std::int64_t width) {
    return std::vector<std::int64_t>{height, width};
}

QByteArray text(const Shape& shape) {
    return QByteArray::fromStdString(describe(shape));
}

/// Producers, consumers and parameters refer to each other without gaps.
void checkConsistent(const Graph& graph) {
    std::vector<std::vector<OperationId>> consumers(graph.values.size());
    std::set<ParameterId> owned;
    std::set<ValueId> produced = {graph.input};
    for (std::size_t i = 0; i < graph.operations.size(); ++i) {
        const auto id = static_cast<OperationId>(i);
        for (const ValueId input : graph.operations[i].inputs) {
            QVERIFY(produced.contains(input)); // execution order
            consumers[static_cast<std::size_t>(input)].push_back(id);
        }
        for (const ValueId output : graph.operations[i].outputs) {
            QVERIFY(produced.insert(output).second);
            QCOMPARE(graph.values[static_cast<std::size_t>(output)].producer, id);
        }
        for (const ParameterId parameter : graph.operations[i].parameters)
            QVERIFY(owned.insert(parameter).second);
    }
    QCOMPARE(produced.size(), graph.values.size());
    QCOMPARE(owned.size(), graph.parameters.size());
    for (std::size_t i = 0; i < graph.values.size(); ++i)
        QCOMPARE(graph.values[i].consumers, consumers[i]);
    QVERIFY(graph.operations.back().kind == OperationKind::SoftmaxCrossEntropy);
    QCOMPARE(graph.operations.back().inputs, std::vector<ValueId>{graph.logits});
}

} // namespace

class GraphTest : public QObject {
    Q_OBJECT

private slots:
    void shapesOfLayers_data();
    void shapesOfLayers();
    void layersThatDoNotFit_data();
    void layersThatDoNotFit();
    void leNetByHand();
    void countsOfSingleLayers_data();
    void countsOfSingleLayers();
    void parametersAreNamedAndInitialised();
    void denseStraightAfterConvolution();
    void whatCanBeComputedIsShownDespiteAProblem();
    void unusedOutputs();
    void inputsByName();
    void lossAndClasses_data();
    void lossAndClasses();
    void dropoutsHaveStreamsOfTheirOwn();
    void randomModelsAreConsistent();
};

void GraphTest::shapesOfLayers_data() {
    QTest::addColumn<QByteArray>("input");
    QTest::addColumn<QByteArray>("output");
    const auto row = [](const char* name, const Shape& input, spec::LayerSpec spec,
                        const Shape& output) {
        const BuiltGraph built = buildGraph(model(input, {std::move(spec)}), {});
        QTest::newRow(name) << (built.layers.empty() ? QByteArray("none")
                                                     : text(built.layers.front().output))
                            << text(output);
    };
    const auto conv = [](spec::Values values) {
        values.try_emplace("out_channels", whole(7));
        return layer("x", "conv2d", std::move(values));
    };
    row("linear", {5}, layer("x", "linear", {{"out_features", whole(3)}}), {3});
    row("conv, default kernel 3", {2, 9, 11}, conv({}), {7, 7, 9});
    row("conv, padding keeps the size", {2, 9, 11}, conv({{"padding", whole(1)}}), {7, 9, 11});
    row("conv, kernel as large as the picture", {2, 9, 11}, conv({{"kernel", pair(9, 11)}}),
        {7, 1, 1});
    row("conv, both directions apart", {2, 9, 12},
        conv({{"kernel", pair(3, 5)}, {"stride", pair(2, 1)}, {"padding", pair(0, 2)}}),
        {7, 4, 12});
    row("conv, stride leaves a rest", {1, 10, 10}, conv({{"stride", whole(4)}}), {7, 2, 2});
    row("pool, stride is the window", {3, 8, 9}, layer("x", "max_pool"), {3, 4, 4});
    row("pool, overlapping", {3, 8, 9},
        layer("x", "max_pool", {{"kernel", whole(3)}, {"stride", whole(2)}, {"padding", whole(1)}}),
        {3, 4, 5});
    row("pool, both directions apart", {3, 8, 9},
        layer("x", "max_pool", {{"kernel", pair(4, 3)}, {"stride", pair(0, 1)}}), {3, 2, 7});
    row("relu", {3, 8, 9}, layer("x", "relu"), {3, 8, 9});
    row("dropout", {42}, layer("x", "dropout"), {42});
    row("flatten", {3, 8, 9}, layer("x", "flatten"), {216});
    row("flatten of a vector", {8}, layer("x", "flatten"), {8});
}

void GraphTest::shapesOfLayers() {
    QFETCH(QByteArray, input);
    QFETCH(QByteArray, output);
    QCOMPARE(input, output);
}

void GraphTest::layersThatDoNotFit_data() {
    QTest::addColumn<QByteArrayList>("found");
    QTest::addColumn<QByteArray>("sentence");
    const auto row = [](const char* name, const Shape& input, spec::LayerSpec spec,
                        const char* sentence) {
        QTest::newRow(name) << sentences(buildGraph(model(input, {std::move(spec)}), {}).problems)
                            << QByteArray(sentence);
    };
    row("linear on a picture", {1, 28, 28}, layer("dense", "linear", {{"out_features", whole(3)}}),
        "model.layers[0]: dense needs a vector; it gets 1 × 28 × 28. Insert a flatten layer before "
        "it.");
    row("conv on a vector", {784}, layer("conv", "conv2d", {{"out_channels", whole(3)}}),
        "model.layers[0]: conv needs a picture [channels, height, width]; it gets 784.");
    row("pool on a vector", {784}, layer("pool", "max_pool"),
        "model.layers[0]: pool needs a picture [channels, height, width]; it gets 784.");
    row("kernel larger than the picture", {1, 4, 4},
        layer("conv", "conv2d", {{"out_channels", whole(3)}, {"kernel", whole(5)}}),
        "model.layers[0].kernel: The window of 5 × 5 does not fit into 4 × 4. Use a smaller window "
        "or more padding.");
    row("window larger than the picture", {1, 4, 1}, layer("pool", "max_pool"),
        "model.layers[0].kernel: The window of 2 × 2 does not fit into 4 × 1. Use a smaller window "
        "or more padding.");
    row("padding of a pool", {1, 8, 8},
        layer("pool", "max_pool", {{"kernel", whole(3)}, {"padding", whole(2)}}),
        "model.layers[0].padding: Padding may be at most half the window.");
    row("too many weights", {1 << 20}, layer("dense", "linear", {{"out_features", whole(1 << 20)}}),
        "model.layers[0].out_features: 1048576 × 1048576 weights are too many for one layer.");
    row("too many filters", {1 << 12, 32, 32},
        layer("conv", "conv2d", {{"out_channels", whole(1 << 20)}}),
        "model.layers[0].out_channels: 1048576 filters make too large a layer.");
    row("too large an input", {1 << 20, 1 << 20, 1 << 20}, layer("relu", "relu"),
        "model.input.shape: An input of 1048576 × 1048576 × 1048576 is too large.");
}

void GraphTest::layersThatDoNotFit() {
    QFETCH(QByteArrayList, found);
    QFETCH(QByteArray, sentence);
    QCOMPARE(found, QByteArrayList{sentence});
}

void GraphTest::leNetByHand() {
    const BuiltGraph built = buildGraph(leNet(), {.classes = 10});
    QCOMPARE(sentences(built.problems), QByteArrayList());
    const Graph& graph = built.graph;
    checkConsistent(graph);
    QCOMPARE(graph.operations.size(), std::size_t{13});

    // Weights and biases: 6*1*25+6, 16*6*25+16, 400*120+120, 120*84+84, 84*10+10.
    const std::vector<std::int64_t> parameters = {156, 0,     0, 2416,  0, 0,
                                                  0,   48120, 0, 10164, 0, 850};
    // Two per multiply-add: 6*28*28 outputs of 25 terms, 16*10*10 of 150, then the dense layers.
    // One per output of a rectifier, one per element of a pooling window.
    const std::vector<double> flops = {235'200, 4'704,  4'704, 480'000, 1'600, 1'600,
                                       0,       96'000, 120,   20'160,  84,    1'680};
    const std::vector<Shape> outputs = {{6, 28, 28},  {6, 28, 28}, {6, 14, 14}, {16, 10, 10},
                                        {16, 10, 10}, {16, 5, 5},  {400},       {120},
                                        {120},        {84},        {84},        {10}};
    QCOMPARE(built.layers.size(), outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        QCOMPARE(built.layers[i].parameters, parameters[i]);
        QCOMPARE(built.layers[i].flops, flops[i]);
        QCOMPARE(text(built.layers[i].output), text(outputs[i]));
        QCOMPARE(text(built.layers[i].inputs.front()), text(i ? outputs[i - 1] : Shape{1, 28, 28}));
    }
    QCOMPARE(graph.parameterElements(), std::int64_t{61'706});
    QCOMPARE(graph.forwardFlops(), 845'852.0 + 10); // and one per class for the loss
}

void GraphTest::countsOfSingleLayers_data() {
    QTest::addColumn<qint64>("parameters");
    QTest::addColumn<double>("flops");
    QTest::addColumn<qint64>("expectedParameters");
    QTest::addColumn<double>("expectedFlops");
    const auto row = [](const char* name, const Shape& input, spec::LayerSpec spec,
                        qint64 parameters, double flops) {
        const BuiltGraph built = buildGraph(model(input, {std::move(spec)}), {});
        QTest::newRow(name) << qint64{built.layers.at(0).parameters} << built.layers.at(0).flops
                            << parameters << flops;
    };
    row("linear", {784}, layer("x", "linear", {{"out_features", whole(128)}}), 100'480, 200'704);
    row("linear without bias", {784},
        layer("x", "linear", {{"out_features", whole(128)}, {"bias", spec::Value(false)}}), 100'352,
        200'704);
    // 3 channels in, 64 out, 7 x 7, stride 2 on 224 x 224: the first layer of ResNet.
    row("first layer of ResNet", {3, 224, 224},
        layer("x", "conv2d",
              {{"out_channels", whole(64)},
               {"kernel", whole(7)},
               {"stride", whole(2)},
               {"padding", whole(3)},
               {"bias", spec::Value(false)}}),
        9'408, 236'027'904);
    row("kernel of two sizes", {4, 10, 10},
        layer("x", "conv2d", {{"out_channels", whole(2)}, {"kernel", pair(1, 3)}}), 26, 3'840);
}

void GraphTest::countsOfSingleLayers() {
    QFETCH(qint64, parameters);
    QFETCH(double, flops);
    QTEST(parameters, "expectedParameters");
    QTEST(flops, "expectedFlops");
}

void GraphTest::parametersAreNamedAndInitialised() {
    const Graph graph = buildGraph(leNet(), {.classes = 10}).graph;
    QCOMPARE(graph.parameters.size(), std::size_t{10});
    const ParameterInfo& weight = graph.parameters[2];
    const ParameterInfo& bias = graph.parameters[3];
    QCOMPARE(weight.name, std::string("conv2.weight"));
    QCOMPARE(text(weight.shape), text({16, 6, 5, 5}));
    const Initializer fanIn150{Distribution::Uniform, 1 / std::sqrt(150.0)};
    QVERIFY(weight.initializer == fanIn150);
    QVERIFY(weight.decays);
    QCOMPARE(bias.name, std::string("conv2.bias"));
    QCOMPARE(text(bias.shape), text({16}));
    QVERIFY(bias.initializer == fanIn150);
    QVERIFY(!bias.decays);
    QCOMPARE(text(graph.parameters[4].shape), text({120, 400}));
    QCOMPARE(graph.parameters[4].initializer.scale, 1 / std::sqrt(400.0));
}

void GraphTest::denseStraightAfterConvolution() {
    const spec::LayerSpec conv =
        layer("conv", "conv2d", {{"out_channels", whole(16)}, {"padding", whole(1)}});
    const spec::LayerSpec dense = layer("dense", "linear", {{"out_features", whole(10)}});
    for (const std::int64_t side : {28, 32}) { // the sentence follows the input
        const BuiltGraph built = buildGraph(model({1, side, side}, {conv, dense}), {.classes = 10});
        const QByteArray shape = text({16, side, side});
        QCOMPARE(sentences(built.problems),
                 QByteArrayList{"model.layers[1]: dense needs a vector; it gets " + shape +
                                ". Insert a flatten layer before it."});
        // Both ends of the bad edge are known.
        QCOMPARE(text(built.layers[0].output), shape);
        QCOMPARE(text(built.layers[1].inputs.front()), shape);
        QVERIFY(built.layers[1].output.empty());

        const BuiltGraph cured = buildGraph(
            model({1, side, side}, {conv, layer("flatten", "flatten"), dense}), {.classes = 10});
        QCOMPARE(sentences(cured.problems), QByteArrayList());
        QCOMPARE(cured.layers[2].parameters, 16 * side * side * 10 + 10);
    }
}

void GraphTest::whatCanBeComputedIsShownDespiteAProblem() {
    const BuiltGraph built = buildGraph(
        model({1, 8, 8},
              {layer("conv", "conv2d", {{"out_channels", whole(4)}}),
               layer("wide", "conv2d", {{"out_channels", whole(4)}, {"kernel", whole(9)}}),
               layer("relu", "relu"), layer("flatten", "flatten")}),
        {});
    // One cause, one sentence: the layers behind it are not blamed.
    QCOMPARE(
        sentences(built.problems),
        QByteArrayList{"model.layers[1].kernel: The window of 9 × 9 does not fit into 6 × 6. Use "
                       "a smaller window or more padding."});
    QCOMPARE(built.layers.size(), std::size_t{4});
    QCOMPARE(text(built.layers[0].output), text({4, 6, 6}));
    QCOMPARE(text(built.layers[1].inputs.front()), text({4, 6, 6}));
    QVERIFY(built.layers[2].inputs.empty());
    QCOMPARE(built.layers[3].layer, std::string("flatten"));
}

void GraphTest::unusedOutputs() {
    const spec::Values ten = {{"out_features", whole(10)}};
    const BuiltGraph built = buildGraph(
        model({20}, {layer("left", "linear", ten), layer("right", "linear", ten, {"input"})}),
        {.classes = 10});
    QCOMPARE(sentences(built.problems),
             QByteArrayList{"model.layers[0]: Nothing uses the output of \"left\". Name it in the "
                            "\"from\" of a later layer, or remove it."});
}

void GraphTest::inputsByName() {
    const spec::Values ten = {{"out_features", whole(10)}};
    const BuiltGraph named =
        buildGraph(model({20}, {layer("a", "linear", ten, {"input"}), layer("b", "relu", {}, {"a"}),
                                layer("c", "linear", ten, {"b"})}),
                   {.classes = 10});
    const BuiltGraph plain = buildGraph(
        model({20}, {layer("a", "linear", ten), layer("b", "relu"), layer("c", "linear", ten)}),
        {.classes = 10});
    QCOMPARE(sentences(named.problems), QByteArrayList());
    for (std::size_t i = 0; i < 3; ++i)
        QCOMPARE(named.graph.operations[i].inputs, plain.graph.operations[i].inputs);

    const BuiltGraph two =
        buildGraph(model({20}, {layer("a", "linear", ten), layer("b", "relu", {}, {"a", "input"})}),
                   {.classes = 10});
    QCOMPARE(sentences(two.problems),
             QByteArrayList{"model.layers[1].from: b takes one input; 2 are given."});
}

void GraphTest::lossAndClasses_data() {
    QTest::addColumn<QByteArrayList>("found");
    QTest::addColumn<QByteArrayList>("expected");
    const auto of = [](spec::LayerSpec last, std::int64_t classes) {
        return sentences(
            buildGraph(model({1, 4, 4}, {layer("flatten", "flatten"), std::move(last)}),
                       {.classes = classes})
                .problems);
    };
    const auto dense = [](std::int64_t outputs) {
        return layer("classes", "linear", {{"out_features", whole(outputs)}});
    };
    QTest::newRow("as many as classes") << of(dense(10), 10) << QByteArrayList();
    QTest::newRow("more than classes") << of(dense(12), 10) << QByteArrayList();
    QTest::newRow("classes not known") << of(dense(3), 0) << QByteArrayList();
    QTest::newRow("fewer than classes")
        << of(dense(3), 10)
        << QByteArrayList{
               "model.loss: The model ends in 3 scores, but the data has 10 classes. Give "
               "the last layer 10 outputs."};
    QTest::newRow("ends in a picture")
        << sentences(
               buildGraph(model({1, 4, 4}, {layer("relu", "relu")}), {.classes = 10}).problems)
        << QByteArrayList{"model.loss: The loss needs one score per class; it gets 1 × 4 × 4. End "
                          "the model with flatten and linear layers."};
}

void GraphTest::lossAndClasses() {
    QFETCH(QByteArrayList, found);
    QTEST(found, "expected");
}

void GraphTest::dropoutsHaveStreamsOfTheirOwn() {
    const Graph graph =
        buildGraph(model({20}, {layer("a", "dropout"),
                                layer("b", "dropout", {{"probability", spec::Value(0.1)}}),
                                layer("c", "dropout"),
                                layer("d", "linear", {{"out_features", whole(2)}})}),
                   {.classes = 2})
            .graph;
    std::set<std::uint32_t> streams;
    for (std::size_t i = 0; i < 3; ++i)
        streams.insert(std::get<DropoutAttributes>(graph.operations[i].attributes).stream);
    QCOMPARE(streams.size(), std::size_t{3});
    QCOMPARE(std::get<DropoutAttributes>(graph.operations[0].attributes).probability, 0.5);
    QCOMPARE(std::get<DropoutAttributes>(graph.operations[1].attributes).probability, 0.1);
}

void GraphTest::randomModelsAreConsistent() {
    std::mt19937 random(5);
    int whole = 0;
    for (int round = 0; round < 2'000; ++round) {
        Layers layers;
        const std::size_t count = 1 + random() % 12;
        for (std::size_t i = 0; i < count; ++i) {
            static const std::vector<const char*> types = {"conv2d",  "max_pool", "relu",
                                                           "dropout", "flatten",  "linear"};
            const std::string type = types[random() % types.size()];
            spec::Values values;
            if (type == "linear")
                values["out_features"] = test::whole(1 + random() % 20);
            if (type == "conv2d")
                values = {{"out_channels", test::whole(1 + random() % 20)},
                          {"kernel", pair(1 + random() % 4, 1 + random() % 4)},
                          {"stride", pair(1 + random() % 2, 1 + random() % 2)},
                          {"padding", pair(random() % 2, random() % 2)}};
            layers.push_back(layer("l" + std::to_string(i), type, std::move(values)));
        }
        const BuiltGraph built = buildGraph(model({3, 17, 13}, std::move(layers)), {});
        if (!built.problems.empty())
            continue;
        ++whole;
        checkConsistent(built.graph);
        std::int64_t parameters = 0;
        for (const LayerShapes& shapes : built.layers)
            parameters += shapes.parameters;
        QCOMPARE(parameters, built.graph.parameterElements());
    }
    QVERIFY2(whole > 100, qPrintable(QString::number(whole)));
}

QTEST_GUILESS_MAIN(GraphTest)
#include "tst_graph.moc"
