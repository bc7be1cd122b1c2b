// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Collectives between real processes: right to the last bit for every size, type, place and number
// of ranks, the same over shared memory and TCP, and nothing left behind.
#include "engine/comm/communicator.h"

#include "engine/base/bfloat16.h"
#include "engine/base/float16.h"

#include "tests/comm/rank_processes.h"
#include "tests/comm/transport_rows.h"

#include <QDir>
#include <QtTest>

#include <cstring>
#include <set>
#include <sstream>

#include <sys/wait.h>

using namespace trainyard;
using namespace trainyard::engine;
using namespace trainyard::test;

namespace {

template <class Element>
constexpr DType kType = DType::Fp32;
template <>
constexpr DType kType<double> = DType::Fp64;
template <>
constexpr DType kType<Bf16> = DType::Bf16;
template <>
constexpr DType kType<Fp16> = DType::Fp16;
constexpr std::byte kGuard{0x5A};
const QString kFine = QStringLiteral("fine");

/// Of very different sizes, so that the order of addition shows in the bits.
template <class Real>
Real valueAt(int rank, std::size_t index, std::uint32_t salt) {
    const std::uint32_t mixed = static_cast<std::uint32_t>(index * 2654435761u) +
                                static_cast<std::uint32_t>(rank) * 40503u + salt;
    const auto mantissa = static_cast<Real>(static_cast<std::int32_t>(mixed * 2246822519u) >> 8);
    return mantissa * static_cast<Real>(1u << (mixed & 15u)) / static_cast<Real>(3);
}

template <>
Bf16 valueAt<Bf16>(int rank, std::size_t index, std::uint32_t salt) {
    return narrowed(valueAt<float>(rank, index, salt));
}

/// Some of them subnormal, some sums infinite.
template <>
Fp16 valueAt<Fp16>(int rank, std::size_t index, std::uint32_t salt) {
    return narrowedToFp16(valueAt<float>(rank, index, salt) * 1e-7F);
}

template <class Element>
void fill(std::byte* data, std::size_t count, int rank, std::uint32_t salt) {
    for (std::size_t i = 0; i < count; ++i) {
        const Element value = valueAt<Element>(rank, i, salt);
        std::memcpy(data + i * sizeof(Element), &value, sizeof(Element));
    }
}

/// In rank order.
template <class Real>
Real sumAt(std::size_t index, int worldSize, std::uint32_t salt) {
    Real sum = valueAt<Real>(0, index, salt);
    for (int rank = 1; rank < worldSize; ++rank)
        sum = sum + valueAt<Real>(rank, index, salt);
    return sum;
}

/// Added in fp32, rounded at the end.
template <>
Bf16 sumAt<Bf16>(std::size_t index, int worldSize, std::uint32_t salt) {
    float sum = widened(valueAt<Bf16>(0, index, salt));
    for (int rank = 1; rank < worldSize; ++rank)
        sum = sum + widened(valueAt<Bf16>(rank, index, salt));
    return narrowed(sum);
}

template <>
Fp16 sumAt<Fp16>(std::size_t index, int worldSize, std::uint32_t salt) {
    float sum = widened(valueAt<Fp16>(0, index, salt));
    for (int rank = 1; rank < worldSize; ++rank)
        sum = sum + widened(valueAt<Fp16>(rank, index, salt));
    return narrowedToFp16(sum);
}

/// Every element against the sum in rank order, bit for bit.
template <class Element>
bool isSum(const std::byte* data, std::size_t count, int worldSize, std::uint32_t salt) {
    for (std::size_t i = 0; i < count; ++i) {
        const Element sum = sumAt<Element>(i, worldSize, salt);
        if (std::memcmp(data + i * sizeof(Element), &sum, sizeof(Element)) != 0)
            return false;
    }
    return true;
}

/// One sum of `count` elements at `data`, which has a guard byte before and after. Empty: right.
template <class Real>
std::string checkSum(Communicator& group, std::byte* data, std::size_t count, std::uint32_t tag) {
    data[-1] = kGuard;
    data[count * sizeof(Real)] = kGuard;
    fill<Real>(data, count, group.rank(), tag);
    if (const Result<void> summed = group.allReduceSum(data, count, kType<Real>, tag); !summed)
        return summed.error().sentence();
    if (!isSum<Real>(data, count, group.worldSize(), tag))
        return "wrong sum of " + std::to_string(count) + " elements";
    if (data[-1] != kGuard || data[count * sizeof(Real)] != kGuard)
        return "wrote outside " + std::to_string(count) + " elements";
    return {};
}

std::string checkBroadcast(Communicator& group, std::byte* data, std::size_t bytes, int root,
                           std::uint32_t tag) {
    data[-1] = kGuard;
    data[bytes] = kGuard;
    for (std::size_t i = 0; i < bytes; ++i)
        data[i] = static_cast<std::byte>(group.rank() == root ? (i * 31 + tag) >> 3 : 0xEE);
    if (const Result<void> sent = group.broadcast(data, bytes, root, tag); !sent)
        return sent.error().sentence();
    for (std::size_t i = 0; i < bytes; ++i)
        if (data[i] != static_cast<std::byte>((i * 31 + tag) >> 3))
            return "wrong broadcast of " + std::to_string(bytes) + " bytes";
    return data[-1] == kGuard && data[bytes] == kGuard ? std::string() : "broadcast wrote outside";
}

constexpr std::size_t kLargest = 8 * 1024 * 1024;
constexpr std::size_t kLargestShard = 4'500'032;

/// All sizes, both types, in reducible memory and elsewhere, aligned and not.
std::string everySum(Communicator& group) {
    const Result<std::span<std::byte>> first = group.allocateReducible(1000);
    const Result<std::span<std::byte>> arena = group.allocateReducible(kLargest + 4096);
    if (!first || !arena)
        return "no memory";
    for (const std::byte byte : *arena)
        if (byte != std::byte{0})
            return "reducible memory is not zeroed";
    if (reinterpret_cast<std::uintptr_t>(arena->data()) % 64 != 0)
        return "reducible memory is not aligned";
    std::vector<std::byte> elsewhere(kLargest + 4096);
    std::uint32_t tag = 0;
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{8}, std::size_t{56}, std::size_t{1024}, std::size_t{1032},
          std::size_t{16376}, std::size_t{16384}, std::size_t{16392}, std::size_t{99992},
          std::size_t{262144}, std::size_t{262152}, std::size_t{1048584}, std::size_t{3000008},
          kLargest - 8}) {
        for (const std::size_t offset : {std::size_t{64}, std::size_t{8}, std::size_t{200}})
            for (std::byte* memory : {arena->data(), elsewhere.data()}) {
                if (std::string wrong =
                        checkSum<float>(group, memory + offset, bytes / sizeof(float), ++tag);
                    !wrong.empty())
                    return wrong;
                if (std::string wrong =
                        checkSum<double>(group, memory + offset, bytes / sizeof(double), ++tag);
                    !wrong.empty())
                    return wrong;
            }
        for (std::byte* memory : {arena->data(), elsewhere.data()})
            for (const auto check : {&checkSum<Bf16>, &checkSum<Fp16>})
                if (std::string wrong = check(group, memory + 202, bytes / sizeof(Bf16), ++tag);
                    !wrong.empty())
                    return wrong;
        // An odd number of floats, on an odd float.
        if (std::string wrong =
                checkSum<float>(group, arena->data() + 12, bytes / sizeof(float) + 1, ++tag);
            !wrong.empty())
            return wrong;
    }
    return group.worldSize() == 1 || group.secondsInside() > 0 ? "fine" : "time was not measured";
}

