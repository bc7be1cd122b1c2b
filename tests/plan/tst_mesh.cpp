// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The mesh: ranks and their places, models cut over tensor and pipeline ranks, the order of a
// pipeline's micro-batches. Whatever the mesh, each parameter is owned once, every program finds
// what it needs in memory, and the programs of a pipeline play together to their end.
#include "engine/plan/mesh.h"

#include "engine/base/bfloat16.h"
#include "engine/program/rehearsal.h"
#include "tests/plan/memory_machine.h"
#include "tests/plan/mesh_models.h"

#include <QtTest>

#include <algorithm>
#include <map>
#include <random>
#include <set>

using namespace trainyard;
using namespace trainyard::plan;
using test::layer;
using test::onMesh;
using test::picturesOnMesh;
using test::planOf;
using test::tied;
using test::tryPlan;
using test::whole;
using test::wordsOnMesh;

namespace {

std::int64_t oneOf(std::mt19937& random, const std::vector<std::int64_t>& values) {
    return values[random() % values.size()];
}

/// Forward takes 1, backward 2; the rest nothing.
double unitCost(int, const Program&, const Instruction& instruction) {
    if (instruction.opcode == Opcode::Forward)
        return 1;
    return instruction.opcode == Opcode::Backward ? 2 : 0;
}

} // namespace

class MeshTest : public QObject {
    Q_OBJECT

private slots:
    void ranksAndPlaces();
    void slicesGoThereAndBack();
    void everyElementIsOwnedOnce_data();
    void everyElementIsOwnedOnce();
    void layersAreCutInPairs();
    void whatCannotBeCutIsSaid();
    void turnsAreWhole();
    void fewMicroBatchesAreAlive();
    void bubbleIsAsTheFormulaSays_data();
    void bubbleIsAsTheFormulaSays();
    void stagesAreCutByCost();
    void stagesAreCutByHand();
    void tiedWeightsKeepWholeGradients();
    void badMeshesAreRefused_data();
    void badMeshesAreRefused();
    void anyMeshPlays();
};

void MeshTest::ranksAndPlaces() {
    const Mesh mesh{.data = 3, .tensor = 2, .pipeline = 4};
    QCOMPARE(mesh.worldSize(), 24);
    for (int rank = 0; rank < 24; ++rank)
        QCOMPARE(mesh.rankOf(mesh.coordinateOf(rank)), rank);
    QVERIFY((mesh.coordinateOf(1) == Coordinate{0, 1, 0}));
    QVERIFY((mesh.coordinateOf(2) == Coordinate{1, 0, 0}));
    QVERIFY((mesh.coordinateOf(6) == Coordinate{0, 0, 1}));
    for (const Axis axis : {Axis::Data, Axis::Tensor, Axis::Pipeline}) {
        std::set<int> seen;
        for (const std::vector<int>& group : mesh.groups(axis)) {
            QCOMPARE(static_cast<int>(group.size()), mesh.extent(axis));
            QVERIFY(std::ranges::is_sorted(group));
            seen.insert(group.begin(), group.end());
        }
        QCOMPARE(seen.size(), std::size_t{24});
    }
}

void MeshTest::slicesGoThereAndBack() {
    const Shape shape = {6, 5, 2};
    std::vector<std::int32_t> whole(60);
    for (std::size_t i = 0; i < whole.size(); ++i)
        whole[i] = static_cast<std::int32_t>(i);
    // Of queries, keys and values with 2, 2 and 2 rows each rank of two has one of each.
    const ParameterSlice slice{true, true, 0, evenRanges({2, 2, 2}, 2, 1)};
    QCOMPARE(localShape(shape, slice), (Shape{3, 5, 2}));
    std::vector<std::int32_t> local(30, -1);
    copyToLocal(reinterpret_cast<const std::byte*>(whole.data()),
                reinterpret_cast<std::byte*>(local.data()), shape, slice, 4);
    QCOMPARE(local.front(), 10);
    QCOMPARE(local[10], 30);
    QCOMPARE(local.back(), 59);
    std::vector<std::int32_t> back(60, 0);
    copyToWhole(reinterpret_cast<const std::byte*>(local.data()),
                reinterpret_cast<std::byte*>(back.data()), shape, slice, 4);
    for (std::size_t i = 0; i < whole.size(); ++i)
        QCOMPARE(back[i], i / 10 % 2 == 1 ? whole[i] : 0);
    const ParameterSlice middle{true, true, 1, {{3, 2}}};
    QCOMPARE(localShape(shape, middle), (Shape{6, 2, 2}));
    copyToLocal(reinterpret_cast<const std::byte*>(whole.data()),
                reinterpret_cast<std::byte*>(local.data()), shape, middle, 4);
    QCOMPARE(local[0], 6);
    QCOMPARE(local[4], 16);
}

