// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Asking a model: which runs can be asked and with what, the answer as values, a text that grows
// while it is made, and a question that is taken back.
#include "app/models/prediction.h"

#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QFileInfo>
#include <QJsonDocument>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include <csignal>

using namespace trainyard;
using namespace trainyard::app;

using State = PredictionJob::State;

class PredictionTest : public QObject {
    Q_OBJECT
private slots:
    void init();
    void onlyRunsWithWeightsCanBeAsked();
    void inputFollowsFromTheData();
    void answerOfClasses();
    void answerOfNumbers();
    void aProblemIsAnError();
    void aTextGrows();
    void cancelEndsTheWorker();
    void aNewQuestionEndsTheOneBefore();

private:
    /// The worker keeps what it was asked and does this.
    void script(const QByteArray& lines);
    QString path(const char* name) const { return m_folder->filePath(QLatin1StringView(name)); }
    QByteArray contentOf(const char* name) const {
        QFile file(path(name));
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    }

    std::unique_ptr<QTemporaryDir> m_folder;
    std::unique_ptr<LocalLauncher> m_launcher;
    RunRecord m_run;
};

void PredictionTest::init() {
    m_folder = std::make_unique<QTemporaryDir>();
    m_launcher = std::make_unique<LocalLauncher>(path("worker"), m_folder->path());
    m_run.uid = QStringLiteral("run-1");
    m_run.status = RunStatus::Finished;
}

void PredictionTest::script(const QByteArray& lines) {
    QFile worker(path("worker"));
    QVERIFY(worker.open(QIODevice::WriteOnly));
    worker.write("#!/bin/sh\ncat > '" + path("input").toUtf8() + "'\n" + lines);
    worker.setPermissions(QFileDevice::ReadOwner | QFileDevice::WriteOwner | QFileDevice::ExeOwner);
}

void PredictionTest::onlyRunsWithWeightsCanBeAsked() {
    QVERIFY(!canPredict(*m_launcher, m_run));
    const QString weights = m_launcher->weightsFile(m_run.uid);
    QVERIFY(QDir().mkpath(QFileInfo(weights).path()));
    QFile file(weights);
    QVERIFY(file.open(QIODevice::WriteOnly));
    QVERIFY(canPredict(*m_launcher, m_run));
    for (const RunStatus status : {RunStatus::Running, RunStatus::Failed, RunStatus::Diverged}) {
        m_run.status = status;
        QVERIFY(!canPredict(*m_launcher, m_run));
    }
    m_run.status = RunStatus::Stopped;
    QVERIFY(canPredict(*m_launcher, m_run));
}

void PredictionTest::inputFollowsFromTheData() {
    const auto input = [](const char* format, const Shape& shape) {
        spec::Experiment experiment;
        experiment.data.format = format;
        experiment.model.inputShape = shape;
        return predictionInputOf(experiment);
    };
    QCOMPARE(input("idx", {1, 28, 28}), PredictionInput::Pictures);
    QCOMPARE(input("image_folder", {3, 32, 32}), PredictionInput::Pictures);
    QCOMPARE(input("csv", {4}), PredictionInput::Rows);
    QCOMPARE(input("npy", {4}), PredictionInput::Rows);
    QCOMPARE(input("text", {64}), PredictionInput::Text);
    QCOMPARE(input("tokens", {64}), PredictionInput::Tokens);
}

void PredictionTest::answerOfClasses() {
    script(R"(echo '{"problems": [], "output": "classes", "class_names": ["cat", "dog"],
        "accuracy": 0.5, "predictions": [
          {"sample": 3, "input": "/a/b.png", "label": 0,
           "top": [{"class": 1, "probability": 0.75}, {"class": 0, "probability": 0.25}]}]}')");
    PredictionJob job(*m_launcher);
    job.askAbout(m_run, {QStringLiteral("/a/b.png")});
    QCOMPARE(job.state(), State::Running);
    QTRY_COMPARE(job.state(), State::Done);
    const Prediction& answer = job.prediction();
    QVERIFY(answer.classes);
    QCOMPARE(*answer.accuracy, 0.5);
    QCOMPARE(answer.samples.size(), std::size_t{1});
    QCOMPARE(answer.samples[0].input, QStringLiteral("/a/b.png"));
    QCOMPARE(*answer.samples[0].label, 0);
    QCOMPARE(answer.samples[0].top[0].index, 1);
    QCOMPARE(answer.samples[0].top[0].probability, 0.75);
    QCOMPARE(answer.className(1), QStringLiteral("1 dog"));
    QCOMPARE(answer.className(2), QStringLiteral("2"));
    const QJsonDocument asked = QJsonDocument::fromJson(contentOf("input"));
    QCOMPARE(asked[u"inputs"][0].toString(), QStringLiteral("/a/b.png"));
    QCOMPARE(asked[u"weights"].toString(), m_launcher->weightsFile(m_run.uid));
}

