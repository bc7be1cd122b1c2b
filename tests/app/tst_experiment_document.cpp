// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The document behind the editor: files, history, and what is known of the experiment.
#include "app/models/experiment_document.h"
#include "app/models/experiment_fields.h"
#include "app/models/model_edit.h"
#include "engine/spec/experiment_json.h"

#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

using namespace trainyard;
using namespace trainyard::app;
using Basis = ShownPrices::Basis;
using DataState = ExperimentDocument::DataState;

namespace {

spec::LayerSpec layer(const char* id, const char* type, spec::Values values = {}) {
    return {.id = id, .type = type, .from = {}, .values = std::move(values)};
}

/// 1 x 28 x 28 -> conv 16 -> flatten -> dense 10.
spec::Experiment smallNet() {
    spec::Experiment e;
    e.name = "small";
    e.data.train = {{"images", "train-images"}, {"labels", "train-labels"}};
    e.model.inputShape = {1, 28, 28};
    e.model.layers = {
        layer("conv1", "conv2d",
              {{"out_channels", std::int64_t{16}}, {"padding", std::int64_t{1}}}),
        layer("relu1", "relu"),
        layer("flatten1", "flatten"),
        layer("dense", "linear", {{"out_features", std::int64_t{10}}}),
    };
    return e;
}

std::int64_t whole(const ExperimentDocument& document, std::string_view path) {
    return std::get<std::int64_t>(document.value(path).value());
}

QByteArray content(const QString& file) {
    QFile source(file);
    return source.open(QIODevice::ReadOnly) ? source.readAll() : QByteArray();
}

void write(const QString& file, const QByteArray& text) {
    QFile target(file);
    QVERIFY(target.open(QIODevice::WriteOnly));
    QCOMPARE(target.write(text), text.size());
}

DataFacts pictures(std::int64_t samples, const Shape& shape = {1, 28, 28},
                   std::int64_t classes = 10) {
    DataFacts facts;
    facts.training.samples = samples;
    facts.training.sampleShape = shape;
    facts.training.classes = classes;
    return facts;
}

QStringList labels(const std::vector<Cure>& cures) {
    QStringList result;
    for (const Cure& cure : cures)
        result << cure.label;
    return result;
}

} // namespace

class ExperimentDocumentTest : public QObject {
    Q_OBJECT
private slots:
    void startsWithNothing();
    void valuesByPath();
    void editsOfOnePathAreOneStep();
    void undoAndRedoRestoreEverything();
    void modifiedFollowsTheSavedState();
    void savesTheSameBytesInEveryLocale();
    void keepsTheFileWhenItCannotBeWritten();
    void refusesToOverwriteForeignChanges();
    void saysWhyAFileCannotBeOpened_data();
    void saysWhyAFileCannotBeOpened();
    void opensWrongValuesAndShowsThem();
    void opensAnExperimentWithoutData();
    void relativePathsFollowTheFile();
    void shapesFollowEachEdit();
    void flattenCuresADenseAfterAPicture();
    void pricesAreAsIfCured();
    void batchSmallerThanRanks();
    void unevenBatchIsFine();
    void fieldsOfTheMesh();
    void stepsNeedTheData();
    void answersForOtherDataAreDropped();
    void dataProblemsAndTheirCures();
    void asksAgainForChangedFiles();
    void changingTheOptimizerKeepsWhatWasChosen();
    void invalidLayerDoesNotHideShapesBefore();
    void theLossFollowsTheData();
    void textNeedsAnEmbedding();
    void choicesAreSaidInWords();
};

void ExperimentDocumentTest::startsWithNothing() {
    ExperimentDocument document;
    QVERIFY(!document.isOpen());
    QVERIFY(!document.isModified());
    QVERIFY(document.problems().empty());
    QCOMPARE(document.prices().basis, Basis::Unknown);
    document.undo();
    document.redo();
    QSignalSpy opened(&document, &ExperimentDocument::opened);
    document.openExperiment(smallNet());
    QCOMPARE(opened.count(), 1);
    QVERIFY(document.isOpen());
    document.close();
    QVERIFY(!document.isOpen());
    QVERIFY(document.problems().empty());
    QCOMPARE(opened.count(), 2);
}