void MeshTest::everyElementIsOwnedOnce_data() {
    QTest::addColumn<int>("tensor");
    QTest::addColumn<int>("pipeline");
    for (const auto& [tensor, pipeline] : {std::pair{1, 1}, {2, 1}, {4, 1}, {1, 3}, {2, 2}, {4, 4}})
        QTest::addRow("tensor %d pipeline %d", tensor, pipeline) << tensor << pipeline;
}

void MeshTest::everyElementIsOwnedOnce() {
    QFETCH(int, tensor);
    QFETCH(int, pipeline);
    for (const spec::Experiment& experiment :
         {wordsOnMesh(1, tensor, pipeline), tied(wordsOnMesh(1, tensor, pipeline)),
          picturesOnMesh(1, tensor, pipeline)}) {
        const Plan plan = planOf(experiment);
        QCOMPARE(static_cast<int>(plan.sections.size()), tensor * pipeline);
        for (std::size_t i = 0; i < plan.graph.parameters.size(); ++i) {
            const Shape& shape = plan.graph.parameters[i].shape;
            std::vector<std::int32_t> owners(static_cast<std::size_t>(elementCount(shape)), 0);
            for (const Section& section : plan.sections) {
                const ParameterSlice& slice = section.slices[i];
                if (!slice.held)
                    continue;
                QCOMPARE(section.graph.parameters[i].shape, localShape(shape, slice));
                if (!slice.owned)
                    continue;
                std::vector<std::int32_t> ones(
                    static_cast<std::size_t>(elementCount(localShape(shape, slice))), 1);
                std::vector<std::int32_t> here(owners.size(), 0);
                copyToWhole(reinterpret_cast<const std::byte*>(ones.data()),
                            reinterpret_cast<std::byte*>(here.data()), shape, slice, 4);
                for (std::size_t k = 0; k < owners.size(); ++k)
                    owners[k] += here[k];
            }
            QVERIFY2(std::ranges::all_of(owners, [](std::int32_t count) { return count == 1; }),
                     plan.graph.parameters[i].name.c_str());
        }
    }
}

/// Two sums a block forward and two backward, as in Megatron-LM, and each rank has its part.
void MeshTest::layersAreCutInPairs() {
    const Plan plan = planOf(wordsOnMesh(1, 2, 1));
    const Program program = compileProgram(plan, 0, Purpose::Training, 48);
    const auto count = [&](Opcode opcode) {
        return std::ranges::count(program.instructions, opcode, &Instruction::opcode);
    };
    QCOMPARE(count(Opcode::SumValue), 3 * 2 + 1);    // and the embedding
    QCOMPARE(count(Opcode::SumGradient), 3 * 2 + 1); // and what the scores are made of
    QCOMPARE(count(Opcode::GatherScores), 1);
    const Section& section = plan.sectionOf(1);
    std::map<std::string, Shape> shapes;
    for (const graph::ParameterInfo& parameter : section.graph.parameters)
        shapes[parameter.name] = parameter.shape;
    QCOMPARE(shapes.at("words.weight"), (Shape{6, 8}));
    QCOMPARE(shapes.at("block1.expand.weight"), (Shape{16, 8}));
    QCOMPARE(shapes.at("block1.contract.weight"), (Shape{8, 16}));
    QCOMPARE(shapes.at("scores.weight"), (Shape{6, 8}));
    QVERIFY(section.replicated.empty());
    QCOMPARE(section.sharedClasses, std::vector<std::string>{"scores"});
    QVERIFY(plan.ranks[0].memory.parameters <
            planOf(wordsOnMesh(1, 1, 1)).ranks[0].memory.parameters * 2 / 3);
}

