// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranks on several hosts with several ranks each, where that is unlike the other transports: the
// bits of sums for all places of ranks, groups of all kinds, and who is blamed when the one that is
// missing is on another host than the one that waits.
#include "engine/base/bfloat16.h"

#include "tests/comm/rank_threads.h"

#include <QDir>
#include <QtTest>

#include <csignal>
#include <cstring>
#include <latch>
#include <set>

#include <sched.h>
#include <unistd.h>

Q_DECLARE_METATYPE(std::vector<int>)

using namespace trainyard;
using namespace trainyard::engine;
using namespace trainyard::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

const std::string kFine = "fine";

/// Of very different sizes, so that the order of addition shows in the bits.
float valueAt(int rank, std::size_t index) {
    const auto mixed =
        static_cast<std::uint32_t>(index * 2654435761u) + static_cast<std::uint32_t>(rank) * 40503u;
    return static_cast<float>(static_cast<std::int32_t>(mixed * 2246822519u) >> 8) *
           static_cast<float>(1u << (mixed & 15u)) / 3;
}

void fill(std::byte* data, std::size_t count, DType type, int rank) {
    for (std::size_t i = 0; i < count; ++i) {
        const float value = valueAt(rank, i);
        const double wide = value;
        const Bf16 half = narrowed(value);
        const void* from = type == DType::Fp64   ? static_cast<const void*>(&wide)
                           : type == DType::Fp32 ? static_cast<const void*>(&value)
                                                 : &half;
        std::memcpy(data + i * bytesOf(type), from, bytesOf(type));
    }
}

std::uint64_t hashOf(std::span<const std::byte> bytes, std::uint64_t hash) {
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, &bytes[i], std::min(sizeof(word), bytes.size() - i));
        hash = (hash ^ word) * 1099511628211u;
    }
    return hash;
}

/// Sums of all sizes and types, in reducible memory and elsewhere: of the whole, and of slices that
/// are gathered; a hash of all results.
std::string sumBits(Communicator& group) {
    constexpr std::size_t kMost = 5'000'004; // more than an area holds
    const auto arena = group.allocateReducible(kMost * sizeof(float));
    if (!arena)
        return arena.error().sentence();
    std::vector<std::byte> elsewhere(kMost * sizeof(float));
    const auto ranks = static_cast<std::size_t>(group.worldSize());
    std::uint64_t hash = 14695981039346656037u;
    std::uint32_t tag = 0;
    for (const DType type : {DType::Fp64, DType::Fp32, DType::Bf16})
        for (const std::size_t count : {1u, 3u, 700u, 5001u, 70'001u, 300'007u, 2'500'001u})
            for (std::byte* data : {arena->data(), elsewhere.data()}) {
                fill(data, count, type, group.rank());
                if (auto done = group.allReduceSum(data, count, type, ++tag); !done)
                    return done.error().sentence();
                hash = hashOf({data, count * bytesOf(type)}, hash);
                const std::size_t sliced = count / ranks * ranks;
                fill(data, sliced, type, group.rank());
                if (auto done = group.reduceScatterSum(data, sliced, type, ++tag); !done)
                    return done.error().sentence();
                if (auto done = group.allGather(data, sliced * bytesOf(type), ++tag); !done)
                    return done.error().sentence();
                hash = hashOf({data, sliced * bytesOf(type)}, hash);
            }
    return std::to_string(hash);
}

/// A few sums of a group, against the members' numbers in the world.
std::string checkGroup(Communicator& group, const std::vector<int>& members) {
    for (const std::size_t count : {1u, 3000u, 400'000u}) {
        std::vector<double> data(count, members[static_cast<std::size_t>(group.rank())] + 0.1);
        if (auto done = group.allReduceSum(data.data(), count, DType::Fp64, 1); !done)
            return done.error().sentence();
        double sum = members[0] + 0.1;
        for (std::size_t i = 1; i < members.size(); ++i)
            sum += members[i] + 0.1;
        if (data.front() != sum || data.back() != sum)
            return "wrong sum";
    }
    return kFine;
}

/// Another name than the other hosts': ranks then cannot look at processes there.
std::string becomeHost(const std::string& name) {
    if (::unshare(CLONE_NEWUTS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWUTS) != 0)
        return "no namespaces";
    return ::sethostname(name.data(), name.size()) == 0 ? "" : "no host name";
}

} // namespace