void ExperimentDocumentTest::valuesByPath() {
    ExperimentDocument document;
    document.openExperiment(smallNet());
    const std::vector<std::pair<std::string, spec::Value>> values = {
        {"name", std::string("other")},
        {"data.train.images", std::string("/data/images.gz")},
        {"data.validation.images", std::string("/data/images2.gz")},
        {"data.validation.labels", std::string("/data/labels2.gz")},
        {"data.validation.fraction", 0.1},
        {"data.normalize", std::string("unit")},
        {"model.input.shape", std::vector<std::int64_t>{3, 32, 32}},
        {"model.layers[0].out_channels", std::int64_t{8}},
        {"model.layers[0].kernel", std::vector<std::int64_t>{3, 5}},
        {"model.layers[0].bias", false},
        {"model.layers[3].from", std::string("relu1")},
        {"model.loss.type", std::string("huber")},
        {"model.loss.delta", 0.5},
        {"training.batch", std::int64_t{64}},
        {"training.epochs", std::int64_t{2}},
        {"training.max_steps", std::int64_t{100}},
        {"training.seed", std::int64_t{7}},
        {"training.clip_norm", 0.5},
        {"training.learning_rate_batch", std::int64_t{32}},
        {"training.ema_decay", 0.99},
        {"training.early_stopping.metric", std::string("validation_accuracy")},
        {"training.early_stopping.patience", std::int64_t{3}},
        {"training.early_stopping.min_delta", 0.25},
        {"training.optimizer.type", std::string("sgd")},
        {"training.optimizer.momentum", 0.9},
        {"training.schedule.type", std::string("cosine")},
        {"training.schedule.warmup_steps", std::int64_t{10}},
        {"precision", std::string("fp64")},
        {"parallel.data", std::int64_t{2}},
        {"parallel.transport", std::string("gloo")},
    };
    for (const auto& [path, value] : values) {
        document.setValue(path, value);
        QVERIFY2(document.value(path) == value, path.c_str());
    }
    // Each of them is in the file.
    const auto parsed = spec::parseExperiment(spec::toJson(document.experiment()));
    QVERIFY(parsed.problems.empty());
    QCOMPARE(spec::toJson(parsed.experiment), spec::toJson(document.experiment()));

    // Without early stopping it has no patience, and one set for it is none.
    document.setValue("training.early_stopping.metric", std::string("off"));
    QVERIFY(!document.experiment().training.earlyStopping);
    document.setValue("training.early_stopping.patience", std::int64_t{9});
    QVERIFY(!document.value("training.early_stopping.patience"));
    document.setValue("training.ema_decay", std::nullopt);
    QVERIFY(!document.experiment().training.emaDecay);

    document.setValue("training.max_steps", std::nullopt);
    QVERIFY(!document.value("training.max_steps"));
    document.setValue("model.layers[0].bias", std::nullopt);
    QVERIFY(document.value("model.layers[0].bias") == spec::Value(true)); // the default

    const spec::Experiment before = document.experiment();
    for (const char* path :
         {"model.layers[9].kernel", "model.layers[0].colour", "training.moon", ""})
        document.setValue(path, std::int64_t{1});
    document.setValue("training.batch", std::string("many")); // not a kind that fits
    QVERIFY(document.experiment() == before);
}

void ExperimentDocumentTest::editsOfOnePathAreOneStep() {
    ExperimentDocument document;
    document.openExperiment(smallNet());
    for (const std::int64_t typed : {2, 25, 256})
        document.setValue("training.batch", typed);
    QCOMPARE(document.history().undoText(), QStringLiteral("Change Batch"));
    document.undo();
    QCOMPARE(whole(document, "training.batch"), 128);
    QVERIFY(!document.history().canUndo());
    document.redo();
    QCOMPARE(whole(document, "training.batch"), 256);

    document.setValue("training.batch", std::int64_t{64}); // after an undo a step of its own
    document.finishStep();
    document.setValue("training.batch", std::int64_t{32}); // after the field was left, too
    document.undo();
    QCOMPARE(whole(document, "training.batch"), 64);
    document.undo();
    QCOMPARE(whole(document, "training.batch"), 256);
}