void MeshTest::whatCannotBeCutIsSaid() {
    spec::Experiment experiment = wordsOnMesh(1, 4, 1);
    const Plan plan = planOf(experiment);
    // block2 has two key heads and block3 two heads: not for four ranks.
    const std::vector<std::string>& whole = plan.sectionOf(3).replicated;
    for (const char* layer : {"block2.attention", "block3.attention"})
        QVERIFY2(std::ranges::any_of(
                     whole, [&](const std::string& name) { return name.starts_with(layer); }),
                 layer);
    QVERIFY(std::ranges::none_of(
        whole, [](const std::string& name) { return name.starts_with("block1"); }));
}

void MeshTest::turnsAreWhole() {
    for (const ScheduleKind kind :
         {ScheduleKind::GPipe, ScheduleKind::OneForwardOneBackward, ScheduleKind::Interleaved})
        for (const int ranks : {2, 3, 4, 8})
            for (const int times : {1, 2, 5}) {
                const int stages = kind == ScheduleKind::Interleaved ? 3 : 1;
                const PipelineShape shape{kind, ranks, stages, ranks * times};
                for (int rank = 0; rank < ranks; ++rank) {
                    std::map<std::pair<int, int>, int> seen;
                    std::map<std::pair<bool, int>, int> last;
                    for (const Turn& turn : trainingTurns(shape, rank)) {
                        QCOMPARE(turn.stage % ranks, rank);
                        int& state = seen[{turn.stage, turn.microBatch}];
                        QCOMPARE(state, turn.backward ? 1 : 0);
                        ++state;
                        int& before = last[{turn.backward, turn.stage}];
                        QCOMPARE(turn.microBatch, before++);
                    }
                    QCOMPARE(static_cast<int>(seen.size()), stages * ranks * times);
                    for (const auto& [key, state] : seen)
                        QCOMPARE(state, 2);
                }
            }
}

void MeshTest::fewMicroBatchesAreAlive() {
    for (const int ranks : {2, 4, 7}) {
        const PipelineShape shape{ScheduleKind::OneForwardOneBackward, ranks, 1, 20};
        for (int rank = 0; rank < ranks; ++rank) {
            int alive = 0;
            int most = 0;
            const std::vector<Turn> turns = trainingTurns(shape, rank);
            for (const Turn& turn : turns) {
                alive += turn.backward ? -1 : 1;
                most = std::max(most, alive);
            }
            QCOMPARE(most, ranks - rank);
            QCOMPARE(microBatchesAlive(turns), most);
        }
    }
    // The plan gives them no more memory than that: twice the micro-batches take as much.
    const auto activations = [](const char* schedule, const char* microBatches) {
        return planOf(wordsOnMesh(1, 1, 2,
                                  {{"parallel.schedule", schedule},
                                   {"parallel.micro_batches", microBatches},
                                   {"training.batch", std::string(microBatches) + "0"}}))
            .ranks[0]
            .memory.activations;
    };
    QCOMPARE(activations("1f1b", "8"), activations("1f1b", "4"));
    QVERIFY(activations("gpipe", "8") > 3 * activations("gpipe", "4") / 2);
}

void MeshTest::bubbleIsAsTheFormulaSays_data() {
    QTest::addColumn<QByteArray>("schedule");
    QTest::addColumn<int>("ranks");
    QTest::addColumn<int>("microBatches");
    for (const char* schedule : {"gpipe", "1f1b", "interleaved"})
        for (const int ranks : {2, 4})
            for (const int micro : {4, 8, 24})
                QTest::addRow("%s %d ranks %d micro-batches", schedule, ranks, micro)
                    << QByteArray(schedule) << ranks << micro;
}

/// Of stages that take equally long: each is one block.
void MeshTest::bubbleIsAsTheFormulaSays() {
    QFETCH(QByteArray, schedule);
    QFETCH(int, ranks);
    QFETCH(int, microBatches);
    const int stages = schedule == "interleaved" ? 2 * ranks : ranks;
    spec::Experiment experiment =
        onMesh(1, 1, ranks,
               {{"parallel.schedule", schedule.toStdString()},
                {"parallel.micro_batches", std::to_string(microBatches)}});
    experiment.model.inputShape = {10};
    experiment.model.layers.clear();
    for (int i = 0; i < stages; ++i) {
        experiment.model.layers.push_back(
            layer("fc" + std::to_string(i), "linear", {{"out_features", whole(10)}}));
        if (i > 0)
            experiment.parallel.cuts.push_back("fc" + std::to_string(i));
    }
    const Plan plan = planOf(experiment);
    const auto linear = [&](int rank, const Program& program, const Instruction& instruction) {
        const bool loss =
            instruction.operation >= 0 &&
            graph::isLoss(
                plan.sectionOf(rank).graph.operations[graph::at(instruction.operation)].kind);
        return loss ? 0.0 : unitCost(rank, program, instruction);
    };
    const Rehearsal rehearsal = rehearse(plan, Purpose::Training, 48, linear);
    QCOMPARE(rehearsal.problem, std::string());
    const double busy = rehearsal.busy.front();
    QCOMPARE(busy, 3.0 * microBatches * stages / ranks);
    const double idle = 1 - busy / rehearsal.seconds;
    const double formula = bubbleShare(plan.pipelineShape());
    QVERIFY2(std::abs(idle - formula) <= 0.1 * formula,
             qPrintable(QStringLiteral("%1 of %2").arg(idle).arg(formula)));
}

