// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Experiments as JSON: written and read again they are the same, byte for byte and in every locale,
// and what is wrong in a file is named with its place and the nearest right word.
#include "engine/spec/catalogue.h"
#include "engine/spec/experiment_json.h"
#include "tests/support/experiments.h"
#include "tests/support/foreign_locale.h"

#include <QFile>
#include <QtTest>

using namespace trainyard;
using namespace trainyard::spec;
using test::sentences;
using test::smallExperimentText;

namespace {

QByteArray bytes(const std::string& text) {
    return QByteArray::fromStdString(text);
}

/// The small experiment with the first `from` replaced.
std::string changed(const std::string& from, const std::string& to) {
    std::string text = smallExperimentText();
    const std::size_t place = text.find(from);
    return place == std::string::npos ? std::string() : text.replace(place, from.size(), to);
}

} // namespace

class ExperimentJsonTest : public QObject {
    Q_OBJECT

private slots:
    void readsWhatIsWritten();
    void samplesAreValidAndUnchanged_data();
    void samplesAreValidAndUnchanged();
    void absentKeysAreWrittenWithTheirDefaults();
    void numbersKeepTheirForm();
    void everyFieldComesBack();
    void earlyStoppingBySettings();
    void aTypeMayBeLeftOut();
    void foreignLocales_data();
    void foreignLocales();
    void mistakes_data();
    void mistakes();
    void allMistakesAreReportedAtOnce();
    void syntaxErrorsNameLineAndColumn_data();
    void syntaxErrorsNameLineAndColumn();
    void namesInOtherScripts();
    void pathsAreTakenFromTheFolder();
};

void ExperimentJsonTest::readsWhatIsWritten() {
    const ParsedExperiment first = parseExperiment(smallExperimentText());
    QCOMPARE(sentences(first.problems), QByteArrayList());
    const std::string once = toJson(first.experiment);
    const ParsedExperiment second = parseExperiment(once);
    QCOMPARE(sentences(second.problems), QByteArrayList());
    QCOMPARE(bytes(toJson(second.experiment)), bytes(once));
    QCOMPARE(once.back(), '\n');
}

void ExperimentJsonTest::samplesAreValidAndUnchanged_data() {
    QTest::addColumn<QString>("file");
    QTest::newRow("mlp") << QStringLiteral(TRAINYARD_SAMPLES_FOLDER "/fashion-mlp.json");
    QTest::newRow("cnn") << QStringLiteral(TRAINYARD_SAMPLES_FOLDER "/fashion-cnn.json");
    for (const char* name : {"resnet18", "gpt-small", "penguins", "penguins-mass"})
        QTest::newRow(name)
            << QStringLiteral(TRAINYARD_SAMPLES_FOLDER "/%1.json").arg(QLatin1String(name));
}

void ExperimentJsonTest::samplesAreValidAndUnchanged() {
    QFETCH(QString, file);
    QFile sample(file);
    QVERIFY2(sample.open(QIODevice::ReadOnly), qPrintable(file));
    const QByteArray text = sample.readAll();
    const ParsedExperiment parsed = parseExperiment(text.toStdString());
    QCOMPARE(sentences(parsed.problems), QByteArrayList());
    QCOMPARE(bytes(toJson(parsed.experiment)), text);
}

void ExperimentJsonTest::absentKeysAreWrittenWithTheirDefaults() {
    const QByteArray text = bytes(toJson(test::smallExperiment()));
    for (const char* line :
         {"\"normalize\": \"standard\"", "\"kernel\": 3", "\"stride\": 1", "\"bias\": true",
          "\"type\": \"cross_entropy\"", "\"seed\": 1", "\"max_steps\": null",
          "\"clip_norm\": null", "\"learning_rate_batch\": null", "\"ema_decay\": null",
          "\"early_stopping\": null", "\"beta2\": 0.999", "\"epsilon\": 1e-08",
          "\"weight_decay\": 0.01", "\"type\": \"constant\"", "\"warmup_steps\": 0",
          "\"precision\": \"fp32\"", "\"transport\": \"auto\"", "\"devices\": []"})
        QVERIFY2(text.contains(line), line);
}

