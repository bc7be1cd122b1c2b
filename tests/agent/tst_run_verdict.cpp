// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Who caused the end of a run: the rules of run_verdict.h on made-up ends.
#include "engine/agent/run_verdict.h"

#include <QtTest>

#include <csignal>

using namespace trainyard;
using namespace trainyard::engine;
using spec::RunState;

namespace {

int exited(RankExit code) {
    return static_cast<int>(code) << 8;
}
int exited(int code) {
    return code << 8;
}
int killedBy(int signal) {
    return signal;
}

RankRecord ended(int rank, int waitStatus, int order, std::int64_t step = 120) {
    RankRecord record;
    record.rank = rank;
    record.pid = 1000 + rank;
    record.device = "cpu:" + std::to_string(rank);
    record.ended = true;
    record.waitStatus = waitStatus;
    record.endOrder = order;
    record.point = {step, 7, 1, RankPhase::Training, "conv2"};
    return record;
}

RankRecord killedBySupervisor(int rank, std::int64_t step) {
    RankRecord record = ended(rank, killedBy(SIGKILL), 9, step);
    record.endedBySupervisor = true;
    return record;
}

Circumstances onHost() {
    Circumstances circumstances;
    circumstances.host = "h1";
    return circumstances;
}

QString whatOf(const Verdict& verdict) {
    return verdict.failure ? QString::fromStdString(verdict.failure->what.text()) : QString();
}

} // namespace

class RunVerdictTest : public QObject {
    Q_OBJECT

private slots:
    void allDone();
    void allDoneAfterAStop();
    void killedRankIsNamedWithItsPlace();
    void deathBeforeTheFirstStep();
    void aVictimIsNeverTheCause();
    void firstCauseWins();
    void aRanksOwnWordsAreKeptAndCompleted();
    void silentExitCodes();
    void aRankThatCouldOnlyLeaveForLackOfMemory();
    void divergence();
    void onlyVictimsNameTheFurthestBehind();
    void aHangingRankIsTheSuspect();
    void aHaltedRankIsTheSuspectWhereverItStands();
    void overrunStop();
    void supervisorsOwnTrouble();
};

void RunVerdictTest::allDone() {
    const Verdict verdict = judge({ended(0, 0, 1), ended(1, 0, 2)}, onHost());
    QVERIFY(verdict.state == RunState::Finished);
    QVERIFY(!verdict.failure);
}

void RunVerdictTest::allDoneAfterAStop() {
    Circumstances circumstances = onHost();
    circumstances.stopRequested = true;
    QVERIFY(judge({ended(0, 0, 1)}, circumstances).state == RunState::Stopped);
}

void RunVerdictTest::killedRankIsNamedWithItsPlace() {
    const Verdict verdict = judge(
        {ended(0, exited(RankExit::PeerLost), 1, 121), ended(1, killedBy(SIGKILL), 2)}, onHost());
    QVERIFY(verdict.state == RunState::Failed);
    QCOMPARE(whatOf(verdict),
             QStringLiteral("Rank 1 (process 1001) was killed by signal 9 (SIGKILL) "
                            "at step 120, in layer conv2."));
    QCOMPARE(verdict.failure->rank, 1);
    QCOMPARE(verdict.failure->pid, 1001);
    QCOMPARE(verdict.failure->host, std::string("h1"));
    QCOMPARE(verdict.failure->device, std::string("cpu:1"));
    QCOMPARE(verdict.failure->step, 120);
    QCOMPARE(verdict.failure->instruction, 7);
    QCOMPARE(verdict.failure->layer, std::string("conv2"));
    QVERIFY(!verdict.failure->cure.empty());
    QVERIFY(verdict.reason == verdict.failure->what);
}

void RunVerdictTest::deathBeforeTheFirstStep() {
    RankRecord record = ended(0, killedBy(SIGSEGV), 1, -1);
    record.point.layer.clear();
    QCOMPARE(
        whatOf(judge({record}, onHost())),
        QStringLiteral("Rank 0 (process 1000) was killed by signal 11 (SIGSEGV) before its first "
                       "step."));
}

void RunVerdictTest::aVictimIsNeverTheCause() {
    // The victims end first; the one that was killed is seen last.
    const Verdict verdict = judge({ended(0, exited(RankExit::PeerLost), 1),
                                   ended(1, exited(RankExit::PeerLost), 1), ended(2, exited(1), 5)},
                                  onHost());
    QCOMPARE(verdict.culprit, 2);
}

void RunVerdictTest::firstCauseWins() {
    QCOMPARE(judge({ended(0, exited(1), 2), ended(1, killedBy(SIGSEGV), 1)}, onHost()).culprit, 1);
    // Seen at the same time: a signal is more likely the cause than an exit.
    QCOMPARE(judge({ended(0, exited(1), 1), ended(1, killedBy(SIGSEGV), 1)}, onHost()).culprit, 1);
}

