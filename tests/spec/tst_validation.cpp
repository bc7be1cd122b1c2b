// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Checks of values: each rule refuses what it must and says so, and the values on the edge pass.
#include "engine/spec/catalogue.h"
#include "engine/spec/devices.h"
#include "tests/support/experiments.h"

#include <QtTest>

#include <cmath>
#include <limits>

using namespace trainyard;
using namespace trainyard::spec;
using test::sentences;
using test::Settings;

class ValidationTest : public QObject {
    Q_OBJECT

private slots:
    void refuses_data();
    void refuses();
    void accepts_data();
    void accepts();
    void hostsOfDevices();
    void refusesWhatOnlyAProgramCanSet();
    void earlyStoppingNeedsValidation();
    void namesStayOnOneLine();
    void microBatches();
    void shardedOptimizer();
    void compression();
    void measuredBalance();
    void batchesSmallerThanTheRanks_data();
    void batchesSmallerThanTheRanks();
    void everyNumberOfTheCatalogueIsBounded();
    void defaultsOfTheCatalogueFit();
};

void ValidationTest::refuses_data() {
    QTest::addColumn<QByteArray>("path");
    QTest::addColumn<QByteArray>("value");
    QTest::addColumn<QByteArray>("sentence");
    const auto row = [](const char* path, const char* value, const QByteArray& sentence) {
        QTest::addRow("%s=%s", path, value) << QByteArray(path) << QByteArray(value) << sentence;
    };
    row("name", "", "name: A name has 1 to 200 bytes on one line.");
    row("data.format", "hdf5",
        "data.format: Found \"hdf5\"; known are: " +
            QByteArray::fromStdString(listed(typeNames(Kind::DataFormat))) + ".");
    row("data.normalize", "zscore",
        "data.normalize: Found \"zscore\"; known are: standard, unit, none.");
    row("data.validation", "{\"fraction\": 1}",
        "data.validation.fraction: Expected a share from 0 to below 1, found 1.");
    row("data.validation", "{\"fraction\": -0.1}",
        "data.validation.fraction: Expected a share from 0 to below 1, found -0.1.");
    row("model.input.shape", "[2, 1, 28, 28]",
        "model.input.shape: Expected [features], [positions, features] or [channels, height, "
        "width], each from 1 to 1,048,576; found 2 × 1 × 28 × 28.");
    row("model.input.shape", "[1, 0, 28]",
        "model.input.shape: Expected [features], [positions, features] or [channels, height, "
        "width], each from 1 to 1,048,576; found 1 × 0 × 28.");
    row("model.layers", "[]",
        "model.layers: The model has no layers. Add at least one linear layer.");
    row("model.layers[0].id", "a b",
        "model.layers[0].id: Found \"a b\"; an id has 1 to 64 letters, digits, - or _.");
    row("model.layers[1].id", "conv1",
        "model.layers[1].id: The id \"conv1\" is taken by an earlier layer. Give each layer an id "
        "of "
        "its own.");
    row("model.layers[1].id", "input",
        "model.layers[1].id: The id \"input\" is taken by an earlier layer. Give each layer an id "
        "of "
        "its own.");
    row("model.layers[1].from", "[\"pool1\"]",
        "model.layers[1].from: There is no layer \"pool1\" before this one.");
    row("model.layers[1].from", "relu1",
        "model.layers[1].from: There is no layer \"relu1\" before this one.");
    row("model.layers[0].out_channels", "0",
        "model.layers[0].out_channels: 0 is not a whole number at least 1 and at most 1048576.");
    row("model.layers[0].kernel", "[3, 3, 3]",
        "model.layers[0].kernel: [3, 3, 3] is not one whole number or [height, width], each at "
        "least "
        "1 and at most 1024.");
    row("model.layers[0].bias", "1", "model.layers[0].bias: 1 is not true or false.");
    row("training.batch", "16777217",
        "training.batch: Expected a whole number from 1 to 16,777,216, found 16,777,217.");
    row("training.epochs", "0",
        "training.epochs: Expected a whole number from 1 to 1,000,000, found 0.");
    row("training.max_steps", "0",
        "training.max_steps: Expected a whole number from 1 to 9,223,372,036,854,775,807, found "
        "0.");
    row("training.clip_norm", "0", "training.clip_norm: Expected a number above 0, found 0.");
    row("training.learning_rate_batch", "0",
        "training.learning_rate_batch: Expected a whole number from 1 to 16,777,216, found 0.");
    row("training.ema_decay", "1",
        "training.ema_decay: Expected a number from 0 to below 1, found 1.");
    row("training.early_stopping.metric", "train_loss",
        "training.early_stopping.metric: Found \"train_loss\"; known are: validation_loss, "
        "validation_accuracy.");
    row("training.early_stopping.patience", "0",
        "training.early_stopping.patience: Expected a whole number from 1 to 1,000,000, found 0.");
    row("training.early_stopping.min_delta", "-1",
        "training.early_stopping.min_delta: Expected a number of at least 0, found -1.");
    row("training.optimizer", "{\"type\": \"lars\", \"trust_coefficient\": 0}",
        "training.optimizer.trust_coefficient: 0.0 is not a number above 0.");
    row("training.schedule", "{\"type\": \"wsd\", \"decay_share\": 1.5}",
        "training.schedule.decay_share: 1.5 is not a number above 0 and at most 1.");
    row("training.schedule", "{\"type\": \"one_cycle\", \"shape\": \"square\"}",
        "training.schedule.shape: \"square\" is not one of cosine, linear.");
    row("training.optimizer.learning_rate", "0",
        "training.optimizer.learning_rate: 0.0 is not a number above 0.");
    row("training.optimizer.beta1", "1",
        "training.optimizer.beta1: 1.0 is not a number at least 0 and below 1.");
    row("training.optimizer.weight_decay", "-0.1",
        "training.optimizer.weight_decay: -0.1 is not a number at least 0.");
    row("parallel.data", "0", "parallel.data: Expected a whole number from 1 to 1,024, found 0.");
    row("parallel.compression", "topk",
        "parallel.compression: Found \"topk\"; known are: none, bf16, fp16, powersgd.");
    row("parallel.compression_rank", "0",
        "parallel.compression_rank: Expected a whole number from 1 to 1,024, found 0.");
    row("parallel.compression_warmup", "-1",
        "parallel.compression_warmup: Expected a whole number from 0 to 1,000,000,000, found -1.");
    row("parallel.balance", "fair",
        "parallel.balance: Found \"fair\"; known are: equal, measured.");
    row("parallel.bucket_bytes", "100",
        "parallel.bucket_bytes: Expected a whole number from 4,096 to 1,073,741,824, found 100.");
    row("parallel.bucket_bytes", "-1",
        "parallel.bucket_bytes: Expected a whole number from 4,096 to 1,073,741,824, found -1.");
    row("parallel.transport", "tcp",
        "parallel.transport: Found \"tcp\"; known are: auto, shared_memory, gloo.");
    row("devices", "[\"local/cpu:0\", \"local/gpu:0\"]",
        "devices[1]: Found \"local/gpu:0\"; this version knows local/cpu:0, local/cpu:1 ...");
    row("devices", "[\"local/cpu:0\", \"local/cpu:01\"]",
        "devices[1]: Found \"local/cpu:01\"; this version knows local/cpu:0, local/cpu:1 ...");
    row("devices", "[\"local/cpu:0\", \"local/cpu:0\"]",
        "devices[1]: The device \"local/cpu:0\" is listed twice.");
    row("devices", "[\"local/cpu:0\"]",
        "devices: 1 devices are listed for 2 ranks. List one device for each rank, or none.");
}