void ExperimentJsonTest::numbersKeepTheirForm() {
    Experiment experiment = test::smallExperiment();
    experiment.training.optimizer.values["learning_rate"] = Value(std::int64_t{1});
    experiment.model.layers[0].values["kernel"] = Value(std::vector<std::int64_t>{3, 5});
    const std::string once = toJson(experiment);
    QVERIFY(bytes(once).contains("\"learning_rate\": 1.0"));
    QCOMPARE(bytes(toJson(parseExperiment(once).experiment)), bytes(once));

    // Values that lose their last bit when printed with too few digits.
    for (const double rate :
         {0.1, 1.0 / 3, 1e-300, 4.9406564584124654e-324 * 3, 123456789.123456789}) {
        experiment.training.optimizer.values["learning_rate"] = Value(rate);
        const Experiment back = parseExperiment(toJson(experiment)).experiment;
        QCOMPARE(std::get<double>(back.training.optimizer.values.at("learning_rate")), rate);
    }
}

void ExperimentJsonTest::everyFieldComesBack() {
    Experiment experiment = test::smallExperiment();
    experiment.name = "a \"quoted\" name \\ with \u00e9";
    experiment.data.validation.clear();
    experiment.data.validationFraction = 0.1;
    experiment.data.normalize = "unit";
    experiment.training.maxSteps = 1000;
    experiment.training.clipNorm = 0.5;
    experiment.training.learningRateBatch = 32;
    experiment.training.emaDecay = 0.999;
    experiment.training.earlyStopping = EarlyStopping{"validation_accuracy", 7, 0.001};
    experiment.training.seed = ~std::uint64_t{0};
    experiment.training.optimizer = {"sgd", {{"momentum", Value(0.9)}, {"nesterov", Value(true)}}};
    experiment.training.schedule = {"step", {{"every_updates", Value(std::int64_t{7})}}};
    experiment.precision = Precision::Fp64;
    experiment.parallel = {.data = 2,
                           .shares = {2, 1.5},
                           .tensor = 3,
                           .pipeline = 2,
                           .microBatches = 4,
                           .schedule = "interleaved",
                           .stagesPerRank = 2,
                           .cuts = {"pool1", "dense", "classes"},
                           .accumulate = 2,
                           .zero = 0,
                           .recompute = "blocks",
                           .compression = "powersgd",
                           .compressionRank = 3,
                           .compressionWarmup = 40,
                           .transport = "gloo",
                           .bucketBytes = 65'536};
    for (int i = 0; i < 12; ++i)
        experiment.devices.push_back("local/cpu:" + std::to_string(i));
    experiment.model.layers[1].from = {"conv1"};
    const std::string text = toJson(experiment);
    const ParsedExperiment parsed = parseExperiment(text);
    QCOMPARE(sentences(parsed.problems), QByteArrayList());
    QCOMPARE(bytes(toJson(parsed.experiment)), bytes(text));
    QCOMPARE(parsed.experiment.name, experiment.name);
    QCOMPARE(parsed.experiment.training.seed, ~std::uint64_t{0});
    QCOMPARE(parsed.experiment.training.maxSteps, experiment.training.maxSteps);
    QVERIFY(parsed.experiment.training.clipNorm == 0.5);
    QVERIFY(parsed.experiment.training.learningRateBatch == 32);
    QVERIFY(parsed.experiment.training.emaDecay == 0.999);
    QVERIFY(parsed.experiment.training.earlyStopping == experiment.training.earlyStopping);
    QVERIFY(parsed.experiment.precision == Precision::Fp64);
    QVERIFY(parsed.experiment.data == experiment.data);
    QVERIFY(parsed.experiment.parallel == experiment.parallel);
    QCOMPARE(parsed.experiment.devices, experiment.devices);
    QCOMPARE(parsed.experiment.model.layers[1].from, experiment.model.layers[1].from);

    const Experiment measured = test::smallExperiment({{"parallel.balance", "measured"}});
    QCOMPARE(measured.parallel.balance, std::string("measured")); // never with given shares
    QCOMPARE(parseExperiment(toJson(measured)).experiment.parallel.balance, "measured");
}

/// What is not said of early stopping has its default; null takes it back.
void ExperimentJsonTest::earlyStoppingBySettings() {
    const auto stopping = [](const test::Settings& settings) {
        return test::smallExperiment(settings).training.earlyStopping;
    };
    QVERIFY(!stopping({}));
    QVERIFY(stopping({{"training.early_stopping", "{}"}}) == EarlyStopping());
    QVERIFY(stopping({{"training.early_stopping.patience", "2"}}) ==
            (EarlyStopping{"validation_loss", 2, 0}));
    QVERIFY(stopping({{"training.early_stopping.metric", "validation_accuracy"},
                      {"training.early_stopping.min_delta", "1"}}) ==
            (EarlyStopping{"validation_accuracy", 5, 1}));
    QVERIFY(!stopping(
        {{"training.early_stopping.patience", "2"}, {"training.early_stopping", "null"}}));
}

void ExperimentJsonTest::aTypeMayBeLeftOut() {
    const auto parsed =
        parseExperiment(changed("\"optimizer\": {\"type\": \"adamw\", ", "\"optimizer\": {"));
    QCOMPARE(sentences(parsed.problems), QByteArrayList());
    QCOMPARE(parsed.experiment.training.optimizer.type, std::string("adam"));
}

void ExperimentJsonTest::foreignLocales_data() {
    QTest::addColumn<QString>("language");
    QTest::newRow("German") << QStringLiteral("de_DE");
    QTest::newRow("Russian") << QStringLiteral("ru_RU");
}

void ExperimentJsonTest::foreignLocales() {
    QFETCH(QString, language);
    const test::Settings settings = {{"training.optimizer.learning_rate", "0.0025"},
                                     {"training.clip_norm", "1.5"}};
    const std::string usual = toJson(parseExperiment(smallExperimentText(), settings).experiment);
    const test::ForeignLocale locale(language);
    if (!locale.active())
        QSKIP("this locale cannot be made here (Debian's package \"locales\" holds its source)");
    const ParsedExperiment parsed = parseExperiment(smallExperimentText(), settings);
    QCOMPARE(sentences(parsed.problems), QByteArrayList());
    QCOMPARE(parsed.experiment.training.clipNorm.value_or(0), 1.5);
    QCOMPARE(bytes(toJson(parsed.experiment)), bytes(usual));
    QCOMPARE(
        sentences(parseExperiment(smallExperimentText(), {{"training.clip_norm", "1,5"}}).problems),
        QByteArrayList{"training.clip_norm: Expected a number, found the text \"1,5\"."});
}

void ExperimentJsonTest::mistakes_data() {
    QTest::addColumn<QByteArray>("from");
    QTest::addColumn<QByteArray>("to");
    QTest::addColumn<QByteArray>("sentence");
    const auto row = [](const char* name, const char* from, const char* to,
                        const QByteArray& sentence) {
        QTest::newRow(name) << QByteArray(from) << QByteArray(to) << sentence;
    };
    row("misspelt key", "\"epochs\": 5", "\"epochz\": 5",
        "training.epochz: This key is not known here. Did you mean \"epochs\"?");
    row("misspelt key of a layer", "\"padding\": 1", "\"pading\": 1",
        "model.layers[0].pading: This key is not known here. Did you mean \"padding\"?");
    row("misspelt key at the top", "\"parallel\"", "\"paralel\"",
        "paralel: This key is not known here. Did you mean \"parallel\"?");
    row("misspelt average", "\"epochs\": 5", "\"ema_deca\": 0.9",
        "training.ema_deca: This key is not known here. Did you mean \"ema_decay\"?");
    row("misspelt key of early stopping", "\"epochs\": 5", "\"early_stopping\": {\"patienc\": 3}",
        "training.early_stopping.patienc: This key is not known here. Did you mean \"patience\"?");
    row("a number for early stopping", "\"epochs\": 5", "\"early_stopping\": 3",
        "training.early_stopping: Expected an object { }, found the number 3.");
    row("key far from all", "\"epochs\": 5", "\"q\": 5", "training.q: This key is not known here.");
    row("misspelt layer", "\"type\": \"relu\"", "\"type\": \"rulu\"",
        "model.layers[1].type: There is no layer \"rulu\". Did you mean \"relu\"?");
    row("half a name", "\"type\": \"relu\"", "\"type\": \"transformer\"",
        "model.layers[1].type: There is no layer \"transformer\". Did you mean "
        "\"transformer_block\"?");
    row("unknown layer", "\"type\": \"relu\"", "\"type\": \"lstm\"",
        "model.layers[1].type: There is no layer \"lstm\". Known types: " +
            QByteArray::fromStdString(listed(typeNames(Kind::Layer))) + ".");
    row("misspelt optimizer", "\"adamw\"", "\"adamW2\"",
        "training.optimizer.type: There is no optimizer \"adamW2\". Did you mean \"adamw\"?");
    row("layer without a type", "\"type\": \"relu\"", "\"from\": []",
        "model.layers[1].type: This must be given.");
    row("layer without an id", "\"id\": \"relu1\", ", "",
        "model.layers[1].id: This must be given.");
    row("field without a value", "\"out_features\": 10", "\"bias\": false",
        "model.layers[7].out_features: This must be given.");
    row("text for a number", "\"batch\": 128", "\"batch\": \"128\"",
        "training.batch: Expected a whole number, found the text \"128\".");
    row("fraction for a whole number", "\"batch\": 128", "\"batch\": 12.5",
        "training.batch: Expected a whole number, found the number 12.5.");
    row("more than fits", "\"batch\": 128", "\"batch\": 18446744073709551615",
        "training.batch: Expected a whole number, found the number 18446744073709551615.");
    row("negative seed", "\"batch\": 128", "\"seed\": -1",
        "training.seed: Expected a whole number of at least 0, found the number -1.");
    row("null for a number", "\"batch\": 128", "\"batch\": null",
        "training.batch: Expected a whole number, found null.");
    row("list for an object", "\"parallel\": {\"data\": 2}", "\"parallel\": [2]",
        "parallel: Expected an object { }, found a list.");
    row("whole number with a point", "\"out_features\": 10", "\"out_features\": 10.0",
        "model.layers[7].out_features: 10.0 is not a whole number at least 1 and at most 1048576.");
    row("object for a value", "\"out_features\": 10", "\"out_features\": {}",
        "model.layers[7].out_features: Expected a value, found an object.");
    row("probability of one", "\"probability\": 0.25", "\"probability\": 1",
        "model.layers[4].probability: 1.0 is not a number at least 0 and below 1.");
    row("shape with a text", "[1, 28, 28]", "[1, \"28\", 28]",
        "model.input.shape: Expected a list of whole numbers such as [1, 28, 28], found other "
        "elements in it.");
    row("shape with more than fits", "[1, 28, 28]", "[1, 28, 18446744073709551615]",
        "model.input.shape: Expected a list of whole numbers such as [1, 28, 28], found other "
        "elements in it.");
    row("from a number", "\"id\": \"relu1\"", "\"id\": \"relu1\", \"from\": 3",
        "model.layers[1].from: Expected a list of layer ids, found the number 3.");
    row("newer format", "experiment/1", "experiment/2",
        "format: Found \"trainyard.experiment/2\"; this version reads \"trainyard.experiment/1\".");
    row("no format", "\"format\": \"trainyard.experiment/1\",", "", "format: This must be given.");
    row("precision", "\"name\": \"small\"", "\"name\": \"small\", \"precision\": \"fp8\"",
        "precision: Found \"fp8\"; this version computes in fp64, fp32 or bf16.");
    row("strategy of a later version", "\"data\": 2}", "\"data\": 2, \"compression\": \"onebit\"}",
        "parallel.compression: Found \"onebit\"; known are: none, bf16, fp16, powersgd.");
    row("labels missing", ", \"labels\": \"train-labels.gz\"", "",
        "data.train.labels: This must be given.");
    row("share and files", "{\"images\": \"test-images.gz\",", "{\"fraction\": 0.1,",
        "data.validation.labels: This key is not known here.");
    row("key given twice", "\"epochs\": 5", "\"batch\": 64",
        "training.batch: This key is given twice. Keep one of the two.");
    row("key of a layer given twice", "\"padding\": 1", "\"id\": \"x\"",
        "model.layers[0].id: This key is given twice. Keep one of the two.");
}

void ExperimentJsonTest::mistakes() {
    QFETCH(QByteArray, from);
    QFETCH(QByteArray, to);
    QFETCH(QByteArray, sentence);
    const std::string text = changed(from.toStdString(), to.toStdString());
    QVERIFY(!text.empty());
    QCOMPARE(sentences(parseExperiment(text).problems), QByteArrayList{sentence});
}

void ExperimentJsonTest::allMistakesAreReportedAtOnce() {
    const auto problems =
        sentences(parseExperiment(R"({"format": "trainyard.experiment/1", "training": {"batc": 1},
                                      "data": 3, "model": {"layers": [{}], "input": {}}})")
                      .problems);
    QCOMPARE(problems, (QByteArrayList{"data: Expected an object { }, found the number 3.",
                                       "model.input.shape: This must be given.",
                                       "model.layers[0].id: This must be given.",
                                       "model.layers[0].type: This must be given.",
                                       "training.batc: This key is not known here. Did you mean "
                                       "\"batch\"?"}));
}

