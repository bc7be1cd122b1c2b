// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// RunController and RunFollower: every edge of the state machine, with a worker that plays a part.
#include "app/run/run_follower.h"
#include "engine/spec/experiment_json.h"
#include "tests/support/run_support.h"

#include <QFile>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QTest>

using namespace trainyard;
using namespace trainyard::app;
using namespace trainyard::test;

namespace {

/// "checking starting ..."
QByteArray said(const ControllerRecord& record) {
    return record.words.join(u' ').toLatin1();
}

QByteArray status(const RunRecord& run) {
    return nameOf(run.status).toLatin1();
}

} // namespace

class TestRunController : public QObject {
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral(".*"))); }

    void fromStartToEnd() {
        const Script script("");
        RunBench bench;
        RunController& run = *bench.follower().newRun();
        const ControllerRecord record(run);
        run.start(tinyExperiment());
        QCOMPARE(run.state(), RunController::State::Checking);
        QTRY_VERIFY(record.outcome);
        QCOMPARE(said(record), "checking starting started! running finished ended!");
        QVERIFY(record.outcome->summary);
        QCOMPARE(record.steps.size(), 20U);

        QCOMPARE(bench.runs().size(), 1U);
        const RunRecord stored = bench.runs().front();
        QCOMPARE(status(stored), "finished");
        QCOMPARE(stored.name, QStringLiteral("tiny"));
        QCOMPARE(stored.lastStep, 20);
        QCOMPARE(stored.worldSize, 2);
        QCOMPARE(bench.points(stored.id, spec::metric::kTrainLoss).size(), 20U);
        QCOMPARE(bench.points(stored.id, spec::metric::kValidationLoss).size(), 2U);

        const RunProgress& progress = run.progress();
        QCOMPARE(progress.step, 20);
        QCOMPARE(progress.steps, 20);
        QCOMPARE(progress.epoch, 2.0);
        QCOMPARE(progress.trainLoss, 0.05);
        QCOMPARE(progress.validationAccuracy, 0.875);
    }

    void theFrozenExperimentIsTheOneThatWasStarted() {
        const Script script("");
        RunBench bench;
        RunController& run = *bench.follower().newRun();
        const ControllerRecord record(run);
        run.start(tinyExperiment("实验-1 \"a/b\""));
        QTRY_VERIFY(record.outcome);
        const RunRecord stored = bench.runs().front();
        QCOMPARE(stored.name, QStringLiteral("实验-1 \"a/b\""));
        const QByteArray frozen = *bench.store().reader().configuration(stored.id);
        QFile sent(bench.folder() + u"/node/runs/" + stored.uid + u"/experiment.json");
        QVERIFY(sent.open(QIODevice::ReadOnly));
        QCOMPARE(sent.readAll(), frozen);
        QCOMPARE(spec::toJson(spec::parseExperiment(frozen.toStdString()).experiment),
                 frozen.toStdString());
    }

    void anInvalidExperimentLeavesNoTrace() {
        RunBench bench;
        RunController& run = *bench.follower().newRun();
        const ControllerRecord record(run);
        spec::Experiment experiment = tinyExperiment();
        experiment.training.batch = 1; // for two ranks
        run.start(experiment);
        QTRY_COMPARE(said(record), "checking draft problems!");
        QCOMPARE(record.problems.size(), 1U);
        QCOMPARE(QByteArray::fromStdString(record.problems[0].where), "training.batch");
        QVERIFY(bench.runs().empty());
        // The same controller can be used again.
        run.start(tinyExperiment());
        QTRY_VERIFY(record.outcome);
        QCOMPARE(bench.runs().size(), 1U);
    }

    void problemsOfDataAndModelTogether() {
        const Script script("inspect=problem");
        RunBench bench;
        RunController& run = *bench.follower().newRun();
        const ControllerRecord record(run);
        spec::Experiment experiment = tinyExperiment();
        experiment.model.layers.erase(
            experiment.model.layers.begin()); // a picture into a dense layer
        run.start(experiment);
        QTRY_COMPARE(said(record), "checking draft problems!");
        QVERIFY(record.problems.size() >= 2U);
        QCOMPARE(QByteArray::fromStdString(record.problems[0].sentence()),
                 "data.train.labels: Row 7 has the label 10. Labels go from 0 to 9.");
        QVERIFY(bench.runs().empty());
    }

    void theCheckFails_data() {
        QTest::addColumn<QByteArray>("script");
        QTest::addColumn<QString>("sentence");
        QTest::newRow("garbage") << QByteArray("inspect=garbage")
                                 << "The worker gave no answer to \"inspect\" (exit code 0).";
        QTest::newRow("crash") << QByteArray("inspect=crash")
                               << "The worker crashed (signal 9, Killed) while it did \"inspect\". "
                                  "It wrote: out of luck";
    }

    void theCheckFails() {
        QFETCH(QByteArray, script);
        QFETCH(QString, sentence);
        const Script set(script);
        RunBench bench;
        RunController& run = *bench.follower().newRun();
        const ControllerRecord record(run);
        run.start(tinyExperiment());
        QTRY_COMPARE(said(record), "checking draft failed to start!");
        QCOMPARE(QString::fromStdString(record.errors[0].sentence()), sentence);
        QVERIFY(bench.runs().empty());
    }

    void refused() {
        const Script script("start=refused");
        RunBench bench;
        RunController& run = *bench.follower().newRun();
        const ControllerRecord record(run);
        run.start(tinyExperiment());
        QTRY_COMPARE(said(record), "checking starting draft failed to start!");
        QCOMPARE(QByteArray::fromStdString(record.errors[0].sentence()), "disk full: /somewhere");
        QVERIFY(bench.runs().empty());
        QVERIFY(!run.run());
    }

    void theAnswerToStartIsLost_data() {
        QTest::addColumn<QByteArray>("script");
        QTest::newRow("once") << QByteArray("start=crash_once");
        QTest::newRow("each time") << QByteArray("start=crash");
    }

    void theAnswerToStartIsLost() {
        QFETCH(QByteArray, script);
        const Script set(script);
        RunBench bench;
        RunController& run = *bench.follower().newRun();
        const ControllerRecord record(run);
        run.start(tinyExperiment());
        QTRY_VERIFY(record.outcome);
        QCOMPARE(said(record), "checking starting started! running finished ended!");
        QCOMPARE(bench.runs().size(), 1U);
        QCOMPARE(record.steps.size(), 20U);
    }

    void theRunNeverCameToBe() {
        const Script script("start=crash_before");
        RunBench bench;
        RunController& run = *bench.follower().newRun();
        const ControllerRecord record(run);
        run.start(tinyExperiment());
        QTRY_COMPARE(said(record), "checking starting draft failed to start!");
        QVERIFY(record.errors[0].sentence().find("crashed (signal 9") != std::string::npos);
        QVERIFY(bench.runs().empty());
    }

    void stopped() {
        const Script script("start=living");
        RunBench bench;
        RunController& run = *bench.follower().newRun();
        const ControllerRecord record(run);
        run.start(tinyExperiment());
        QTRY_COMPARE(record.steps.size(), 5U);
        QVERIFY(!record.outcome);
        run.stop();
        QCOMPARE(run.state(), RunController::State::Stopping);
        QTRY_VERIFY(record.outcome);
        QCOMPARE(said(record), "checking starting started! running stopping stopped ended!");
        QCOMPARE(status(bench.runs().front()), "stopped");
    }

    void stoppedWhileItStarts() {
        const Script script("start=living inspect=slow");
        RunBench bench;
        RunController& run = *bench.follower().newRun();
        const ControllerRecord record(run);
        connect(&run, &RunController::stateChanged, this, [&run](RunController::State state) {
            if (state == RunController::State::Starting)
                run.stop();
        });
        run.start(tinyExperiment());
        QTRY_VERIFY(record.outcome);
        QCOMPARE(record.words.last(), QStringLiteral("ended!"));
        QCOMPARE(status(bench.runs().front()), "stopped");
    }

    void stoppedWhileItIsChecked() {
        const Script script("inspect=slow");
        RunBench bench;
        RunController& run = *bench.follower().newRun();
        const ControllerRecord record(run);
        run.start(tinyExperiment());
        run.stop();
        QCOMPARE(said(record), "checking draft");
        // The check answers in this time, and nobody listens.
        QVERIFY(!QTest::qWaitFor([&] { return said(record) != "checking draft"; }, 600));
        QVERIFY(bench.runs().empty());
    }

    void stopFails() {
        const Script script("start=living stop=refused_once");
        RunBench bench;
        RunController& run = *bench.follower().newRun();
        const ControllerRecord record(run);
        run.start(tinyExperiment());
        QTRY_COMPARE(record.steps.size(), 5U);
        run.stop();
        QTRY_COMPARE(said(record),
                     "checking starting started! running stopping running not stopped!");
        run.stop();
        QTRY_VERIFY(record.outcome);
        QCOMPARE(status(bench.runs().front()), "stopped");
    }

    void theSupervisorIsGone() {
        RunBench bench;
        RunController& run = *bench.follower().newRun();
        const ControllerRecord record(run);
        {
            const Script script("start=living attach=dead");
            run.start(tinyExperiment());
            QTRY_VERIFY(record.outcome);
        }
        QCOMPARE(said(record), "checking starting started! running crashed ended!");
        QVERIFY(!record.outcome->reason.empty());
        const RunRecord stored = bench.runs().front();
        QCOMPARE(status(stored), "crashed");
        QCOMPARE(stored.lastStep, 5);
    }

    void interruptionsLoseNothing_data() {
        QTest::addColumn<QByteArray>("script");
        for (const char* word : {"noise", "half_once", "silent_once", "damaged_once", "exit_once"})
            QTest::newRow(word) << QByteArray("attach=") + word;
    }

    void interruptionsLoseNothing() {
        QFETCH(QByteArray, script);
        const Script set(script);
        RunBench bench;
        RunController& run = *bench.follower().newRun();
        const ControllerRecord record(run);
        run.start(tinyExperiment());
        QTRY_VERIFY(record.outcome);
        QCOMPARE(status(bench.runs().front()), "finished");
        const Points losses = bench.points(bench.runs().front().id, spec::metric::kTrainLoss);
        QCOMPARE(losses.size(), 20U);
        for (std::size_t i = 0; i < 20; ++i) {
            QCOMPARE(losses.steps[i], static_cast<std::int64_t>(i) + 1);
            QCOMPARE(record.steps[i], static_cast<std::int64_t>(i) + 1); // told once, in order
        }
        QCOMPARE(record.steps.size(), 20U);
    }

    void aLongJournalComesWhole() {
        // Tens of MiB, more than may wait for the store: reading pauses again and again.
        const Script script("start=long");
        RunBench bench;
        RunController& run = *bench.follower().newRun();
        const ControllerRecord record(run);
        run.start(tinyExperiment());
        QTRY_VERIFY_WITH_TIMEOUT(record.outcome, 60'000);
        QCOMPARE(record.steps.size(), 200'000U);
        const Points losses = bench.points(bench.runs().front().id, spec::metric::kTrainLoss);
        QCOMPARE(losses.size(), 200'000U);
        QCOMPARE(losses.steps.back(), 200'000);
        QVERIFY(bench.store().takeRereads().empty()); // nothing was dropped on the way
    }

    void aNewerWorkerIsNotACrash() {
        const Script script("start=living attach=newer");
        RunBench bench;
        RunController& run = *bench.follower().newRun();
        const ControllerRecord record(run);
        run.start(tinyExperiment());
        QTRY_VERIFY(!record.errors.empty());
        QVERIFY2(record.errors[0].sentence().find("Update Trainyard") != std::string::npos,
                 record.errors[0].sentence().c_str());
        QVERIFY(!run.isOver());
        QCOMPARE(status(bench.runs().front()), "created");
    }

    void adoptedAfterTheStudioWasKilled() {
        const Script script("start=living");
        RunBench bench;
        {
            RunFollower first(bench.store(), bench.launcher(), quickOptions());
            RunController& run = *first.newRun();
            const ControllerRecord record(run);
            run.start(tinyExperiment());
            QTRY_COMPARE(record.steps.size(), 5U);
        } // gone without a word to the run
        RunController* adopted = nullptr;
        connect(&bench.follower(), &RunFollower::followed, this,
                [&adopted](RunController* controller) { adopted = controller; });
        bench.follower().followAll();
        QTRY_VERIFY(adopted);
        const ControllerRecord record(*adopted);
        QTRY_COMPARE(adopted->state(), RunController::State::Running);
        QCOMPARE(adopted->progress().step, 5);
        QCOMPARE(bench.follower().controllerOf(bench.runs().front().id), adopted);
        adopted->stop();
        QTRY_VERIFY(record.outcome);
        QCOMPARE(status(bench.runs().front()), "stopped");
        QCOMPARE(bench.points(bench.runs().front().id, spec::metric::kTrainLoss).size(), 5U);
        QVERIFY(!bench.follower().controllerOf(bench.runs().front().id));
    }

    void aRunOfAnotherProgramIsNoticed() {
        const Script script("");
        RunBench bench;
        bench.follower().followAll();
        Result<std::unique_ptr<RunStore>> store = RunStore::open(bench.folder());
        QVERIFY(store.ok());
        RunFollower other(**store, bench.launcher(), quickOptions());
        RunController& run = *other.newRun();
        QSignalSpy followed(&bench.follower(), &RunFollower::followed);
        QSignalSpy left(&bench.follower(), &RunFollower::left);
        const ControllerRecord record(run);
        run.start(tinyExperiment());
        QTRY_VERIFY(record.outcome);
        QTRY_COMPARE(bench.runs().size(), 1U);
        QTRY_COMPARE(left.size(), followed.size()); // it may have been over before it was seen
        QCOMPARE(bench.points(bench.runs().front().id, spec::metric::kTrainLoss).size(), 20U);
    }

    void recordedButNeverStarted() {
        const Script script("");
        RunBench bench;
        QVERIFY(
            bench.store().createRun({QStringLiteral("lost"), "{}", kLocalHost, 1, {}, {}}).ok());
        bench.follower().followAll();
        QTRY_COMPARE(status(bench.runs().front()), "crashed");
    }

    void deletedWhileItIsFollowed() {
        const Script script("start=living");
        RunBench bench;
        RunFollower first(bench.store(), bench.launcher(), quickOptions());
        RunController& run = *first.newRun();
        const ControllerRecord record(run);
        run.start(tinyExperiment());
        QTRY_COMPARE(record.steps.size(), 5U);
        QSignalSpy left(&bench.follower(), &RunFollower::left);
        bench.follower().followAll();
        QTRY_VERIFY(bench.follower().controllerOf(run.run()->id));
        QVERIFY(bench.store().deleteRun(run.run()->id).ok());
        QTRY_COMPARE(left.size(), 1);
        // Late frames of the first follower come in this time.
        QVERIFY(!QTest::qWaitFor([&] { return !bench.runs().empty(); }, 300));
    }

    void catchUpOnce() {
        const Script script("start=living");
        RunBench bench;
        {
            RunFollower first(bench.store(), bench.launcher(), quickOptions());
            RunController& run = *first.newRun();
            const ControllerRecord record(run);
            run.start(tinyExperiment());
            QTRY_VERIFY(record.words.contains(QStringLiteral("started!")));
        }
        QSignalSpy caughtUp(&bench.follower(), &RunFollower::caughtUp);
        bench.follower().catchUp();
        QTRY_COMPARE(caughtUp.size(), 1);
        QCOMPARE(status(bench.runs().front()), "running");
        QCOMPARE(bench.runs().front().lastStep, 5);
        {
            const Script dead("attach=dead");
            bench.follower().catchUp();
            QTRY_COMPARE(caughtUp.size(), 2);
        }
        QCOMPARE(status(bench.runs().front()), "crashed");
        bench.follower().catchUp(); // nothing to do
        QTRY_COMPARE(caughtUp.size(), 3);
    }

    void theSameNameTwice() {
        const Script script("");
        RunBench bench;
        for (int i = 0; i < 2; ++i) {
            RunController& run = *bench.follower().newRun();
            const ControllerRecord record(run);
            run.start(tinyExperiment("baseline"));
            QTRY_VERIFY(record.outcome);
            QCOMPARE(run.namesakes(), i);
        }
        QCOMPARE(bench.runs().size(), 2U);
        QVERIFY(bench.runs()[0].uid != bench.runs()[1].uid);
        for (const RunRecord& run : bench.runs())
            QCOMPARE(bench.points(run.id, spec::metric::kTrainLoss).size(), 20U);
    }

    void threadsForEachRank() {
        QCOMPARE(threadsPerRank(2, 1, true), 2); // two cores: the desktop takes what is left over
        QCOMPARE(threadsPerRank(2, 2, true), 1);
        QCOMPARE(threadsPerRank(8, 1, true), 7);
        QCOMPARE(threadsPerRank(8, 2, true), 3);
        QCOMPARE(threadsPerRank(8, 2, false), 4);
        QCOMPARE(threadsPerRank(2, 5, false), 1);
    }
};

QTEST_GUILESS_MAIN(TestRunController)
#include "tst_run_controller.moc"
