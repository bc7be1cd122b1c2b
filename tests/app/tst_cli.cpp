// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The program trainyard as a person or a script uses it, with a worker that plays a part: words,
// output, exit codes, and what is left in the store.
#include "app/samples/samples.h"
#include "engine/spec/experiment_json.h"
#include "tests/support/program.h"
#include "tests/support/run_support.h"

#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTest>

#include <cmath>
#include <csignal>

using namespace trainyard;
using namespace trainyard::app;
using namespace trainyard::test;

namespace {

QJsonObject objectIn(const QByteArray& text) {
    return QJsonDocument::fromJson(text).object();
}

} // namespace

class TestCli : public QObject {
    Q_OBJECT

private slots:
    void init() {
        m_folder = std::make_unique<QTemporaryDir>();
        qputenv("TRAINYARD_WORKER", builtProgram(QStringLiteral("tests/stand_in_worker")).toUtf8());
        QFile file(experiment());
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(QByteArray::fromStdString(spec::toJson(tinyExperiment())));
    }

    void samplesAreValidAndAsTheStudioSavesThem() {
        QCOMPARE(samples().size(), 6U);
        for (const Sample& sample : samples()) {
            const spec::ParsedExperiment parsed = spec::parseExperiment(sample.json.toStdString());
            QVERIFY2(parsed.problems.empty(), qPrintable(sample.name));
            QCOMPARE(QString::fromStdString(parsed.experiment.name), sample.name);
            QCOMPARE(QByteArray::fromStdString(spec::toJson(parsed.experiment)), sample.json);
            QVERIFY(!sample.title.isEmpty() && sample.description.endsWith(u'.'));
            const Output written = run({"samples", "write", sample.name, "-"});
            QCOMPARE(written.exitCode, 0);
            QCOMPARE(written.output, sample.json);
            QVERIFY(run({"samples", "list"}).output.contains(sample.name.toUtf8()));
        }
    }

    void samplesAreNotWrittenOverFiles() {
        const Output refused = run({"samples", "write", "fashion-mlp", experiment()});
        QCOMPARE(refused.exitCode, 1);
        QVERIFY(refused.errors.contains("is there already"));
        QVERIFY(contentOf(experiment()).contains("\"tiny\""));
        QCOMPARE(run({"samples", "write", "fashion-mlp", experiment(), "--force"}).exitCode, 0);
        QVERIFY(contentOf(experiment()).contains("\"fashion-mlp\""));
        const Output unknown = run({"samples", "write", "fashion-mpl", "x"});
        QCOMPARE(unknown.exitCode, 2);
        QVERIFY(unknown.errors.contains("Did you mean \"fashion-mlp\"?"));
    }

    void check() {
        const Output valid = run({"check", experiment()});
        QCOMPARE(valid.output, "valid: 15 parameters, 80 training and 16 validation samples, "
                               "20 steps\n");
        QCOMPARE(valid.exitCode, 0);
        const Output changed = run({"check", experiment(), "--set", "training.epochs=3"});
        QVERIFY2(changed.output.contains(" 30 steps"), changed.output.constData());
    }

    void checkTellsOneProblemALine() {
        const Output wrong = run(
            {"check", experiment(), "--set", "training.batch=1", "--set", "model.loss.type=mze"});
        QCOMPARE(wrong.exitCode, 2);
        QVERIFY(wrong.output.isEmpty());
        QVERIFY2(wrong.errors.startsWith("model.loss.type: "), wrong.errors.constData());
        const Script script("inspect=problem");
        const Output data = run({"check", experiment()});
        QCOMPARE(data.exitCode, 2);
        QCOMPARE(data.errors,
                 "data.train.labels: Row 7 has the label 10. Labels go from 0 to 9.\n");
    }