void ExperimentJsonTest::syntaxErrorsNameLineAndColumn_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QByteArray>("sentence");
    const QByteArray compare = " Compare with a sample: trainyard samples write.";
    const auto at = [](int line, int column) {
        return "This is not valid JSON: there is a mistake at line " + QByteArray::number(line) +
               ", column " + QByteArray::number(column) + ".";
    };
    const QByteArray cut =
        "This is not valid JSON: the text ends before it is complete. A bracket, "
        "brace or quote is still open, or the file was cut.";
    const QByteArray empty =
        "The experiment is empty. Start from a sample: trainyard samples write.";
    QTest::newRow("empty") << QByteArray() << empty;
    QTest::newRow("blank") << QByteArray(" \n\n") << empty;
    QTest::newRow("cut") << QByteArray("{\"format\": ") << cut;
    QTest::newRow("cut in a text") << QByteArray("{\"for") << cut;
    QTest::newRow("first byte") << QByteArray("x") << at(1, 1) + compare;
    QTest::newRow("comma at the end")
        << QByteArray("{\n  \"a\": 1,\n}") << at(3, 1) + " Remove the comma before it.";
    QTest::newRow("comma at the end of a list")
        << QByteArray("[1, 2, ]") << at(1, 8) + " Remove the comma before it.";
    QTest::newRow("comma forgotten") << QByteArray("{\"a\": 1\n \"b\": 2}") << at(2, 4) + compare;
    QTest::newRow("line end in a text") << QByteArray("{\"a\": \"b\n\"}") << at(1, 9) + compare;
    QTest::newRow("columns are characters")
        << QByteArray("{\"\xc3\xa9\xc3\xa9\xc3\xa9\": ?}") << at(1, 9) + compare;
    QTest::newRow("not UTF-8") << QByteArray("{\"a\": \"\xff\"}") << at(1, 8) + compare;
    QTest::newRow("something behind it") << QByteArray("{} {}") << at(1, 4) + compare;
    QTest::newRow("too large a number")
        << QByteArray("{\"a\": 1e400}") << QByteArray("a: The number 1e400 is too large.");
}