/// The own slice has the bits of an all-reduce; what is gathered is what each rank had.
template <class Element>
std::string checkShards(Communicator& group, std::byte* data, std::size_t slice,
                        std::uint32_t tag) {
    const auto ranks = static_cast<std::size_t>(group.worldSize());
    const std::size_t own = slice * static_cast<std::size_t>(group.rank());
    const std::size_t count = slice * ranks / sizeof(Element);
    std::vector<std::byte> expected(slice * ranks);
    fill<Element>(expected.data(), count, group.rank(), tag);
    fill<Element>(data, count, group.rank(), tag);
    if (auto done = group.allReduceSum(expected.data(), count, kType<Element>, tag); !done)
        return done.error().sentence();
    if (auto done = group.reduceScatterSum(data, count, kType<Element>, tag); !done)
        return done.error().sentence();
    if (!std::equal(data + own, data + own + slice,
                    expected.begin() + static_cast<std::ptrdiff_t>(own)))
        return "wrong shard of " + std::to_string(slice) + " bytes";
    if (auto done = group.allGather(data, slice * ranks, tag); !done)
        return done.error().sentence();
    return std::equal(expected.begin(), expected.end(), data) ? std::string() : "wrong gathering";
}

std::string everyShard(Communicator& group) {
    const auto ranks = static_cast<std::size_t>(group.worldSize());
    const Result<std::span<std::byte>> arena = group.allocateReducible(4 * 300'032);
    if (!arena)
        return "no memory";
    std::vector<std::byte> elsewhere(4 * kLargestShard);
    std::uint32_t tag = 0;
    const auto checkAll = [&](std::byte* memory, std::size_t slice) {
        std::string wrong = checkShards<float>(group, memory, slice, ++tag);
        if (wrong.empty())
            wrong = checkShards<double>(group, memory, slice, ++tag);
        if (wrong.empty())
            wrong = checkShards<Fp16>(group, memory, slice, ++tag);
        return wrong.empty() ? checkShards<Bf16>(group, memory, slice, ++tag) : wrong;
    };
    for (const std::size_t slice : {64u, 8192u, 8256u, 300'032u})
        for (std::byte* memory : {arena->data(), elsewhere.data()})
            if (std::string wrong = checkAll(memory, slice); !wrong.empty())
                return std::to_string(ranks) + " ranks: " + wrong;
    // More blocks than are on their way at once.
    if (std::string wrong = checkShards<Bf16>(group, elsewhere.data(), kLargestShard, ++tag);
        !wrong.empty())
        return std::to_string(ranks) + " ranks: " + wrong;
    return "fine";
}

std::string everyBroadcast(Communicator& group) {
    std::vector<std::byte> memory(3000100);
    std::uint32_t tag = 0;
    for (const std::size_t bytes : {0u, 1u, 1023u, 1024u, 1025u, 262143u, 262145u, 3000001u})
        for (int root = 0; root < group.worldSize(); ++root)
            if (std::string wrong = checkBroadcast(group, memory.data() + 3, bytes, root, ++tag);
                !wrong.empty())
                return wrong;
    return "fine";
}

std::string mixedCollectives(Communicator& group, int rounds) {
    const Result<std::span<std::byte>> arena = group.allocateReducible(70000);
    if (!arena)
        return arena.error().sentence();
    std::vector<std::byte> elsewhere(70000);
    std::uint32_t random = 12345;
    for (int round = 0; round < rounds; ++round) {
        random = random * 1664525u + 1013904223u;
        const std::uint32_t kind = random >> 29;
        // Mostly small, sometimes long.
        const std::size_t count = (random >> 8 & 0x3F) == 0 ? 8000 : random >> 14 & 0xFF;
        const auto tag = static_cast<std::uint32_t>(round);
        std::byte* data = (random >> 20 & 1) ? arena->data() + 64 : elsewhere.data() + 64;
        std::string wrong;
        if (kind < 3)
            wrong = checkSum<float>(group, data, count, tag);
        else if (kind < 5)
            wrong = checkSum<double>(group, data, count, tag);
        else if (kind < 7)
            wrong = checkBroadcast(group, data, count * 4,
                                   static_cast<int>(random >> 4 & 0xF) % group.worldSize(), tag);
        else if (const Result<void> met = group.barrier(tag); !met)
            wrong = met.error().sentence();
        if (!wrong.empty())
            return "round " + std::to_string(round) + ": " + wrong;
    }
    return "fine";
}

/// The bits of a few sums, to be compared between transports and runs.
std::string sumBits(Communicator& group) {
    std::ostringstream bits;
    for (const std::size_t count : {5u, 300u, 70001u}) {
        std::vector<std::byte> data(count * sizeof(float));
        fill<float>(data.data(), count, group.rank(), 99);
        if (const Result<void> summed = group.allReduceSum(data.data(), count, DType::Fp32, 1);
            !summed)
            return summed.error().sentence();
        std::uint64_t hash = 14695981039346656037u;
        for (const std::byte byte : data)
            hash = (hash ^ static_cast<std::uint64_t>(byte)) * 1099511628211u;
        bits << hash << ' ';
    }
    return bits.str();
}

QSet<QString> sharedMemoryFiles() {
    const QStringList names =
        QDir(QStringLiteral("/dev/shm")).entryList(QDir::AllEntries | QDir::Hidden);
    return {names.begin(), names.end()};
}

} // namespace

class TestCommunicator : public QObject {
    Q_OBJECT

private slots:
    void sums_data() { transportsAndWorlds(); }
    void sums() { runEverywhere(everySum); }
    void shards_data() { transportsAndWorlds(); }
    void shards() { runEverywhere(everyShard); }
    void broadcasts_data() { transportsAndWorlds(); }
    void broadcasts() { runEverywhere(everyBroadcast); }
    void mixed_data() { transportsAndWorlds(); }
    void mixed();
    void sameBitsOverAllTransports();
    void twoGroupsAtOnce_data();
    void twoGroupsAtOnce();
    void groupOfOne();

private:
    static void transportsAndWorlds() {
        QTest::addColumn<int>("transport");
        QTest::addColumn<int>("worldSize");
        for (const Transport transport : kTransports)
            for (int worldSize = 1; worldSize <= 4; ++worldSize)
                QTest::addRow("%s, %d ranks", nameOf(transport), worldSize)
                    << static_cast<int>(transport) << worldSize;
    }
    static void runEverywhere(const std::function<std::string(Communicator&)>& body) {
        QFETCH(int, transport);
        QFETCH(int, worldSize);
        const QSet<QString> before = sharedMemoryFiles();
        {
            const MeetingPlace place(static_cast<Transport>(transport), worldSize);
            RankProcesses ranks(worldSize, [&](int rank) -> std::string {
                const auto group = place.join(rank);
                return group ? body(**group) : group.error().sentence();
            });
            for (const RankEnd& end : ranks.wait(std::chrono::seconds(100)))
                QCOMPARE(QString::fromStdString(end.text), kFine);
            const QStringList left =
                QDir(place.folder())
                    .entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot);
            QVERIFY2(left.isEmpty(), qPrintable(left.join(QLatin1Char(' '))));
        }
        QCOMPARE(sharedMemoryFiles(), before);
        QCOMPARE(::waitpid(-1, nullptr, WNOHANG), -1);
    }
};

void TestCommunicator::mixed() {
    QFETCH(int, transport);
    // With more ranks than processors a Gloo message takes milliseconds.
    const bool overMemory = static_cast<Transport>(transport) == Transport::SharedMemory;
    const int rounds = overMemory ? 5000 : 1000;
    runEverywhere([rounds](Communicator& group) { return mixedCollectives(group, rounds); });
}

void TestCommunicator::sameBitsOverAllTransports() {
    for (int worldSize = 2; worldSize <= 4; ++worldSize) {
        std::set<std::string> bits;
        for (const Transport transport :
             {Transport::SharedMemory, Transport::Gloo, Transport::TwoHosts, Transport::ThreeHosts,
              Transport::SharedMemory, Transport::Gloo}) {
            const MeetingPlace place(transport, worldSize);
            RankProcesses ranks(worldSize, [&](int rank) -> std::string {
                const auto group = place.join(rank);
                return group ? sumBits(**group) : group.error().sentence();
            });
            for (const RankEnd& end : ranks.wait(std::chrono::seconds(30)))
                bits.insert(end.text);
        }
        QCOMPARE(bits.size(), std::size_t{1});
        QVERIFY2(std::count(bits.begin()->begin(), bits.begin()->end(), ' ') == 3,
                 bits.begin()->c_str());
    }
}

void TestCommunicator::twoGroupsAtOnce_data() {
    QTest::addColumn<int>("transport");
    for (const Transport transport : kTransports)
        QTest::addRow("%s", nameOf(transport)) << static_cast<int>(transport);
}

void TestCommunicator::twoGroupsAtOnce() {
    QFETCH(int, transport);
    const MeetingPlace first(static_cast<Transport>(transport), 2);
    const MeetingPlace second(static_cast<Transport>(transport), 2);
    const auto member = [](const MeetingPlace& place) {
        return [&place](int rank) -> std::string {
            const auto group = place.join(rank);
            return group ? mixedCollectives(**group, 500) : group.error().sentence();
        };
    };
    RankProcesses firstRanks(2, member(first));
    RankProcesses secondRanks(2, member(second));
    for (RankProcesses* ranks : {&firstRanks, &secondRanks})
        for (const RankEnd& end : ranks->wait(std::chrono::seconds(60)))
            QCOMPARE(QString::fromStdString(end.text), kFine);
}

void TestCommunicator::groupOfOne() {
    const std::unique_ptr<Communicator> group = makeSingleCommunicator();
    QCOMPARE(group->worldSize(), 1);
    QCOMPARE(everySum(*group), std::string("fine"));
    QCOMPARE(everyBroadcast(*group), std::string("fine"));
    QVERIFY(group->barrier(1).ok());
}

QTEST_APPLESS_MAIN(TestCommunicator)
#include "tst_communicator.moc"