void ExperimentDocumentTest::undoAndRedoRestoreEverything() {
    ExperimentDocument document;
    document.openExperiment(smallNet());
    std::vector<std::string> states{spec::toJson(document.experiment())};
    document.edit(QStringLiteral("one"), [](auto& e) { removeLayer(e.model, 2); });
    states.push_back(spec::toJson(document.experiment()));
    document.setValue("training.epochs", std::int64_t{9});
    states.push_back(spec::toJson(document.experiment()));
    document.edit(QStringLiteral("three"), [](auto& e) { moveLayer(e.model, 0, 1); });
    states.push_back(spec::toJson(document.experiment()));
    for (std::size_t i = states.size() - 1; i-- > 0;) {
        document.undo();
        QCOMPARE(spec::toJson(document.experiment()), states[i]);
    }
    for (std::size_t i = 1; i < states.size(); ++i) {
        document.redo();
        QCOMPARE(spec::toJson(document.experiment()), states[i]);
    }
    QSignalSpy changed(&document, &ExperimentDocument::changed);
    document.edit(QStringLiteral("nothing"), [](auto&) {});
    QCOMPARE(changed.count(), 0);
    document.undo();
    document.setValue("training.seed", std::int64_t{3});
    QVERIFY(!document.history().canRedo()); // a new edit ends what could be made again
}

void ExperimentDocumentTest::modifiedFollowsTheSavedState() {
    QTemporaryDir folder;
    ExperimentDocument document;
    document.openExperiment(smallNet());
    QSignalSpy modified(&document, &ExperimentDocument::modifiedChanged);
    QVERIFY(!document.isModified());
    document.setValue("training.batch", std::int64_t{64});
    QVERIFY(document.isModified());
    document.undo();
    QVERIFY(!document.isModified());
    document.redo();
    QVERIFY(document.saveAs(folder.filePath(QStringLiteral("a.json"))).ok());
    QVERIFY(!document.isModified());
    document.undo();
    QVERIFY(document.isModified());
    QCOMPARE(modified.count(), 5);
}

void ExperimentDocumentTest::savesTheSameBytesInEveryLocale() {
    QTemporaryDir folder;
    QByteArray first;
    for (const char* locale : {"C", "de_DE", "ru_RU"}) {
        QLocale::setDefault(QLocale(QLatin1StringView(locale)));
        ExperimentDocument document;
        document.openExperiment(smallNet());
        document.setValue("training.optimizer.learning_rate", 0.00123);
        document.setValue("training.batch", std::int64_t{60000});
        const QString file = folder.filePath(QLatin1StringView(locale));
        QVERIFY(document.saveAs(file).ok());
        const QByteArray bytes = content(file);
        QVERIFY(bytes.contains("0.00123") && bytes.contains("60000"));
        if (first.isEmpty())
            first = bytes;
        QCOMPARE(bytes, first);
        ExperimentDocument again;
        QVERIFY(again.open(file).ok());
        QVERIFY(!again.isModified());
        QCOMPARE(spec::toJson(again.experiment()), spec::toJson(document.experiment()));
        QVERIFY(again.save().ok());
        QCOMPARE(content(file), first);
    }
    QLocale::setDefault(QLocale::c());
}

void ExperimentDocumentTest::keepsTheFileWhenItCannotBeWritten() {
    QTemporaryDir folder;
    ExperimentDocument document;
    document.openExperiment(smallNet());
    const QString file = folder.filePath(QStringLiteral("missing/a.json"));
    const Result<void> saved = document.saveAs(file);
    QVERIFY(!saved.ok());
    const QString sentence = QString::fromStdString(saved.error().sentence());
    QVERIFY2(sentence.contains(file) && sentence.contains(u"cannot be written"),
             qPrintable(sentence));
    QVERIFY(document.filePath().isEmpty());
}

