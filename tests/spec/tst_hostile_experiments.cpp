// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Whatever bytes stand in an experiment file, reading ends with an experiment or with sentences:
// no crash, no hang, no sentence as long as the file. Mutations are seeded, so a failure repeats.
#include "engine/graph/graph.h"
#include "engine/plan/plan.h"
#include "tests/support/experiments.h"

#include <QElapsedTimer>
#include <QtTest>

#include <random>

using namespace trainyard;
using namespace trainyard::spec;
using test::sentences;
using test::smallExperimentText;

namespace {

std::string nested(std::size_t depth, const std::string& open, const std::string& close) {
    std::string text;
    for (std::size_t i = 0; i < depth; ++i)
        text += open;
    text += "1";
    for (std::size_t i = 0; i < depth; ++i)
        text += close;
    return text;
}

/// Reads, and if that works goes on to graph and plan as `check` does.
QByteArrayList readAndPlan(const std::string& text, const test::Settings& settings = {}) {
    const ParsedExperiment parsed = parseExperiment(text, settings);
    QByteArrayList found = sentences(parsed.problems);
    if (found.isEmpty()) {
        graph::buildGraph(parsed.experiment.model, {.classes = 10});
        const plan::DataCounts data = {1000, 100, parsed.experiment.model.inputShape, 10};
        found = sentences(plan::makePlan(parsed.experiment, data, {true}).problems);
    }
    return found;
}

bool reasonable(const QByteArrayList& found) {
    return std::all_of(found.begin(), found.end(), [](const QByteArray& sentence) {
        return !sentence.isEmpty() && sentence.size() < 2000 && !sentence.contains('\x1b');
    });
}

/// One random edit: bits, bytes, pieces moved, cut or doubled, or a nasty token put in.
void mutate(std::string& text, std::mt19937& random) {
    static const std::vector<std::string> tokens = {"-1",
                                                    "0",
                                                    "1e308",
                                                    "-1e308",
                                                    "1e-400",
                                                    "9223372036854775807",
                                                    "9223372036854775808",
                                                    "18446744073709551615",
                                                    "null",
                                                    "true",
                                                    "[]",
                                                    "{}",
                                                    "\"\"",
                                                    "\"input\"",
                                                    "[[[[",
                                                    "}}}}",
                                                    ",",
                                                    ":",
                                                    "\"from\": [\"conv1\", \"conv1\"],",
                                                    "\"kernel\": [1024, 1],",
                                                    "\"stride\": 1024,",
                                                    "\\u0000",
                                                    "\xff\xfe",
                                                    "\x1b[2J",
                                                    "1048576",
                                                    "0.9999999999999999"};
    const auto below = [&](std::size_t limit) {
        return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
    };
    if (text.empty())
        text = "{";
    const std::size_t place = below(text.size());
    const std::size_t length = std::min(text.size() - place, 1 + below(20));
    switch (below(7)) {
    case 0:
        text[place] = static_cast<char>(text[place] ^ (1 << below(8)));
        break;
    case 1:
        text[place] = static_cast<char>(below(256));
        break;
    case 2:
        text.erase(place, length);
        break;
    case 3:
        text.insert(below(text.size()), text.substr(place, length));
        break;
    case 4:
        text.resize(place);
        break;
    default:
        text.replace(place, below(2) ? length : 0, tokens[below(tokens.size())]);
    }
}

/// Replaces a whole JSON value, so that the text stays JSON and the rules behind the parser are
/// met.
void replaceValue(std::string& text, std::mt19937& random) {
    static const std::vector<std::string> values = {"-1",
                                                    "0",
                                                    "1",
                                                    "2",
                                                    "1000000",
                                                    "1048576",
                                                    "9223372036854775807",
                                                    "1e308",
                                                    "0.5",
                                                    "null",
                                                    "true",
                                                    "\"\"",
                                                    "\"relu\"",
                                                    "\"input\"",
                                                    "\"linear\"",
                                                    "[]",
                                                    "[1]",
                                                    "[1048576, 1048576, 1048576]",
                                                    "[16777216]",
                                                    "{}",
                                                    "[{}]",
                                                    "{\"type\": \"sgd\"}"};
    const auto below = [&](std::size_t limit) {
        return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
    };
    std::vector<std::size_t> colons;
    for (std::size_t i = 0; i < text.size(); ++i)
        if (text[i] == ':')
            colons.push_back(i + 1);
    const std::size_t start = colons[below(colons.size())];
    int depth = 0;
    std::size_t end = start;
    for (; end < text.size(); ++end) {
        depth += text[end] == '[' || text[end] == '{';
        depth -= text[end] == ']' || text[end] == '}';
        if (depth < 0 || (depth == 0 && text[end] == ','))
            break;
    }
    text.replace(start, end - start, values[below(values.size())]);
}

} // namespace

class HostileExperimentsTest : public QObject {
    Q_OBJECT

private slots:
    void mutatedText();
    void replacedValues();
    void deepNesting_data();
    void deepNesting();
    void tenMegabytes_data();
    void tenMegabytes();
    void oddSettings();
    void manyLayersAndRanksStayQuick();
};

void HostileExperimentsTest::mutatedText() {
    std::mt19937 random(20260101);
    int valid = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string text = smallExperimentText();
        for (int edits = round % 4; edits >= 0; --edits)
            mutate(text, random);
        const QByteArrayList found = readAndPlan(text);
        valid += found.isEmpty();
        QVERIFY2(reasonable(found), qPrintable(QString::fromStdString(text)));
    }
    // The mutations are neither all harmless nor all deadly, else they would prove little.
    QVERIFY2(valid > 200 && valid < 10'000, qPrintable(QString::number(valid)));
}