void ValidationTest::hostsOfDevices() {
    Experiment experiment;
    experiment.parallel.data = 4;
    QCOMPARE(hostsOfRanks(experiment), (std::vector<int>{0, 0, 0, 0}));
    experiment.devices = {"local/cpu:0", "local/cpu:1", "local/cpu:2", "local/cpu:3"};
    QVERIFY(!isOnSeveralHosts(experiment));
    experiment.devices = {"b/cpu:0", "a/cpu:1", "a/gpu:0", "b/cpu:1"};
    QCOMPARE(hostsOfRanks(experiment), (std::vector<int>{0, 1, 1, 0}));
    QVERIFY(isOnSeveralHosts(experiment));
}

void ValidationTest::refuses() {
    QFETCH(QByteArray, path);
    QFETCH(QByteArray, value);
    QFETCH(QByteArray, sentence);
    const auto parsed =
        parseExperiment(test::smallExperimentText(), {{path.toStdString(), value.toStdString()}});
    QCOMPARE(sentences(parsed.problems), QByteArrayList{sentence});
    QCOMPARE(sentences(validate(parsed.experiment)), QByteArrayList{sentence});
}

void ValidationTest::accepts_data() {
    QTest::addColumn<QByteArray>("path");
    QTest::addColumn<QByteArray>("value");
    const auto row = [](const char* path, const QByteArray& value) {
        QTest::addRow("%s=%s", path, value.left(40).constData()) << QByteArray(path) << value;
    };
    row("name", QByteArray(200, 'n'));
    row("data.validation", "null");
    row("data.validation", "{\"fraction\": 0}");
    row("data.validation", "{\"fraction\": 0.999}");
    row("model.input.shape", "[1048576]");
    row("model.layers[1].from", "input");
    row("model.layers[1].from", "[\"conv1\"]");
    row("model.layers[0].kernel", "1024");
    row("model.layers[0].padding", "[0, 1024]");
    row("model.layers[4].probability", "0");
    row("training.batch", "16777216");
    row("training.max_steps", "9223372036854775807");
    row("training.optimizer.learning_rate", "1e300");
    row("training.optimizer.momentum", "0");
    row("devices", "[\"local/cpu:7\", \"local/cpu:0\"]");
    row("devices", "null");
    row("training.ema_decay", "0");
    row("training.early_stopping", "{}");
    row("training.early_stopping.patience", "1000000");
    row("training.optimizer", "{\"type\": \"lamb\"}");
    row("training.schedule", "{\"type\": \"wsd\", \"decay_share\": 1}");
    row("training.schedule", "{\"type\": \"one_cycle\", \"rise_share\": 0}");
}