void RunVerdictTest::aRanksOwnWordsAreKeptAndCompleted() {
    RankRecord record = ended(1, exited(RankExit::Failed), 1);
    record.failure.emplace();
    record.failure->what = Message("File %1 is missing.", {"x"});
    record.failure->cure = Message("Put it.");
    const Verdict verdict = judge({ended(0, exited(RankExit::PeerLost), 1), record}, onHost());
    QCOMPARE(whatOf(verdict), QStringLiteral("File x is missing."));
    QCOMPARE(verdict.failure->rank, 1);
    QCOMPARE(verdict.failure->pid, 1001);
    QCOMPARE(verdict.failure->host, std::string("h1"));
    QCOMPARE(verdict.failure->step, 120);
    QVERIFY(verdict.failure->cure == Message("Put it."));
}

void RunVerdictTest::silentExitCodes() {
    for (const int code : {1, 3, 77, 127}) {
        const Verdict verdict = judge({ended(0, exited(code), 1)}, onHost());
        QVERIFY(verdict.state == RunState::Failed);
        QCOMPARE(
            whatOf(verdict),
            QStringLiteral("Rank 0 (process 1000) ended with exit code %1 without saying why at "
                           "step 120, in layer conv2.")
                .arg(code));
    }
}

void RunVerdictTest::aRankThatCouldOnlyLeaveForLackOfMemory() {
    const Verdict verdict = judge({ended(0, exited(RankExit::NoMemory), 1)}, onHost());
    QVERIFY(verdict.state == RunState::Failed);
    QCOMPARE(whatOf(verdict), QStringLiteral("Rank 0 (process 1000) got no memory in a thread of "
                                             "a library at step 120, in layer conv2."));
}

void RunVerdictTest::divergence() {
    const Verdict verdict =
        judge({ended(0, exited(RankExit::Diverged), 1), ended(1, exited(RankExit::Diverged), 1)},
              onHost());
    QVERIFY(verdict.state == RunState::Diverged);
    QVERIFY(verdict.failure.has_value());

    // The rank with the words counts, even if another one is seen to end first.
    RankRecord speaker = ended(0, exited(RankExit::Diverged), 2);
    speaker.failure.emplace();
    speaker.failure->what = Message("The loss is NaN.");
    const Verdict told = judge({speaker, ended(1, exited(RankExit::Diverged), 1)}, onHost());
    QVERIFY(told.state == RunState::Diverged);
    QCOMPARE(whatOf(told), QStringLiteral("The loss is NaN."));
    QCOMPARE(told.culprit, 0);
}

void RunVerdictTest::onlyVictimsNameTheFurthestBehind() {
    const Verdict verdict = judge({ended(0, exited(RankExit::PeerLost), 1, 120),
                                   ended(1, exited(RankExit::PeerLost), 1, 119),
                                   ended(2, exited(RankExit::PeerLost), 1, 120)},
                                  onHost());
    QVERIFY(verdict.state == RunState::Failed);
    QCOMPARE(verdict.culprit, 1);
    QCOMPARE(whatOf(verdict),
             QStringLiteral("The ranks lost each other; rank 1 (process 1001) was the "
                            "furthest behind, at step 119, in layer conv2."));
}

void RunVerdictTest::aHangingRankIsTheSuspect() {
    const Verdict verdict =
        judge({ended(0, exited(RankExit::PeerLost), 1, 119), killedBySupervisor(1, 120)}, onHost());
    QCOMPARE(verdict.culprit, 1);
    QCOMPARE(whatOf(verdict),
             QStringLiteral("Rank 1 (process 1001) stopped answering the other ranks "
                            "at step 120, in layer conv2."));
}

void RunVerdictTest::aHaltedRankIsTheSuspectWhereverItStands() {
    RankRecord halted = killedBySupervisor(1, 121);
    halted.stopped = true;
    const Verdict verdict = judge({killedBySupervisor(0, 120), halted}, onHost());
    QCOMPARE(verdict.culprit, 1);
    QVERIFY(whatOf(verdict).startsWith(QStringLiteral("Rank 1 (process 1001) was halted")));
}

void RunVerdictTest::overrunStop() {
    Circumstances circumstances = onHost();
    circumstances.stopRequested = true;
    circumstances.overrunGraceSeconds = 10;
    const Verdict verdict = judge({ended(0, 0, 1), killedBySupervisor(1, 120)}, circumstances);
    // It is what the person asked for, only harder.
    QVERIFY(verdict.state == RunState::Stopped);
    QVERIFY(!verdict.failure);
    QCOMPARE(QString::fromStdString(verdict.reason.text()),
             QStringLiteral("Rank 1 (process 1001) did not end within 10 s after the "
                            "stop was asked for and was killed at step 120, in layer "
                            "conv2."));
}

void RunVerdictTest::supervisorsOwnTrouble() {
    Circumstances circumstances = onHost();
    circumstances.supervisorError = Error(Message("disk full: %1", {"/x/journal"}));
    const Verdict verdict = judge({ended(0, 0, 1)}, circumstances);
    QVERIFY(verdict.state == RunState::Failed);
    QCOMPARE(whatOf(verdict), QStringLiteral("disk full: /x/journal"));
    QCOMPARE(verdict.failure->rank, -1);
}

QTEST_APPLESS_MAIN(RunVerdictTest)
#include "tst_run_verdict.moc"