void ExperimentDocumentTest::refusesToOverwriteForeignChanges() {
    QTemporaryDir folder;
    const QString file = folder.filePath(QStringLiteral("a.json"));
    ExperimentDocument document;
    document.openExperiment(smallNet());
    QVERIFY(document.saveAs(file).ok());
    write(file, "somebody else's");
    document.setValue("training.batch", std::int64_t{64});
    QVERIFY(!document.save().ok());
    QVERIFY(document.fileChangedMeanwhile());
    QCOMPARE(content(file), QByteArray("somebody else's"));
    QVERIFY(document.save(ExperimentDocument::Overwrite::Yes).ok());
    QVERIFY(content(file).contains("\"batch\": 64"));
    QVERIFY(document.save().ok());
}

void ExperimentDocumentTest::saysWhyAFileCannotBeOpened_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QString>("sentence");
    const QByteArray good = QByteArray::fromStdString(spec::toJson(smallNet()));
    QTest::newRow("not JSON") << QByteArray("{\"format\": ") << QStringLiteral("JSON");
    QByteArray unknown = good;
    unknown.replace("\"batch\"", "\"batsh\"");
    QTest::newRow("unknown key") << unknown << QStringLiteral("training.batsh");
    QByteArray type = good;
    type.replace("\"conv2d\"", "\"conv3d\"");
    QTest::newRow("unknown layer") << type << QStringLiteral("conv3d");
    QByteArray list = good;
    list.replace("\"epochs\": 5", "\"epochs\": \"five\"");
    QTest::newRow("text for a number") << list << QStringLiteral("training.epochs");
}

void ExperimentDocumentTest::saysWhyAFileCannotBeOpened() {
    QFETCH(QByteArray, text);
    QFETCH(QString, sentence);
    QTemporaryDir folder;
    const QString file = folder.filePath(QStringLiteral("a.json"));
    write(file, text);
    ExperimentDocument document;
    document.openExperiment(smallNet());
    document.setValue("training.batch", std::int64_t{64});
    const Result<void> opened = document.open(file);
    QVERIFY(!opened.ok());
    const QString said = QString::fromStdString(opened.error().sentence());
    QVERIFY2(said.contains(sentence) && said.contains(file), qPrintable(said));
    // What was being edited is still there.
    QCOMPARE(whole(document, "training.batch"), 64);
    QVERIFY(document.history().canUndo());
    QVERIFY(document.filePath().isEmpty());
    QVERIFY(!document.open(folder.filePath(QStringLiteral("none.json"))).ok());
}

void ExperimentDocumentTest::opensWrongValuesAndShowsThem() {
    QTemporaryDir folder;
    const QString file = folder.filePath(QStringLiteral("a.json"));
    QByteArray text = QByteArray::fromStdString(spec::toJson(smallNet()));
    text.replace("\"batch\": 128", "\"batch\": 0");
    write(file, text);
    ExperimentDocument document;
    QVERIFY(document.open(file).ok());
    QCOMPARE(document.problems().size(), std::size_t{1});
    QCOMPARE(document.problems().front().where, std::string("training.batch"));
    QVERIFY(document.save().ok());
    QCOMPARE(content(file), text);
}

void ExperimentDocumentTest::opensAnExperimentWithoutData() {
    QTemporaryDir folder;
    const QString file = folder.filePath(QStringLiteral("a.json"));
    ExperimentDocument document;
    spec::Experiment e = smallNet();
    e.data.train.clear();
    document.openExperiment(e);
    QCOMPARE(document.problems().size(), std::size_t{2}); // images and labels
    QCOMPARE(document.dataState(), DataState::Unknown);
    QVERIFY(document.saveAs(file).ok());
    ExperimentDocument again;
    const Result<void> opened = again.open(file);
    QVERIFY2(opened.ok(), opened.ok() ? "" : opened.error().sentence().c_str());
}

void ExperimentDocumentTest::relativePathsFollowTheFile() {
    QTemporaryDir folder;
    QVERIFY(QDir(folder.path()).mkdir(QStringLiteral("sub")));
    ExperimentDocument document;
    document.openExperiment(smallNet());
    QVERIFY(document.saveAs(folder.filePath(QStringLiteral("a.json"))).ok());
    QCOMPARE(QString::fromStdString(document.resolvedExperiment().data.train.at("images")),
             folder.filePath(QStringLiteral("train-images")));
    QCOMPARE(document.experiment().data.train.at("images"), std::string("train-images"));
    // Saved elsewhere it still means the same files.
    QVERIFY(document.saveAs(folder.filePath(QStringLiteral("sub/a.json"))).ok());
    QCOMPARE(QString::fromStdString(document.resolvedExperiment().data.train.at("images")),
             folder.filePath(QStringLiteral("train-images")));
}

