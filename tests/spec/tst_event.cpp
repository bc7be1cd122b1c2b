// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The event codec: every event comes back as it was, numbers bit for bit, and nothing that was cut
// short or made up is taken for an event.
#include "engine/spec/event.h"

#include <QtTest>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <set>

using namespace trainyard;
using namespace trainyard::spec;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// One of each event, with the values that codecs get wrong: empty, non-ASCII, extreme, non-finite.
std::vector<Event> specimens() {
    const double kNaN = std::numeric_limits<double>::quiet_NaN();
    const std::string strange("a\0b\n\x1b[0m", 8);
    return {
        Hello{kProtocolVersion, "0.1.0", "实验-1 \"a/b\"", "knoten-ü", 3},
        Hello{},
        RanksStarted{{{0, 4711, "cpu:0", 2}, {1, std::numeric_limits<std::int64_t>::max(), "", 1}}},
        RanksStarted{},
        Schedule{0xFEDCBA9876543210u, 1000, 100, 10, 60000, 10000},
        StateChanged{RunState::Diverged, Message("loss is %1 at step %2", {"NaN", "12"})},
        StateChanged{},
        Metrics{std::numeric_limits<std::int64_t>::min(),
                1.25,
                -1,
                {{"train_loss", kNaN},
                 {"", kInfinity},
                 {"обучение", -kInfinity},
                 {"tiny", 1e-320},
                 {"minus zero", -0.0},
                 {"signalling", std::numeric_limits<double>::signaling_NaN()}}},
        Metrics{},
        DeviceSample{1, "cpu:1", {{"utilization", 97.5}, {"memory", 1e9}}},
        Log{LogLevel::Error, -1, Message(strange, {"", strange})},
        Log{LogLevel::Debug, 7, Message(std::string(3u << 20, 'x'))},
        Failure{1, 1234, "h1", "cpu:1", 120, 17, "conv2", Message("what %1", {"x"}), Message("do")},
        Failure{},
        Summary{10, 2.5, 0.125, {{"val_accuracy", 0.9}}},
        Heartbeat{false},
        Heartbeat{true},
        Confusion{40, 1.5, true, {"кот", ""}, {3, 1, 0, std::numeric_limits<std::int64_t>::max()}},
        Confusion{},
    };
}

} // namespace

class EventTest : public QObject {
    Q_OBJECT

private slots:
    void everyEventComesBack();
    void numbersComeBackBitForBit();
    void everyPrefixIsRefused();
    void bytesAfterTheFieldsAreIgnored();
    void arbitraryBytesNeverCrash();
    void aHugeCountAsksForNoMemory();
    void impossibleEnumerationsAreRefused();
    void anUnknownTypeIsNamed();
    void aNewerProtocolIsRefusedInWords();
    void stateNames();
    void failureSentence_data();
    void failureSentence();
};

void EventTest::everyEventComesBack() {
    std::set<int> seen;
    for (const Event& event : specimens()) {
        const std::string bytes = encode(event);
        const Result<Event> back = decode(typeOf(event), bytes);
        QVERIFY2(back.ok(), back.ok() ? "" : back.error().sentence().c_str());
        QCOMPARE(back.value().index(), event.index());
        // NaN is unequal to itself, bytes are not.
        QVERIFY(encode(back.value()) == bytes);
        seen.insert(static_cast<int>(typeOf(event)));
    }
    QCOMPARE(seen.size(), std::variant_size_v<Event>);
    QCOMPARE(*seen.begin(), 1);
    QCOMPARE(*seen.rbegin(), 11);
}

void EventTest::numbersComeBackBitForBit() {
    for (const Event& event : specimens()) {
        const auto* metrics = std::get_if<Metrics>(&event);
        if (!metrics)
            continue;
        const Event back = decode(EventType::Metrics, encode(event)).value();
        const auto& read = std::get<Metrics>(back);
        QCOMPARE(read.step, metrics->step);
        QCOMPARE(read.samples, metrics->samples);
        QCOMPARE(read.values.size(), metrics->values.size());
        for (std::size_t i = 0; i < read.values.size(); ++i) {
            QVERIFY(read.values[i].first == metrics->values[i].first);
            QCOMPARE(std::bit_cast<quint64>(read.values[i].second),
                     std::bit_cast<quint64>(metrics->values[i].second));
        }
    }
    const Event failure =
        Failure{1, 1234, "h1", "cpu:1", 120, 17, "conv2", Message("w %1", {"x"}), Message("do")};
    const Event copy = decode(EventType::Failure, encode(failure)).value();
    const auto& read = std::get<Failure>(copy);
    QCOMPARE(read.rank, 1);
    QCOMPARE(read.pid, 1234);
    QCOMPARE(read.host, std::string("h1"));
    QCOMPARE(read.device, std::string("cpu:1"));
    QCOMPARE(read.step, 120);
    QCOMPARE(read.instruction, 17);
    QCOMPARE(read.layer, std::string("conv2"));
    QVERIFY(read.what == Message("w %1", {"x"}));
    QVERIFY(read.cure == Message("do"));
}

