// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Frames: whatever way the bytes arrive, the same frames come out; whatever bit is flipped, no
// wrong frame comes out.
#include "engine/spec/frame.h"

#include <QtTest>

#include <random>

using namespace trainyard;
using namespace trainyard::spec;

namespace {

std::vector<Frame> someFrames() {
    std::vector<Frame> frames;
    for (std::uint64_t i = 1; i <= 20; ++i)
        frames.push_back({i, 1'700'000'000'000'000'000 + static_cast<std::int64_t>(i),
                          static_cast<std::uint8_t>(i == 7 ? 200 : i % 10 + 1),
                          std::string(i * i % 90, static_cast<char>('a' + i))});
    frames.push_back({21, -5, 5, std::string("\0\xff\n", 3)});
    return frames;
}

std::string encodeAll(const std::vector<Frame>& frames) {
    std::string bytes;
    for (const Frame& frame : frames)
        bytes += encodeFrame(frame);
    return bytes;
}

bool same(const Frame& a, const Frame& b) {
    return a.sequence == b.sequence && a.timeNs == b.timeNs && a.type == b.type &&
           a.payload == b.payload;
}

/// All frames until more bytes are needed; `damaged` tells how it ended.
std::vector<Frame> readAll(FrameReader& reader, bool& damaged) {
    std::vector<Frame> out;
    for (;;) {
        Result<std::optional<Frame>> next = reader.next();
        damaged = !next.ok();
        if (damaged || !next.value())
            return out;
        out.push_back(*std::move(next.value()));
    }
}

} // namespace

class FrameTest : public QObject {
    Q_OBJECT

private slots:
    void crcIsTheUsualOne();
    void framesComeBackHoweverTheyArrive();
    void aFlippedBitIsNeverAccepted();
    void aCutEndIsPendingNotDamage();
    void damageIsForGood();
    void anImpossibleLengthIsDamageAtOnce();
    void unknownTypesAreHandedOutAndCanBeSkipped();
    void tooMuchForOneFrameIsRefused();
    void randomBytesNeverCrash();
};

void FrameTest::crcIsTheUsualOne() {
    QCOMPARE(crc32("123456789"), 0xCBF43926u);
    QCOMPARE(crc32(""), 0u);
    const std::string text(1000, 'x');
    // Continuing from a seed is the same as one pass, at every cut.
    for (std::size_t cut = 0; cut < 40; ++cut)
        QCOMPARE(crc32(text.substr(cut), crc32(text.substr(0, cut))), crc32(text));
}

void FrameTest::framesComeBackHoweverTheyArrive() {
    const std::vector<Frame> frames = someFrames();
    const std::string bytes = encodeAll(frames);
    std::mt19937 random(7);
    for (std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{24}, std::size_t{25},
                              std::size_t{26}, bytes.size(), std::size_t{0}}) {
        FrameReader reader;
        std::vector<Frame> read;
        for (std::size_t at = 0; at < bytes.size();) {
            const std::size_t size = piece ? piece : 1 + random() % 60; // 0: random pieces
            reader.append(std::string_view(bytes).substr(at, size));
            at += size;
            bool damaged = false;
            for (Frame& frame : readAll(reader, damaged))
                read.push_back(std::move(frame));
            QVERIFY(!damaged);
            QCOMPARE(reader.consumed() + reader.pending(), std::min(at, bytes.size()));
        }
        QCOMPARE(read.size(), frames.size());
        for (std::size_t i = 0; i < frames.size(); ++i)
            QVERIFY(same(read[i], frames[i]));
        QCOMPARE(reader.pending(), 0u);
    }
}