void ExperimentDocumentTest::shapesFollowEachEdit() {
    ExperimentDocument document;
    document.openExperiment(smallNet());
    const auto output = [&](std::size_t index) {
        return shapeText(document.analysis().layers.at(index).output);
    };
    QCOMPARE(output(0), QStringLiteral("16 × 28 × 28"));
    QCOMPARE(output(2), QStringLiteral("12544"));
    document.setValue("model.input.shape", std::vector<std::int64_t>{1, 32, 32});
    QCOMPARE(output(0), QStringLiteral("16 × 32 × 32"));
    QCOMPARE(output(2), QStringLiteral("16384"));
    document.setValue("model.layers[0].out_channels", std::int64_t{4});
    QCOMPARE(output(2), QStringLiteral("4096"));
    QCOMPARE(document.prices().prices.parameters, 4 * 9 + 4 + 4096 * 10 + 10);
}

void ExperimentDocumentTest::flattenCuresADenseAfterAPicture() {
    ExperimentDocument document;
    document.openExperiment(smallNet());
    document.edit(QStringLiteral("remove"), [](auto& e) { removeLayer(e.model, 2); });
    QCOMPARE(document.problems().size(), std::size_t{1});
    const Error problem = document.problems().front();
    QCOMPARE(problem.where, std::string("model.layers[2]"));
    const auto cures = document.cures(problem);
    QCOMPARE(labels(cures), QStringList{QStringLiteral("Insert flatten")});
    document.apply(cures.front());
    QVERIFY(document.problems().empty());
    QCOMPARE(document.experiment().model.layers[2].type, std::string("flatten"));
    QCOMPARE(document.history().undoText(), QStringLiteral("Insert flatten"));

    // The other way round: a convolution behind the flatten.
    document.edit(QStringLiteral("add"),
                  [](auto& e) { insertLayer(e.model, 3, makeLayer(e.model, "conv2d", 3)); });
    QCOMPARE(document.problems().size(), std::size_t{1});
    const auto back = document.cures(document.problems().front());
    QCOMPARE(labels(back), QStringList{QStringLiteral("Move before flatten1")});
    document.apply(back.front());
    QVERIFY(document.problems().empty());
}

void ExperimentDocumentTest::pricesAreAsIfCured() {
    ExperimentDocument document;
    document.openExperiment(smallNet());
    const std::int64_t whole = document.prices().prices.parameters;
    QCOMPARE(document.prices().basis, Basis::Current);
    document.edit(QStringLiteral("remove"), [](auto& e) { removeLayer(e.model, 2); });
    QCOMPARE(document.prices().basis, Basis::AsIfCured);
    QCOMPARE(document.prices().prices.parameters, whole);
    // A problem that only the person can cure.
    document.undo();
    document.setValue("model.layers[0].kernel", std::int64_t{99});
    QCOMPARE(document.prices().basis, Basis::LastValid);
    QCOMPARE(document.prices().prices.parameters, whole);
}

void ExperimentDocumentTest::batchSmallerThanRanks() {
    ExperimentDocument document;
    document.openExperiment(smallNet());
    document.setValue("training.batch", std::int64_t{2});
    document.setValue("parallel.data", std::int64_t{4});
    QCOMPARE(document.problems().size(), std::size_t{1});
    const QString sentence = QString::fromStdString(document.problems().front().sentence());
    QVERIFY2(sentence.contains(u"batch of 2") && sentence.contains(u"4 ranks"),
             qPrintable(sentence));
    const auto cures = document.cures(document.problems().front());
    QCOMPARE(labels(cures),
             (QStringList{QStringLiteral("Use a batch of 4"), QStringLiteral("Use 2 ranks")}));
    document.apply(cures.back());
    QVERIFY(document.problems().empty());
    QCOMPARE(whole(document, "parallel.data"), 2);
    QCOMPARE(document.prices().prices.plan.ranks.size(), std::size_t{2});
}

