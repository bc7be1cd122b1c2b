// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Programs: whatever the model, no instruction finds anything but what was meant for it, each
// bucket is reduced once and after its last gradient, and all ranks agree on the order.
#include "engine/program/program.h"

#include "engine/plan/layouts.h"
#include "tests/plan/memory_machine.h"
#include "tests/support/experiments.h"

#include <QtTest>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>

using namespace trainyard;
using namespace trainyard::plan;
using test::layer;
using test::whole;

namespace {

using graph::OperationKind;
using graph::ValueId;

std::size_t below(std::mt19937& random, std::size_t limit) {
    return random() % limit;
}

/// A model of layers that fit, ending in classes.
spec::Experiment randomChain(std::mt19937& random) {
    spec::Experiment experiment = test::smallExperiment(
        {{"parallel.data", std::to_string(1 + below(random, 4))}, {"training.batch", "12"}});
    std::vector<spec::LayerSpec>& layers = experiment.model.layers;
    layers.clear();
    const auto add = [&](const std::string& type, spec::Values values = {}) {
        layers.push_back(layer(type + std::to_string(layers.size()), type, std::move(values)));
    };
    for (std::size_t i = below(random, 8); i > 0; --i) {
        static const std::vector<const char*> types = {"conv2d",  "max_pool", "relu",
                                                       "dropout", "avg_pool", "batch_norm",
                                                       "gelu",    "tanh",     "residual_block"};
        const std::string type = types[below(random, types.size())];
        if (type == "conv2d")
            add(type, {{"out_channels", whole(1 + random() % 20)}, {"padding", whole(1)}});
        else if (type == "residual_block")
            add(type, {{"out_channels", whole(1 + random() % 20)}});
        else if (type == "max_pool" || type == "avg_pool")
            add(type, {{"stride", whole(1)}});
        else
            add(type);
    }
    add("flatten");
    for (std::size_t i = below(random, 6); i > 0; --i) {
        static const std::vector<const char*> types = {"linear",  "relu",       "dropout",
                                                       "flatten", "batch_norm", "layer_norm"};
        const std::string type = types[below(random, types.size())];
        add(type, type == "linear" ? spec::Values{{"out_features", whole(1 + random() % 50)}}
                                   : spec::Values{});
    }
    add("linear", {{"out_features", whole(10)}});
    experiment.model.inputShape = {1 + static_cast<std::int64_t>(random() % 20), 12, 12};
    return experiment;
}

/// A model of words, with weights that serve twice.
spec::Experiment randomSequence(std::mt19937& random) {
    spec::Experiment experiment =
        test::smallExperiment({{"parallel.data", std::to_string(1 + below(random, 4))},
                               {"training.batch", "12"},
                               {"parallel.accumulate", std::to_string(1 + below(random, 3))},
                               {"parallel.recompute", below(random, 2) ? "blocks" : "none"}});
    std::vector<spec::LayerSpec>& layers = experiment.model.layers;
    layers = {
        layer("words", "embedding", {{"vocabulary", whole(10)}, {"features", whole(8)}}),
        layer("positions", "position_embedding"),
    };
    for (std::size_t i = below(random, 4); i > 0; --i)
        layers.push_back(layer("block" + std::to_string(i), "transformer_block",
                               {{"heads", whole(below(random, 2) ? 4 : 2)},
                                {"dropout", below(random, 2) ? 0.1 : 0.0},
                                {"rotary", below(random, 2) == 1},
                                {"activation", std::string(below(random, 2) ? "relu" : "silu")}}));
    layers.push_back(layer(
        "scores", "linear",
        {{"out_features", whole(10)}, {"tied_to", std::string(below(random, 3) ? "words" : "")}}));
    experiment.model.inputShape = {1 + static_cast<std::int64_t>(below(random, 9))};
    return experiment;
}

/// Makes graphs that no list of layers is likely to be: values with many readers, joined anyhow
/// (the compiler looks at inputs and traits, not at what is computed).
class RandomGraph {
public:
    explicit RandomGraph(std::mt19937& random) : m_random(random) {
        m_graph.values.push_back({.shape = {4, 5, 5}, .layout = randomLayout(), .consumers = {}});
    }

