// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Groups split off a world: a mesh of them at work at once, with their own memory and numbers, and
// sentences that name the world's ranks; what ends one early ends the waits of the others.
#include "tests/comm/rank_threads.h"
#include "tests/comm/transport_rows.h"

#include <QDir>
#include <QtTest>

#include <atomic>
#include <csignal>
#include <latch>
#include <numeric>
#include <set>
#include <thread>

#include <unistd.h>

using namespace trainyard;
using namespace trainyard::engine;
using namespace trainyard::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

using Groups = std::vector<std::vector<int>>;

const std::string kFine = "fine";

/// The groups of 8 ranks along one of the three axes of a 2x2x2 mesh.
Groups alongAxis(int axis) {
    Groups groups;
    for (int rank = 0; rank < 8; ++rank)
        if (!(rank >> axis & 1))
            groups.push_back({rank, rank | 1 << axis});
    return groups;
}

/// Sums, shards, broadcasts and barriers of a group, checked against the members' numbers in the
/// world.
std::string work(Communicator& group, const std::vector<int>& members, int rounds) {
    const auto ranks = members.size();
    const int me = members[static_cast<std::size_t>(group.rank())];
    if (group.worldSize() != static_cast<int>(ranks))
        return "a group of another size";
    constexpr std::size_t kCount = 6000;
    const auto arena = group.allocateReducible(kCount * sizeof(double));
    if (!arena)
        return arena.error().sentence();
    std::vector<double> elsewhere(kCount);
    for (int round = 0; round < rounds; ++round) {
        const auto tag = static_cast<std::uint32_t>(round);
        double* const data =
            round % 2 == 0 ? reinterpret_cast<double*>(arena->data()) : elsewhere.data();
        const std::size_t count = round % 3 == 0 ? kCount : 24; // any group divides it
        const auto valueOf = [&](int rank, std::size_t i) {
            return static_cast<double>(rank * 1000 + round) + static_cast<double>(i) * 1e-3;
        };
        const auto sumAt = [&](std::size_t i) {
            double sum = valueOf(members[0], i);
            for (std::size_t other = 1; other < ranks; ++other)
                sum += valueOf(members[other], i);
            return sum;
        };
        const auto fill = [&] {
            for (std::size_t i = 0; i < count; ++i)
                data[i] = valueOf(me, i);
        };
        fill();
        if (const auto done = group.allReduceSum(data, count, DType::Fp64, tag); !done)
            return done.error().sentence();
        for (std::size_t i = 0; i < count; ++i)
            if (data[i] != sumAt(i))
                return "wrong sum";
        fill();
        if (const auto done = group.reduceScatterSum(data, count, DType::Fp64, tag); !done)
            return done.error().sentence();
        if (const auto done = group.allGather(data, count * sizeof(double), tag); !done)
            return done.error().sentence();
        for (std::size_t i = 0; i < count; ++i)
            if (data[i] != sumAt(i))
                return "wrong shards";
        const int root = round % static_cast<int>(ranks);
        fill();
        if (const auto done = group.broadcast(data, count * sizeof(double), root, tag); !done)
            return done.error().sentence();
        if (data[count - 1] != valueOf(members[static_cast<std::size_t>(root)], count - 1))
            return "wrong broadcast";
        if (const auto done = group.barrier(tag); !done)
            return done.error().sentence();
    }
    return kFine;
}

std::vector<int> groupOf(const Groups& groups, int rank) {
    for (const std::vector<int>& group : groups)
        if (std::ranges::count(group, rank) > 0)
            return group;
    return {rank};
}

/// Three groups of each rank in a thread each, and the world beside them.
std::string workInMesh(Communicator& world, int rounds) {
    const std::array<std::string, 3> names = {"tensor", "pipeline", "data"};
    std::array<std::unique_ptr<Communicator>, 3> groups;
    std::array<std::string, 3> texts;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        auto group = world.split(alongAxis(static_cast<int>(axis)), names[axis]);
        if (!group)
            return group.error().sentence();
        groups[axis] = std::move(*group);
    }
    std::vector<std::thread> threads;
    for (std::size_t axis = 0; axis < 3; ++axis)
        threads.emplace_back([&, axis] {
            texts[axis] = work(*groups[axis],
                               groupOf(alongAxis(static_cast<int>(axis)), world.rank()), rounds);
        });
    std::vector<int> everybody(8);
    std::iota(everybody.begin(), everybody.end(), 0);
    const std::string text = work(world, everybody, rounds / 2);
    for (std::thread& thread : threads)
        thread.join();
    return text == kFine && std::set<std::string>(texts.begin(), texts.end()).size() == 1
               ? texts[0]
               : text + '|' + texts[0] + '|' + texts[1] + '|' + texts[2];
}