    void missingFile() {
        const Output missing = run({"train", "fashion-mlp"});
        QCOMPARE(missing.exitCode, 2);
        QCOMPARE(missing.errors, "There is no file fashion-mlp. That is the name of a sample: "
                                 "trainyard samples write fashion-mlp fashion-mlp.json\n");
    }

    void plan() {
        const Output table = run({"plan", experiment()});
        QCOMPARE(table.exitCode, 0);
        QVERIFY2(table.output.contains("local/cpu:1"), table.output.constData());
        const Output json = run({"plan", experiment(), "--json"});
        QCOMPARE(objectIn(json.output)[QLatin1StringView("format")].toString(),
                 QStringLiteral("trainyard.plan/1"));
        QCOMPARE(objectIn(json.output)[QLatin1StringView("ranks")].toArray().size(), 2);
        const Output less = run({"plan", experiment(), "--set", "parallel.zero=1", "--set",
                                 "parallel.accumulate=2", "--set", "parallel.recompute=blocks"});
        QVERIFY2(less.output.contains("in 2 micro-batches") && less.output.contains("ZeRO 1") &&
                     less.output.contains("computed again"),
                 QByteArray(less.output + less.errors).constData());
        const Output cut = run({"plan", experiment(), "--set", "parallel.tensor=2"});
        QVERIFY2(
            cut.output.contains("share the classes that these score, and the loss over them: "),
            cut.output.constData());
    }

    void planTellsTimes() {
        const Output table = run({"plan", experiment()});
        QCOMPARE(table.exitCode, 0);
        QVERIFY2(table.output.contains("\nA step will take about ") &&
                     table.output.contains(" samples/s, ") &&
                     table.output.contains("this computer was measured 2026-01-31T12:00:00Z"),
                 table.output.constData());
        QCOMPARE(table.errors, "");
        const QJsonObject json = objectIn(run({"plan", experiment(), "--json"}).output);
        const QJsonObject seconds =
            json[QLatin1StringView("ranks")][1].toObject()[QLatin1StringView("seconds")].toObject();
        // 4 rows of 4 x 3 multiply-adds, forward and backward, without the input's gradient.
        QVERIFY(std::abs(seconds[QLatin1StringView("compute")].toDouble() - 2 * 96e-9) < 1e-12);
        QVERIFY(seconds[QLatin1StringView("communication")].toDouble() > 0);
        QCOMPARE(seconds[QLatin1StringView("bubble")].toDouble(), 0.0);
        const double step = json[QLatin1StringView("step_seconds")].toDouble();
        QVERIFY(step > 192e-9);
        QVERIFY(std::abs(json[QLatin1StringView("samples_per_second")].toDouble() * step - 8) <
                1e-6);
        QVERIFY(json[QLatin1StringView("efficiency")].toDouble() < 1);
    }

    void planMeasuresWhereNothingIsKept() {
        const Script script("calibrate=absent");
        const Output measured = run({"plan", experiment(), "--json"});
        QVERIFY2(measured.errors.startsWith("Measuring this computer"),
                 measured.errors.constData());
        QVERIFY(objectIn(measured.output).contains(QLatin1StringView("step_seconds")));
        const Output without = run({"plan", experiment(), "--json", "--no-calibration"});
        QCOMPARE(without.exitCode, 0);
        QVERIFY(!objectIn(without.output).contains(QLatin1StringView("step_seconds")));
        QVERIFY2(without.errors.startsWith("No predicted times: "), without.errors.constData());
    }

    void planTellsWhyThereAreNoTimes() {
        const Script script("calibrate=refused");
        const Output table = run({"plan", experiment(), "--refresh-calibration"});
        QCOMPARE(table.exitCode, 0);
        QVERIFY(table.output.contains("local/cpu:1"));
        QVERIFY2(table.errors.contains("No predicted times: There is no room to measure in."),
                 table.errors.constData());
    }

