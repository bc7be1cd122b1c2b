// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The parts of the command line that only handle text: words in, lines out.
#include "app/cli/arguments.h"
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/predict_command.h"
#include "app/cli/progress_text.h"
#include "app/cli/table.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTest>

#include <cmath>
#include <limits>

using namespace trainyard;
using namespace trainyard::app;

namespace {

CommandInfo trainLike() {
    return {
        QStringLiteral("train"),
        {QStringLiteral("FILE")},
        {{QStringLiteral("--set"), QStringLiteral("PATH=VALUE"), QStringLiteral("a value"), true},
         {QStringLiteral("--store"), QStringLiteral("DIR"), QStringLiteral("a folder")},
         {QStringLiteral("--json"), {}, QStringLiteral("for programs")}},
        QStringLiteral("Trains."),
        {}};
}

QString errorOf(const QStringList& words) {
    const Result<Arguments> parsed = parseArguments(trainLike(), words);
    return parsed.ok() ? QString() : QString::fromStdString(parsed.error().sentence());
}

QString plain(const Line& line) {
    QString text;
    for (const Span& span : line)
        text += span.text;
    return text;
}

RunProgress halfway() {
    RunProgress progress;
    progress.step = 1172;
    progress.steps = 2345;
    progress.stepsPerEpoch = 469;
    progress.epochs = 5;
    progress.trainLoss = 0.31249;
    progress.validationLoss = 0.3;
    progress.validationAccuracy = 0.8913;
    progress.samplesPerSecond = 12'400;
    progress.secondsLeft = 65;
    return progress;
}

} // namespace

class TestCliText : public QObject {
    Q_OBJECT

private slots:
    void words() {
        const Result<Arguments> parsed = parseArguments(
            trainLike(), {QStringLiteral("--set"), QStringLiteral("a=1"), QStringLiteral("file"),
                          QStringLiteral("--set=b=2=3"), QStringLiteral("--json"),
                          QStringLiteral("--store"), QStringLiteral("-")});
        QVERIFY(parsed.ok());
        QCOMPARE(parsed->operands(), QStringList{QStringLiteral("file")});
        QCOMPARE(parsed->values(QStringLiteral("--set")),
                 QStringList({QStringLiteral("a=1"), QStringLiteral("b=2=3")}));
        QVERIFY(parsed->has(QStringLiteral("--json")));
        QCOMPARE(parsed->value(QStringLiteral("--store")), QStringLiteral("-"));
    }

    void afterTwoDashesNothingIsAnOption() {
        const Result<Arguments> parsed =
            parseArguments(trainLike(), {QStringLiteral("--"), QStringLiteral("--json")});
        QVERIFY(parsed.ok());
        QCOMPARE(parsed->operands(), QStringList{QStringLiteral("--json")});
    }

    void anyNumberOfOperands() {
        CommandInfo command = trainLike();
        command.operands += QStringLiteral("[INPUT]...");
        const auto count = [&](const char* words) -> qsizetype {
            const Result<Arguments> parsed =
                parseArguments(command, QString::fromUtf8(words).split(u' ', Qt::SkipEmptyParts));
            return parsed.ok() ? parsed->operands().size() : -1;
        };
        QCOMPARE(count("a"), 1);
        QCOMPARE(count("a b"), 2);
        QCOMPARE(count("a --json b c -- -1,2"), 4);
        QCOMPARE(count("--json"), -1);
        QVERIFY(usageOf(command).startsWith(QStringLiteral("trainyard train FILE [INPUT]... [")));
    }