void ValidationTest::accepts() {
    QFETCH(QByteArray, path);
    QFETCH(QByteArray, value);
    Settings settings = {{path.toStdString(), value.toStdString()}};
    if (path.endsWith("momentum"))
        settings.insert(settings.begin(), {"training.optimizer", "{\"type\": \"sgd\"}"});
    QCOMPARE(sentences(parseExperiment(test::smallExperimentText(), settings).problems),
             QByteArrayList());
}

void ValidationTest::refusesWhatOnlyAProgramCanSet() {
    Experiment experiment = test::smallExperiment();
    experiment.training.clipNorm = std::numeric_limits<double>::infinity();
    experiment.training.optimizer.values["learning_rate"] = Value(std::nan(""));
    experiment.training.optimizer.values["momentum"] = Value(0.9); // not a field of adamw
    experiment.model.loss.type = "hinge";
    experiment.data.validationFraction = std::nan("");
    QCOMPARE(
        sentences(validate(experiment)),
        (QByteArrayList{"data.validation.fraction: Expected a share from 0 to below 1, found nan.",
                        "model.loss.type: There is no loss \"hinge\".",
                        "training.clip_norm: Expected a number above 0, found inf.",
                        "training.optimizer.momentum: This key is not known here.",
                        "training.optimizer.learning_rate: nan is not a number above 0."}));
}

void ValidationTest::earlyStoppingNeedsValidation() {
    const Settings settings = {{"data.validation", "null"}, {"training.early_stopping", "{}"}};
    QCOMPARE(sentences(parseExperiment(test::smallExperimentText(), settings).problems),
             QByteArrayList{"training.early_stopping.metric: Early stopping looks at the "
                            "validation, but no data is kept for it. Set data.validation, or take "
                            "early stopping out."});
}

