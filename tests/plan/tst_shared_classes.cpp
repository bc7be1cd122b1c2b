// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Heads whose classes the tensor ranks share: which ones are cut, by which rows, what is told of it
// and what travels.
#include "engine/program/program.h"
#include "tests/plan/mesh_models.h"

#include <QtTest>

#include <algorithm>
#include <optional>

using namespace trainyard;
using namespace trainyard::plan;
using test::layer;
using test::onMesh;
using test::planOf;
using test::tied;
using test::whole;
using test::wordsOnMesh;

class SharedClassesTest : public QObject {
    Q_OBJECT

private slots:
    void headsAreShared_data();
    void headsAreShared();
    void tableAndHeadAreTheSameSlice();
    void partsOfTheLossAreCounted();
};

void SharedClassesTest::headsAreShared_data() {
    using Layers = std::vector<spec::LayerSpec>;
    QTest::addColumn<Layers>("layers");
    QTest::addColumn<QByteArray>("loss");
    QTest::addColumn<int>("tensor");
    QTest::addColumn<QByteArray>("shared");
    QTest::addColumn<QByteArray>("whole");
    const auto row = [](const char* name, Layers layers, int tensor, const char* shared,
                        const char* whole, const char* loss = "cross_entropy") {
        QTest::addRow("%s", name) << std::move(layers) << QByteArray(loss) << tensor
                                  << QByteArray(shared) << QByteArray(whole);
    };
    const auto linear = [](const char* id, std::int64_t features) {
        return layer(id, "linear", {{"out_features", features}});
    };
    row("alone", {linear("fc", 10)}, 2, "fc", "");
    row("of classes that do not divide", {linear("fc", 11)}, 4, "fc", "");
    row("with fewer classes than ranks", {linear("fc", 10)}, 16, "", "fc");
    row("that closes a pair", {linear("fc1", 8), layer("relu", "relu"), linear("fc2", 10)}, 2, "",
        "");
    row("after a pair", {linear("fc1", 8), linear("fc2", 8), linear("fc3", 10)}, 2, "fc3", "");
    row("before a flatten", {linear("fc", 10), layer("flat", "flatten")}, 2, "fc", "");
    row("before a dropout", {linear("fc", 10), layer("drop", "dropout")}, 5, "fc", "");
    row("before a softmax", {linear("fc", 10), layer("p", "softmax")}, 2, "", "fc");
    row("of numbers", {linear("fc", 10)}, 2, "", "fc", "mse");
}

/// Which layers' classes the ranks share, and which layers all have whole.
void SharedClassesTest::headsAreShared() {
    QFETCH(std::vector<spec::LayerSpec>, layers);
    QFETCH(QByteArray, loss);
    QFETCH(int, tensor);
    spec::Experiment experiment = onMesh(1, tensor, 1);
    experiment.model.inputShape = {12};
    experiment.model.layers = layers;
    experiment.model.loss = {loss.toStdString(), {}};
    const PlanOutcome outcome =
        makePlan(experiment,
                 {.trainSamples = 100, .sampleShape = {12}, .classes = loss == "mse" ? 0 : 10}, {});
    QCOMPARE(test::sentences(outcome.problems), QByteArrayList());
    const auto joined = [](const std::vector<std::string>& names) {
        QByteArrayList list;
        for (const std::string& name : names)
            list << QByteArray::fromStdString(name);
        return list.join(' ');
    };
    std::int64_t scored = 0;
    for (const Section& section : outcome.plan.sections) {
        QTEST(joined(section.sharedClasses), "shared");
        QTEST(joined(section.replicated), "whole");
        if (const std::optional<IndexRange> slice = section.classSlice()) {
            QCOMPARE(slice->first, scored);
            scored += slice->count;
        }
    }
    QCOMPARE(scored,
             outcome.plan.sectionOf(0).sharedClasses.empty() ? 0 : outcome.plan.graph.classes());
    QVERIFY(QByteArray::fromStdString(toJson(outcome.plan))
                .replace('\n', "")
                .replace(' ', "")
                .contains("\"layers_with_shared_classes\":[" +
                          (scored > 0 ? '"' + joined(outcome.plan.sectionOf(0).sharedClasses) + '"'
                                      : QByteArray()) +
                          ']'));
}

/// Of words that do not divide: the first ranks have one more.
void SharedClassesTest::tableAndHeadAreTheSameSlice() {
    spec::Experiment experiment = tied(wordsOnMesh(1, 4, 1));
    experiment.model.layers.front().values["vocabulary"] = whole(14);
    experiment.model.layers.back().values["out_features"] = whole(14);
    const Plan plan = planOf(experiment);
    for (int rank = 0; rank < 4; ++rank) {
        const Section& section = plan.sectionOf(rank);
        QCOMPARE(section.graph.parameters.front().name, std::string("words.weight"));
        QCOMPARE(section.graph.parameters.front().shape, (Shape{rank < 2 ? 4 : 3, 8}));
        const std::vector<IndexRange> rows = {
            {rank < 2 ? 4 * rank : 3 * rank + 2, rank < 2 ? 4 : 3}};
        QVERIFY(section.slices.front().ranges == rows);
        QVERIFY(section.classSlice() == rows.front());
    }
    // Where the scores are not right before the loss, the table stays whole like the head.
    experiment.model.layers.push_back(layer("relu", "relu"));
    const Plan whole = planOf(experiment);
    QCOMPARE(whole.sectionOf(3).graph.parameters.front().shape, (Shape{14, 8}));
    QVERIFY(whole.sectionOf(0).sharedClasses.empty());
}

/// 14 numbers of 8 bytes a position and rank; sums of {6, 8} values for 48 samples are 9,216 bytes.
void SharedClassesTest::partsOfTheLossAreCounted() {
    const Plan plan = planOf(tied(wordsOnMesh(1, 2, 1)));
    QCOMPARE(plan.ranks[0].sentPerStep.tensors, std::size_t{14 * 9216 + 48 * 6 * 14 * 8});
    const Program program = compileProgram(plan, 1, Purpose::Training, 48);
    const auto gather =
        std::ranges::find(program.instructions, Opcode::GatherScores, &Instruction::opcode);
    QCOMPARE(scoreBytes(plan.sectionOf(1).graph, program, *gather),
             std::size_t{2 * 48 * 6 * 14 * 8});
    QVERIFY((gather - 1)->phase == Phase::Collect && (gather + 1)->phase == Phase::Apply);
    QVERIFY((gather - 1)->operation == gather->operation);
    QVERIFY((gather + 1)->operation == gather->operation);
}

QTEST_APPLESS_MAIN(SharedClassesTest)
#include "tst_shared_classes.moc"