class TestTwoLevel : public QObject {
    Q_OBJECT

private slots:
    void sameBitsAsInOneHost_data();
    void sameBitsAsInOneHost();
    void groupsOfAllKinds();
    void messagesNearAndFar();
    void whatALeavingRankSentArrives();
    void differentCallsOnHosts();
    void differentMemoryOnHosts();
    void blamesWhomTheHostWaitsFor_data();
    void blamesWhomTheHostWaitsFor();
    void killedOnAnotherHost_data();
    void killedOnAnotherHost();
    void nothingIsLeft();
};

void TestTwoLevel::sameBitsAsInOneHost_data() {
    QTest::addColumn<std::vector<int>>("hosts");
    QTest::newRow("2 + 2") << std::vector<int>{0, 0, 1, 1};
    QTest::newRow("1 + 2 + 1") << std::vector<int>{0, 1, 1, 2};
    QTest::newRow("3 + 1") << std::vector<int>{0, 0, 0, 1};
    QTest::newRow("1 + 3") << std::vector<int>{4, 2, 2, 2};
    QTest::newRow("2 + 1 + 2 + 1") << std::vector<int>{0, 0, 1, 2, 2, 3};
    QTest::newRow("not one after the other") << std::vector<int>{0, 1, 0, 1};
}

void TestTwoLevel::sameBitsAsInOneHost() {
    QFETCH(std::vector<int>, hosts);
    const MeetingPlace alone(Transport::SharedMemory, static_cast<int>(hosts.size()));
    const MeetingPlace place(hosts);
    std::set<std::string> bits;
    for (const MeetingPlace* each : {&alone, &place})
        for (const std::string& text : runOnProcesses(*each, sumBits))
            bits.insert(text);
    QVERIFY2(bits.size() == 1, bits.rbegin()->c_str());
    QVERIFY2(bits.begin()->size() > 9, bits.begin()->c_str());
}

/// Inside a host, across hosts, on two levels in other orders, and where those make no chain.
void TestTwoLevel::groupsOfAllKinds() {
    const MeetingPlace place({0, 0, 1, 1, 1, 2});
    const std::vector<std::vector<std::vector<int>>> splits = {
        {{0, 1}, {2, 3, 4}},    {{0, 2, 5}, {1, 3}}, {{5, 4, 3, 2, 1, 0}}, {{1, 2, 3}, {4, 5}},
        {{0, 2, 1, 3}, {4, 5}}, {{4, 3, 5}},         {{0, 1, 5}, {2, 3}}};
    const RankBody body = [&](Communicator& world) -> std::string {
        std::string name = "kind";
        for (const auto& groups : splits) {
            name += 'x';
            const auto group = world.split(groups, name);
            if (!group)
                return group.error().sentence();
            for (const std::vector<int>& members : groups)
                if (std::ranges::count(members, world.rank()) > 0)
                    if (const std::string text = checkGroup(**group, members); text != kFine)
                        return name + ": " + text;
            const auto within = (*group)->split({{0}}, "alone");
            if (!within)
                return within.error().sentence();
        }
        return checkGroup(world, {0, 1, 2, 3, 4, 5});
    };
    for (const std::string& text : runOnThreads(place, body))
        QCOMPARE(text, kFine);
}

void TestTwoLevel::messagesNearAndFar() {
    const MeetingPlace place({0, 0, 1, 1});
    const RankBody body = [](Communicator& world) -> std::string {
        std::vector<Channel> channels;
        for (int from = 0; from < 4; ++from)
            for (int to = 0; to < 4; ++to)
                if (from != to)
                    channels.push_back({from, to, 1000, 2});
        std::string text = sentenceOf(world.openChannels(channels));
        for (int round = 0; round < 200 && text == kFine; ++round) {
            const auto tag = static_cast<std::uint32_t>(round);
            for (int peer = 0; peer < 4 && text == kFine; ++peer) {
                const std::array<int, 2> mine = {world.rank(), round};
                if (peer != world.rank())
                    text = sentenceOf(world.send(mine.data(), sizeof(mine), peer, tag));
            }
            for (int peer = 0; peer < 4 && text == kFine; ++peer) {
                std::array<int, 2> theirs = {};
                if (peer == world.rank())
                    continue;
                text = sentenceOf(world.receive(theirs.data(), sizeof(theirs), peer, tag));
                if (text == kFine && theirs != std::array<int, 2>{peer, round})
                    return "from another rank";
            }
        }
        return text == kFine ? sentenceOf(world.barrier(1)) : text;
    };
    for (const std::string& text : runOnThreads(place, body))
        QCOMPARE(text, kFine);
}

