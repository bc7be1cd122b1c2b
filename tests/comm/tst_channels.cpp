// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Messages between two ranks: whole, in order, no more on their way than agreed.
#include "tests/comm/rank_threads.h"
#include "tests/comm/transport_rows.h"

#include <QtTest>

#include <atomic>
#include <latch>
#include <thread>

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

/// A fixed stream of numbers, alike on both ends of a channel.
class Numbers {
public:
    explicit Numbers(int from) : m_state(static_cast<std::uint64_t>(from) * 977 + 12345) {}
    std::uint32_t next() {
        m_state = m_state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<std::uint32_t>(m_state >> 33);
    }
    /// Mostly small, sometimes nothing, sometimes all that fits.
    std::size_t nextSize() {
        const std::uint32_t kind = next() % 64;
        if (kind == 0)
            return 0;
        return kind < 3 ? next() % (kMost + 1) : next() % 2000;
    }

private:
    std::uint64_t m_state;
};

std::vector<std::byte> bytesOf(std::size_t size, std::uint32_t salt) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<std::byte>((i * 2654435761u + salt) >> 11);
    return bytes;
}

/// `rounds` times: up to `depth` messages to the other one of two ranks, then as many from it.
std::string exchange(Communicator& world, int rounds, int depth) {
    if (const auto opened = world.openChannels(bothWays(depth)); !opened)
        return opened.error().sentence();
    const int peer = 1 - world.rank();
    Numbers sizes(0); // of how many messages: alike on both ranks
    Numbers sent(world.rank());
    Numbers received(peer);
    std::uint32_t sendTag = 0;
    std::uint32_t receiveTag = 0;
    std::vector<std::byte> memory(kMost);
    for (int round = 0; round < rounds; ++round) {
        const int messages = 1 + static_cast<int>(sizes.next() % static_cast<unsigned>(depth));
        for (int i = 0; i < messages; ++i) {
            const std::vector<std::byte> message = bytesOf(sent.nextSize(), sendTag);
            if (const auto done = world.send(message.data(), message.size(), peer, sendTag++);
                !done)
                return done.error().sentence();
        }
        for (int i = 0; i < messages; ++i) {
            const std::vector<std::byte> expected = bytesOf(received.nextSize(), receiveTag);
            memory.assign(kMost, std::byte{0xEE});
            if (const auto done = world.receive(memory.data(), expected.size(), peer, receiveTag++);
                !done)
                return done.error().sentence();
            if (!std::equal(expected.begin(), expected.end(), memory.begin()))
                return "message " + std::to_string(receiveTag) + " is not what was sent";
            if (expected.size() < kMost && memory[expected.size()] != std::byte{0xEE})
                return "wrote behind the message";
        }
    }
    return world.secondsInside() > 0 ? kFine : "time was not measured";
}

/// From rank to rank and back, several on their way at once, as a pipeline does.
std::string pipeline(Communicator& world) {
    const int last = world.worldSize() - 1;
    std::vector<Channel> channels;
    for (int rank = 0; rank < last; ++rank) {
        channels.push_back({rank, rank + 1, 64, 2});
        channels.push_back({rank + 1, rank, 64, 2});
    }
    if (const auto opened = world.openChannels(channels); !opened)
        return opened.error().sentence();
    const int rank = world.rank();
    constexpr std::uint32_t kParts = 200;
    Result<void> result;
    const auto forward = [&](std::uint32_t part) {
        std::uint64_t value = part;
        if (rank > 0)
            result = world.receive(&value, sizeof(value), rank - 1, part);
        ++value;
        if (result && rank < last)
            result = world.send(&value, sizeof(value), rank + 1, part);
        return value;
    };
    const auto backward = [&](std::uint32_t part, std::uint64_t value) {
        if (rank < last)
            result = world.receive(&value, sizeof(value), rank + 1, part);
        if (result && rank > 0)
            result = world.send(&value, sizeof(value), rank - 1, part);
        return value;
    };
    // The first rank is ahead by as many parts as there are ranks behind it.
    const auto ahead = static_cast<std::uint32_t>(last - rank);
    std::vector<std::uint64_t> values(kParts);
    for (std::uint32_t step = 0; step < kParts + ahead && result; ++step) {
        if (step < kParts)
            values[step] = forward(step);
        if (result && step >= ahead) {
            const std::uint64_t value = backward(step - ahead, values[step - ahead]);
            if (result && value != step - ahead + static_cast<std::uint64_t>(last) + 1)
                return "part " + std::to_string(step - ahead) + " came back as " +
                       std::to_string(value);
        }
    }
    return sentenceOf(result);
}

} // namespace