void ExperimentDocumentTest::unevenBatchIsFine() {
    ExperimentDocument document;
    document.openExperiment(smallNet());
    document.setValue("training.batch", std::int64_t{10});
    document.setValue("parallel.data", std::int64_t{4});
    QVERIFY(document.problems().empty());
    const auto shared = [](std::int64_t batch, std::int64_t ranks,
                           std::vector<double> shares = {}) {
        spec::ParallelSpec parallel;
        parallel.data = ranks;
        parallel.shares = std::move(shares);
        return batchArithmetic(batch, parallel);
    };
    QCOMPARE(shared(10, 4), QStringLiteral("10 = 3 + 3 + 2 + 2"));
    QCOMPARE(shared(128, 2), QStringLiteral("128 = 64 + 64"));
    QCOMPARE(shared(100, 16), QStringLiteral("100 = 4 × 7 + 12 × 6"));
    QCOMPARE(shared(512, 16), QStringLiteral("512 = 16 × 32"));
    QCOMPARE(shared(90, 2, {2, 1}), QStringLiteral("90 = 60 + 30"));
    QCOMPARE(shared(90, 3, {2, 1}), QStringLiteral("90 = 30 + 30 + 30")); // one share too few
    spec::ParallelSpec measured;
    measured.balance = "measured";
    QCOMPARE(batchArithmetic(90, measured), QStringLiteral("90 = 90"));
    measured.data = 2;
    QCOMPARE(batchArithmetic(90, measured), QStringLiteral("90, shared by measured speed"));
}

/// What changes nothing is not asked for.
void ExperimentDocumentTest::fieldsOfTheMesh() {
    spec::ParallelSpec parallel;
    for (const char* path :
         {"parallel.shares", "parallel.zero", "parallel.compression", "parallel.transport",
          "parallel.schedule", "parallel.cuts", "parallel.balance", "parallel.bucket_bytes"})
        QVERIFY2(!hasEffect(path, parallel), path);
    QVERIFY(hasEffect("parallel.recompute", parallel));
    parallel.tensor = 2;
    QVERIFY(hasEffect("parallel.transport", parallel) && !hasEffect("parallel.zero", parallel));
    parallel.data = 2;
    QVERIFY(hasEffect("parallel.zero", parallel) && hasEffect("parallel.shares", parallel));
    for (const char* path : {"parallel.compression_rank", "parallel.compression_warmup"}) {
        QVERIFY2(!hasEffect(path, parallel), path);
        parallel.compression = "powersgd";
        QVERIFY2(hasEffect(path, parallel), path);
        parallel.compression = "none";
    }
    QVERIFY(hasEffect("parallel.balance", parallel) &&
            hasEffect("parallel.bucket_bytes", parallel));
    parallel.pipeline = 2;
    QVERIFY(hasEffect("parallel.cuts", parallel));
    QVERIFY(!hasEffect("parallel.stages_per_rank", parallel));
    parallel.schedule = "interleaved";
    QVERIFY(hasEffect("parallel.stages_per_rank", parallel));
    parallel.balance = "measured"; // instead of these
    QVERIFY(!hasEffect("parallel.shares", parallel) && !hasEffect("parallel.cuts", parallel));
}

void ExperimentDocumentTest::stepsNeedTheData() {
    ExperimentDocument document;
    document.openExperiment(smallNet());
    QVERIFY(!document.prices().prices.dataKnown);
    QVERIFY(document.prices().prices.plan.ranks.front().memory.activations > 0);
    document.setDataFacts(document.dataQuestion(), pictures(60000));
    QVERIFY(document.prices().prices.dataKnown);
    QCOMPARE(document.prices().prices.plan.stepsPerEpoch, (60000 + 127) / 128);
    QCOMPARE(document.prices().prices.plan.steps, 5 * 469);
    document.setValue("training.max_steps", std::int64_t{100});
    QCOMPARE(document.prices().prices.plan.steps, 100);
}