void MeshTest::stagesAreCutByCost() {
    const Plan plan = planOf(wordsOnMesh(1, 1, 3));
    QCOMPARE(plan.stages.size(), std::size_t{3});
    QCOMPARE(plan.stages.front(), std::string("words"));
    double most = 0;
    for (const RankPlan& rank : plan.ranks)
        most = std::max(most, rank.flopsPerStep);
    // One block each is the best that can be.
    QVERIFY(most < 0.5 * 48 * 3 * plan.graph.forwardFlops());
}

void MeshTest::stagesAreCutByHand() {
    spec::Experiment experiment = wordsOnMesh(1, 1, 3);
    experiment.parallel.cuts = {"block1", "norm"};
    const Plan plan = planOf(experiment);
    QCOMPARE(plan.stages, (std::vector<std::string>{"words", "block1", "norm"}));
    for (const graph::Operation& operation : plan.sectionOf(1).graph.operations)
        QVERIFY(operation.layer.starts_with("block"));
    // fc1 on one rank, fc2 on the next.
    spec::Experiment two = onMesh(1, 1, 2);
    two.model.inputShape = {10};
    two.model.layers = {layer("fc1", "linear", {{"out_features", whole(7)}}),
                        layer("fc2", "linear", {{"out_features", whole(10)}})};
    two.parallel.cuts = {"fc2"};
    two.devices = {"local/cpu:1", "local/cpu:0"};
    const Plan placed = planOf(two);
    QCOMPARE(placed.ranks[0].device, std::string("local/cpu:1"));
    QVERIFY(placed.sectionOf(0).holds(0) && !placed.sectionOf(0).holds(2));
    QVERIFY(placed.sectionOf(1).holds(2) && !placed.sectionOf(1).holds(0));
}

/// Gradients of weights that two stages use must be whole where they are added up.
void MeshTest::tiedWeightsKeepWholeGradients() {
    spec::Experiment experiment = wordsOnMesh(2, 1, 2, {{"parallel.zero", "2"}});
    QCOMPARE(test::sentences(tryPlan(experiment).problems), QByteArrayList());
    experiment = tied(experiment);
    QCOMPARE(
        test::sentences(tryPlan(experiment).problems),
        QByteArrayList{"parallel.zero: words.weight is used in two stages of the pipeline; its "
                       "gradients can only be added up where each rank has them whole. Set "
                       "parallel.zero to 0 or 1, or do not share these weights."});
    experiment.parallel.zero = 1;
    const Plan plan = planOf(experiment);
    QCOMPARE(plan.sectionOf(0).shared.size(), std::size_t{1});
    QCOMPARE(plan.sectionOf(3).shared.front().ranks, (std::vector<int>{0, 1}));
}