void PredictionTest::answerOfNumbers() {
    script(R"(echo '{"problems": [], "output": "numbers", "mean_absolute_error": 2,
        "predictions": [{"sample": 0, "targets": [3], "values": [5.5]}]}')");
    PredictionJob job(*m_launcher);
    job.askAbout(m_run, {QStringLiteral("1,2")});
    QTRY_COMPARE(job.state(), State::Done);
    QVERIFY(!job.prediction().classes);
    QCOMPARE(*job.prediction().meanAbsoluteError, 2.0);
    QCOMPARE(job.prediction().samples[0].values, std::vector<double>{5.5});
    QCOMPARE(job.prediction().samples[0].targets, std::vector<double>{3});
}

void PredictionTest::aProblemIsAnError() {
    script(R"(echo '{"problems": [{"where": "", "what": {"format": "%1 is no picture.",
        "arguments": ["a.txt"]}, "cure": {"format": "Choose another.", "arguments": []}}]}')");
    PredictionJob job(*m_launcher);
    job.askAbout(m_run, {QStringLiteral("a.txt")});
    QTRY_COMPARE(job.state(), State::Failed);
    QCOMPARE(job.error()->sentence(), std::string("a.txt is no picture. Choose another."));
}

void PredictionTest::aTextGrows() {
    script(R"(printf '%s\n' 'a line of some library'
printf '%s\n' '{"grown": "or no"}'
printf '%s\n' '{"grown": "t\nto"}'
printf '%s\n' '{"problems": [], "output": "tokens", "text": "or not\nto be"}')");
    PredictionJob job(*m_launcher);
    QSignalSpy grown(&job, &PredictionJob::grown);
    job.goOnWith(m_run, QStringLiteral("To be "), {.tokens = 12, .temperature = 0.5, .topK = 3});
    QTRY_COMPARE(job.state(), State::Done);
    QCOMPARE(grown.count(), 2);
    QCOMPARE(job.textSoFar(), QStringLiteral("or not\nto"));
    QCOMPARE(job.prediction().text, QStringLiteral("or not\nto be"));
    const QJsonDocument asked = QJsonDocument::fromJson(contentOf("input"));
    QVERIFY(asked[u"stream"].toBool());
    QCOMPARE(asked[u"tokens"].toInt(), 12);
    QCOMPARE(asked[u"temperature"].toDouble(), 0.5);
    QCOMPARE(asked[u"top_k"].toInt(), 3);
}

void PredictionTest::cancelEndsTheWorker() {
    script("echo $$ > '" + path("pid").toUtf8() + "'\nexec sleep 60\n");
    PredictionJob job(*m_launcher);
    job.askAbout(m_run, {QStringLiteral("1")});
    QTRY_VERIFY(contentOf("pid").endsWith('\n'));
    const int pid = contentOf("pid").trimmed().toInt();
    QCOMPARE(::kill(pid, 0), 0);
    QElapsedTimer timer;
    timer.start();
    job.cancel();
    QVERIFY2(timer.elapsed() < 1000, qPrintable(QString::number(timer.elapsed())));
    QCOMPARE(job.state(), State::Idle);
    QTRY_VERIFY(::kill(pid, 0) != 0);
    QVERIFY(!job.error());
}

void PredictionTest::aNewQuestionEndsTheOneBefore() {
    script(R"(grep -q first ')" + path("input").toUtf8() + R"(' && exec sleep 60
echo '{"problems": [], "output": "numbers", "predictions": [{"sample": 0, "values": [1]}]}')");
    PredictionJob job(*m_launcher);
    job.askAbout(m_run, {QStringLiteral("first")});
    QTRY_VERIFY(contentOf("input").contains("first"));
    job.askAbout(m_run, {QStringLiteral("second")});
    QTRY_COMPARE(job.state(), State::Done);
    QCOMPARE(job.prediction().samples.size(), std::size_t{1});
    job.cancel();
    QCOMPARE(job.state(), State::Idle);
    QVERIFY(job.prediction().samples.empty());
}

QTEST_GUILESS_MAIN(PredictionTest)
#include "tst_prediction.moc"