void ExperimentDocumentTest::answersForOtherDataAreDropped() {
    ExperimentDocument document;
    QSignalSpy wanted(&document, &ExperimentDocument::inspectionWanted);
    document.openExperiment(smallNet());
    QCOMPARE(wanted.count(), 1);
    QCOMPARE(document.dataState(), DataState::Looking);
    const DataQuestion old = document.dataQuestion();
    document.setValue("training.batch", std::int64_t{64}); // does not change the data
    QCOMPARE(wanted.count(), 1);
    document.setValue("data.train.images", std::string("others"));
    QCOMPARE(wanted.count(), 2);
    document.setDataFacts(old, pictures(5));
    QCOMPARE(document.dataState(), DataState::Looking);
    QVERIFY(!document.dataFacts());
    document.setDataError(document.dataQuestion(), Error({"The worker is gone."}));
    QCOMPARE(document.dataState(), DataState::Failed);
    document.setDataFacts(document.dataQuestion(), pictures(7));
    QCOMPARE(document.dataState(), DataState::Known);
    QCOMPARE(document.dataFacts()->training.samples, 7);
    document.undo();
    QVERIFY(!document.dataFacts());
    QCOMPARE(wanted.count(), 3); // these are again other files
}

void ExperimentDocumentTest::dataProblemsAndTheirCures() {
    ExperimentDocument document;
    document.openExperiment(smallNet());
    document.setDataFacts(document.dataQuestion(), pictures(100, {1, 32, 32}));
    QCOMPARE(document.problems().size(), std::size_t{1});
    QCOMPARE(document.problems().front().where, std::string("model.input.shape"));
    document.apply(document.cures(document.problems().front()).front());
    QVERIFY(document.problems().empty());
    QCOMPARE(document.experiment().model.inputShape, (Shape{1, 32, 32}));

    document.setDataFacts(document.dataQuestion(), pictures(100, {1, 32, 32}, 12));
    QCOMPARE(document.problems().size(), std::size_t{1});
    QCOMPARE(labels(document.cures(document.problems().front())),
             QStringList{QStringLiteral("Give dense 12 outputs")});
    document.apply(document.cures(document.problems().front()).front());
    QVERIFY(document.problems().empty());
    QCOMPARE(whole(document, "model.layers[3].out_features"), 12);

    DataFacts broken;
    broken.problems = {Error({"The file is cut off."}, "data.train.images")};
    document.setDataFacts(document.dataQuestion(), broken);
    QCOMPARE(document.problems(), broken.problems);
    QVERIFY(document.prices().basis == Basis::Current); // the model still has its price
}

void ExperimentDocumentTest::asksAgainForChangedFiles() {
    ExperimentDocument document;
    document.openExperiment(smallNet());
    QSignalSpy wanted(&document, &ExperimentDocument::inspectionWanted);
    document.setDataFacts(document.dataQuestion(), pictures(100));
    document.inspectAgain();
    QCOMPARE(wanted.count(), 1);
    QCOMPARE(document.dataState(), DataState::Looking);
    QVERIFY(!document.history().canUndo());
    // Which samples are held back depends on the seed; without a share nothing depends on it.
    document.setValue("training.seed", std::int64_t{5});
    QCOMPARE(wanted.count(), 1);
    document.setValue("data.validation.fraction", 0.1);
    document.setValue("training.seed", std::int64_t{6});
    QCOMPARE(wanted.count(), 3);
}

void ExperimentDocumentTest::changingTheOptimizerKeepsWhatWasChosen() {
    ExperimentDocument document;
    spec::Experiment e = smallNet();
    // As read from a file: each value is there, most are only defaults.
    e.training.optimizer = {"sgd", {{"learning_rate", 0.01}, {"weight_decay", 0.5}}};
    document.openExperiment(e);
    document.setValue("training.optimizer.type", std::string("adam"));
    QVERIFY(document.value("training.optimizer.learning_rate") == spec::Value(0.001));
    QVERIFY(document.value("training.optimizer.weight_decay") == spec::Value(0.5));
    QVERIFY(document.problems().empty());
}

void ExperimentDocumentTest::invalidLayerDoesNotHideShapesBefore() {
    ExperimentDocument document;
    spec::Experiment e = smallNet();
    e.model.layers[3].values["out_features"] = std::int64_t{-1};
    document.openExperiment(e);
    QCOMPARE(document.problems().size(), std::size_t{1});
    QCOMPARE(document.analysis().layers.size(), std::size_t{3});
    QCOMPARE(shapeText(document.analysis().layers[2].output), QStringLiteral("12544"));
    e.model.layers[3].values.clear(); // a required value is missing
    document.openExperiment(e);
    QCOMPARE(document.problems().size(), std::size_t{1});
}