void EventTest::everyPrefixIsRefused() {
    for (const Event& event : specimens()) {
        const std::string bytes = encode(event);
        const std::size_t dense = std::min<std::size_t>(bytes.size(), 400);
        for (std::size_t size = 0; size < dense; ++size)
            QVERIFY(!decode(typeOf(event), std::string_view(bytes).substr(0, size)).ok());
        QVERIFY(!decode(typeOf(event), std::string_view(bytes).substr(0, bytes.size() - 1)).ok());
    }
}

void EventTest::bytesAfterTheFieldsAreIgnored() {
    for (const Event& event : specimens()) {
        const std::string bytes = encode(event);
        const Result<Event> back = decode(typeOf(event), bytes + "a field of a newer writer");
        QVERIFY(back.ok());
        QVERIFY(encode(back.value()) == bytes);
    }
}

void EventTest::arbitraryBytesNeverCrash() {
    std::mt19937 random(20260101);
    const std::vector<Event> events = specimens();
    int accepted = 0;
    for (int round = 0; round < 40000; ++round) {
        const Event& event = events[random() % events.size()];
        std::string bytes = encode(event);
        if (bytes.size() > 1000)
            continue;
        for (std::uint32_t flips = 1 + random() % 8; flips > 0 && !bytes.empty(); --flips)
            bytes[random() % bytes.size()] ^= static_cast<char>(1u << random() % 8);
        bytes.resize(random() % (bytes.size() + 1));
        const auto type = static_cast<EventType>(random() % 13);
        accepted += decode(type, bytes).ok();
    }
    // The crc of the frame is what finds flipped bits; here only nothing may go wrong.
    QVERIFY(accepted < 40000);
}

void EventTest::aHugeCountAsksForNoMemory() {
    const std::string everything(4, '\xff'); // 4294967295 ranks, of which none is there
    QVERIFY(!decode(EventType::RanksStarted, everything).ok());
    const std::string text = encode(Log{LogLevel::Info, 0, Message("x")});
    std::string longer = text;
    longer.replace(5, 4, everything); // length of the format
    QVERIFY(!decode(EventType::Log, longer).ok());
}

void EventTest::impossibleEnumerationsAreRefused() {
    std::string state = encode(StateChanged{});
    state[0] = 7;
    QVERIFY(!decode(EventType::StateChanged, state).ok());
    std::string log = encode(Log{});
    log[0] = 4;
    QVERIFY(!decode(EventType::Log, log).ok());
    QVERIFY(!decode(EventType::Heartbeat, "\2").ok());
}

void EventTest::anUnknownTypeIsNamed() {
    const Result<Event> event = decode(static_cast<EventType>(200), "anything");
    QVERIFY(!event.ok());
    QCOMPARE(event.error().sentence(),
             std::string("Events of type 200 are not known to this version of Trainyard."));
}

void EventTest::aNewerProtocolIsRefusedInWords() {
    std::string hello = encode(Hello{kProtocolVersion + 1, "9.0", "run", "host", 1});
    const std::string expected = "The worker speaks protocol version 2; this program understands "
                                 "versions up to 1. Update Trainyard on this machine.";
    QCOMPARE(decode(EventType::Hello, hello).error().sentence(), expected);
    // Even when all else has changed its shape.
    hello.resize(4);
    QCOMPARE(decode(EventType::Hello, hello).error().sentence(), expected);
}

void EventTest::stateNames() {
    QCOMPARE(name(RunState::Starting), "starting");
    QCOMPARE(name(RunState::Diverged), "diverged");
    int finals = 0;
    for (int i = 0; i <= 6; ++i) {
        const auto state = static_cast<RunState>(i);
        QVERIFY(runStateFromName(name(state)).value() == state);
        finals += isFinal(state);
    }
    QCOMPARE(finals, 4);
    QVERIFY(!isFinal(RunState::Stopping));
    QVERIFY(!runStateFromName("Finished").ok());
}

void EventTest::failureSentence_data() {
    QTest::addColumn<QString>("what");
    QTest::addColumn<QString>("sentence");
    QTest::newRow("nothing is said twice")
        << QStringLiteral("Rank 1 (process 1234) was killed by signal 9 (SIGKILL) at step 120, in "
                          "layer conv2.")
        << QStringLiteral("h1, cpu:1: Rank 1 (process 1234) was killed by signal 9 (SIGKILL) at "
                          "step 120, in layer conv2. Try again.");
    QTest::newRow("what is missing is added")
        << QStringLiteral("The loss is NaN.")
        << QStringLiteral("h1, cpu:1, rank 1 (process 1234), step 120, layer conv2: The loss is "
                          "NaN. Try again.");
    QTest::newRow("step 1200 is not step 120")
        << QStringLiteral("No step 1200 for rank 11.")
        << QStringLiteral("h1, cpu:1, rank 1 (process 1234), step 120, layer conv2: No step 1200 "
                          "for rank 11. Try again.");
}

void EventTest::failureSentence() {
    QFETCH(QString, what);
    QFETCH(QString, sentence);
    const Failure failure{1,
                          1234,
                          "h1",
                          "cpu:1",
                          120,
                          5,
                          "conv2",
                          Message(what.toStdString()),
                          Message("Try again.")};
    QCOMPARE(QString::fromStdString(failure.sentence()), sentence);
}

QTEST_APPLESS_MAIN(EventTest)
#include "tst_event.moc"