    graph::Graph make(std::size_t operations) {
        for (std::size_t i = 0; i < operations; ++i)
            addRandom();
        // Whatever nobody reads yet is joined, two by two.
        for (std::vector<ValueId> open = unread(); open.size() > 1; open = unread())
            add(OperationKind::Add, {open[0], open[1]}, {4, 5, 5}, false);
        const ValueId last = unread().front();
        m_graph.logits = add(OperationKind::Linear, {last}, {10}, true);
        add(OperationKind::SoftmaxCrossEntropy, {m_graph.logits}, {}, false);
        return m_graph;
    }

private:
    Layout randomLayout() { return below(m_random, 2) ? Layout::Blocked16 : Layout::Plain; }

    const graph::ValueInfo& value(ValueId id) const {
        return m_graph.values[static_cast<std::size_t>(id)];
    }

    std::vector<ValueId> unread() const {
        std::vector<ValueId> open;
        for (std::size_t i = 0; i < m_graph.values.size(); ++i)
            if (m_graph.values[i].consumers.empty())
                open.push_back(static_cast<ValueId>(i));
        return open;
    }

    /// One of the latest values, so that chains are as frequent as branches.
    ValueId someValue() {
        const std::size_t count = m_graph.values.size();
        return static_cast<ValueId>(count - 1 - below(m_random, std::min<std::size_t>(count, 3)));
    }

    void addRandom() {
        const ValueId input = someValue();
        const Shape shape = value(input).shape;
        switch (below(m_random, 8)) {
        case 0:
            add(OperationKind::Relu, {input}, shape, false);
            break;
        case 1:
            add(OperationKind::Dropout, {input}, shape, false);
            break;
        case 2:
            add(OperationKind::Reshape, {input}, {elementCount(shape)}, false);
            break;
        case 3:
            add(OperationKind::MaxPool, {input}, shape, false);
            break;
        case 4:
            add(OperationKind::Multiply, {input, someValue()}, shape, false);
            break;
        case 5:
            add(OperationKind::Add, {input, someValue()}, shape, false);
            break;
        default:
            add(OperationKind::Linear, {input}, {4, 5, 5}, true);
        }
    }