/// Neither of the two leads its host.
void TestTwoLevel::whatALeavingRankSentArrives() {
    const MeetingPlace place({0, 0, 1, 1});
    std::latch hasLeft(1);
    std::vector<std::string> texts(4);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 4; ++rank)
        threads.emplace_back([&, rank] {
            auto world = place.join(rank).value();
            std::string& text = texts[static_cast<std::size_t>(rank)];
            const std::vector<Channel> channels = {{1, 3, 100'000, 3}};
            text = sentenceOf(world->openChannels(channels));
            std::vector<std::byte> message(100'000, std::byte{7});
            for (std::uint32_t tag = 0; rank == 1 && tag < 3; ++tag)
                text = sentenceOf(world->send(message.data(), message.size(), 3, tag));
            if (rank == 1) {
                world.reset();
                hasLeft.count_down();
            } else if (rank == 3) {
                hasLeft.wait();
                for (std::uint32_t tag = 0; tag < 3 && text == kFine; ++tag)
                    text = sentenceOf(world->receive(message.data(), message.size(), 1, tag));
                if (text == kFine)
                    text = sentenceOf(world->receive(message.data(), 8, 1, 3));
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    QCOMPARE(texts[1], kFine);
    QVERIFY2(texts[3].find("Rank 1 (process ") == 0 &&
                 texts[3].find("has left the group") != std::string::npos,
             texts[3].c_str());
}

void TestTwoLevel::differentCallsOnHosts() {
    const MeetingPlace place({0, 0, 1, 1});
    for (const std::string& text : runOnThreads(place, [](Communicator& world) -> std::string {
             std::vector<float> data(300'000);
             const std::size_t count = world.rank() < 2 ? 300'000 : 299'999;
             const auto done = world.allReduceSum(data.data(), count, DType::Fp32, 7);
             const auto again = world.barrier(1);
             return !again && sentenceOf(again) == sentenceOf(done) ? sentenceOf(done) : "mended";
         }))
        for (const char* saying :
             {"ranks are not at the same collective", "rank 0 calls all-reduce of 300,000 fp32",
              "rank 2 calls all-reduce of 299,999 fp32 (tag 7)"})
            QVERIFY2(text.find(saying) != std::string::npos, text.c_str());
}

void TestTwoLevel::differentMemoryOnHosts() {
    const MeetingPlace place({0, 1, 1});
    for (const std::string& text : runOnThreads(place, [](Communicator& world) -> std::string {
             const auto memory = world.allocateReducible(world.rank() < 1 ? 4096 : 8192);
             return memory ? sentenceOf(world.barrier(1)) : "no memory";
         }))
        QVERIFY2(text.find("reducible memory of different sizes") != std::string::npos,
                 text.c_str());
}

void TestTwoLevel::blamesWhomTheHostWaitsFor_data() {
    QTest::addColumn<int>("missing");
    QTest::addColumn<int>("lateMs");
    QTest::addColumn<int>("deadlineMs");
    const auto row = [](int missing, int lateMs, int deadlineMs) {
        QTest::addRow("rank %d, others of its host %d of %d ms late", missing, lateMs, deadlineMs)
            << missing << lateMs << deadlineMs;
    };
    for (const int missing : {0, 1, 2, 3})
        for (const int lateMs : {0, 300})
            row(missing, lateMs, 1600);
    // So late that they cannot have told for whom they wait when the others' time is up.
    row(1, 3700, 4000);
    row(3, 3700, 4000);
}

/// One rank never comes. The ranks of the other host have waited longer than those of its own, but
/// for the one that is missing.
void TestTwoLevel::blamesWhomTheHostWaitsFor() {
    QFETCH(int, missing);
    QFETCH(int, lateMs);
    QFETCH(int, deadlineMs);
    const MeetingPlace place({0, 0, 1, 1});
    std::latch waitersAreDone(3);
    const RankBody body = [&](Communicator& world) -> std::string {
        if (world.rank() == missing) {
            waitersAreDone.wait();
            return kFine;
        }
        if (world.rank() / 2 == missing / 2)
            beLate(milliseconds(lateMs));
        const std::string text = sentenceOf(world.barrier(6));
        waitersAreDone.count_down();
        return text;
    };
    const auto start = std::chrono::steady_clock::now();
    const std::vector<std::string> texts = runOnThreads(place, body, milliseconds(deadlineMs));
    QVERIFY(std::chrono::steady_clock::now() - start < milliseconds(deadlineMs) + seconds(5));
    const std::string sentence =
        "Rank " + std::to_string(missing) + " (process " + std::to_string(::getpid()) +
        ") did not come to barrier (tag 6) within " + (deadlineMs == 4000 ? "4 s." : "1.6 s.");
    for (int rank = 0; rank < 4; ++rank)
        if (rank != missing) {
            const std::string& text = texts[static_cast<std::size_t>(rank)];
            QVERIFY2(text.find(sentence) != std::string::npos, text.c_str());
        }
}

void TestTwoLevel::killedOnAnotherHost_data() {
    QTest::addColumn<int>("victim");
    for (const int victim : {0, 1, 2, 3})
        QTest::addRow("rank %d", victim) << victim;
}

/// As on hosts that cannot see each other's processes: those beside the victim tell.
void TestTwoLevel::killedOnAnotherHost() {
    QFETCH(int, victim);
    const MeetingPlace place({0, 0, 1, 1});
    RankProcesses ranks(4, [&](int rank) -> std::string {
        if (std::string refused = becomeHost(rank < 2 ? "first" : "second"); !refused.empty())
            return refused;
        const auto world = place.join(rank);
        if (!world)
            return world.error().sentence();
        std::vector<float> data(100'000);
        for (std::uint32_t tag = 0;; ++tag) {
            if (auto done = (*world)->allReduceSum(data.data(), data.size(), DType::Fp32, tag);
                !done)
                return done.error().sentence();
            if (rank == 0)
                ++place.counter();
        }
    });
    if (!QTest::qWaitFor([&] { return place.counter() >= 20; }, 15'000)) {
        const std::vector<RankEnd> ends = ranks.wait(seconds(1));
        if (ends[0].text.starts_with("no "))
            QSKIP("This system gives a process no host name of its own.");
        QFAIL(ends[0].text.c_str());
    }
    const pid_t pid = ranks.pid(victim);
    ranks.signal(victim, SIGKILL);
    const std::vector<RankEnd> ends = ranks.wait(seconds(20));
    const std::string dead =
        "Rank " + std::to_string(victim) + " (process " + std::to_string(pid) + ") has died";
    for (int rank = 0; rank < 4; ++rank) {
        const RankEnd& end = ends[static_cast<std::size_t>(rank)];
        QVERIFY2(rank == victim || end.text.find(dead) != std::string::npos, end.text.c_str());
        QVERIFY2(end.seconds < 5, qPrintable(QString::number(end.seconds)));
    }
}

/// Also where waits were long enough to be told to other hosts.
void TestTwoLevel::nothingIsLeft() {
    const MeetingPlace place({0, 0, 1, 1});
    const RankBody body = [&](Communicator& world) -> std::string {
        const auto isTold = [&] {
            return QFile::exists(place.folder() + QLatin1StringView("/rank-2.waits"));
        };
        const auto end = std::chrono::steady_clock::now() + seconds(3);
        while (world.rank() == 3 && !isTold())
            if (std::chrono::steady_clock::now() > end)
                return "not told";
        return sentenceOf(world.barrier(1));
    };
    for (const std::string& text : runOnThreads(place, body, milliseconds(4000)))
        QCOMPARE(text, kFine);
    const QStringList left =
        QDir(place.folder()).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot);
    QVERIFY2(left.isEmpty(), qPrintable(left.join(QLatin1Char(' '))));
}

QTEST_GUILESS_MAIN(TestTwoLevel)
#include "tst_two_level.moc"