void HostileExperimentsTest::replacedValues() {
    std::mt19937 random(7);
    QSet<QByteArray> kinds;
    for (int round = 0; round < 5'000; ++round) {
        std::string text = smallExperimentText();
        for (int edits = round % 3; edits >= 0; --edits)
            replaceValue(text, random);
        const QByteArrayList found = readAndPlan(text);
        QVERIFY2(reasonable(found), qPrintable(QString::fromStdString(text)));
        for (const QByteArray& sentence : found)
            kinds.insert(sentence.left(sentence.indexOf(':')));
    }
    // Many different places were found at fault.
    QVERIFY2(kinds.size() > 40, qPrintable(QString::number(kinds.size())));
}

void HostileExperimentsTest::deepNesting_data() {
    QTest::addColumn<QByteArray>("text");
    constexpr std::size_t kDepth = 1'000'000;
    const QByteArray lists = QByteArray::fromStdString(nested(kDepth, "[", "]"));
    const QByteArray small = QByteArray::fromStdString(smallExperimentText());
    QTest::newRow("lists") << lists;
    QTest::newRow("objects") << QByteArray::fromStdString(nested(kDepth, "{\"a\":", "}"));
    QTest::newRow("open lists") << QByteArray(kDepth, '[');
    QTest::newRow("lists for a number") << QByteArray(small).replace("128", lists);
    QTest::newRow("lists for a shape") << QByteArray(small).replace("[1, 28, 28]", lists);
    QTest::newRow("lists for a strategy")
        << QByteArray(small).replace("\"data\": 2", "\"tensor\": " + lists);
    QTest::newRow("lists for an id") << QByteArray(small).replace("\"conv1\"", lists);
}

void HostileExperimentsTest::deepNesting() {
    QFETCH(QByteArray, text);
    const QByteArrayList found = readAndPlan(text.toStdString());
    QVERIFY(!found.isEmpty());
    QVERIFY(reasonable(found));
    QVERIFY(!readAndPlan(text.toStdString(), {{"model.layers.none.kernel", "1"}}).isEmpty());
}

void HostileExperimentsTest::tenMegabytes_data() {
    QTest::addColumn<QByteArray>("text");
    const QByteArray small = QByteArray::fromStdString(smallExperimentText());
    std::mt19937 random(3);
    QByteArray noise;
    for (int i = 0; i < 10'000'000; ++i)
        noise += static_cast<char>(random());
    QTest::newRow("noise") << noise;
    QTest::newRow("zeros") << QByteArray(10'000'000, '\0');
    const QByteArray longText(10'000'000, 'a');
    QTest::newRow("a long key") << QByteArray(small).replace("epochs", longText);
    QTest::newRow("a long type") << QByteArray(small).replace("relu\"}", longText + "\"}");
    QTest::newRow("a long id") << QByteArray(small).replace("conv1", longText);
    QTest::newRow("a long name") << QByteArray(small).replace("small", longText);
    QTest::newRow("a long number") << QByteArray(small).replace("128", QByteArray(10'000'000, '9'));
    QByteArray shape = "1";
    for (int i = 0; i < 2'000'000; ++i)
        shape += ", 28";
    QTest::newRow("a long shape") << QByteArray(small).replace("1, 28, 28", shape);
    QByteArray keys;
    for (int i = 0; i < 500'000; ++i)
        keys += "\"k" + QByteArray::number(i) + "\": 1, ";
    QTest::newRow("many keys") << QByteArray(small).replace("\"epochs\"", keys + "\"epochs\"");
}

void HostileExperimentsTest::tenMegabytes() {
    QFETCH(QByteArray, text);
    QElapsedTimer timer;
    timer.start();
    const QByteArrayList found = readAndPlan(text.toStdString());
    QVERIFY(!found.isEmpty());
    QVERIFY(reasonable(found));
#ifdef TRAINYARD_SANITIZED
    constexpr qint64 kMost = 200'000;
#else
    constexpr qint64 kMost = 20'000;
#endif
    QVERIFY2(timer.elapsed() < kMost, qPrintable(QString::number(timer.elapsed())));
}

void HostileExperimentsTest::oddSettings() {
    std::mt19937 random(11);
    const std::string letters = "model.layers[0]training.batch.data{}\"1 -e\xff\n";
    for (int round = 0; round < 20'000; ++round) {
        std::string path;
        std::string value;
        for (std::size_t i = random() % 24; i > 0; --i)
            path += letters[random() % letters.size()];
        for (std::size_t i = random() % 8; i > 0; --i)
            value += letters[random() % letters.size()];
        QVERIFY(reasonable(readAndPlan(smallExperimentText(), {{path, value}})));
    }
}

void HostileExperimentsTest::manyLayersAndRanksStayQuick() {
    Experiment experiment =
        test::smallExperiment({{"training.batch", "2048"}, {"parallel.data", "1024"}});
    experiment.model.inputShape = {64};
    experiment.model.layers.clear();
    for (int i = 0; i < 500; ++i) {
        experiment.model.layers.push_back(test::layer("dense" + std::to_string(i), "linear",
                                                      {{"out_features", test::whole(64)}}));
        experiment.model.layers.push_back(test::layer("relu" + std::to_string(i), "relu"));
    }
    QElapsedTimer timer;
    timer.start();
    const plan::PlanOutcome outcome = plan::makePlan(experiment, {60'000, 10'000, {64}, 10}, {});
    QCOMPARE(sentences(outcome.problems), QByteArrayList());
    QCOMPARE(outcome.plan.ranks.size(), std::size_t{1024});
    QVERIFY2(timer.elapsed() < 5'000, qPrintable(QString::number(timer.elapsed())));
}

QTEST_GUILESS_MAIN(HostileExperimentsTest)
#include "tst_hostile_experiments.moc"
