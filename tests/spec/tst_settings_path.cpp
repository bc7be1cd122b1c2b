// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Changes by path, as --set makes them: the right place changes, and a wrong path says where it
// stopped.
#include "tests/support/experiments.h"

#include <QtTest>

using namespace trainyard;
using namespace trainyard::spec;
using test::sentences;

class SettingsPathTest : public QObject {
    Q_OBJECT

private slots:
    void changesTheRightPlace();
    void makesWhatIsNotThere();
    void laterOnesWin();
    void textsStayTexts();
    void mistakes_data();
    void mistakes();
};

void SettingsPathTest::changesTheRightPlace() {
    const Experiment plain = test::smallExperiment();
    const Experiment changed = test::smallExperiment({
        {"training.batch", "64"},
        {"parallel.data", "4"},
        {"model.layers[0].kernel", "[3, 5]"},
        {"model.layers.dense.out_features", "64"},
        {"model.layers.7.bias", "false"},
        {"model.input.shape[1]", "32"},
        {"precision", "fp64"},
        {"training.max_steps", "10"},
    });
    QCOMPARE(changed.training.batch, std::int64_t{64});
    QCOMPARE(changed.parallel.data, std::int64_t{4});
    QVERIFY(changed.model.layers[0].values.at("kernel") == Value(std::vector<std::int64_t>{3, 5}));
    QVERIFY(changed.model.layers[5].values.at("out_features") == Value(std::int64_t{64}));
    QVERIFY(changed.model.layers[7].values.at("bias") == Value(false));
    QCOMPARE(changed.model.inputShape, (std::vector<std::int64_t>{1, 32, 28}));
    QVERIFY(changed.precision == Precision::Fp64);
    QCOMPARE(changed.training.maxSteps.value_or(0), std::int64_t{10});
    // Nothing else moved.
    QCOMPARE(changed.training.epochs, plain.training.epochs);
    QVERIFY(changed.data == plain.data);
    QVERIFY(changed.model.layers[6] == plain.model.layers[6]);
}

void SettingsPathTest::makesWhatIsNotThere() {
    const Experiment changed =
        test::smallExperiment({{"training.schedule.warmup_steps", "5"},
                               {"training.schedule.type", "cosine"},
                               {"devices", "[\"local/cpu:1\", \"local/cpu:0\"]"}});
    QCOMPARE(changed.training.schedule.type, std::string("cosine"));
    QVERIFY(changed.training.schedule.values.at("warmup_steps") == Value(std::int64_t{5}));
    QCOMPARE(changed.devices, (std::vector<std::string>{"local/cpu:1", "local/cpu:0"}));
}

void SettingsPathTest::laterOnesWin() {
    const Experiment changed =
        test::smallExperiment({{"training.epochs", "2"}, {"training.epochs", "3"}});
    QCOMPARE(changed.training.epochs, std::int64_t{3});
}

void SettingsPathTest::textsStayTexts() {
    QCOMPARE(test::smallExperiment({{"name", "7"}}).name, std::string("7"));
    QCOMPARE(test::smallExperiment({{"name", "null"}}).name, std::string("null"));
    QCOMPARE(test::smallExperiment({{"name", "\"7\""}}).name, std::string("7"));
    QCOMPARE(test::smallExperiment({{"name", "a \"b\""}}).name, std::string("a \"b\""));
    QCOMPARE(test::smallExperiment({{"data.train.images", "/data/2024"}}).data.train.at("images"),
             std::string("/data/2024"));
}

void SettingsPathTest::mistakes_data() {
    QTest::addColumn<QByteArray>("path");
    QTest::addColumn<QByteArray>("value");
    QTest::addColumn<QByteArray>("sentence");
    const auto row = [](const char* path, const char* value, const char* sentence) {
        QTest::newRow(path) << QByteArray(path) << QByteArray(value) << QByteArray(sentence);
    };
    const auto noPath = [&](const char* path) {
        QTest::newRow(path) << QByteArray(path) << QByteArray("1")
                            << "\"" + QByteArray(path) +
                                   "\" is not a path into an experiment. Write a path such as "
                                   "training.batch or model.layers[0].kernel.";
    };
    for (const char* path : {"", ".", "training.", ".training", "training..batch", "model.layers[",
                             "model.layers]", "model.layers[]", "model.layers[0",
                             "model.layers[0]x", "model.layers[0]]", "model.layers[[0]]", "[0]"})
        noPath(path);
    row("training.bacth", "1",
        "training.bacth: This key is not known here. Did you mean \"batch\"?");
    row("trainin.batch", "1", "trainin: This key is not known here. Did you mean \"training\"?");
    row("training.batch.size", "1",
        "training.batch: This is the number 128; there is no \"size\" in it.");
    row("name.first", "1", "name: This is the text \"small\"; there is no \"first\" in it.");
    row("model.layers[8].bias", "1",
        "model.layers: There is no element 8; the list has 8, counted from 0.");
    row("model.layers[-1].bias", "1",
        "model.layers: There is no element -1; the list has 8, counted from 0.");
    row("model.layers.conv9.kernel", "1",
        "model.layers: None of the 8 elements has the id \"conv9\". Did you mean \"conv1\"?");
    row("model.layers.attention.kernel", "1",
        "model.layers: None of the 8 elements has the id \"attention\".");
    row("model.layers[0].kernel", "0",
        "model.layers[0].kernel: 0 is not one whole number or [height, width], each at least 1 and "
        "at "
        "most 1024.");
    row("training.batch", "many",
        "training.batch: Expected a whole number, found the text \"many\".");
    row("training.batch", "1e400",
        "training.batch: Expected a whole number, found the text \"1e400\".");
    row("training", "{}[", "training: Expected an object { }, found the text \"{}[\".");
    row("name", "a\xff", "The setting is not text in UTF-8.");
    row("na\xffme", "a", "The setting is not text in UTF-8.");
}

void SettingsPathTest::mistakes() {
    QFETCH(QByteArray, path);
    QFETCH(QByteArray, value);
    QFETCH(QByteArray, sentence);
    const auto parsed =
        parseExperiment(test::smallExperimentText(), {{path.toStdString(), value.toStdString()}});
    QCOMPARE(sentences(parsed.problems), QByteArrayList{sentence});
}

QTEST_GUILESS_MAIN(SettingsPathTest)
#include "tst_settings_path.moc"
