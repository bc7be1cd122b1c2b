// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What ends a group early: a killed, stopped, missing, leaving or confused rank, and an abort. The
// others learn of it in time, with a sentence that names who and where, and never hang.
#include "tests/comm/rank_processes.h"
#include "tests/comm/transport_rows.h"

#include <QDir>
#include <QtTest>

#include <csignal>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace trainyard;
using namespace trainyard::engine;
using namespace trainyard::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// Sums of 1 MiB without end; the error that ends them. Counts the rounds of rank 0 where the
/// parent sees.
std::string sumForever(Communicator& group, std::atomic<int>& rounds) {
    const Result<std::span<std::byte>> memory = group.allocateReducible(1 << 20);
    if (!memory)
        return memory.error().sentence();
    for (std::uint32_t tag = 0;; ++tag) {
        if (const Result<void> summed = group.allReduceSum(
                memory->data(), memory->size() / sizeof(float), DType::Fp32, tag);
            !summed)
            return summed.error().sentence();
        if (group.rank() == 0)
            ++rounds;
    }
}

/// Until the ranks are in the middle of their work.
bool waitForRounds(const MeetingPlace& place, int rounds) {
    return QTest::qWaitFor([&] { return place.counter() >= rounds; }, 20000);
}

/// In a system call that waits, as after joining.
bool isSleeping(pid_t pid) {
    QFile file(QStringLiteral("/proc/%1/stat").arg(pid));
    return file.open(QIODevice::ReadOnly) && file.readAll().contains(") S ");
}

QString text(const RankEnd& end) {
    return QString::fromStdString(end.text);
}

} // namespace

class TestCommunicatorFaults : public QObject {
    Q_OBJECT

private slots:
    void killedInTheMiddle_data() { transports(); }
    void killedInTheMiddle();
    void killedWhileOthersWait_data() { transports(); }
    void killedWhileOthersWait();
    void stopped_data() { transports(); }
    void stopped();
    void abortIsSeenAtOnce_data() { transports(); }
    void abortIsSeenAtOnce();
    void leavesEarly_data() { transports(); }
    void leavesEarly();
    void differentCalls_data();
    void differentCalls();
    void differentMemory_data() { transports(); }
    void differentMemory();
    void brokenStaysBroken_data() { transports(); }
    void brokenStaysBroken();
    void missingAtTheStart_data() { transports(); }
    void missingAtTheStart();
    void abortedAtTheStart_data() { transports(); }
    void abortedAtTheStart();
    void diedAtTheStart_data() { transports(); }
    void diedAtTheStart();
    void sizesOfTheWorldDiffer_data() { transports(); }
    void sizesOfTheWorldDiffer();
    void sameRankTwice_data() { transports(); }
    void sameRankTwice();
    void foreignSegment();
    void tooMuchSharedMemory();
    void impossibleAddress();
    void impossibleFolder();
};

void TestCommunicatorFaults::killedInTheMiddle() {
    for (const int victim : {3, 0, 2}) {
        const MeetingPlace place(currentTransport(), 4);
        RankProcesses ranks(4, [&](int rank) -> std::string {
            const auto group = place.join(rank);
            return group ? sumForever(**group, place.counter()) : group.error().sentence();
        });
        QVERIFY(waitForRounds(place, 20));
        ranks.signal(victim, SIGKILL);
        const QString named =
            QStringLiteral("Rank %1 (process %2) has died").arg(victim).arg(ranks.pid(victim));
        const std::vector<RankEnd> ends = ranks.wait(seconds(20));
        for (int rank = 0; rank < 4; ++rank) {
            const RankEnd& end = ends[static_cast<std::size_t>(rank)];
            QCOMPARE(end.signal, rank == victim ? SIGKILL : 0);
            if (rank == victim)
                continue;
            QVERIFY2(text(end).contains(named) &&
                         text(end).contains(QLatin1StringView("all-reduce of 262,144 fp32")),
                     qPrintable(text(end)));
            QVERIFY2(end.seconds < 5, qPrintable(QString::number(end.seconds)));
        }
    }
}

void TestCommunicatorFaults::killedWhileOthersWait() {
    const MeetingPlace place(currentTransport(), 3);
    RankProcesses ranks(3, [&](int rank) -> std::string {
        const auto group = place.join(rank);
        if (!group)
            return group.error().sentence();
        ++place.counter();
        if (rank == 1)
            ::pause();
        const Result<void> met = (*group)->barrier(77);
        return met ? "met" : met.error().sentence();
    });
    QVERIFY(waitForRounds(place, 3));
    ranks.signal(1, SIGKILL);
    const QString named = QStringLiteral("Rank 1 (process %1) has died").arg(ranks.pid(1));
    const std::vector<RankEnd> ends = ranks.wait(seconds(20));
    for (const int rank : {0, 2}) {
        const RankEnd& end = ends[static_cast<std::size_t>(rank)];
        QVERIFY2(text(end).contains(named) &&
                     text(end).contains(QLatin1StringView("barrier (tag 77)")),
                 qPrintable(text(end)));
        QVERIFY2(end.seconds < 5, qPrintable(QString::number(end.seconds)));
    }
}