void ValidationTest::namesStayOnOneLine() {
    for (const char* name : {"a\nb", "a\tb", "\x1b[31m", "a\x7f"}) {
        Experiment experiment = test::smallExperiment();
        experiment.name = name;
        QCOMPARE(validate(experiment).size(), std::size_t{1});
    }
    Experiment experiment = test::smallExperiment();
    experiment.name = std::string(201, 'n');
    QCOMPARE(validate(experiment).size(), std::size_t{1});
    // Ids in a sentence are cut and carry no control characters to the terminal.
    experiment = test::smallExperiment();
    experiment.model.layers[0].id = "\x1b[31m" + std::string(1000, 'x');
    const QByteArrayList found = sentences(validate(experiment));
    QCOMPARE(found.size(), 1);
    QVERIFY(!found.first().contains('\x1b'));
    QVERIFY(found.first().size() < 200);
}

void ValidationTest::microBatches() {
    const auto problems = [](const char* batch, const char* ranks, const char* parts) {
        const auto parsed = parseExperiment(
            test::smallExperimentText(),
            {{"training.batch", batch}, {"parallel.data", ranks}, {"parallel.accumulate", parts}});
        return sentences(parsed.problems);
    };
    QCOMPARE(problems("10", "4", "3"), QByteArrayList());
    QCOMPARE(
        problems("10", "4", "4"),
        QByteArrayList{"parallel.accumulate: 3 rows of a batch on each rank cannot be cut into 4 "
                       "micro-batches. Use at most 3 micro-batches, or a larger batch."});
    QCOMPARE(problems("10", "1", "0").size(), 1);
    // The largest number there is: nothing else is said about it.
    QCOMPARE(problems("9223372036854775807", "3", "2"),
             QByteArrayList{"training.batch: Expected a whole number from 1 to 16,777,216, found "
                            "9,223,372,036,854,775,807."});
}

void ValidationTest::shardedOptimizer() {
    const auto problems = [](const char* stage, const char* optimizer) {
        const auto parsed =
            parseExperiment(test::smallExperimentText(),
                            {{"parallel.zero", stage}, {"training.optimizer", optimizer}});
        return sentences(parsed.problems);
    };
    QCOMPARE(problems("1", R"({"type": "adamw"})"), QByteArrayList());
    QCOMPARE(problems("3", R"({"type": "adamw"})"), QByteArrayList());
    QCOMPARE(problems("4", R"({"type": "adamw"})").size(), 1);
    QCOMPARE(
        problems("1", R"({"type": "lamb"})"),
        QByteArrayList{"parallel.zero: lamb needs the norm of whole tensors, and a sharded "
                       "optimizer sees parts of them. Set parallel.zero to 0, or choose another "
                       "optimizer."});
}

/// Rounding takes digits that fp64 is chosen for; PowerSGD needs whole gradients on every rank.
void ValidationTest::compression() {
    const auto said = [](const Settings& settings) {
        return sentences(parseExperiment(test::smallExperimentText(), settings).problems);
    };
    for (const char* form : {"bf16", "fp16"})
        QCOMPARE(said({{"parallel.compression", form}, {"precision", "fp64"}}),
                 QByteArrayList{
                     QByteArray("parallel.compression: Gradients in fp64 are not "
                                "rounded to ") +
                     form + " on their way. Set parallel.compression to none, or choose fp32."});
    QCOMPARE(said({{"parallel.compression", "powersgd"}, {"precision", "fp64"}}), QByteArrayList());
    const Settings sharded = {{"parallel.compression", "powersgd"}, {"parallel.zero", "1"}};
    QCOMPARE(said(sharded),
             QByteArrayList{"parallel.compression: PowerSGD needs the sum of whole gradients on "
                            "every rank; with ZeRO a rank gets its share of the sum only. Set "
                            "parallel.zero to 0, or parallel.compression to bf16."});
    Settings alone = sharded; // neither has an effect
    alone.push_back({"parallel.data", "1"});
    QCOMPARE(said(alone), QByteArrayList());
}

