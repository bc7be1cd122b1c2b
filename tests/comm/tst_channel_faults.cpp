// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What ends a wait for a message: a wrong size or tag, a peer that is killed, stopped or late, and
// an abort. The sentence names who and which message, and comes in time.
#include "tests/comm/rank_threads.h"
#include "tests/comm/transport_rows.h"

#include <QtTest>

#include <csignal>
#include <latch>

#include <unistd.h>

using namespace trainyard;
using namespace trainyard::engine;
using namespace trainyard::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr std::size_t kMost = 100'000;
const std::string kFine = "fine";

std::vector<Channel> bothWays(int depth, std::size_t bytes = kMost) {
    return {{0, 1, bytes, depth}, {1, 0, bytes, depth}};
}

} // namespace

class TestChannelFaults : public QObject {
    Q_OBJECT

private slots:
    void differentMessages_data();
    void differentMessages();
    void differentLists_data() { transports(); }
    void differentLists();
    void killed_data();
    void killed();
    void stopped_data() { transports(); }
    void stopped();
    void neverComes_data() { transports(); }
    void neverComes();
    void abortIsSeenAtOnce_data() { transports(); }
    void abortIsSeenAtOnce();
};

void TestChannelFaults::differentMessages_data() {
    QTest::addColumn<Transport>("transport");
    QTest::addColumn<int>("bytes");
    QTest::addColumn<int>("tag");
    for (const Transport transport : kTransports) {
        QTest::addRow("%s, size", nameOf(transport)) << transport << 5000 << 7;
        QTest::addRow("%s, tag", nameOf(transport)) << transport << 4000 << 8;
        QTest::addRow("%s, both", nameOf(transport)) << transport << 0 << 9;
    }
}

void TestChannelFaults::differentMessages() {
    QFETCH(int, bytes);
    QFETCH(int, tag);
    const MeetingPlace place(currentTransport(), 2);
    std::latch bothAreDone(2);
    const RankBody body = [&](Communicator& world) -> std::string {
        std::string text = sentenceOf(world.openChannels(bothWays(2)));
        std::vector<std::byte> memory(kMost, std::byte{0x11});
        // A right one before, so that the wrong one is not the first.
        if (text == kFine && world.rank() == 0) {
            text = sentenceOf(world.send(memory.data(), 100, 1, 1));
            if (text == kFine)
                text = sentenceOf(world.send(memory.data(), 4000, 1, 7));
        } else if (text == kFine) {
            text = sentenceOf(world.receive(memory.data(), 100, 0, 1));
            memory.assign(kMost, std::byte{0x22});
            if (text == kFine)
                text = sentenceOf(world.receive(memory.data(), static_cast<std::size_t>(bytes), 0,
                                                static_cast<std::uint32_t>(tag)));
            if (memory != std::vector<std::byte>(kMost, std::byte{0x22}))
                text += " and data was touched";
            if (sentenceOf(world.receive(memory.data(), 4000, 0, 7)) != text)
                text += " and was mended";
        }
        bothAreDone.arrive_and_wait();
        return text;
    };
    const std::vector<std::string> texts = runOnThreads(place, body);
    QCOMPARE(texts[0], kFine);
    QCOMPARE(QString::fromStdString(texts[1]),
             QStringLiteral("Rank 1 expects a message of %L1 bytes (tag %2), but the oldest one of "
                            "rank 0 has 4,000 bytes (tag 7).")
                 .arg(bytes)
                 .arg(tag));
}

void TestChannelFaults::differentLists() {
    const MeetingPlace place(currentTransport(), 2);
    const RankBody body = [](Communicator& world) {
        return sentenceOf(world.openChannels(bothWays(2, world.rank() == 0 ? 1000 : 2000)));
    };
    for (const std::string& text : runOnThreads(place, body)) {
        const QString sentence = QString::fromStdString(text);
        for (const char* saying :
             {"not at the same collective", "rank 0 calls opening of 2 channels",
              "rank 1 calls opening of 2 channels"})
            QVERIFY2(sentence.contains(QLatin1StringView(saying)), qPrintable(sentence));
    }
}

void TestChannelFaults::killed_data() {
    QTest::addColumn<Transport>("transport");
    QTest::addColumn<bool>("whileSending");
    for (const Transport transport : kTransports)
        for (const bool whileSending : {false, true})
            QTest::addRow("%s, %s", nameOf(transport), whileSending ? "sending" : "receiving")
                << transport << whileSending;
}