class TestChannels : public QObject {
    Q_OBJECT

private slots:
    void manyMessages_data();
    void manyMessages();
    void pipelineOfRanks_data() { transports(); }
    void pipelineOfRanks();
    void fullChannelBlocks_data() { transports(); }
    void fullChannelBlocks();
    void receivingLetsTheSenderGoOn_data() { transports(); }
    void receivingLetsTheSenderGoOn();
    void whatALeavingRankSentArrives_data() { transports(); }
    void whatALeavingRankSentArrives();
    void refusals();
    void tooMuchSharedMemory();

private:
    static int mostUnreceived(int depth);
};

void TestChannels::manyMessages_data() {
    QTest::addColumn<Transport>("transport");
    QTest::addColumn<bool>("asProcesses");
    QTest::addColumn<int>("depth");
    for (const Transport transport : kTransports)
        for (const bool asProcesses : {false, true})
            for (const int depth : {1, 4})
                QTest::addRow("%s, %s, depth %d", nameOf(transport),
                              asProcesses ? "processes" : "threads", depth)
                    << transport << asProcesses << depth;
}

void TestChannels::manyMessages() {
    QFETCH(bool, asProcesses);
    QFETCH(int, depth);
    const MeetingPlace place(currentTransport(), 2);
    // A round of depth 4 has 2.5 messages in each direction on average; one of depth 1 over TCP
    // waits for several threads to take turns.
    const bool isSlow = currentTransport() != Transport::SharedMemory && depth == 1;
    const int rounds = isSlow ? 1'000 : depth == 1 ? 10'000 : 4'000;
    const RankBody body = [&](Communicator& world) {
        return exchange(world, rounds, depth);
    };
    for (const std::string& text :
         asProcesses ? runOnProcesses(place, body) : runOnThreads(place, body))
        QCOMPARE(text, kFine);
}

void TestChannels::pipelineOfRanks() {
    const MeetingPlace place(currentTransport(), 3);
    for (const std::string& text : runOnThreads(place, pipeline))
        QCOMPARE(text, kFine);
}

/// Two ranks on several hosts have nothing but TCP. Over it as many more wait in the sender's
/// process.
int TestChannels::mostUnreceived(int depth) {
    return currentTransport() == Transport::SharedMemory ? depth : 2 * depth;
}

/// A full channel holds its sender up until its deadline ...
void TestChannels::fullChannelBlocks() {
    constexpr int kDepth = 3;
    const MeetingPlace place(currentTransport(), 2);
    const int most = mostUnreceived(kDepth);
    std::latch senderIsDone(1);
    int sent = 0;
    const RankBody body = [&](Communicator& world) {
        std::string text = sentenceOf(world.openChannels(bothWays(kDepth, 8)));
        for (; text == kFine && world.rank() == 0; sent += text == kFine)
            text = sentenceOf(world.send(&sent, sizeof(sent), 1, static_cast<std::uint32_t>(sent)));
        if (world.rank() == 0)
            senderIsDone.count_down();
        senderIsDone.wait();
        return text;
    };
    const std::vector<std::string> texts = runOnThreads(place, body, milliseconds(1500));
    QCOMPARE(sent, most);
    QCOMPARE(QString::fromStdString(texts[0]),
             QStringLiteral("Rank 1 (process %1) did not come to the transfer of 4 bytes from "
                            "rank 0 to rank 1 (tag %2) within 1.5 s.")
                 .arg(::getpid())
                 .arg(most));
}

/// ... or until a message is received.
void TestChannels::receivingLetsTheSenderGoOn() {
    constexpr int kDepth = 3;
    const MeetingPlace place(currentTransport(), 2);
    const int most = mostUnreceived(kDepth);
    std::latch isFull(1);
    std::atomic<int> sent = 0;
    const RankBody body = [&](Communicator& world) -> std::string {
        std::string text = sentenceOf(world.openChannels(bothWays(kDepth, 8)));
        for (int i = 0; text == kFine && i < 500; ++i) {
            const auto tag = static_cast<std::uint32_t>(i);
            if (world.rank() == 0) {
                if (i == most)
                    isFull.count_down();
                text = sentenceOf(world.send(&i, sizeof(i), 1, tag));
                ++sent;
                continue;
            }
            isFull.wait();
            if (sent > most + i)
                return "more on their way than agreed";
            int value = -1;
            text = sentenceOf(world.receive(&value, sizeof(value), 0, tag));
            if (value != i)
                return "not in order";
        }
        return text;
    };
    for (const std::string& text : runOnThreads(place, body))
        QCOMPARE(text, kFine);
}