    void trainPrintsALineForEachEpoch() {
        const Output done = run({"train", experiment(), "--store", store()});
        QCOMPARE(done.errors, "");
        QCOMPARE(done.exitCode, 0);
        const QList<QByteArray> lines = done.output.split('\n');
        QVERIFY2(lines[0].startsWith("Run #1 tiny (") && lines[0].endsWith("started on 2 ranks"),
                 done.output.constData());
        QVERIFY2(lines[1].startsWith("epoch 2/2  step 20/20  loss 0.05000  val_loss 0.1000  "
                                     "val_accuracy 0.8750"),
                 done.output.constData());
        QVERIFY2(done.output.contains("Run #1 tiny finished after 20 steps in 1.5 s"),
                 done.output.constData());
        QVERIFY(!done.output.contains('\x1b') && !done.output.contains('\r'));
    }

    void trainAsJson() {
        const Output done = run({"train", experiment(), "--store", store(), "--json"});
        QCOMPARE(done.exitCode, 0);
        const QJsonObject result = objectIn(done.output);
        QCOMPARE(result[QLatin1StringView("run")].toInt(), 1);
        QCOMPARE(result[QLatin1StringView("state")].toString(), QStringLiteral("finished"));
        QCOMPARE(result[QLatin1StringView("steps")].toInt(), 20);
        QCOMPARE(result[QLatin1StringView("epochs")].toDouble(), 2.0);
        QCOMPARE(result[QLatin1StringView("ranks")].toInt(), 2);
        QCOMPARE(result[QLatin1StringView("train_loss")].toDouble(), 0.05);
        QCOMPARE(result[QLatin1StringView("val_loss")].toDouble(), 0.1);
        QCOMPARE(result[QLatin1StringView("val_accuracy")].toDouble(), 0.875);
        QCOMPARE(result[QLatin1StringView("samples_per_second")].toDouble(), 800.0);
        QCOMPARE(result[QLatin1StringView("seconds")].toDouble(), 1.5);
    }

    void predictWithoutAnswer() {
        QCOMPARE(run({"train", experiment(), "--store", store()}).exitCode, 0);
        const auto predict = [&](std::initializer_list<const char*> words) {
            QStringList all{QStringLiteral("predict"), QStringLiteral("--store"), store()};
            for (const char* word : words)
                all += QString::fromUtf8(word);
            return runWords(all);
        };
        const Output nothing = predict({"tiny"});
        QCOMPARE(nothing.exitCode, 2);
        QCOMPARE(nothing.errors, "There is nothing to predict. Name a file or give a row of "
                                 "numbers, or use --validation.\n");
        QCOMPARE(predict({"tiny", "1,2", "--validation"}).exitCode, 2);
        QCOMPARE(predict({"tiny", "1,2", "--sample", "-1"}).errors,
                 "--sample -1 is no number of a sample. Samples are counted from 0.\n");
        QCOMPARE(predict({"tiny", "1,2", "--top", "0"}).errors,
                 "--top 0 must be a whole number of at least 1.\n");
        QCOMPARE(predict({"tiny", "1,2", "--temperature", "0,5"}).errors,
                 "--temperature 0,5 must be a number of at least 0.\n");
        QCOMPARE(predict({"tiny", "1,2", "--top-k", "few"}).errors,
                 "--top-k few must be a whole number of at least 0.\n");
        const Output unknown = predict({"tine", "1,2"});
        QCOMPARE(unknown.exitCode, 1);
        QCOMPARE(unknown.errors, "There is no run \"tine\". Did you mean \"tiny\"?\n");
        // The worker that plays the part trains nothing, so there are no weights.
        const Output none = predict({"tiny", "1,2"});
        QCOMPARE(none.exitCode, 1);
        QVERIFY2(none.errors.startsWith("Run #1 has no weights in ") &&
                     none.errors.contains("(trainyard runs show 1)"),
                 none.errors.constData());
        const Output exported =
            run({"runs", "export", "1", "--weights", "w.safetensors", "--store", store()});
        QCOMPARE(exported.errors, none.errors);
        QCOMPARE(run({"runs", "export", "1", "--store", store()}).errors,
                 "The file to write is missing. Add --out FILE.csv, --out FILE.json, --weights "
                 "FILE.safetensors or --confusion FILE.csv.\n");
    }