void TestChannelFaults::killed() {
    QFETCH(bool, whileSending);
    const MeetingPlace place(currentTransport(), 3);
    RankProcesses ranks(3, [&](int rank) -> std::string {
        const auto world = place.join(rank);
        if (!world)
            return world.error().sentence();
        const std::vector<Channel> channels = {{0, 1, 8, 1}, {1, 0, 8, 1}, {2, 0, 8, 1}};
        std::string text = sentenceOf((*world)->openChannels(channels));
        ++place.counter();
        if (rank == 1)
            ::pause();
        std::uint64_t value = 0;
        while (text == kFine && rank == 0)
            text = sentenceOf(whileSending ? (*world)->send(&value, sizeof(value), 1, 3)
                                           : (*world)->receive(&value, sizeof(value), 1, 3));
        if (rank == 2) // learns from rank 0
            text = sentenceOf((*world)->barrier(4));
        return text;
    });
    QVERIFY(QTest::qWaitFor([&] { return place.counter() == 3; }, 20'000));
    const pid_t pid = ranks.pid(1);
    ranks.signal(1, SIGKILL);
    const std::vector<RankEnd> ends = ranks.wait(seconds(20));
    const QString dead = QStringLiteral("Rank 1 (process %1) has died; the others were waiting for "
                                        "it at ")
                             .arg(pid);
    QCOMPARE(QString::fromStdString(ends[0].text),
             dead + QStringLiteral("the transfer of 8 bytes from rank %1 to rank %2 (tag 3).")
                        .arg(whileSending ? 0 : 1)
                        .arg(whileSending ? 1 : 0));
    QVERIFY2(ends[2].text.find(dead.toStdString()) != std::string::npos, ends[2].text.c_str());
    for (const RankEnd& end : ends)
        QVERIFY2(end.seconds < 5, qPrintable(QString::number(end.seconds)));
}

void TestChannelFaults::stopped() {
    const MeetingPlace place(currentTransport(), 2);
    RankProcesses ranks(2, [&](int rank) -> std::string {
        const auto world = place.join(rank, milliseconds(2000));
        if (!world)
            return world.error().sentence();
        std::string text = sentenceOf((*world)->openChannels(bothWays(1, 8)));
        ++place.counter();
        if (rank == 1)
            ::pause();
        std::uint64_t value = 0;
        return text == kFine ? sentenceOf((*world)->receive(&value, sizeof(value), 1, 3)) : text;
    });
    QVERIFY(QTest::qWaitFor([&] { return place.counter() == 2; }, 20'000));
    ranks.signal(1, SIGSTOP);
    const pid_t pid = ranks.pid(1);
    QVERIFY(QTest::qWaitFor([&] { return !ranks.isRunning(0); }, 10'000));
    ranks.signal(1, SIGKILL);
    const std::vector<RankEnd> ends = ranks.wait(seconds(20));
    QCOMPARE(QString::fromStdString(ends[0].text),
             QStringLiteral("Rank 1 (process %1) is stopped by a signal and did not come to the "
                            "transfer of 8 bytes from rank 1 to rank 0 (tag 3) within 2 s.")
                 .arg(pid));
}

void TestChannelFaults::neverComes() {
    const MeetingPlace place(currentTransport(), 2);
    std::latch receiverIsDone(1);
    const RankBody body = [&](Communicator& world) {
        std::string text = sentenceOf(world.openChannels(bothWays(1, 8)));
        std::uint64_t value = 0;
        if (world.rank() == 0) {
            text = sentenceOf(world.receive(&value, sizeof(value), 1, 3));
            receiverIsDone.count_down();
        }
        receiverIsDone.wait();
        return text;
    };
    QCOMPARE(QString::fromStdString(runOnThreads(place, body, milliseconds(1500))[0]),
             QStringLiteral("Rank 1 (process %1) did not come to the transfer of 8 bytes from "
                            "rank 1 to rank 0 (tag 3) within 1.5 s.")
                 .arg(::getpid()));
}

void TestChannelFaults::abortIsSeenAtOnce() {
    const MeetingPlace place(currentTransport(), 2);
    std::latch isOpen(1);
    std::latch receiverIsDone(1);
    const RankBody body = [&](Communicator& world) {
        std::string text = sentenceOf(world.openChannels(bothWays(1, 8)));
        std::uint64_t value = 0;
        if (world.rank() == 0) {
            isOpen.count_down();
            text = sentenceOf(world.receive(&value, sizeof(value), 1, 3));
            receiverIsDone.count_down();
        } else {
            isOpen.wait();
            place.status().header().abort = 1;
        }
        receiverIsDone.wait();
        return text;
    };
    const auto start = std::chrono::steady_clock::now();
    QCOMPARE(QString::fromStdString(runOnThreads(place, body)[0]),
             QStringLiteral("The run is being aborted; this rank has left the transfer of 8 bytes "
                            "from rank 1 to rank 0 (tag 3)."));
    QVERIFY(std::chrono::steady_clock::now() - start < seconds(5));
}

QTEST_GUILESS_MAIN(TestChannelFaults)
#include "tst_channel_faults.moc"