void TestCommunicatorFaults::stopped() {
    const MeetingPlace place(currentTransport(), 3);
    RankProcesses ranks(3, [&](int rank) -> std::string {
        const auto group = place.join(rank, milliseconds(1500));
        return group ? sumForever(**group, place.counter()) : group.error().sentence();
    });
    QVERIFY(waitForRounds(place, 20));
    ranks.signal(2, SIGSTOP);
    const pid_t pid = ranks.pid(2);
    // The stopped rank goes on when the others have ended, and must notice as well.
    QVERIFY(QTest::qWaitFor([&] { return !ranks.isRunning(0) && !ranks.isRunning(1); }, 10000));
    ranks.signal(2, SIGCONT);
    const std::vector<RankEnd> ends = ranks.wait(seconds(20));
    const QString named =
        QStringLiteral("Rank 2 (process %1) is stopped by a signal and did not come to "
                       "all-reduce of 262,144 fp32")
            .arg(pid);
    for (const int rank : {0, 1}) {
        const RankEnd& end = ends[static_cast<std::size_t>(rank)];
        QCOMPARE(end.signal, 0);
        QVERIFY2(text(end).contains(named), qPrintable(text(end)));
    }
    QCOMPARE(ends[2].signal, 0);
    QVERIFY2(text(ends[2]).contains(QLatin1StringView("ank")), qPrintable(text(ends[2])));
}

void TestCommunicatorFaults::abortIsSeenAtOnce() {
    const MeetingPlace place(currentTransport(), 3);
    RankProcesses ranks(3, [&](int rank) -> std::string {
        const auto group = place.join(rank);
        if (!group)
            return group.error().sentence();
        ++place.counter();
        if (rank == 1) { // never comes, and never looks
            ::pause();
            return {};
        }
        const Result<void> met = (*group)->barrier(5);
        return met ? "met" : met.error().sentence();
    });
    QVERIFY(waitForRounds(place, 3));
    place.status().header().abort = 1;
    QVERIFY(QTest::qWaitFor([&] { return !ranks.isRunning(0) && !ranks.isRunning(2); }, 2000));
    ranks.signal(1, SIGKILL);
    const std::vector<RankEnd> ends = ranks.wait(seconds(20));
    for (const int rank : {0, 2})
        QVERIFY2(text(ends[static_cast<std::size_t>(rank)]).contains(QLatin1StringView("aborted")),
                 qPrintable(text(ends[static_cast<std::size_t>(rank)])));
}

void TestCommunicatorFaults::leavesEarly() {
    const MeetingPlace place(currentTransport(), 3);
    RankProcesses ranks(3, [&](int rank) -> std::string {
        auto group = place.join(rank);
        if (!group)
            return group.error().sentence();
        if (rank == 2) {
            group->reset();
            return "left";
        }
        const Result<void> met = (*group)->barrier(6);
        return met ? "met" : met.error().sentence();
    });
    const pid_t pid = ranks.pid(2);
    const std::vector<RankEnd> ends = ranks.wait(seconds(20));
    const QString named = QStringLiteral("Rank 2 (process %1) has left the group").arg(pid);
    for (const int rank : {0, 1}) {
        const RankEnd& end = ends[static_cast<std::size_t>(rank)];
        QVERIFY2(text(end).contains(named), qPrintable(text(end)));
        QVERIFY2(end.seconds < 5, qPrintable(QString::number(end.seconds)));
    }
}

void TestCommunicatorFaults::differentCalls_data() {
    QTest::addColumn<Transport>("transport");
    QTest::addColumn<int>("difference");
    QTest::addColumn<QStringList>("sayings");
    const QString usual = QStringLiteral("all-reduce of 3,000 fp32 (tag 7)");
    for (const Transport transport : kTransports) {
        const auto row = [&](const char* what, int difference, const char* other) {
            QTest::addRow("%s, %s", nameOf(transport), what)
                << transport << difference
                << QStringList{usual, QString::fromUtf8(other), QStringLiteral("rank 0"),
                               QStringLiteral("rank 1")};
        };
        row("tag", 0, "all-reduce of 3,000 fp32 (tag 8)");
        row("size", 1, "all-reduce of 3,001 fp32 (tag 7)");
        row("type", 2, "all-reduce of 3,000 fp64 (tag 7)");
        row("kind", 3, "broadcast of 12,000 bytes from rank 0 (tag 7)");
        row("barrier", 4, "barrier (tag 7)");
        row("small", 5, "all-reduce of 0 fp32 (tag 7)");
    }
}