    void detachThenStop() {
        const Script script("start=living");
        const Output started = run({"train", experiment(), "--store", store(), "--detach"});
        QCOMPARE(started.exitCode, 0);
        QVERIFY2(started.output.startsWith("Run #1 ("), started.output.constData());

        const Output list = run({"runs", "list", "--store", store(), "--json"});
        const QJsonObject listed = QJsonDocument::fromJson(list.output).array().first().toObject();
        QCOMPARE(listed[QLatin1StringView("state")].toString(), QStringLiteral("running"));
        QCOMPARE(listed[QLatin1StringView("steps")].toInt(), 5);

        const Output refused = run({"runs", "delete", "1", "--store", store()});
        QCOMPARE(refused.exitCode, 1);
        QVERIFY2(refused.errors.contains("--force"), refused.errors.constData());

        QCOMPARE(run({"runs", "stop", "tiny", "--store", store()}).output,
                 "Run #1 is stopped after step 5\n");
        const Output again = run({"runs", "stop", "#1", "--store", store()});
        QCOMPARE(again.exitCode, 1);
        QCOMPARE(again.errors, "Run #1 is not running: it is stopped.\n");
    }

    void deleteALivingRun() {
        const Script script("start=living");
        run({"train", experiment(), "--store", store(), "--detach"});
        const Output deleted = run({"runs", "delete", "1", "--force", "--store", store()});
        QCOMPARE(deleted.errors, "");
        QCOMPARE(deleted.output, "Deleted run #1 tiny\n");
        QCOMPARE(run({"runs", "list", "--store", store()}).output, "No runs yet.\n");
        QVERIFY(QDir(store() + u"/node/runs").isEmpty());
        // The number is not used again.
        const Output next = run({"train", experiment(), "--store", store(), "--detach"});
        QVERIFY2(next.output.startsWith("Run #2 "), next.output.constData());
    }

    void runsAreNamed() {
        run({"train", experiment(), "--store", store(), "--name", "12"});
        const Output second =
            run({"train", experiment(), "--store", store(), "--name", "实验-1 \"a/b\"\u202e"});
        QCOMPARE(second.exitCode, 0);
        QVERIFY2(second.output.startsWith("Run #2 实验-1 \"a/b\"\\u202e ("),
                 second.output.constData());
        const Output repeated = run({"train", experiment(), "--store", store(), "--name", "12"});
        QVERIFY2(repeated.output.contains("note: 1 earlier run has this name, too"),
                 repeated.output.constData());
        const Output unclear = run({"runs", "show", "12", "--store", store()});
        QCOMPARE(unclear.exitCode, 1);
        QCOMPARE(unclear.errors, "2 runs are called \"12\": #3, #1. Name one by its number.\n");
        QCOMPARE(run({"runs", "show", "#2", "--store", store()}).exitCode, 0);
        const Output unknown = run({"runs", "show", "13x", "--store", store()});
        QVERIFY2(unknown.errors.contains("There is no run \"13x\""), unknown.errors.constData());
    }

