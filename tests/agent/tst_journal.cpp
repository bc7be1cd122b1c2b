// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The journal: torn tails, numbers without a gap, and the last words on a full disk.
#include "engine/agent/journal.h"
#include "tests/agent/agent_harness.h"
#include "tests/agent/small_disk.h"

#include <QtTest>

#include <set>

using namespace trainyard;
using namespace trainyard::engine;

namespace {

QByteArray contentOf(const std::string& path) {
    QFile file(QString::fromStdString(path));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

void overwrite(const std::string& path, const QByteArray& bytes) {
    QFile file(QString::fromStdString(path));
    QVERIFY(file.open(QIODevice::WriteOnly | QIODevice::Truncate));
    file.write(bytes);
}

spec::Metrics metricsOf(std::int64_t step) {
    return {step, 0.5, step, {{spec::metric::kTrainLoss, 0.25}}};
}

spec::StateChanged failed() {
    return {spec::RunState::Failed, Message("disk full")};
}

} // namespace

class JournalTest : public QObject {
    Q_OBJECT

private slots:
    void init();
    void eventsAreNumberedFromOne();
    void nothingIsWrittenBeforeFlush();
    void tornTailIsCutOnReopen();
    void scanFindsFrameStarts();
    void scanTellsTheFinalState();
    void missingFolderIsASentence();
    void lastWordsFitOnAFullDisk();
    void nothingIsLostWhenRoomComesBack();
    void noRoomForTheReserveIsRefused();

private:
    JournalWriter open() {
        Result<JournalWriter> writer = JournalWriter::open(m_path, m_path + ".reserve");
        TRAINYARD_CHECK_MSG(writer.ok(), writer ? "" : writer.error().sentence());
        return std::move(writer).value();
    }