void TestCommunicatorFaults::differentCalls() {
    QFETCH(int, difference);
    QFETCH(QStringList, sayings);
    const MeetingPlace place(currentTransport(), 2);
    RankProcesses ranks(2, [&](int rank) -> std::string {
        const auto joined = place.join(rank);
        if (!joined)
            return joined.error().sentence();
        Communicator& group = **joined;
        std::vector<std::byte> data(24016);
        const auto sum = [&](std::size_t count, DType type, std::uint32_t tag) {
            return group.allReduceSum(data.data(), count, type, tag);
        };
        // Some right ones before, so that the wrong one is not the first.
        for (std::uint32_t tag = 0; tag < 5; ++tag)
            if (const Result<void> summed = sum(3000, DType::Fp32, tag); !summed)
                return summed.error().sentence();
        Result<void> result;
        switch (rank == 0 ? -1 : difference) {
        case 0:
            result = sum(3000, DType::Fp32, 8);
            break;
        case 1:
            result = sum(3001, DType::Fp32, 7);
            break;
        case 2:
            result = sum(3000, DType::Fp64, 7);
            break;
        case 3:
            result = group.broadcast(data.data(), 12000, 0, 7);
            break;
        case 4:
            result = group.barrier(7);
            break;
        case 5:
            result = sum(0, DType::Fp32, 7);
            break;
        default:
            result = sum(3000, DType::Fp32, 7);
            break;
        }
        return result ? "no error" : result.error().sentence();
    });
    for (const RankEnd& end : ranks.wait(seconds(20))) {
        for (const QString& saying : sayings)
            QVERIFY2(text(end).contains(saying), qPrintable(text(end)));
        QVERIFY2(end.seconds < 5, qPrintable(QString::number(end.seconds)));
    }
}

void TestCommunicatorFaults::differentMemory() {
    const MeetingPlace place(currentTransport(), 2);
    RankProcesses ranks(2, [&](int rank) -> std::string {
        const auto group = place.join(rank);
        if (!group)
            return group.error().sentence();
        if (const auto memory = (*group)->allocateReducible(rank == 0 ? 100000 : 100004); !memory)
            return memory.error().sentence();
        const Result<void> met = (*group)->barrier(1);
        return met ? "met" : met.error().sentence();
    });
    for (const RankEnd& end : ranks.wait(seconds(20)))
        QVERIFY2(text(end).contains(QLatin1StringView("reducible memory of different sizes")),
                 qPrintable(text(end)));
}

void TestCommunicatorFaults::brokenStaysBroken() {
    const MeetingPlace place(currentTransport(), 2);
    RankProcesses ranks(2, [&](int rank) -> std::string {
        const auto group = place.join(rank);
        if (!group)
            return group.error().sentence();
        const Result<void> first = (*group)->barrier(static_cast<std::uint32_t>(rank));
        const Result<void> second = (*group)->barrier(9);
        float value = 1;
        const Result<void> third = (*group)->allReduceSum(&value, 1, DType::Fp32, 9);
        return !first && !second && !third && first.error() == second.error() &&
                       first.error() == third.error()
                   ? "stays broken"
                   : "mended";
    });
    for (const RankEnd& end : ranks.wait(seconds(20)))
        QCOMPARE(text(end), QStringLiteral("stays broken"));
}

void TestCommunicatorFaults::missingAtTheStart() {
    const MeetingPlace place(currentTransport(), 3);
    RankProcesses ranks(2, [&](int rank) -> std::string {
        const auto group = place.join(rank, milliseconds(700));
        return group ? "joined" : group.error().sentence();
    });
    for (const RankEnd& end : ranks.wait(seconds(20))) {
        QVERIFY2(
            text(end).contains(QLatin1StringView("Rank 2 did not join the group within 0.7 s")),
            qPrintable(text(end)));
        QVERIFY2(end.seconds < 3, qPrintable(QString::number(end.seconds)));
    }
}

void TestCommunicatorFaults::abortedAtTheStart() {
    const MeetingPlace place(currentTransport(), 2);
    RankProcesses ranks(1, [&](int rank) -> std::string {
        ++place.counter();
        const auto group = place.join(rank);
        return group ? "joined" : group.error().sentence();
    });
    QVERIFY(waitForRounds(place, 1));
    place.status().header().abort = 1;
    const std::vector<RankEnd> ends = ranks.wait(seconds(20));
    QVERIFY2(text(ends[0]).contains(QLatin1StringView("aborted")), qPrintable(text(ends[0])));
    QVERIFY2(ends[0].seconds < 2, qPrintable(QString::number(ends[0].seconds)));
}