void ValidationTest::measuredBalance() {
    const auto problems = [](const test::Settings& settings) {
        test::Settings all = {{"parallel.balance", "measured"}};
        all.insert(all.end(), settings.begin(), settings.end());
        return sentences(parseExperiment(test::smallExperimentText(), all).problems);
    };
    QCOMPARE(problems({}), QByteArrayList());
    QCOMPARE(problems({{"parallel.data", "1"}}), QByteArrayList()); // of no use, no harm
    QCOMPARE(problems({{"parallel.shares", "[2, 1]"}}),
             QByteArrayList{"parallel.balance: Shares of the batch are given; they cannot be "
                            "measured, too. Take parallel.shares out, or set parallel.balance to "
                            "equal."});
    QCOMPARE(problems({{"parallel.data", "1"},
                       {"parallel.pipeline", "2"},
                       {"parallel.cuts", R"(["dense"])"}}),
             QByteArrayList{"parallel.balance: Cuts of the pipeline are given; they cannot follow "
                            "from measured speeds, too. Take parallel.cuts out, or set "
                            "parallel.balance to equal."});
}

void ValidationTest::batchesSmallerThanTheRanks_data() {
    QTest::addColumn<int>("batch");
    QTest::addColumn<int>("ranks");
    QTest::addColumn<QByteArrayList>("expected");
    QTest::newRow("2 on 4") << 2 << 4
                            << QByteArrayList{"training.batch: A batch of 2 cannot be shared by 4 "
                                              "ranks. Use a batch of at least 4, or 2 ranks."};
    QTest::newRow("999 on 1000")
        << 999 << 1000
        << QByteArrayList{"training.batch: A batch of 999 cannot be shared by 1,000 ranks. Use a "
                          "batch of at least 1,000, or 999 ranks."};
    QTest::newRow("10 on 4: uneven, but every rank has rows") << 10 << 4 << QByteArrayList();
    QTest::newRow("4 on 4") << 4 << 4 << QByteArrayList();
}

void ValidationTest::batchesSmallerThanTheRanks() {
    QFETCH(int, batch);
    QFETCH(int, ranks);
    QFETCH(QByteArrayList, expected);
    const auto parsed =
        parseExperiment(test::smallExperimentText(), {{"training.batch", std::to_string(batch)},
                                                      {"parallel.data", std::to_string(ranks)}});
    QCOMPARE(sentences(parsed.problems), expected);
}

void ValidationTest::everyNumberOfTheCatalogueIsBounded() {
    for (const TypeInfo& type : catalogue())
        for (const FieldInfo& field : type.fields) {
            const auto refused = [&](Value value) {
                return misfit(field, value).has_value();
            };
            const QByteArray name = QByteArray::fromStdString(type.type + "." + field.name);
            if (field.kind == FieldKind::Text) // any text is one
                continue;
            QVERIFY2(refused(Value(std::string("text"))), name.constData());
            if (field.kind == FieldKind::Switch)
                continue;
            QVERIFY2(refused(Value(true)), name.constData());
            QVERIFY2(refused(Value(std::nan(""))), name.constData());
            QVERIFY2(refused(Value(HUGE_VAL)), name.constData());
            const double below = field.openMinimum ? field.minimum : field.minimum - 1;
            QVERIFY2(refused(field.kind == FieldKind::Real
                                 ? Value(below)
                                 : Value(static_cast<std::int64_t>(below))),
                     name.constData());
            if (field.kind != FieldKind::Real)
                QVERIFY2(refused(Value(std::int64_t{INT64_MAX})), name.constData());
        }
}

void ValidationTest::defaultsOfTheCatalogueFit() {
    for (const TypeInfo& type : catalogue()) {
        QVERIFY(!type.label.empty() && !type.help.empty());
        QCOMPARE(findType(type.kind, type.type), &type); // names are unique
        for (const FieldInfo& field : type.fields) {
            const QByteArray name = QByteArray::fromStdString(type.type + "." + field.name);
            QVERIFY2(!field.label.empty(), name.constData());
            if (field.defaultValue) {
                const auto wrong = misfit(field, *field.defaultValue);
                QVERIFY2(!wrong, qPrintable(QString::fromStdString(wrong.value_or(""))));
            }
        }
    }
}

QTEST_GUILESS_MAIN(ValidationTest)
#include "tst_validation.moc"