    void predictions_data() {
        QTest::addColumn<QByteArray>("answer");
        QTest::addColumn<QString>("text");
        const auto row = [](const char* name, const char* answer, const char* text) {
            QTest::newRow(name) << QByteArray(answer) << QString::fromUtf8(text);
        };
        row("one of several classes",
            R"({"output": "classes", "class_names": ["сова", "1"], "predictions": [{"sample": 7,
                "label": 0, "top": [{"class": 1, "probability": 0.9},
                                    {"class": 0, "probability": 0.1}]}]})",
            "class   probability\n"
            "1            0.9000\n"
            "0 сова       0.1000\n"
            "The label is 0 сова.");
        row("classes with labels",
            R"({"output": "classes", "class_names": [], "accuracy": 0.5, "predictions": [
                {"sample": 0, "label": 2, "top": [{"class": 2, "probability": 1}]},
                {"sample": 3, "label": 1, "top": [{"class": 0, "probability": 0.75},
                                                  {"class": 1, "probability": 0.25}]}]})",
            "sample  label  predicted  probability  else\n"
            "     0  2      2               1.0000\n"
            "     3  1      0               0.7500  1  0.2500\n"
            "accuracy 0.5000 over 2 samples");
        row("numbers",
            R"({"output": "numbers", "mean_absolute_error": 0.25, "predictions": [
                {"sample": 0, "targets": [1, 2], "values": [1.5, -2]},
                {"sample": 1, "targets": [3, 4], "values": [1e-9, 123456]}]})",
            "sample        target          predicted\n"
            "     0  1.000, 2.000      1.500, -2.000\n"
            "     1  3.000, 4.000  1.000e-09, 123456\n"
            "mean absolute error 0.2500 over 2 samples");
    }

    void predictions() {
        QFETCH(QByteArray, answer);
        QFETCH(QString, text);
        const QJsonDocument json = QJsonDocument::fromJson(answer);
        QVERIFY(json.isObject());
        QCOMPARE(predictionText(json.object()), text);
    }

    void manyPredictions() {
        QJsonArray predictions;
        for (int i = 0; i < 1025; ++i)
            predictions.append(QJsonObject{{QStringLiteral("sample"), i},
                                           {QStringLiteral("values"), QJsonArray{i}}});
        const QString text = predictionText({{QStringLiteral("output"), QStringLiteral("numbers")},
                                             {QStringLiteral("predictions"), predictions}});
        QCOMPARE(text.count(u'\n'), 21);
        QVERIFY2(text.endsWith(QStringLiteral("\n... and 1,005 more; --json has all.")),
                 qPrintable(text));
    }

    void helpAsksForNothingElse() {
        const Result<Arguments> parsed =
            parseArguments(trainLike(), {QStringLiteral("--help"), QStringLiteral("--nonsense")});
        QVERIFY(parsed.ok());
        QVERIFY(parsed->has(QStringLiteral("--help")));
    }

    void wrongWords_data() {
        QTest::addColumn<QStringList>("words");
        QTest::addColumn<QString>("sentence");
        const auto row = [](const char* name, const char* words, const char* sentence) {
            QTest::newRow(name) << QString::fromUtf8(words).split(u' ', Qt::SkipEmptyParts)
                                << QString::fromUtf8(sentence);
        };
        row("none", "",
            "\"trainyard train\" needs FILE. Usage: trainyard train FILE "
            "[--set PATH=VALUE]... [--store DIR] [--json]");
        row("two", "a b",
            "\"trainyard train\" needs FILE. Usage: trainyard train FILE "
            "[--set PATH=VALUE]... [--store DIR] [--json]");
        row("near", "a --stroe x",
            "\"trainyard train\" has no option --stroe. Did you mean \"--store\"?");
        row("far", "a --xyzzyplugh",
            "\"trainyard train\" has no option --xyzzyplugh. Its options are: --help, --set, "
            "--store, --json.");
        row("no value", "a --store", "--store needs a value: --store DIR.");
        row("a value too many", "a --json=1", "--json takes no value.");
        row("twice", "a --store x --store y", "--store is given twice.");
    }

    void wrongWords() {
        QFETCH(QStringList, words);
        QFETCH(QString, sentence);
        QCOMPARE(errorOf(words), sentence);
    }

    void everyCommandHasHelp() {
        Console console;
        for (const CommandEntry& command : commandTable()) {
            QVERIFY(!command.info.summary.isEmpty());
            QVERIFY(generalHelp().contains(command.info.name));
            for (const QString& line : helpOf(command.info).split(u'\n'))
                QVERIFY2(line.startsWith(u"Usage") || line.size() <= 100, qPrintable(line));
        }
    }

    void unknownCommands_data() {
        QTest::addColumn<QString>("words");
        QTest::addColumn<QString>("sentence");
        QTest::newRow("near") << "trian a"
                              << "There is no command \"trian\". Did you mean \"train\"?";
        QTest::newRow("group")
            << "runs lits"
            << "\"trainyard runs\" has no command \"lits\". Did you mean \"list\"?";
        QTest::newRow("bare group")
            << "runs"
            << "\"trainyard runs\" needs a command: list, show, export, stop, trace, delete.";
        QTest::newRow("far") << "blubber"
                             << "There is no command \"blubber\". There are: train, check, plan, "
                                "predict, runs, samples.";
    }

    void unknownCommands() {
        QFETCH(QString, words);
        QFETCH(QString, sentence);
        Console console;
        const auto command = makeCommand(words.split(u' '), console);
        QVERIFY(!command.ok());
        QCOMPARE(QString::fromStdString(command.error().sentence()), sentence);
    }

    void controlCharactersAreShown() {
        QCOMPARE(visibleText(QStringLiteral("a\x1b[2J\nb\tc\x7f")),
                 QStringLiteral("a\\x1b[2J\\nb\\tc\\x7f"));
        QCOMPARE(visibleText(QString(QChar(0x202e)) + u"abc"), QStringLiteral("\\u202eabc"));
        QCOMPARE(visibleText(QStringLiteral("实验-1 \"ünï\" обучение")),
                 QStringLiteral("实验-1 \"ünï\" обучение"));
    }

    void widthsOnTheTerminal() {
        QCOMPARE(columnsOf(QStringLiteral("abc")), 3);
        QCOMPARE(columnsOf(QStringLiteral("实验-1")), 6);
        QCOMPARE(columnsOf(QStringLiteral("e\u0301")), 1);
        QCOMPARE(fitted(QStringLiteral("实验实验"), 5), QStringLiteral("实验…"));
        QCOMPARE(fitted(QStringLiteral("abc"), 3), QStringLiteral("abc"));
        QCOMPARE(fitted(QStringLiteral("abcd"), 3), QStringLiteral("ab…"));
        QCOMPARE(padded(QStringLiteral("实"), 4, Qt::AlignRight), QStringLiteral("  实"));
    }

    void table() {
        Table table(
            {{QStringLiteral("name"), Qt::AlignLeft, 6}, {QStringLiteral("n"), Qt::AlignRight}});
        table.addRow({QStringLiteral("实验"), QStringLiteral("1")});
        table.addRow({QStringLiteral("very long\n"), QStringLiteral("1234")});
        QCOMPARE(table.text(), QStringLiteral("name       n\n"
                                              "实验       1\n"
                                              "very …  1234"));
    }

    void progressFits() {
        for (int columns = 20; columns <= 160; ++columns) {
            const Line line = progressLine(halfway(), columns);
            QVERIFY2(columnsOf(line) <= columns, qPrintable(plain(line)));
        }
        const QString wide = plain(progressLine(halfway(), 160));
        for (const char* part : {"epoch 3/5", "50 %", "step 1172/2345", "loss 0.3125", "val 89.1 %",
                                 "12.4 k samples/s", "1 m 05 s left"})
            QVERIFY2(wide.contains(QString::fromUtf8(part)), qPrintable(wide));
        // The loss stays when there is room for one thing only.
        const QString narrow = plain(progressLine(halfway(), 45));
        QVERIFY2(narrow.contains(u"loss") && !narrow.contains(u"samples/s"), qPrintable(narrow));
        const QString first = plain(progressLine(RunProgress(), 80));
        QVERIFY2(first.startsWith(u"starting  ") && !first.contains(u"step"), qPrintable(first));
        RunProgress last = halfway();
        last.secondsLeft = 0.2;
        QVERIFY(plain(progressLine(last, 160)).endsWith(u"  1 s left"));
        QVERIFY(epochLine(last).endsWith(u"  1 s left"));
        last.secondsLeft = 0;
        QVERIFY(epochLine(last).endsWith(u"samples/s"));
    }

    void anEpochAsALine() {
        QCOMPARE(epochLine(halfway()),
                 QStringLiteral("epoch 3/5  step 1172/2345  loss 0.3125  val_loss 0.3000  "
                                "val_accuracy 0.8913  12.4 k samples/s  1 m 05 s left"));
        RunProgress bad = halfway();
        bad.trainLoss = std::numeric_limits<double>::quiet_NaN();
        QVERIFY(epochLine(bad).contains(u"loss NaN"));
    }
};

QTEST_GUILESS_MAIN(TestCliText)
#include "tst_cli_text.moc"