    std::unique_ptr<QTemporaryDir> m_folder;
    std::string m_path;
};

void JournalTest::init() {
    m_folder = std::make_unique<QTemporaryDir>();
    m_path = m_folder->path().toStdString() + "/journal";
}

void JournalTest::eventsAreNumberedFromOne() {
    JournalWriter writer = open();
    for (int step = 1; step <= 100; ++step) {
        writer.append(metricsOf(step), step);
        if (step % 7 == 0)
            QVERIFY(writer.flush().ok());
    }
    QVERIFY(writer.sync(1, 0).ok());
    bool whole = false;
    const std::vector<JournalFrame> frames = framesIn(contentOf(m_path), &whole);
    QVERIFY(whole);
    QCOMPARE(frames.size(), 100u);
    for (std::size_t i = 0; i < frames.size(); ++i) {
        QCOMPARE(frames[i].frame.sequence, i + 1);
        QCOMPARE(std::get<spec::Metrics>(*frames[i].event).step, static_cast<std::int64_t>(i + 1));
    }
}

void JournalTest::nothingIsWrittenBeforeFlush() {
    JournalWriter writer = open();
    writer.append(metricsOf(1), 1);
    QCOMPARE(contentOf(m_path).size(), 0);
    QVERIFY(writer.flush().ok());
    QVERIFY(contentOf(m_path).size() > 0);
}

void JournalTest::tornTailIsCutOnReopen() {
    {
        JournalWriter writer = open();
        for (int step = 1; step <= 3; ++step)
            writer.append(metricsOf(step), step);
        QVERIFY(writer.flush().ok());
    }
    const QByteArray bytes = contentOf(m_path);
    const std::vector<JournalFrame> frames = framesIn(bytes);
    for (qsizetype size = 0; size <= bytes.size(); ++size) {
        overwrite(m_path, bytes.left(size));
        JournalWriter writer = open();
        writer.append(metricsOf(99), 5);
        QVERIFY(writer.flush().ok());
        std::size_t kept = 0;
        while (kept < frames.size() && frames[kept].endsAt <= static_cast<std::uint64_t>(size))
            ++kept;
        bool whole = false;
        const std::vector<JournalFrame> now = framesIn(contentOf(m_path), &whole);
        QVERIFY(whole);
        QCOMPARE(now.size(), kept + 1);
        QCOMPARE(now.back().frame.sequence, kept + 1);
    }
}

void JournalTest::scanFindsFrameStarts() {
    JournalWriter writer = open();
    for (int step = 1; step <= 5; ++step)
        writer.append(metricsOf(step), step);
    QVERIFY(writer.flush().ok());
    std::set<std::uint64_t> starts{0};
    for (const JournalFrame& frame : framesIn(contentOf(m_path)))
        starts.insert(frame.endsAt);
    for (std::uint64_t offset = 0; offset < *starts.rbegin() + 10; ++offset)
        QCOMPARE(scanJournal(m_path, offset)->startsFrameAtOffset, starts.count(offset) == 1);
}

void JournalTest::scanTellsTheFinalState() {
    JournalWriter writer = open();
    writer.append(spec::StateChanged{spec::RunState::Running, {}}, 1);
    QVERIFY(writer.flush().ok());
    QVERIFY(!scanJournal(m_path)->finalState);
    QVERIFY(writer.finish({failed()}, 2).ok());
    QVERIFY(scanJournal(m_path)->finalState == spec::RunState::Failed);
    QVERIFY(!QFile::exists(QString::fromStdString(m_path + ".reserve")));
    QVERIFY(!scanJournal(m_path + ".none").ok());
}

void JournalTest::missingFolderIsASentence() {
    const Result<JournalWriter> writer =
        JournalWriter::open("/nonexistent/journal", "/nonexistent/r");
    QVERIFY(!writer.ok());
    QCOMPARE(writer.error().what.text(),
             std::string("Cannot write /nonexistent/journal: No such file or directory."));
}

void JournalTest::lastWordsFitOnAFullDisk() {
    SmallDisk disk(512 * 1024);
    if (!disk.isMounted())
        QSKIP(disk.whyNot().constData());
    m_path = disk.path().toStdString() + "/journal";
    JournalWriter writer = open();
    disk.fill(40 * 1024);
    Result<void> written;
    for (int step = 1; written.ok() && step < 100000; ++step) {
        for (int i = 0; i < 37; ++i) // batches that do not end at a page
            writer.append(metricsOf(step), step);
        written = writer.flush();
    }
    QVERIFY(!written.ok());
    QCOMPARE(written.error().what.text(), "disk full: " + m_path);
    const QByteArray before = contentOf(m_path);
    bool whole = false;
    const std::size_t committed = framesIn(before, &whole).size();
    QVERIFY(whole);
    QVERIFY(committed > 100);
    QVERIFY(writer.flush().ok());    // said once
    writer.append(metricsOf(-1), 1); // nothing more is taken
    spec::Failure failure;
    failure.what = Message("disk full: %1", {m_path});
    QVERIFY(writer.finish({failure, failed()}, 3).ok());

    const QByteArray after = contentOf(m_path);
    QVERIFY(after.startsWith(before)); // what was there stays
    const std::vector<JournalFrame> frames = framesIn(after, &whole);
    QVERIFY(whole);
    for (std::size_t i = 0; i < frames.size(); ++i)
        QCOMPARE(frames[i].frame.sequence, i + 1);
    QVERIFY(finalStateOf(frames.back().frame) == spec::RunState::Failed);
    QVERIFY(std::holds_alternative<spec::Failure>(*frames[frames.size() - 2].event));
    for (const JournalFrame& frame : frames)
        if (const auto* metrics = std::get_if<spec::Metrics>(&*frame.event))
            QVERIFY(metrics->step > 0);
}

void JournalTest::nothingIsLostWhenRoomComesBack() {
    SmallDisk disk(256 * 1024);
    if (!disk.isMounted())
        QSKIP(disk.whyNot().constData());
    m_path = disk.path().toStdString() + "/journal";
    JournalWriter writer = open();
    disk.fill();
    writer.append(metricsOf(1), 1);
    QVERIFY(!writer.flush().ok());
    disk.clear();
    QVERIFY(writer.finish({failed()}, 2).ok());
    const std::vector<JournalFrame> frames = framesIn(contentOf(m_path));
    QCOMPARE(frames.size(), 2u);
    QCOMPARE(std::get<spec::Metrics>(*frames[0].event).step, 1);
}

void JournalTest::noRoomForTheReserveIsRefused() {
    SmallDisk disk(128 * 1024);
    if (!disk.isMounted())
        QSKIP(disk.whyNot().constData());
    disk.fill(16 * 1024);
    m_path = disk.path().toStdString() + "/journal";
    const Result<JournalWriter> writer = JournalWriter::open(m_path, m_path + ".reserve");
    QVERIFY(!writer.ok());
    QCOMPARE(writer.error().what.text(), "disk full: " + m_path);
    QVERIFY(!QFile::exists(QString::fromStdString(m_path + ".reserve")));
}

QTEST_GUILESS_MAIN(JournalTest)
#include "tst_journal.moc"