void TestCommunicatorFaults::diedAtTheStart() {
    // Rank 1 joins and is killed while rank 2 has not come: rank 0 need not wait for the deadline.
    const MeetingPlace place(currentTransport(), 3);
    RankProcesses ranks(2, [&](int rank) -> std::string {
        ++place.counter();
        const auto group = place.join(rank);
        return group ? "joined" : group.error().sentence();
    });
    QVERIFY(waitForRounds(place, 2));
    const auto bothAreThere = [&] {
        return currentTransport() == Transport::SharedMemory || QDir(place.folder()).count() >= 4;
    };
    QVERIFY(QTest::qWaitFor(bothAreThere, 5000));
    const pid_t pid = ranks.pid(1);
    QTRY_VERIFY(isSleeping(pid));
    ranks.signal(1, SIGKILL);
    const std::vector<RankEnd> ends = ranks.wait(seconds(20));
    QVERIFY2(text(ends[0]).contains(QStringLiteral("Rank 1 (process %1) has died").arg(pid)),
             qPrintable(text(ends[0])));
    QVERIFY2(ends[0].seconds < 5, qPrintable(QString::number(ends[0].seconds)));
}

void TestCommunicatorFaults::sizesOfTheWorldDiffer() {
    const MeetingPlace place(currentTransport(), 3);
    RankProcesses ranks(2, [&](int rank) -> std::string {
        const auto group = place.joinAs(rank, rank == 0 ? 2 : 3, seconds(30));
        return group ? "joined" : group.error().sentence();
    });
    for (const RankEnd& end : ranks.wait(seconds(20))) {
        for (const char* saying : {"expects a group of", "of 2", "of 3", "ank 0", "ank 1"})
            QVERIFY2(text(end).contains(QLatin1StringView(saying)), qPrintable(text(end)));
        QVERIFY2(end.seconds < 5, qPrintable(QString::number(end.seconds)));
    }
}

void TestCommunicatorFaults::sameRankTwice() {
    const MeetingPlace place(currentTransport(), 2);
    RankProcesses ranks(2, [&](int rank) -> std::string {
        // One of the two "rank 0" is refused at once, the other waits for rank 1 in vain.
        const auto group = place.join(0 * rank, milliseconds(1000));
        return group ? "joined" : group.error().sentence();
    });
    int refused = 0;
    for (const RankEnd& end : ranks.wait(seconds(20))) {
        QVERIFY(end.text != "joined");
        refused += text(end).contains(QLatin1StringView("already"));
    }
    QCOMPARE(refused, 1);
}

void TestCommunicatorFaults::foreignSegment() {
    const int segment = ::memfd_create("trainyard-test", MFD_CLOEXEC);
    QCOMPARE(::write(segment, "something else", 14), 14);
    const auto group = makeSharedMemoryCommunicator({0, 2, seconds(5), nullptr}, segment);
    QVERIFY(!group);
    QVERIFY2(group.error().sentence().find("another version") != std::string::npos,
             group.error().sentence().c_str());
    ::close(segment);
    const auto closed = makeSharedMemoryCommunicator({0, 2, seconds(5), nullptr}, segment);
    QVERIFY(!closed);
    const auto many = makeSharedMemoryCommunicator({0, 1000, seconds(5), nullptr}, segment);
    QVERIFY(!many);
    QCOMPARE(many.error().where, std::string("parallel.transport"));
}

void TestCommunicatorFaults::tooMuchSharedMemory() {
    const MeetingPlace place(Transport::SharedMemory, 2);
    RankProcesses ranks(2, [&](int rank) -> std::string {
        const auto group = place.join(rank);
        if (!group)
            return group.error().sentence();
        const auto memory = (*group)->allocateReducible(std::size_t{1} << 50);
        return memory ? "given" : memory.error().sentence();
    });
    for (const RankEnd& end : ranks.wait(seconds(20)))
        QVERIFY2(text(end).contains(QLatin1StringView("No shared memory of")),
                 qPrintable(text(end)));
}

void TestCommunicatorFaults::impossibleAddress() {
    const QTemporaryDir folder;
    const auto group = makeGlooCommunicator({0, 2, seconds(5), nullptr},
                                            folder.path().toStdString(), "203.0.113.77");
    QVERIFY(!group);
    QVERIFY2(group.error().sentence().find("203.0.113.77") != std::string::npos,
             group.error().sentence().c_str());
}

void TestCommunicatorFaults::impossibleFolder() {
    const auto group =
        makeGlooCommunicator({0, 2, seconds(5), nullptr}, "/nowhere/at/all", "127.0.0.1");
    QVERIFY(!group);
    QVERIFY2(group.error().sentence().find("/nowhere/at/all") != std::string::npos,
             group.error().sentence().c_str());
}

QTEST_GUILESS_MAIN(TestCommunicatorFaults)
#include "tst_communicator_faults.moc"
