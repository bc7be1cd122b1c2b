// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// From training to a prediction with the real programs: what a run reported of its validation is
// what its saved weights give, and every way in which there are no weights has its sentence.
#include "engine/checkpoint/safetensors.h"
#include "tests/integration/train_bench.h"

#include <QDir>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QTest>

#include <array>
#include <cmath>
#include <random>

using namespace trainyard;
using namespace trainyard::app;
using namespace trainyard::test;

namespace {

constexpr int kPatience = 60'000; ///< ms, for a machine under load

using Key = QLatin1StringView;

QJsonObject objectIn(const QByteArray& text) {
    return QJsonDocument::fromJson(text).object();
}

} // namespace

class TestPredictRun : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { qunsetenv("TRAINYARD_WORKER"); }

    void asAccurateAsItsValidation_data() {
        QTest::addColumn<QStringList>("settings");
        const auto row = [](const char* name, const char* settings) {
            QTest::newRow(name) << QString::fromUtf8(settings).split(u'|');
        };
        row("one rank", "parallel.data=1");
        row("three ranks", "parallel.data=3");
        row("fp64", "precision=fp64");
        row("bf16", "precision=bf16"); // skipped where the processor has no AMX
        row("averaged weights", "training.ema_decay=0.9");
        row("the best epoch's weights",
            "training.early_stopping={\"metric\": \"validation_accuracy\", \"patience\": 1}|"
            "training.epochs=9|training.optimizer.learning_rate=0.05");
        row("running statistics",
            "model.layers=[{\"id\": \"conv\", \"type\": \"conv2d\", \"out_channels\": 16},"
            "{\"id\": \"norm\", \"type\": \"batch_norm\"}, {\"id\": \"relu\", \"type\": \"relu\"},"
            "{\"id\": \"flat\", \"type\": \"flatten\"},"
            "{\"id\": \"drop\", \"type\": \"dropout\"},"
            "{\"id\": \"classes\", \"type\": \"linear\", \"out_features\": 3}]");
        row("a share of the training data", "data.validation={\"fraction\": 0.3}");
    }

    void asAccurateAsItsValidation() {
        QFETCH(QStringList, settings);
        TrainBench bench;
        const QString experiment = bench.quickExperiment();
        QStringList words{QStringLiteral("train"), experiment, QStringLiteral("--store"),
                          bench.store(), QStringLiteral("--json")};
        for (const QString& setting : settings)
            words += {QStringLiteral("--set"), setting};
        const Output trained = runWords(words);
        if (trained.errors.contains("This machine cannot train in bf16"))
            QSKIP("this processor has no matrix unit for bf16");
        QVERIFY2(trained.exitCode == 0, trained.errors.constData());
        const double reported = objectIn(trained.output)[Key("val_accuracy")].toDouble();
        QVERIFY(reported > 0.4); // it has learned something

        const Output predicted =
            run({"predict", "1", "--validation", "--store", bench.store(), "--json"});
        QVERIFY2(predicted.exitCode == 0, predicted.errors.constData());
        const QJsonObject answer = objectIn(predicted.output);
        QCOMPARE(answer[Key("format")].toString(), QStringLiteral("trainyard.prediction/1"));
        QCOMPARE(answer[Key("accuracy")].toDouble(), reported);
        const QJsonArray predictions = answer[Key("predictions")].toArray();
        QCOMPARE(answer[Key("samples")].toInt(), predictions.size());
        QCOMPARE(static_cast<std::int64_t>(predictions.size()), bench.runs()[0].validationSamples);
        int right = 0;
        for (const QJsonValue& prediction : predictions)
            right +=
                prediction[Key("label")].toInt() == prediction[Key("top")][0][Key("class")].toInt();
        QCOMPARE(right / static_cast<double>(predictions.size()), reported);
    }

    void weightsOutliveTheDataAndGoWithTheRun() {
        TrainBench bench;
        const QString experiment = bench.quickExperiment();
        QVERIFY(run({"train", experiment, "--store", bench.store()}).exitCode == 0);
        const Output validation =
            run({"predict", "quick", "--validation", "--store", bench.store(), "--json"});
        // The same pictures as a file of their own, when the experiment's files are gone.
        const QString pictures = bench.path(QStringLiteral("others"));
        const QString labels = bench.path(QStringLiteral("answers"));
        QVERIFY(QFile::rename(bench.path(QStringLiteral("quick-test-images")), pictures));
        QVERIFY(QFile::rename(bench.path(QStringLiteral("quick-test-labels")), labels));
        QVERIFY(QFile::remove(bench.path(QStringLiteral("quick-train-images"))));
        const Output file =
            run({"predict", "1", pictures, "--labels", labels, "--store", bench.store(), "--json"});
        QVERIFY2(file.exitCode == 0, file.errors.constData());
        QCOMPARE(file.output, validation.output);

        // For people: all, then one.
        const Output table =
            run({"predict", "1", pictures, "--labels", labels, "--store", bench.store()});
        QVERIFY2(table.output.startsWith("sample  label  predicted  probability  else\n"),
                 table.output.constData());
        QVERIFY2(table.output.contains("... and 26 more; --json has all.\naccuracy "),
                 table.output.constData());
        const Output one = run(
            {"predict", "1", pictures, "--sample", "7", "--top", "2", "--store", bench.store()});
        QVERIFY2(one.output.startsWith("class  probability\n"), one.output.constData());
        QCOMPARE(one.output.count('\n'), 3);

        // What other tools find in the file.
        const QString exported = bench.path(QStringLiteral("w.safetensors"));
        const Output wrote =
            run({"runs", "export", "1", "--weights", exported, "--store", bench.store()});
        QVERIFY2(wrote.exitCode == 0, wrote.errors.constData());
        const auto weights = engine::SafetensorsFile::open(exported.toStdString());
        QVERIFY2(weights.ok(), weights ? "" : weights.error().sentence().c_str());
        QCOMPARE(weights->tensors().size(), 4U);
        QVERIFY(weights->find("conv.weight")->shape == (Shape{16, 1, 3, 3}));
        QVERIFY(weights->find("classes.bias")->shape == (Shape{3}));
        QCOMPARE(weights->metadata().at("step"), std::string("27"));
        const QString inRun = bench.store() + u"/node/runs/" + bench.runs()[0].uid +
                              QStringLiteral("/weights.safetensors");
        QCOMPARE(contentOf(exported), contentOf(inRun));
        const Output shown = run({"runs", "show", "1", "--store", bench.store()});
        QVERIFY2(shown.output.contains("The weights of step 27 are in "), shown.output.constData());

        QCOMPARE(run({"runs", "delete", "1", "--store", bench.store()}).exitCode, 0);
        QVERIFY(!QFileInfo::exists(inRun));
        QVERIFY(QFileInfo::exists(exported));
    }

    void rowsOfTables_data() {
        QTest::addColumn<QString>("target");
        QTest::addColumn<QString>("loss");
        QTest::addColumn<int>("outputs");
        QTest::addColumn<QString>("normalize");
        const auto row = [](const char* name, const char* target, const char* loss, int outputs,
                            const char* normalize) {
            QTest::newRow(name) << QString::fromUtf8(target) << QString::fromUtf8(loss) << outputs
                                << QString::fromUtf8(normalize);
        };
        row("classes", "kind", "cross_entropy", 3, "standard");
        row("classes, columns from 0 to 1", "kind", "cross_entropy", 3, "unit");
        row("numbers", "weight", "mse", 1, "standard");
        row("numbers as they are", "weight", "mse", 1, "none");
    }

    void rowsOfTables() {
        QFETCH(QString, target);
        QFETCH(QString, loss);
        QFETCH(int, outputs);
        QFETCH(QString, normalize);
        TrainBench bench;
        writeTable(bench.path(QStringLiteral("train.csv")), 150, 1);
        writeTable(bench.path(QStringLiteral("test.csv")), 40, 2);
        const QString experiment =
            writeExperiment(bench, QStringLiteral(R"({
            "format": "trainyard.experiment/1", "name": "table",
            "data": {"format": "csv", "train": {"table": "train.csv"},
                     "validation": {"table": "test.csv"}, "target": "%1", "ignore": "%2",
                     "normalize": "%5"},
            "model": {"input": {"shape": [5]},
                      "layers": [{"id": "out", "type": "linear", "out_features": %3}],
                      "loss": {"type": "%4"}},
            "training": {"batch": 16, "epochs": 12,
                         "optimizer": {"type": "adam", "learning_rate": 0.05}}})")
                                       .arg(target, outputs == 1 ? QStringLiteral("kind")
                                                                 : QStringLiteral("weight"))
                                       .arg(outputs)
                                       .arg(loss, normalize));
        const Output trained = run({"train", experiment, "--store", bench.store(), "--json"});
        QVERIFY2(trained.exitCode == 0, trained.errors.constData());
        const Output validation =
            run({"predict", "1", "--validation", "--store", bench.store(), "--json"});
        QVERIFY2(validation.exitCode == 0, validation.errors.constData());
        const QJsonObject answer = objectIn(validation.output);
        if (outputs == 1) {
            const double reported =
                bench.points(bench.runs()[0].id, spec::metric::kValidationMae).values.back();
            // fp32, and sums in another order
            QVERIFY(std::abs(answer[Key("mean_absolute_error")].toDouble() - reported) <=
                    1e-5 * reported);
        } else {
            QCOMPARE(answer[Key("accuracy")].toDouble(),
                     objectIn(trained.output)[Key("val_accuracy")].toDouble());
        }

        // The same rows from a file, to the last bit, and without the training data.
        QVERIFY(QFile::remove(bench.path(QStringLiteral("train.csv"))));
        const QString table = bench.path(QStringLiteral("test.csv"));
        const Output file = run({"predict", "1", table, "--store", bench.store(), "--json"});
        QVERIFY2(file.exitCode == 0, file.errors.constData());
        QCOMPARE(file.output, validation.output);

        // One of them as words: the columns that the model looks at, in their order.
        const QList<QByteArray> cells = contentOf(table).split('\n').value(1).split(',');
        const QByteArray row = cells[0] + ',' + cells[2] + ',' + cells[3];
        const Output words =
            run({"predict", "1", QString::fromUtf8(row), "--store", bench.store(), "--json"});
        QVERIFY2(words.exitCode == 0, words.errors.constData());
        const auto first = [](const QJsonObject& json) {
            const QJsonObject prediction = json[Key("predictions")][0].toObject();
            return QJsonArray{prediction[Key("top")][0], prediction[Key("values")]};
        };
        QCOMPARE(first(objectIn(words.output)), first(answer));
        const Output wrong = run({"predict", "1", "7,8", "--store", bench.store()});
        QCOMPARE(wrong.errors, "\"7,8\" has 2 values, but the model takes 3: length, colour, "
                               "width. Give these values in this order, with commas between "
                               "them.\n");
        const Output text = run({"predict", "1", "long,red,1", "--store", bench.store()});
        QCOMPARE(text.errors, "\"long,red,1\" has \"long\" in the column \"length\", which takes "
                              "numbers. Correct it, or leave it empty if it is not known.\n");
        const Output unknown = run({"predict", "1", ",,", "--store", bench.store()});
        QVERIFY2(unknown.exitCode == 0, unknown.errors.constData());
    }

    void textsGoOn_data() {
        QTest::addColumn<QString>("vocabulary");
        QTest::newRow("characters") << QStringLiteral("characters");
        QTest::newRow("bytes") << QStringLiteral("bytes");
    }

    void textsGoOn() {
        QFETCH(QString, vocabulary);
        TrainBench bench;
        QFile text(bench.path(QStringLiteral("song.txt")));
        QVERIFY(text.open(QIODevice::WriteOnly));
        for (int i = 0; i < 300; ++i)
            text.write("abcdé\n");
        text.close();
        // Of bytes, too, the next one follows from the last.
        const QString experiment = writeExperiment(bench, QStringLiteral(R"({
            "format": "trainyard.experiment/1", "name": "song",
            "data": {"format": "text", "train": {"text": "song.txt"}, "context": 8,
                     "vocabulary": "%1", "validation": {"fraction": 0.1}},
            "model": {"input": {"shape": [8]},
                      "layers": [
                        {"id": "words", "type": "embedding", "vocabulary": 256, "features": 16},
                        {"id": "next", "type": "linear", "out_features": 256}]},
            "training": {"batch": 16, "epochs": 12,
                         "optimizer": {"type": "adam", "learning_rate": 0.05}}})")
                                                              .arg(vocabulary));
        const Output trained = run({"train", experiment, "--store", bench.store(), "--json"});
        QVERIFY2(trained.exitCode == 0, trained.errors.constData());
        const auto goOn = [&](std::initializer_list<const char*> more) {
            QStringList words{QStringLiteral("predict"), QStringLiteral("1"),
                              QStringLiteral("--store"), bench.store()};
            for (const char* word : more)
                words += QString::fromUtf8(word);
            return runWords(words);
        };
        const Output sung = goOn({"ab", "--temperature", "0", "--tokens", "14"});
        QVERIFY2(sung.exitCode == 0, sung.errors.constData());
        const QByteArray expected =
            vocabulary == QStringLiteral("bytes") ? "abcdé\nabcdé\nab\n" : "abcdé\nabcdé\nabcd\n";
        QCOMPARE(sung.output, expected);
        const QJsonObject answer =
            objectIn(goOn({"ab", "--temperature", "0", "--tokens", "3", "--json"}).output);
        QCOMPARE(answer[Key("text")].toString().left(2), QStringLiteral("cd"));
        QCOMPARE(answer[Key("tokens")].toArray().size(), 3);
        // Hot enough, it sings something else, and the same again with the same seed.
        const auto hot = [&](const char* seed) {
            return goOn({"ab", "--temperature", "30", "--tokens", "40", "--seed", seed, "--json"})
                .output;
        };
        QVERIFY(hot("1") == hot("1") && hot("1") != hot("2"));
        if (vocabulary == QStringLiteral("characters"))
            QVERIFY2(goOn({"xyz"}).errors.contains("x"), goOn({"xyz"}).errors.constData());
        QVERIFY(goOn({""}).errors.startsWith("The text to go on with is empty."));
        QVERIFY(goOn({"--validation"}).exitCode == 1); // a class for each position
    }

    void whatCannotBePredicted() {
        TrainBench bench;
        const QString experiment = bench.quickExperiment();
        QVERIFY(run({"train", experiment, "--store", bench.store()}).exitCode == 0);
        const auto refusal = [&](std::initializer_list<Word> words) {
            QStringList all{QStringLiteral("predict"), QStringLiteral("1"),
                            QStringLiteral("--store"), bench.store()};
            for (const Word& word : words)
                all += word.text;
            const Output refused = runWords(all);
            return refused.exitCode == 0 ? QByteArray("(it was predicted)") : refused.errors;
        };
        const QString large = bench.path(QStringLiteral("large"));
        QVERIFY(writeIdx(large, {4, 28, 3}, 1));
        const QString pictures = large + QStringLiteral("-images");
        QCOMPARE(refusal({pictures}),
                 QString(u"The samples in " + pictures +
                         u" are 1 × 28 × 28, but the model takes 1 × 8 × 8. Choose a file like the "
                         u"one the model was trained on.\n")
                     .toUtf8());
        const QString fine = bench.path(QStringLiteral("quick-test-images"));
        QVERIFY(refusal({fine, "--labels", QString(large + QStringLiteral("-labels"))})
                    .startsWith("There are 4 labels in "));
        QCOMPARE(refusal({fine, "--sample", "46"}),
                 "There is no sample 46: the input has 46, counted from 0. Choose one from 0 to "
                 "45.\n");
        QVERIFY(refusal({"1,2,3"}).startsWith(
            "The row 1,2,3 has 3 numbers, but the model takes 64 (1 × 8 × 8)."));
        QVERIFY(refusal({experiment}).contains("quick.json")); // no IDX file
    }

    void runsWithoutWeights() {
        TrainBench bench;
        Program program({"train", bench.endlessExperiment(), "--store", bench.store()});
        QTRY_VERIFY_WITH_TIMEOUT(!bench.runs().empty() && bench.runs()[0].lastStep >= 3, kPatience);
        const Output early = run({"predict", "1", "--validation", "--store", bench.store()});
        QCOMPARE(early.exitCode, 1);
        QCOMPARE(early.errors, "Run #1 has no weights yet: it is running. They are written when it "
                               "ends. To end it now: trainyard runs stop 1\n");
        QVERIFY(run({"runs", "stop", "1", "--store", bench.store()}).exitCode == 0);
        QVERIFY(program.waitForEnd());
        const Output late =
            run({"predict", "1", "--validation", "--store", bench.store(), "--json"});
        QVERIFY2(late.exitCode == 0, late.errors.constData());
        QCOMPARE(objectIn(late.output)[Key("step")].toInteger(),
                 static_cast<qint64>(bench.runs()[0].lastStep));

        const Output diverged =
            run({"train", bench.quickExperiment(), "--store", bench.store(), "--set",
                 "training.optimizer={\"type\": \"sgd\", \"learning_rate\": 1e38}"});
        QCOMPARE(diverged.exitCode, 1);
        QCOMPARE(run({"predict", "2", "--validation", "--store", bench.store()}).errors,
                 "Run #2 has no weights: it diverged. Weights are written by runs that finish or "
                 "are stopped.\n");
    }

    void weightsThatCannotBeWrittenDoNotFailTheRun() {
        TrainBench bench;
        Program program({"train", bench.endlessExperiment(), "--store", bench.store()});
        QTRY_VERIFY_WITH_TIMEOUT(!bench.runs().empty() && bench.runs()[0].lastStep >= 3, kPatience);
        // A folder that is not empty cannot be replaced by a file.
        const QString place = bench.store() + u"/node/runs/" + bench.runs()[0].uid +
                              QStringLiteral("/weights.safetensors");
        QVERIFY(QDir().mkpath(place + QStringLiteral("/in the way")));
        QVERIFY(run({"runs", "stop", "1", "--store", bench.store()}).exitCode == 0);
        QVERIFY(program.waitForEnd());
        QCOMPARE(nameOf(bench.runs()[0].status), QStringLiteral("stopped"));
        const Output shown = run({"runs", "show", "1", "--store", bench.store()});
        QVERIFY2(shown.output.contains("could not be saved: ") &&
                     shown.output.contains("Train again to have them."),
                 shown.output.constData());
        const Output refused = run({"predict", "1", "--validation", "--store", bench.store()});
        QVERIFY2(refused.errors.startsWith("Run #1 has no weights in ") &&
                     refused.errors.contains("(trainyard runs show 1)"),
                 refused.errors.constData());
        const QStringList left = QFileInfo(place).dir().entryList({QStringLiteral("weights*")});
        QCOMPARE(left.size(), 1); // nothing half-written
    }