/// Pairs of neighbours, and pairs across them.
const Groups kPairs = {{0, 1}, {2, 3}};
const Groups kAcross = {{0, 2}, {1, 3}};

} // namespace

class TestCommunicatorGroups : public QObject {
    Q_OBJECT

private slots:
    void mesh_data();
    void mesh();
    void numbersFollowTheList_data() { transports(); }
    void numbersFollowTheList();
    void aloneAndOutside_data() { transports(); }
    void aloneAndOutside();
    void memoryBeforeAndAfter_data() { transports(); }
    void memoryBeforeAndAfter();
    void channelsInAGroup_data() { transports(); }
    void channelsInAGroup();
    void outlivesItsWorld_data() { transports(); }
    void outlivesItsWorld();
    void differentGroups_data() { transports(); }
    void differentGroups();
    void mismatchInAGroupNamesTheWorldsRanks_data() { transports(); }
    void mismatchInAGroupNamesTheWorldsRanks();
    void killedInAGroup_data() { transports(); }
    void killedInAGroup();
    void killedWhileSplitting_data() { transports(); }
    void killedWhileSplitting();
    void neverComes_data() { transports(); }
    void neverComes();
    void neverSplits_data() { transports(); }
    void neverSplits();
    void refusals();

private:
    static void verifyFine(const std::vector<std::string>& texts) {
        for (const std::string& text : texts)
            QCOMPARE(QString::fromStdString(text), QString::fromStdString(kFine));
    }
};

void TestCommunicatorGroups::mesh_data() {
    QTest::addColumn<Transport>("transport");
    QTest::addColumn<bool>("asProcesses");
    for (const Transport transport : kTransports)
        for (const bool asProcesses : {false, true})
            QTest::addRow("%s, %s", nameOf(transport), asProcesses ? "processes" : "threads")
                << transport << asProcesses;
}

void TestCommunicatorGroups::mesh() {
    QFETCH(bool, asProcesses);
    const MeetingPlace place(currentTransport(), 8);
    const int rounds = currentTransport() == Transport::Gloo ? 12 : 60;
    const RankBody body = [&](Communicator& world) {
        return workInMesh(world, rounds);
    };
    verifyFine(asProcesses ? runOnProcesses(place, body) : runOnThreads(place, body));
    const QStringList left =
        QDir(place.folder()).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot);
    QVERIFY2(left.isEmpty(), qPrintable(left.join(QLatin1Char(' '))));
}

void TestCommunicatorGroups::numbersFollowTheList() {
    const MeetingPlace place(currentTransport(), 4);
    verifyFine(runOnThreads(place, [](Communicator& world) -> std::string {
        const Groups groups = {{3, 0, 2}};
        const auto group = world.split(groups, "odd");
        if (!group)
            return group.error().sentence();
        constexpr std::array kNumbers = {1, 0, 2, 0};
        if ((*group)->rank() != kNumbers[static_cast<std::size_t>(world.rank())])
            return "wrong number";
        if (const std::string text = work(**group, groupOf(groups, world.rank()), 6); text != kFine)
            return text;
        int from = world.rank();
        if (const auto sent = (*group)->broadcast(&from, sizeof(from), 0, 1); !sent)
            return sent.error().sentence();
        return from == (world.rank() == 1 ? 1 : 3) ? kFine : "not from the first of the list";
    }));
}

void TestCommunicatorGroups::aloneAndOutside() {
    const MeetingPlace place(currentTransport(), 4);
    verifyFine(runOnThreads(place, [](Communicator& world) -> std::string {
        const auto group = world.split({{1}, {2, 3}}, "some");
        const auto none = world.split({}, "none");
        if (!group || !none)
            return "not split";
        if ((*none)->worldSize() != 1 || (*group)->worldSize() != (world.rank() >= 2 ? 2 : 1))
            return "wrong size";
        const auto inGroup = (*group)->split({{0}}, "again"); // with two, the other is outside
        return inGroup ? sentenceOf((*group)->barrier(1)) : inGroup.error().sentence();
    }));
}