    void showAndExport() {
        run({"train", experiment(), "--store", store()});
        const Output shown = run({"runs", "show", "1", "--store", store()});
        QVERIFY2(shown.output.contains("finished") && shown.output.contains("val_accuracy"),
                 shown.output.constData());
        QVERIFY2(shown.output.contains("Validation at step 20, by class\n"
                                       "class     samples   recall  precision\n"
                                       "cat             9   88.9 %     88.9 %\n"
                                       "dog, wet        6  100.0 %     85.7 %\n"
                                       "bird            1    0.0 %          —\n"),
                 shown.output.constData());
        const QJsonObject tables = objectIn(run({"runs", "show", "1", "--json", "--store", store()})
                                                .output)[QLatin1StringView("confusion")]
                                       .toObject();
        QCOMPARE(tables[QLatin1StringView("newest")][QLatin1StringView("step")].toInt(), 20);
        QCOMPARE(tables[QLatin1StringView("best")][QLatin1StringView("step")].toInt(), 10);
        QCOMPARE(run({"runs", "show", "1", "--store", store(), "--experiment"}).output,
                 contentOf(experiment()));

        const QString csv = m_folder->filePath(QStringLiteral("a b.csv"));
        QCOMPARE(run({"runs", "export", "1", "--out", csv, "--store", store()}).exitCode, 0);
        QCOMPARE(contentOf(csv).trimmed().count('\n'), 20); // a heading and 20 steps
        const QString json = m_folder->filePath(QStringLiteral("a.json"));
        QCOMPARE(run({"runs", "export", "1", "--out", json, "--store", store()}).exitCode, 0);
        QVERIFY(!objectIn(contentOf(json)).isEmpty());
        const QString confusion = m_folder->filePath(QStringLiteral("c.csv"));
        const Output table =
            run({"runs", "export", "1", "--confusion", confusion, "--store", store()});
        QCOMPARE(table.errors, "");
        QCOMPARE(contentOf(confusion),
                 "label,cat,\"dog, wet\",bird\ncat,8,1,0\n\"dog, wet\",0,6,0\nbird,1,0,0\n");
        const Output other = run({"runs", "export", "1", "--out", "a.txt", "--store", store()});
        QCOMPARE(other.exitCode, 2);
        QVERIFY(other.errors.contains("neither a .csv nor a .json"));
        const Output nowhere =
            run({"runs", "export", "1", "--out", "/nowhere/a.csv", "--store", store()});
        QCOMPARE(nowhere.exitCode, 1);
    }

    void theStartIsRefused() {
        const Script script("start=refused");
        const Output refused = run({"train", experiment(), "--store", store()});
        QCOMPARE(refused.exitCode, 1);
        QCOMPARE(refused.errors, "disk full: /somewhere\n");
        QCOMPARE(run({"runs", "list", "--store", store()}).output, "No runs yet.\n");
    }

    void theStoreCannotBeOpened() {
        QFile file(store());
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("not a folder");
        file.close();
        const Output failed = run({"train", experiment(), "--store", store()});
        QCOMPARE(failed.exitCode, 1);
        QVERIFY2(failed.errors.contains(store().toUtf8()), failed.errors.constData());
        QCOMPARE(failed.errors.count('\n'), 1);
        QCOMPARE(contentOf(store()), "not a folder");
    }

    void aStoreThatIsNotThereIsNotMadeByLooking() {
        const Output list = run({"runs", "list", "--store", store()});
        QCOMPARE(list.exitCode, 1);
        QVERIFY2(list.errors.contains("There is no run store in"), list.errors.constData());
        QVERIFY(!QFile::exists(store()));
    }

    void theWorkerIsMissing() {
        qputenv("TRAINYARD_WORKER", "/nowhere/trainyard-worker");
        const Output failed = run({"check", experiment()});
        QCOMPARE(failed.exitCode, 1);
        QVERIFY2(failed.errors.contains("/nowhere/trainyard-worker"), failed.errors.constData());
    }

    void interruptedOnceItStops() {
        const Script script("start=living");
        Program program({"train", experiment(), "--store", store()});
        QTRY_VERIFY(program.output().contains("started on"));
        program.send(SIGINT);
        QVERIFY(program.waitForEnd());
        QCOMPARE(program.exitCode(), 130);
        QVERIFY2(program.output().contains("Run #1 tiny stopped after 5 steps"),
                 program.output().constData());
    }