private:
    static QString writeExperiment(const TrainBench& bench, const QString& json) {
        const QString path = bench.path(QStringLiteral("experiment.json"));
        QFile file(path);
        if (file.open(QIODevice::WriteOnly))
            file.write(json.toUtf8());
        return path;
    }

    /// Kind and weight follow from length, colour and width, and a little noise.
    static void writeTable(const QString& path, int rows, unsigned seed) {
        std::mt19937 random(seed);
        const auto draw = [&] {
            return static_cast<double>(random() % 1000) / 1000;
        };
        QFile file(path);
        if (!file.open(QIODevice::WriteOnly))
            return;
        file.write("length,kind,colour,width,weight\n");
        for (int i = 0; i < rows; ++i) {
            const double length = 10 + 5 * draw();
            const double width = draw();
            const int colour = static_cast<int>(random() % 3);
            const double weight = (length - 12) / 2 + width + (colour == 1 ? 1 : 0) + 0.1 * draw();
            const char* kind = weight < 0.5 ? "light" : weight < 1.5 ? "middle" : "heavy";
            file.write(QByteArray::number(length) + ',' + kind + ',' +
                       std::array{"red", "green", "blue"}[static_cast<std::size_t>(colour)] + ',' +
                       QByteArray::number(width) + ',' + QByteArray::number(weight) + '\n');
        }
    }
};

QTEST_GUILESS_MAIN(TestPredictRun)
#include "tst_predict_run.moc"