void MeshTest::badMeshesAreRefused_data() {
    QTest::addColumn<QByteArray>("json");
    QTest::addColumn<QByteArray>("sentence");
    const auto row = [](const char* name, const char* path, const char* value,
                        const char* sentence) {
        QTest::newRow(name) << QByteArray(path) + "=" + value << QByteArray(sentence);
    };
    row("too many stages", "parallel.pipeline", "40",
        "parallel.pipeline: 7 layers cannot be cut into 40 stages. Use at most 7 stages.");
    row("a cut that is none", "parallel.cuts", "[\"blok\"]",
        "parallel.cuts[0]: There is no layer \"blok\" to begin a stage with. Name a layer of the "
        "model.");
    row("no tensor ranks", "parallel.tensor", "0",
        "parallel.tensor: Expected a whole number from 1 to 1,024, found 0.");
    row("too many ranks", "parallel.tensor", "1024",
        "parallel: 1 x 1,024 x 2 ranks are 2,048; at most 1,024 can train together.");
    row("a schedule that is none", "parallel.schedule", "\"2f2b\"",
        "parallel.schedule: Found \"2f2b\"; known are: gpipe, 1f1b, interleaved.");
    row("odd micro-batches", "parallel.schedule", "\"interleaved\"",
        "parallel.micro_batches: The interleaved schedule needs a multiple of the 2 pipeline "
        "ranks, "
        "found 1 micro-batches. Use 2 micro-batches, or the schedule 1f1b.");
    row("more micro-batches than rows", "parallel.micro_batches", "100",
        "parallel.micro_batches: 48 rows of a batch on each rank cannot be cut into 100 "
        "micro-batches. Use at most 48 micro-batches, or a larger batch.");
    row("too many cuts", "parallel.cuts", "[\"block1\", \"block2\"]",
        "parallel.cuts: Expected the first layers of 2 stages, all but the first, found 2. Name 1, "
        "or none.");
}

void MeshTest::badMeshesAreRefused() {
    QFETCH(QByteArray, json);
    const qsizetype equals = json.indexOf('=');
    const spec::Experiment good = wordsOnMesh(1, 1, 2);
    const spec::ParsedExperiment parsed = spec::parseExperiment(
        spec::toJson(good),
        {{json.left(equals).toStdString(), json.mid(equals + 1).toStdString()}});
    const Problems problems =
        parsed.problems.empty() ? tryPlan(parsed.experiment).problems : parsed.problems;
    QVERIFY(!problems.empty());
    QTEST(QByteArray::fromStdString(problems.front().sentence()), "sentence");
}

/// Any mesh, schedule and number of micro-batches: memory holds what is looked for, and nobody
/// waits for ever.
void MeshTest::anyMeshPlays() {
    std::mt19937 random(11);
    int messages = 0;
    int sums = 0;
    for (int round = 0; round < 24; ++round) {
        const auto pipeline = static_cast<int>(oneOf(random, {1, 2, 3}));
        const bool interleaved = random() % 3 == 0 && pipeline < 3;
        const std::int64_t times = oneOf(random, {1, 2, 3});
        const test::Settings settings = {
            {"parallel.schedule",
             interleaved ? "interleaved" : (random() % 2 == 0 ? "gpipe" : "1f1b")},
            {"parallel.micro_batches",
             std::to_string(interleaved ? pipeline * times : oneOf(random, {1, 2, 5}))},
            {"parallel.recompute", random() % 2 == 0 ? "blocks" : "none"},
            {"parallel.zero", std::to_string(random() % 4)}};
        const auto data = static_cast<int>(oneOf(random, {1, 2}));
        const auto tensor = static_cast<int>(oneOf(random, {1, 2, 4}));
        const spec::Experiment experiment = random() % 2 == 0
                                                ? wordsOnMesh(data, tensor, pipeline, settings)
                                                : picturesOnMesh(data, tensor, pipeline, settings);
        const bool ties = experiment.name == "words" && round % 3 > 0 &&
                          (pipeline == 1 || experiment.parallel.zero < 2);
        const Plan plan = planOf(ties ? tied(experiment) : experiment, round % 2 == 0);
        QCOMPARE(plan.worldSize, data * tensor * pipeline);
        for (const Purpose purpose : {Purpose::Training, Purpose::Evaluation})
            for (const std::int64_t rows : {48, 1}) {
                QCOMPARE(rehearse(plan, purpose, rows, unitCost).problem, std::string());
                for (int rank = 0; rank < plan.worldSize; ++rank) {
                    const Program program = compileProgram(plan, rank, purpose, rows);
                    test::MemoryMachine machine(plan, rank, program);
                    QCOMPARE(QByteArray::fromStdString(machine.run()), QByteArray());
                    messages += static_cast<int>(std::ranges::count(
                        program.instructions, Opcode::ReceiveGradient, &Instruction::opcode));
                    sums += static_cast<int>(std::ranges::count(
                        program.instructions, Opcode::SumGradient, &Instruction::opcode));
                }
            }
    }
    QVERIFY2(messages > 200, qPrintable(QString::number(messages)));
    QVERIFY2(sums > 200, qPrintable(QString::number(sums)));
}

QTEST_APPLESS_MAIN(MeshTest)
#include "tst_mesh.moc"