    void interruptedTwiceItIsLeft() {
        const Script script("start=living stop=slow");
        Program program({"train", experiment(), "--store", store()});
        QTRY_VERIFY(program.output().contains("started on"));
        program.send(SIGINT);
        QTRY_VERIFY(program.output().contains("Stopping"));
        program.send(SIGINT);
        QVERIFY(program.waitForEnd());
        QCOMPARE(program.exitCode(), 130);
        QVERIFY2(program.output().contains("is left to itself: trainyard runs show 1"),
                 program.output().constData());
    }

    void hangUpLeavesItRunning() {
        const Script script("start=living");
        Program program({"train", experiment(), "--store", store()});
        QTRY_VERIFY(program.output().contains("started on"));
        program.send(SIGHUP);
        QVERIFY(program.waitForEnd());
        QCOMPARE(program.exitCode(), 129);
        QVERIFY(run({"runs", "list", "--store", store()}).output.contains("running"));
    }

    void aBarOnATerminal_data() {
        QTest::addColumn<bool>("colours");
        QTest::newRow("colours") << true;
        QTest::newRow("NO_COLOR") << false;
    }

    void aBarOnATerminal() {
        QFETCH(bool, colours);
        const Script script("start=living");
        Program program({"train", experiment(), "--store", store()},
                        {.terminalColumns = 60, .noColour = !colours});
        QTRY_VERIFY2(program.output().contains("\r\x1b[K") && program.output().contains("25 %"),
                     program.output().constData());
        QVERIFY(program.output().contains("━"));
        QCOMPARE(program.output().contains("\x1b[36m"), colours);
        program.send(SIGINT);
        QVERIFY(program.waitForEnd());
        // What lies between two wipes fits into the terminal.
        for (QByteArray piece : program.output().split('\r')) {
            for (const char* code :
                 {"\x1b[K", "\x1b[0m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[36m"})
                piece.replace(code, "");
            if (piece.contains("━"))
                QVERIFY2(QString::fromUtf8(piece).size() < 60, piece.constData());
        }
    }

    void withoutWords() {
        const Output nothing = run({});
        QCOMPARE(nothing.exitCode, 2);
        QVERIFY(nothing.errors.contains("Usage: trainyard COMMAND"));
        QCOMPARE(run({"--help"}).exitCode, 0);
        QVERIFY(run({"runs", "--help"}).output.contains("runs delete"));
        QVERIFY(run({"train", "--help"}).output.contains("--detach"));
        QVERIFY(run({"--version"}).output.startsWith("trainyard "));
    }

    void foreignLocales_data() {
        QTest::addColumn<QByteArray>("locale");
        for (const char* name : {"C", "de_DE.UTF-8", "en_US.ISO-8859-1", "nonsense"})
            QTest::newRow(name) << QByteArray(name);
    }

    void foreignLocales() {
        QFETCH(QByteArray, locale);
        qputenv("LC_ALL", locale);
        const Output done = run({"train", experiment(), "--store", store(), "--name", "实验",
                                 "--set", "training.optimizer.learning_rate=0.25"});
        qunsetenv("LC_ALL");
        QCOMPARE(done.errors, "");
        QVERIFY2(done.output.contains("Run #1 实验 ("), done.output.constData());
        QVERIFY2(done.output.contains("val_accuracy 0.8750"), done.output.constData());
        const QByteArray frozen =
            run({"runs", "show", "1", "--store", store(), "--experiment"}).output;
        QVERIFY2(frozen.contains("\"learning_rate\": 0.25"), frozen.constData());
    }

private:
    QString experiment() const {
        return m_folder->filePath(QStringLiteral("tiny experiment.json"));
    }
    QString store() const { return m_folder->filePath(QStringLiteral("store")); }

    std::unique_ptr<QTemporaryDir> m_folder;
};

QTEST_GUILESS_MAIN(TestCli)
#include "tst_cli.moc"