void TestCommunicatorGroups::memoryBeforeAndAfter() {
    const MeetingPlace place(currentTransport(), 4);
    verifyFine(runOnThreads(place, [](Communicator& world) -> std::string {
        const auto before = world.allocateReducible(40'000);
        const auto pairs = world.split(kPairs, "pairs");
        if (!pairs)
            return pairs.error().sentence();
        const auto inGroup = (*pairs)->allocateReducible(30'000);
        const auto after = world.allocateReducible(50'000);
        const auto across = world.split(kAcross, "across");
        if (!before || !inGroup || !after || !across)
            return "no memory or no group";
        const auto sumIn = [&](Communicator& group, std::span<std::byte> memory, float expected) {
            auto* const values = reinterpret_cast<float*>(memory.data());
            const std::size_t count = memory.size() / sizeof(float);
            std::fill(values, values + count, static_cast<float>(world.rank() + 1));
            const auto done = group.allReduceSum(values, count, DType::Fp32, 5);
            if (!done)
                return done.error().sentence();
            return values[0] == expected && values[count - 1] == expected ? kFine : "wrong sum";
        };
        // A group may also sum what lies in the world's memory, and the other way round.
        const float pair = world.rank() < 2 ? 3 : 7;
        for (const std::span<std::byte> memory : {*before, *inGroup, *after}) {
            if (const std::string text = sumIn(**pairs, memory, pair); text != kFine)
                return text;
            if (const std::string text = sumIn(world, memory, 10); text != kFine)
                return text;
        }
        return work(**across, groupOf(kAcross, world.rank()), 4);
    }));
}

void TestCommunicatorGroups::channelsInAGroup() {
    const MeetingPlace place(currentTransport(), 4);
    verifyFine(runOnThreads(place, [](Communicator& world) -> std::string {
        const auto group = world.split(kAcross, "across");
        if (!group)
            return group.error().sentence();
        const std::vector<Channel> channels = {{0, 1, 8, 1}, {1, 0, 8, 1}};
        std::string text = sentenceOf((*group)->openChannels(channels));
        const int peer = 1 - (*group)->rank();
        for (std::uint32_t tag = 0; tag < 50 && text == kFine; ++tag) {
            const int mine = world.rank();
            int theirs = -1;
            text = sentenceOf((*group)->send(&mine, sizeof(mine), peer, tag));
            if (text == kFine)
                text = sentenceOf((*group)->receive(&theirs, sizeof(theirs), peer, tag));
            if (text == kFine && theirs != (mine + 2) % 4)
                return "from another rank";
        }
        return text;
    }));
}

void TestCommunicatorGroups::outlivesItsWorld() {
    const MeetingPlace place(currentTransport(), 4);
    std::vector<std::string> texts(4);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 4; ++rank)
        threads.emplace_back([&, rank] {
            auto world = place.join(rank).value();
            auto group = world->split(kPairs, "pairs").value();
            world.reset();
            texts[static_cast<std::size_t>(rank)] = work(*group, groupOf(kPairs, rank), 10);
        });
    for (std::thread& thread : threads)
        thread.join();
    verifyFine(texts);
}

void TestCommunicatorGroups::differentGroups() {
    for (const bool otherName : {false, true}) {
        const MeetingPlace place(currentTransport(), 4);
        const RankBody body = [&](Communicator& world) -> std::string {
            const bool other = world.rank() == 3;
            const auto group = world.split(other && !otherName ? kAcross : kPairs,
                                           other && otherName ? "across" : "pairs");
            return group ? "split" : group.error().sentence();
        };
        for (const std::string& text : runOnThreads(place, body)) {
            const QString sentence = QString::fromStdString(text);
            QVERIFY2(sentence.contains(QLatin1StringView("ranks are not at the same collective")),
                     qPrintable(sentence));
            QVERIFY2(sentence.contains(QLatin1StringView("split into 2 groups (tag ")),
                     qPrintable(sentence));
        }
    }
}

void TestCommunicatorGroups::mismatchInAGroupNamesTheWorldsRanks() {
    const MeetingPlace place(currentTransport(), 4);
    const RankBody body = [](Communicator& world) -> std::string {
        const auto group = world.split({{1, 3}}, "odd");
        if (!group || (*group)->worldSize() == 1)
            return kFine;
        std::array<std::byte, 8> data = {};
        return sentenceOf(
            (*group)->broadcast(data.data(), data.size(), world.rank() == 1 ? 0 : 1, 7));
    };
    const std::vector<std::string> texts = runOnThreads(place, body);
    QCOMPARE(texts[0], kFine);
    for (const std::size_t rank : {1u, 3u}) {
        const QString sentence = QString::fromStdString(texts[rank]);
        QVERIFY2(sentence.contains(
                     QLatin1StringView("rank 1 calls broadcast of 8 bytes from rank 1 (tag 7)")) &&
                     sentence.contains(QLatin1StringView(
                         "rank 3 calls broadcast of 8 bytes from rank 3 (tag 7)")),
                 qPrintable(sentence));
    }
}

/// Rank 3 dies, its neighbour 2 waits for it, rank 0 waits across for that victim, and rank 1 for
/// rank 0; the victims leave one after the other. All name rank 3.
void TestCommunicatorGroups::killedInAGroup() {
    const MeetingPlace place(currentTransport(), 4);
    RankProcesses ranks(4, [&](int rank) -> std::string {
        const auto world = place.join(rank);
        if (!world)
            return world.error().sentence();
        const auto pairs = (*world)->split(kPairs, "pairs");
        const auto across = (*world)->split(kAcross, "across");
        if (!pairs || !across)
            return "not split";
        ++place.counter();
        if (rank == 3)
            ::pause();
        return sentenceOf(rank == 0 ? (*across)->barrier(9) : (*pairs)->barrier(8));
    });
    QVERIFY(QTest::qWaitFor([&] { return place.counter() == 4; }, 30'000));
    const pid_t pid = ranks.pid(3);
    ranks.signal(3, SIGKILL);
    const std::vector<RankEnd> ends = ranks.wait(seconds(20));
    const QString dead = QStringLiteral("Rank 3 (process %1) has died").arg(pid);
    QCOMPARE(QString::fromStdString(ends[2].text),
             dead + QStringLiteral("; the others were waiting for it at barrier (tag 8)."));
    for (const std::size_t rank : {0u, 1u, 2u}) {
        QVERIFY2(ends[rank].text.find(dead.toStdString()) != std::string::npos,
                 ends[rank].text.c_str());
        QVERIFY2(ends[rank].seconds < 5, qPrintable(QString::number(ends[rank].seconds)));
    }
}

void TestCommunicatorGroups::killedWhileSplitting() {
    const MeetingPlace place(currentTransport(), 3);
    RankProcesses ranks(3, [&](int rank) -> std::string {
        const auto world = place.join(rank);
        if (!world)
            return world.error().sentence();
        ++place.counter();
        if (rank == 1)
            ::pause();
        const auto group = (*world)->split({{1, 2}}, "some");
        return group ? "split" : group.error().sentence();
    });
    QVERIFY(QTest::qWaitFor([&] { return place.counter() == 3; }, 20'000));
    const pid_t pid = ranks.pid(1);
    ranks.signal(1, SIGKILL);
    const std::vector<RankEnd> ends = ranks.wait(seconds(20));
    for (const std::size_t rank : {0u, 2u}) {
        const QString sentence = QString::fromStdString(ends[rank].text);
        QVERIFY2(sentence.contains(QStringLiteral("Rank 1 (process %1) has died").arg(pid)),
                 qPrintable(sentence));
        QVERIFY2(ends[rank].seconds < 5, qPrintable(QString::number(ends[rank].seconds)));
    }
}

void TestCommunicatorGroups::neverComes() {
    const MeetingPlace place(currentTransport(), 4);
    std::latch waitersAreDone(1);
    const RankBody body = [&](Communicator& world) {
        const auto group = world.split(kAcross, "across");
        std::string text = group ? kFine : group.error().sentence();
        if (text == kFine && world.rank() == 1) {
            text = sentenceOf((*group)->barrier(6));
            waitersAreDone.count_down();
        }
        waitersAreDone.wait();
        return text;
    };
    QCOMPARE(QString::fromStdString(runOnThreads(place, body, milliseconds(2000))[1]),
             QStringLiteral("Rank 3 (process %1) did not come to barrier (tag 6) within 2 s.")
                 .arg(::getpid()));
}

void TestCommunicatorGroups::neverSplits() {
    const MeetingPlace place(currentTransport(), 3);
    std::latch waitersAreDone(2);
    const RankBody body = [&](Communicator& world) -> std::string {
        if (world.rank() == 2) {
            waitersAreDone.wait();
            return kFine;
        }
        const auto group = world.split({{0, 2}}, "some");
        waitersAreDone.count_down();
        return group ? "split" : group.error().sentence();
    };
    const std::vector<std::string> texts = runOnThreads(place, body, milliseconds(1500));
    for (const std::size_t rank : {0u, 1u})
        QVERIFY2(texts[rank].find("did not come to split into 1 group (tag ") !=
                         std::string::npos &&
                     texts[rank].find("Rank 2 (process ") != std::string::npos,
                 texts[rank].c_str());
}

void TestCommunicatorGroups::refusals() {
    const std::unique_ptr<Communicator> single = makeSingleCommunicator();
    QVERIFY(single->split({{0}}, "tensor").ok());
    QCOMPARE(single->split({}, "data").value()->worldSize(), 1);
    for (const Groups& groups : {Groups{{0, 1}}, Groups{{0}, {0}}, Groups{{-1}}})
        QVERIFY_THROWS_EXCEPTION(BrokenInvariant, (void)single->split(groups, "wrong"));
    for (const char* name : {"", "two words", "../up", "tensor"})
        QVERIFY_THROWS_EXCEPTION(BrokenInvariant, (void)single->split({{0}}, name));
}

QTEST_GUILESS_MAIN(TestCommunicatorGroups)
#include "tst_communicator_groups.moc"