    ValueId add(OperationKind kind, std::vector<ValueId> inputs, const Shape& output,
                bool parameters) {
        if (inputs.size() == 2 && inputs[0] == inputs[1]) {
            inputs.pop_back();
            kind = OperationKind::Linear;
        }
        const auto id = static_cast<graph::OperationId>(m_graph.operations.size());
        for (const ValueId input : inputs)
            m_graph.values[static_cast<std::size_t>(input)].consumers.push_back(id);
        if (kind == OperationKind::SoftmaxCrossEntropy || below(m_random, 2) == 0)
            m_layer = "layer" + std::to_string(id); // else it belongs to the block before
        graph::Operation operation{kind, m_layer, {}, std::move(inputs), {}, {}};
        if (kind == OperationKind::SoftmaxCrossEntropy)
            operation.attributes = graph::CrossEntropyAttributes{};
        if (parameters) {
            operation.parameters = {static_cast<graph::ParameterId>(m_graph.parameters.size())};
            m_graph.parameters.push_back({"op" + std::to_string(id) + ".weight",
                                          {1 + static_cast<std::int64_t>(below(m_random, 200'000))},
                                          graph::Initializer{}});
        }
        ValueId made = -1;
        if (kind != OperationKind::SoftmaxCrossEntropy) {
            made = static_cast<ValueId>(m_graph.values.size());
            operation.outputs = {made};
            Layout layout = output.size() == 3 ? randomLayout() : Layout::Plain;
            if (graph::traits(kind).mayRunInPlace && kind != OperationKind::Reshape)
                layout = value(operation.inputs.front()).layout;
            m_graph.values.push_back(
                {.shape = output, .layout = layout, .producer = id, .consumers = {}});
        }
        m_graph.operations.push_back(std::move(operation));
        return made;
    }

    std::mt19937& m_random;
    std::string m_layer = "first";
    graph::Graph m_graph;
};

/// As makePlan lays them out, for a graph that did not come from an experiment.
Plan planOf(graph::Graph graph, int worldSize, std::mt19937& random) {
    Plan plan;
    plan.mesh.data = worldSize;
    plan.worldSize = worldSize;
    plan.batch = 8;
    plan.microBatches = 1 + static_cast<std::int64_t>(below(random, 3));
    plan.recompute = below(random, 2) == 1;
    const std::size_t zero = worldSize > 1 ? below(random, 4) : 0;
    plan.shardsOptimizer = zero >= 1;
    plan.shardsGradients = zero >= 2;
    plan.shardsParameters = zero >= 3;
    plan.data = {100, 50, graph.values.front().shape, 10};
    plan.graph = graph;
    Section section;
    section.graph = std::move(graph);
    section.stageOf.assign(section.graph.operations.size(), 0);
    section.withGradient = valuesWithGradient(section.graph);
    section.slices.assign(section.graph.parameters.size(), {true, true, -1, {}});
    section.bucketOf.assign(section.graph.parameters.size(), -1);
    const std::vector<graph::Operation>& operations = section.graph.operations;
    Bucket open;
    for (auto operation = operations.rbegin(); operation != operations.rend(); ++operation) {
        open.parameters.insert(open.parameters.end(), operation->parameters.begin(),
                               operation->parameters.end());
        if (!open.parameters.empty() &&
            (operation + 1 == operations.rend() || below(random, 3) == 0)) {
            for (const graph::ParameterId parameter : open.parameters)
                section.bucketOf[graph::at(parameter)] = static_cast<int>(section.buckets.size());
            open.elements = 48; // of which each rank of up to three has a shard
            section.buckets.push_back(open);
            open.parameters.clear();
        }
    }
    plan.sections = {std::move(section)};
    return plan;
}

/// Empty when the rules of collectives hold.
QByteArray collectiveProblem(const Plan& plan, int rank, const Program& program) {
    const Section& section = plan.sectionOf(rank);
    // Where gradients are sharded each micro-batch's are reduced.
    const int rounds = plan.shardsGradients ? static_cast<int>(program.microBatches.size()) : 1;
    std::map<graph::ParameterId, int> parts; // that operations add to its gradient each round
    std::map<graph::ParameterId, int> due;   // those that are still to come
    for (const graph::Operation& operation : section.graph.operations)
        for (const graph::ParameterId parameter : operation.parameters)
            parts[parameter] += static_cast<int>(program.microBatches.size()) / rounds;
    due = parts;
    std::vector<int> reduced(section.buckets.size(), 0);
    std::vector<int> gathered(section.buckets.size(), 0);
    std::set<int> reductions;
    int lastCompute = -1;
    int updates = 0;
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
        const Instruction& instruction = program.instructions[i];
        for (const int other : instruction.waitsFor) {
            if (other < 0 || other >= static_cast<int>(i))
                return "waits for what comes later";
            if (program.instructions[static_cast<std::size_t>(other)].lane == instruction.lane)
                return "waits for its own lane";
        }
        const auto waitsFor = [&](int other) {
            return std::count(instruction.waitsFor.begin(), instruction.waitsFor.end(), other) > 0;
        };
        switch (instruction.opcode) {
        case Opcode::Backward:
            for (const graph::ParameterId parameter :
                 section.graph.operations[graph::at(instruction.operation)].parameters)
                if (instruction.phase != Phase::Collect && --due[parameter] < 0)
                    return "a gradient is computed twice";
            break;
        case Opcode::ReduceStatistics:
            if (instruction.lane != Lane::Communication || !waitsFor(lastCompute) ||
                program.instructions[i - 1].operation != instruction.operation ||
                program.instructions[i - 1].phase != Phase::Collect ||
                program.instructions[i + 1].phase != Phase::Apply)
                return "statistics are not reduced between collecting and applying them";
            break;
        case Opcode::GatherScores:
            if (instruction.lane != Lane::Compute ||
                program.instructions[i - 1].operation != instruction.operation ||
                program.instructions[i - 1].phase != Phase::Collect ||
                program.instructions[i + 1].phase != Phase::Apply)
                return "a loss over slices is not gathered between its phases";
            break;
        case Opcode::GatherParameters:
            if (plan.shardsParameters)
                break; // its windows are looked at elsewhere
            if (updates != 1 || !plan.shardsOptimizer || !waitsFor(lastCompute))
                return "parameters are gathered before they are updated";
            ++gathered.at(static_cast<std::size_t>(instruction.bucket));
            break;
        case Opcode::ReduceGradients:
        case Opcode::ScatterGradients:
            if ((instruction.opcode == Opcode::ScatterGradients) != plan.shardsOptimizer)
                return "the wrong reduction";
            ++reduced.at(static_cast<std::size_t>(instruction.bucket));
            for (const graph::ParameterId parameter :
                 section.buckets[static_cast<std::size_t>(instruction.bucket)].parameters)
                if (std::exchange(due[parameter], parts[parameter]) > 0)
                    return "a bucket is reduced before its last gradient";
            [[fallthrough]];
        case Opcode::ReduceSums:
            if (instruction.lane != Lane::Communication || !waitsFor(lastCompute))
                return "a reduction does not wait for the gradients";
            reductions.insert(static_cast<int>(i));
            break;
        case Opcode::Update:
            ++updates;
            for (const int reduction : reductions)
                if (!waitsFor(reduction))
                    return "the update does not wait for all reductions";
            if (reductions.size() != section.buckets.size() * static_cast<std::size_t>(rounds) + 1)
                return "not all is reduced before the update";
            break;
        default:
            break;
        }
        if (runsKernel(instruction.opcode) || instruction.opcode == Opcode::Update)
            lastCompute = static_cast<int>(i);
    }
    if (std::any_of(reduced.begin(), reduced.end(), [&](int times) { return times != rounds; }))
        return "a bucket is not reduced exactly once";
    if (std::ranges::count(gathered, plan.shardsOptimizer && !plan.shardsParameters ? 1 : 0) !=
        static_cast<std::ptrdiff_t>(gathered.size()))
        return "a bucket's parameters are not gathered exactly once";
    if (due != parts)
        return "a gradient is missing";
    return updates == 1 ? QByteArray() : QByteArray("there is not one update");
}

/// Empty when every operation finds its parameters and a place for their gradients in a window that
/// no other lies over.
QByteArray windowProblem(const Plan& plan, int rank, const Program& program) {
    const Section& section = plan.sectionOf(rank);
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
        const Instruction& instruction = program.instructions[i];
        if (!runsKernel(instruction.opcode))
            continue;
        for (const graph::ParameterId parameter :
             section.graph.operations[graph::at(instruction.operation)].parameters) {
            const int bucket = section.bucketOf[graph::at(parameter)];
            if (plan.shardsParameters) // throws where there is none
                program.parameterWindows.placeAt(bucket, static_cast<int>(i));
            if (plan.shardsGradients && instruction.opcode == Opcode::Backward)
                program.gradientWindows.placeAt(bucket, static_cast<int>(i));
        }
    }
    for (const auto* windows : {&program.parameterWindows, &program.gradientWindows})
        for (const BucketWindow& a : windows->all)
            for (const BucketWindow& b : windows->all)
                if (&a != &b && a.first <= b.last && b.first <= a.last &&
                    a.place.offset < b.place.offset + b.place.bytes &&
                    b.place.offset < a.place.offset + a.place.bytes)
                    return "two windows that are open at the same time share bytes";
    return {};
}

/// What an instruction does, without the sizes that differ between ranks.
QByteArrayList orders(const Program& program) {
    QByteArrayList out;
    for (const Instruction& instruction : program.instructions) {
        QByteArray text = QByteArray::fromStdString(std::string(name(instruction.opcode))) + " " +
                          QByteArray::number(instruction.operation) + " " +
                          QByteArray::number(instruction.bucket) + " after";
        for (const int other : instruction.waitsFor)
            text += " " + QByteArray::number(other);
        out << text;
    }
    return out;
}

std::size_t sumOfBuffers(const Program& program) {
    std::size_t sum = 0;
    for (const Places& places : program.places) {
        for (const auto* list : {&places.values, &places.gradients, &places.saved,
                                 &places.recomputedValues, &places.recomputedSaved})
            for (const Placement& place : *list)
                sum += (place.bytes + 63) / 64 * 64;
        sum += (places.received.bytes + 63) / 64 * 64;
    }
    return sum;
}

} // namespace

class ProgramTest : public QObject {
    Q_OBJECT

private slots:
    void theMachineFindsFaults();
    void chainsFindWhatTheyNeed();
    void branchesFindWhatTheyNeed();
    void allRanksAgree();
    void trainingOfASmallModel();
    void evaluationNeedsTwoBuffers();
    void inPlace_data();
    void inPlace();
    void ranksWithoutRows();
    void plannedMemoryIsTheProgramsMemory();
};

/// The proof is only as good as the machine: each kind of damage must be seen.
void ProgramTest::theMachineFindsFaults() {
    const Plan plan = makePlan(test::smallExperiment(), {100, 10, {1, 28, 28}, 10}, {}).plan;
    const Program good = compileProgram(plan, 0, Purpose::Training, 128);
    const auto problem = [&](const Program& program) {
        return QByteArray::fromStdString(test::MemoryMachine(plan, 0, program).run());
    };
    QCOMPARE(problem(good), QByteArray());

    Program shared = good; // pool1 writes over the input, which conv1's backward still needs
    shared.places[0].values[0].offset = shared.places[0].values[3].offset;
    QVERIFY(problem(shared).contains("backward of conv1: expected value 0 of"));
    Program small = good;
    small.places[0].values[1].bytes -= 4;
    QVERIFY(problem(small).contains("too little room"));
    Program adding = good;
    adding.addsToGradient.back()[0] = true;
    QVERIFY(problem(adding).contains("must be written"));
    Program lost = good; // relu2's backward never comes
    std::erase_if(lost.instructions, [](const Instruction& instruction) {
        return instruction.opcode == Opcode::Backward && instruction.operation == 6;
    });
    QVERIFY(problem(lost).contains("backward of dense"));
    Program over = good;
    over.places[0].values[8] = over.places[0].values[7];
    QVERIFY(problem(over).contains("writes over"));
}

void ProgramTest::chainsFindWhatTheyNeed() {
    std::mt19937 random(2);
    for (int round = 0; round < 400; ++round) {
        const bool sequence = round % 4 == 3;
        const spec::Experiment experiment = sequence ? randomSequence(random) : randomChain(random);
        const DataCounts data{.trainSamples = 100,
                              .validationSamples = 50,
                              .sampleShape = experiment.model.inputShape,
                              .classes = 10,
                              .vocabulary = sequence ? 10 : 0};
        const PlanOutcome outcome = makePlan(experiment, data, {round % 2 == 0});
        QCOMPARE(test::sentences(outcome.problems), QByteArrayList());
        const Plan& plan = outcome.plan;
        for (int rank = 0; rank < plan.worldSize; ++rank)
            for (const Purpose purpose : {Purpose::Training, Purpose::Evaluation}) {
                const Program program = compileProgram(
                    plan, rank, purpose, 1 + static_cast<std::int64_t>(below(random, 12)));
                test::MemoryMachine machine(plan, rank, program);
                QCOMPARE(QByteArray::fromStdString(machine.run()), QByteArray());
                QVERIFY(program.activationBytes >= machine.mostAlive());
                QVERIFY(program.activationBytes <= machine.mostAlive() * 3 / 2);
                QVERIFY(program.activationBytes <= sumOfBuffers(program));
                if (purpose == Purpose::Training)
                    QCOMPARE(collectiveProblem(plan, rank, program), QByteArray());
            }
    }
}

void ProgramTest::branchesFindWhatTheyNeed() {
    std::mt19937 random(3);
    int branched = 0;
    int recomputed = 0;
    for (int round = 0; round < 1'500; ++round) {
        const Plan plan = planOf(RandomGraph(random).make(1 + below(random, 14)),
                                 1 + static_cast<int>(below(random, 3)), random);
        branched +=
            std::any_of(plan.graph.values.begin(), plan.graph.values.end(),
                        [](const graph::ValueInfo& value) { return value.consumers.size() > 1; });
        for (const Purpose purpose : {Purpose::Training, Purpose::Evaluation}) {
            const Program program = compileProgram(plan, 0, purpose, 8);
            test::MemoryMachine machine(plan, 0, program);
            QCOMPARE(QByteArray::fromStdString(machine.run()), QByteArray());
            QVERIFY(program.activationBytes >= machine.mostAlive());
            QVERIFY(program.activationBytes <= sumOfBuffers(program));
            recomputed += std::ranges::any_of(program.instructions, [](const Instruction& i) {
                return i.opcode == Opcode::Recompute;
            });
            if (purpose == Purpose::Training)
                QCOMPARE(collectiveProblem(plan, 0, program), QByteArray());
            QCOMPARE(windowProblem(plan, 0, program), QByteArray());
        }
    }
    QVERIFY2(recomputed > 300, qPrintable(QString::number(recomputed)));
    QVERIFY2(branched > 500, qPrintable(QString::number(branched)));
}

void ProgramTest::allRanksAgree() {
    for (const int world : {1, 2, 3, 5, 8}) {
        const Plan plan =
            makePlan(test::smallExperiment({{"parallel.data", std::to_string(world)}}),
                     {1000, 100, {1, 28, 28}, 10}, {})
                .plan;
        for (const std::int64_t rows : {128, 104, 7, 1})
            for (const Purpose purpose : {Purpose::Training, Purpose::Evaluation}) {
                const Program first = compileProgram(plan, 0, purpose, rows);
                std::int64_t covered = 0;
                for (int rank = 0; rank < world; ++rank) {
                    const Program program = compileProgram(plan, rank, purpose, rows);
                    QCOMPARE(orders(program), orders(first));
                    QCOMPARE(program.batchRows, rows);
                    QCOMPARE(program.rows.first, covered);
                    covered += program.rows.count;
                }
                QCOMPARE(covered, rows);
            }
    }
}

void ProgramTest::trainingOfASmallModel() {
    spec::Experiment experiment = test::smallExperiment();
    experiment.model.layers = {
        layer("flatten", "flatten"), layer("dense", "linear", {{"out_features", whole(20)}}),
        layer("relu", "relu"), layer("classes", "linear", {{"out_features", whole(10)}})};
    const Plan plan = makePlan(experiment, {100, 10, {1, 28, 28}, 10}, {}).plan;
    const Program program = compileProgram(plan, 1, Purpose::Training, 100);
    // The input needs no gradient, so the backward of flatten is left out; both layers share a
    // bucket.
    QCOMPARE(orders(program),
             (QByteArrayList{"load batch -1 -1 after", "forward 0 -1 after", "forward 1 -1 after",
                             "forward 2 -1 after", "forward 3 -1 after", "forward 4 -1 after",
                             "backward 4 -1 after", "backward 3 -1 after", "backward 2 -1 after",
                             "backward 1 -1 after", "all-reduce gradients -1 0 after 9",
                             "all-reduce sums -1 -1 after 9", "update -1 -1 after 10 11"}));
    QCOMPARE(program.rows.first, std::int64_t{50});
    QCOMPARE(program.rows.count, std::int64_t{50});
    QCOMPARE(valuesWithGradient(plan.graph), (std::vector<bool>{false, false, true, true, true}));
}

void ProgramTest::evaluationNeedsTwoBuffers() {
    spec::Experiment experiment = test::smallExperiment({{"parallel.data", "1"}});
    experiment.model.inputShape = {256};
    experiment.model.layers.clear();
    for (int i = 0; i < 10; ++i) {
        experiment.model.layers.push_back(
            layer("dense" + std::to_string(i), "linear", {{"out_features", whole(256)}}));
        experiment.model.layers.push_back(layer("relu" + std::to_string(i), "relu"));
    }
    const Plan plan = makePlan(experiment, {100, 10, {256}, 10}, {}).plan;
    const std::size_t one = 64 * 256 * 4;
    QCOMPARE(compileProgram(plan, 0, Purpose::Evaluation, 64).activationBytes, 2 * one);
    // Training keeps the input and one output a layer (the rectifier runs in place), and two
    // gradients: the one read and the one written, the first taking the place of nothing yet.
    QCOMPARE(compileProgram(plan, 0, Purpose::Training, 64).activationBytes, (1 + 10 + 1) * one);
}

void ProgramTest::inPlace_data() {
    QTest::addColumn<QByteArrayList>("types");
    QTest::addColumn<QByteArray>("training");
    QTest::addColumn<QByteArray>("evaluation");
    // One letter per layer: "i" in place of its input, "-" not.
    QTest::newRow("rectifier over a dense layer")
        << QByteArrayList{"linear", "relu", "linear"} << QByteArray("-i-") << QByteArray("-i-");
    QTest::newRow("never over the batch")
        << QByteArrayList{"relu", "dropout", "linear"} << QByteArray("---") << QByteArray("-i-");
    QTest::newRow("rectifier keeps its output")
        << QByteArrayList{"linear", "relu", "dropout", "linear"} << QByteArray("-i--")
        << QByteArray("-ii-");
    QTest::newRow("also behind a flatten")
        << QByteArrayList{"linear", "relu", "flatten", "dropout", "linear"} << QByteArray("-ii--")
        << QByteArray("-iii-");
    QTest::newRow("two dropouts") << QByteArrayList{"linear", "dropout", "dropout", "linear"}
                                  << QByteArray("-ii-") << QByteArray("-ii-");
    QTest::newRow("flatten of the batch")
        << QByteArrayList{"flatten", "linear"} << QByteArray("i-") << QByteArray("i-");
    QTest::newRow("not over the batch behind a flatten")
        << QByteArrayList{"flatten", "dropout", "linear"} << QByteArray("i--") << QByteArray("i--");
}

void ProgramTest::inPlace() {
    QFETCH(QByteArrayList, types);
    spec::Experiment experiment = test::smallExperiment({{"parallel.data", "1"}});
    experiment.model.inputShape = {64};
    experiment.model.layers.clear();
    for (qsizetype i = 0; i < types.size(); ++i) {
        const std::string type = types[i].toStdString();
        experiment.model.layers.push_back(
            layer("l" + std::to_string(i), type,
                  type == "linear" ? spec::Values{{"out_features", whole(64)}} : spec::Values{}));
    }
    const Plan plan = makePlan(experiment, {100, 10, {64}, 10}, {}).plan;
    for (const Purpose purpose : {Purpose::Training, Purpose::Evaluation}) {
        const Program program = compileProgram(plan, 0, purpose, 16);
        QByteArray found;
        for (std::size_t i = 1; i < program.places[0].values.size(); ++i)
            found += program.places[0].values[i] == program.places[0].values[i - 1] ? 'i' : '-';
        if (purpose == Purpose::Training)
            QTEST(found, "training");
        else
            QTEST(found, "evaluation");
        QCOMPARE(QByteArray::fromStdString(test::MemoryMachine(plan, 0, program).run()),
                 QByteArray());
    }
}

void ProgramTest::ranksWithoutRows() {
    const Plan plan =
        makePlan(test::smallExperiment({{"parallel.data", "4"}}), {130, 1, {1, 28, 28}, 10}, {})
            .plan;
    const Program program = compileProgram(plan, 3, Purpose::Training, plan.rowsOfStep(1));
    QCOMPARE(program.rows.count, std::int64_t{0});
    QCOMPARE(program.activationBytes, std::size_t{0});
    QCOMPARE(collectiveProblem(plan, 0, program), QByteArray());
}

void ProgramTest::plannedMemoryIsTheProgramsMemory() {
    const Plan plan = makePlan(test::smallExperiment({{"parallel.data", "3"}}),
                               {1000, 333, {1, 28, 28}, 10}, {true})
                          .plan;
    for (const RankPlan& rank : plan.ranks) {
        std::size_t most = 0;
        for (std::int64_t step = 0; step < plan.stepsPerEpoch; ++step)
            most = std::max(
                most, compileProgram(plan, rank.rank, Purpose::Training, plan.rowsOfStep(step))
                          .activationBytes);
        for (std::int64_t left = plan.data.validationSamples; left > 0; left -= plan.batch)
            most = std::max(most, compileProgram(plan, rank.rank, Purpose::Evaluation,
                                                 std::min(left, plan.batch))
                                      .activationBytes);
        QCOMPARE(rank.memory.activations, most);
    }
}

QTEST_GUILESS_MAIN(ProgramTest)
#include "tst_program.moc"