void ExperimentJsonTest::syntaxErrorsNameLineAndColumn() {
    QFETCH(QByteArray, text);
    QFETCH(QByteArray, sentence);
    QCOMPARE(sentences(parseExperiment(text.toStdString()).problems), QByteArrayList{sentence});
}

void ExperimentJsonTest::namesInOtherScripts() {
    Experiment experiment = test::smallExperiment();
    experiment.name = "\u8bad\u7ec3 \u043e\u043f\u044b\u0442";
    const ParsedExperiment parsed = parseExperiment(toJson(experiment));
    QCOMPARE(sentences(parsed.problems), QByteArrayList());
    QCOMPARE(parsed.experiment.name, experiment.name);
}

void ExperimentJsonTest::pathsAreTakenFromTheFolder() {
    Experiment experiment = test::smallExperiment();
    experiment.data.train["labels"] = "/data/labels.gz";
    experiment.data.validation["images"] = "../shared/images.gz";
    resolvePaths(experiment, "/experiments/one");
    QCOMPARE(experiment.data.train["images"], std::string("/experiments/one/train-images.gz"));
    QCOMPARE(experiment.data.train["labels"], std::string("/data/labels.gz"));
    QCOMPARE(experiment.data.validation["images"], std::string("/experiments/shared/images.gz"));
}

QTEST_GUILESS_MAIN(ExperimentJsonTest)
#include "tst_experiment_json.moc"