void ExperimentDocumentTest::theLossFollowsTheData() {
    ExperimentDocument document;
    document.openExperiment(smallNet());
    DataFacts facts = pictures(1000, {1, 28, 28}, 0);
    facts.training.numbers = 2;
    document.setDataFacts(document.dataQuestion(), facts);
    QCOMPARE(document.problems().size(), std::size_t{1});
    QCOMPARE(document.problems().front().where, std::string("model.loss"));
    std::vector<Cure> cures = document.cures(document.problems().front());
    QCOMPARE(labels(cures), QStringList{QStringLiteral("Use the mean squared error")});
    document.apply(cures.front());
    QCOMPARE(document.experiment().model.loss.type, std::string("mse"));
    cures = document.cures(document.problems().front());
    QCOMPARE(labels(cures), QStringList{QStringLiteral("Give dense 2 outputs")});
    document.apply(cures.front());
    QVERIFY(document.problems().empty());
    QCOMPARE(document.dataQuestion().modelClasses, 10); // of the question that was answered
    document.inspectAgain();
    QCOMPARE(document.dataQuestion().modelClasses, 0); // numbers are no classes
}

void ExperimentDocumentTest::textNeedsAnEmbedding() {
    spec::Experiment e = smallNet();
    e.model.inputShape = {16};
    e.model.layers = {layer("relu", "relu"),
                      layer("out", "linear", {{"out_features", std::int64_t{65}}})};
    ExperimentDocument document;
    document.openExperiment(e);
    DataFacts facts = pictures(1000, {16}, 65);
    facts.training.vocabulary = 65;
    document.setDataFacts(document.dataQuestion(), facts);
    std::vector<Cure> cures = document.cures(document.problems().front());
    QCOMPARE(labels(cures), QStringList{QStringLiteral("Insert an embedding")});
    document.apply(cures.front());
    QCOMPARE(whole(document, "model.layers[0].vocabulary"), 65);
    QVERIFY2(document.problems().empty(),
             qPrintable(QString::fromStdString(document.problems().empty()
                                                   ? std::string()
                                                   : document.problems().front().what.text())));
    document.setValue("model.layers[0].vocabulary", std::int64_t{60});
    cures = document.cures(document.problems().front());
    QCOMPARE(labels(cures), QStringList{QStringLiteral("Set it to 65")});
}

void ExperimentDocumentTest::choicesAreSaidInWords() {
    // A layer, a schedule and a shape of a curve are all called "linear" in files.
    QCOMPARE(choiceText(typeField("training.schedule.type", spec::Kind::Schedule), "linear"),
             QStringLiteral("Linear"));
    EditorField plain;
    QCOMPARE(choiceText(plain, "linear"), QStringLiteral("Linear"));
    QCOMPARE(choiceText(plain, "shared_memory"), QStringLiteral("Shared memory"));
    QCOMPARE(choiceText(plain, "gelu"), QStringLiteral("GELU")); // an activation
    plain.choicesAreNames = true;
    plain.emptyWord = "its own";
    QCOMPARE(choiceText(plain, "my_layer"), QStringLiteral("my_layer"));
    QCOMPARE(choiceText(plain, ""), QStringLiteral("its own"));
    const spec::Experiment e = smallNet();
    QCOMPARE(fieldLabel(e, "model.loss.type"), QStringLiteral("loss"));
    QCOMPARE(fieldLabel(e, "model.layers[1].from"), QStringLiteral("Inputs of relu1"));
    QCOMPARE(fieldLabel(e, "data.format"), QStringLiteral("data format"));
    QCOMPARE(fieldLabel(e, "data.validation.labels"), QStringLiteral("data files"));
    QCOMPARE(fieldLabel(e, "data.validation.fraction"), QStringLiteral("Share held back"));
}

QTEST_GUILESS_MAIN(ExperimentDocumentTest)
#include "tst_experiment_document.moc"