void TestChannels::whatALeavingRankSentArrives() {
    constexpr int kDepth = 4;
    const MeetingPlace place(currentTransport(), 2);
    std::atomic<bool> hasLeft = false;
    std::vector<std::string> texts(2);
    std::thread leaving([&] {
        auto world = place.join(1).value();
        texts[1] = sentenceOf(world->openChannels(bothWays(kDepth)));
        for (std::uint32_t tag = 0; tag < kDepth && texts[1] == kFine; ++tag) {
            const std::vector<std::byte> message = bytesOf(kMost, tag);
            texts[1] = sentenceOf(world->send(message.data(), message.size(), 0, tag));
        }
        world.reset();
        hasLeft = true;
        hasLeft.notify_all();
    });
    {
        const auto world = place.join(0).value();
        texts[0] = sentenceOf(world->openChannels(bothWays(kDepth)));
        // Over TCP a rank waits a moment for the others before it leaves.
        hasLeft.wait(false);
        std::vector<std::byte> memory(kMost);
        for (std::uint32_t tag = 0; tag < kDepth && texts[0] == kFine; ++tag) {
            texts[0] = sentenceOf(world->receive(memory.data(), kMost, 1, tag));
            if (memory != bytesOf(kMost, tag))
                texts[0] = "not what was sent";
        }
        if (texts[0] == kFine)
            texts[0] = sentenceOf(world->receive(memory.data(), kMost, 1, kDepth));
    }
    leaving.join();
    QCOMPARE(texts[1], kFine);
    QCOMPARE(QString::fromStdString(texts[0]),
             QStringLiteral("Rank 1 (process %1) has left the group; the others were waiting for "
                            "it at the transfer of 100,000 bytes from rank 1 to rank 0 (tag 4).")
                 .arg(::getpid()));
}

void TestChannels::refusals() {
    const std::unique_ptr<Communicator> single = makeSingleCommunicator();
    QVERIFY(single->openChannels({}).ok());
    std::uint64_t value = 0;
    QVERIFY_THROWS_EXCEPTION(BrokenInvariant, (void)single->send(&value, 8, 0, 1));
    QVERIFY_THROWS_EXCEPTION(BrokenInvariant, (void)single->receive(&value, 8, 0, 1));
    QVERIFY_THROWS_EXCEPTION(BrokenInvariant, (void)single->openChannels(bothWays(1)));
    const MeetingPlace place(Transport::SharedMemory, 2);
    const RankBody body = [&](Communicator& world) {
        std::string refused;
        const auto isRefused = [&](const std::function<void()>& call) {
            try {
                call();
                refused += '0';
            } catch (const BrokenInvariant&) {
                refused += '1';
            }
        };
        const auto opens = [&](std::vector<Channel> channels) {
            isRefused([&] { (void)world.openChannels(channels); });
        };
        opens({{0, 0, 8, 1}});
        isRefused([&] { (void)world.send(&value, 8, 1 - world.rank(), 1); });
        return refused;
    };
    for (const std::string& text : runOnThreads(place, body))
        QCOMPARE(text, std::string("11"));
    const RankBody second = [&](Communicator& world) -> std::string {
        const std::vector<Channel> channels = {{0, 1, 8, 1}};
        if (const auto opened = world.openChannels(channels); !opened)
            return opened.error().sentence();
        std::array<std::uint64_t, 2> values = {};
        try {
            if (world.rank() == 0)
                (void)world.send(values.data(), 9, 1, 1);
            else
                (void)world.openChannels(channels);
        } catch (const BrokenInvariant&) {
            return kFine;
        }
        return "was not refused";
    };
    const MeetingPlace another(Transport::SharedMemory, 2);
    for (const std::string& text : runOnThreads(another, second))
        QCOMPARE(text, kFine);
}

void TestChannels::tooMuchSharedMemory() {
    for (const std::size_t bytes : {std::size_t{1} << 45, ~std::size_t{0} - 100}) {
        const MeetingPlace place(Transport::SharedMemory, 2);
        const RankBody body = [&](Communicator& world) {
            return sentenceOf(world.openChannels(bothWays(2, bytes)));
        };
        for (const std::string& text : runOnThreads(place, body))
            QVERIFY2(text.find("No shared memory of") == 0, text.c_str());
    }
}

QTEST_GUILESS_MAIN(TestChannels)
#include "tst_channels.moc"