void FrameTest::aFlippedBitIsNeverAccepted() {
    const std::vector<Frame> frames = someFrames();
    const std::string bytes = encodeAll(frames);
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
        std::string broken = bytes;
        broken[bit / 8] ^= static_cast<char>(1u << bit % 8);
        FrameReader reader;
        reader.append(broken);
        bool damaged = false;
        const std::vector<Frame> read = readAll(reader, damaged);
        // Only whole frames before the flip come out. A flip in a length may look like a frame
        // that is still on its way.
        QVERIFY(read.size() < frames.size());
        QVERIFY(damaged || reader.pending() > 0);
        QVERIFY(reader.consumed() <= bit / 8);
        for (std::size_t i = 0; i < read.size(); ++i)
            QVERIFY(same(read[i], frames[i]));
    }
}

void FrameTest::aCutEndIsPendingNotDamage() {
    const std::vector<Frame> frames = someFrames();
    const std::string bytes = encodeAll(frames);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        FrameReader reader;
        reader.append(std::string_view(bytes).substr(0, size));
        bool damaged = false;
        const std::vector<Frame> read = readAll(reader, damaged);
        QVERIFY(!damaged);
        QVERIFY(read.size() < frames.size());
        QCOMPARE(reader.consumed() + reader.pending(), size);
        reader.append(std::string_view(bytes).substr(size));
        QCOMPARE(readAll(reader, damaged).size() + read.size(), frames.size());
    }
}

void FrameTest::damageIsForGood() {
    std::string bytes = encodeFrame({1, 2, 3, "payload"});
    bytes.back() ^= 1;
    FrameReader reader;
    reader.append(encodeFrame({1, 2, 3, "good"}));
    reader.append(bytes);
    QVERIFY(reader.next().value().has_value());
    QVERIFY(!reader.next().ok());
    reader.append(encodeFrame({2, 2, 3, "good again"}));
    QVERIFY(!reader.next().ok());
    QCOMPARE(reader.next().error().sentence(),
             std::string("The stream of events is damaged after 29 bytes."));
}

void FrameTest::anImpossibleLengthIsDamageAtOnce() {
    FrameReader reader;
    reader.append(std::string("\x01\x00\x00\x01", 4)); // 16 MiB + 1
    QVERIFY(!reader.next().ok());
}

void FrameTest::unknownTypesAreHandedOutAndCanBeSkipped() {
    FrameReader reader;
    reader.append(encodeFrame({1, 0, 8, encode(Heartbeat{})}) + encodeFrame({2, 0, 200, "news"}) +
                  encodeFrame({3, 0, 10, encode(Heartbeat{false})}));
    bool damaged = false;
    std::vector<std::uint64_t> understood;
    const std::vector<Frame> frames = readAll(reader, damaged);
    QVERIFY(!damaged);
    QCOMPARE(frames.size(), 3u);
    for (const Frame& frame : frames)
        if (decode(static_cast<EventType>(frame.type), frame.payload).ok())
            understood.push_back(frame.sequence);
    QVERIFY(understood == std::vector<std::uint64_t>{3});
}

void FrameTest::tooMuchForOneFrameIsRefused() {
    Frame frame{1, 0, 7, std::string(kMaxPayloadBytes, 'x')};
    FrameReader reader;
    reader.append(encodeFrame(frame));
    QCOMPARE(reader.next().value()->payload.size(), std::size_t{kMaxPayloadBytes});
    frame.payload += 'x';
    QVERIFY_EXCEPTION_THROWN(encodeFrame(frame), BrokenInvariant);
}

void FrameTest::randomBytesNeverCrash() {
    std::mt19937 random(99);
    for (int round = 0; round < 3000; ++round) {
        std::string bytes(random() % 300, '\0');
        for (char& byte : bytes)
            byte = static_cast<char>(random());
        if (bytes.size() > 4 && round % 2) // a length that fits, so that the crc is what decides
            bytes.replace(0, 4, std::string("\x08\x00\x00\x00", 4));
        FrameReader reader;
        reader.append(bytes);
        bool damaged = false;
        QVERIFY(readAll(reader, damaged).empty());
    }
}

QTEST_APPLESS_MAIN(FrameTest)
#include "tst_frame.moc"
