// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// JournalStream against a worker that plays tricks: every frame arrives once and in order, and
// every way in which a journal can end is told apart.
#include "app/run/journal_stream.h"
#include "tests/support/run_support.h"

#include <QProcess>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QTest>

using namespace trainyard;
using namespace trainyard::app;
using namespace trainyard::test;

namespace {

/// Hello, ranks, schedule, running; 20 steps; 2 validations; summary and end.
constexpr std::size_t kFramesOfRun = 30;
constexpr std::size_t kFramesOfLivingRun = 9;

} // namespace

class TestJournalStream : public QObject {
    Q_OBJECT

private slots:
    void init() {
        QTest::failOnWarning(QRegularExpression(QStringLiteral(".*")));
        m_folder = std::make_unique<QTemporaryDir>();
        m_frames.clear();
        m_noise.clear();
        m_end.reset();
    }

    void wholeRun() {
        makeRun();
        open();
        QTRY_COMPARE(end(), "final");
        expectFrames(1, kFramesOfRun);
        QCOMPARE(m_frames.back().endOffset, static_cast<std::uint64_t>(journalSize()));
    }

    void onFromAnOffset() {
        makeRun();
        open();
        QTRY_COMPARE(end(), "final");
        const std::vector<JournalFrame> all = m_frames;
        m_frames.clear();
        open(all[9].endOffset);
        QTRY_COMPARE(end(), "final");
        expectFrames(11, kFramesOfRun);
        m_frames.clear();
        open(all.back().endOffset);
        QTRY_COMPARE(end(), "final");
        QVERIFY(m_frames.empty());
    }

    void noiseBeforeTheNonce() {
        makeRun();
        const Script script("attach=noise");
        open();
        QTRY_COMPARE(end(), "final");
        QCOMPARE(m_noise, QStringList({QStringLiteral("Welcome to the machine"),
                                       QStringLiteral("\x1b[31mLast login: today")}));
        expectFrames(1, kFramesOfRun);
    }

    void halfAFrameThenTheRest() {
        makeRun();
        const Script script("attach=half_once");
        open();
        QTRY_COMPARE(end(), "final");
        expectFrames(1, kFramesOfRun);
        QVERIFY(m_disconnections >= 1);
    }

    void silenceIsALostLink() {
        makeRun();
        const Script script("attach=silent_once");
        open();
        QTRY_COMPARE(end(), "final");
        QCOMPARE(m_disconnections, 1);
        expectFrames(1, kFramesOfRun);
    }

    void heartbeatsKeepTheLink() {
        makeRun("start=living");
        open();
        QTRY_COMPARE(m_frames.size(), kFramesOfLivingRun);
        // Twice the time after which silence counts.
        QVERIFY(!QTest::qWaitFor([this] { return m_disconnections > 0 || m_end; }, 1500));
        QVERIFY(m_stream->isStreaming());
    }

    void damageOnTheWay() {
        makeRun();
        const Script script("attach=damaged_once");
        open();
        QTRY_COMPARE(end(), "final");
        // What came before the damage comes twice, each time in order; the store knows what it has.
        std::vector<JournalFrame> last(m_frames.end() - kFramesOfRun, m_frames.end());
        m_frames = last;
        expectFrames(1, kFramesOfRun);
    }

    void damageInTheFile() {
        makeRun();
        const Script script("attach=damaged");
        open();
        QTRY_COMPARE(end(), "unreadable");
        QVERIFY(!m_frames.empty());
    }

    void supervisorGone() {
        makeRun("start=living");
        const Script script("attach=dead");
        open();
        QTRY_COMPARE(end(), "supervisor gone");
        expectFrames(1, kFramesOfLivingRun);
    }

    void noSuchRun() {
        open();
        QTRY_COMPARE(end(), "no such run");
        QCOMPARE(QByteArray::fromStdString(m_why.sentence()),
                 "The worker does not know the run. It wrote: There is no run run-1");
    }

    void once() {
        makeRun("start=living");
        open(0, JournalStream::Mode::Once);
        QTRY_COMPARE(end(), "still running");
        expectFrames(1, kFramesOfLivingRun);
    }

    void onceDoesNotTryAgain() {
        makeRun();
        const Script script("attach=half");
        open(0, JournalStream::Mode::Once);
        QTRY_COMPARE(end(), "unreadable");
    }

    void programIsMissing() {
        m_program = m_folder->filePath(QStringLiteral("nothing"));
        open(0, JournalStream::Mode::Once);
        QTRY_COMPARE(end(), "unreadable");
        QVERIFY2(m_why.sentence().find("cannot be started") != std::string::npos,
                 m_why.sentence().c_str());
        m_program.clear();
    }

    void pausedNothingComes() {
        makeRun();
        open();
        m_stream->setPaused(true);
        // Longer than silence is borne.
        QVERIFY(!QTest::qWaitFor(
            [this] { return m_disconnections > 0 || m_end || !m_frames.empty(); }, 1500));
        m_stream->setPaused(false);
        QTRY_COMPARE(end(), "final");
        expectFrames(1, kFramesOfRun);
    }

    void closedNothingComes() {
        makeRun();
        open();
        m_stream->close();
        QVERIFY(!QTest::qWaitFor([this] { return m_end || !m_frames.empty(); }, 500));
    }

private:
    void makeRun(const char* script = "") {
        const Script set(script);
        QProcess worker;
        worker.start(builtProgram(QStringLiteral("tests/stand_in_worker")),
                     {QStringLiteral("start"), QStringLiteral("--root"), m_folder->path(),
                      QStringLiteral("--run"), QStringLiteral("run-1")});
        worker.closeWriteChannel();
        QVERIFY(worker.waitForFinished());
        QCOMPARE(worker.exitCode(), 0);
    }

    void open(std::uint64_t offset = 0, JournalStream::Mode mode = JournalStream::Mode::Follow) {
        m_end.reset();
        m_disconnections = 0;
        const QString program =
            m_program.isEmpty() ? builtProgram(QStringLiteral("tests/stand_in_worker")) : m_program;
        m_stream = std::make_unique<JournalStream>(
            AttachCall{program,
                       {QStringLiteral("attach"), QStringLiteral("--root"), m_folder->path(),
                        QStringLiteral("--run"), QStringLiteral("run-1")}},
            mode, quickOptions().timing);
        connect(m_stream.get(), &JournalStream::framesArrived, this,
                [this](const std::vector<JournalFrame>& frames) {
                    m_frames.insert(m_frames.end(), frames.begin(), frames.end());
                });
        connect(m_stream.get(), &JournalStream::noiseArrived, this,
                [this](const QString& line) { m_noise += line; });
        connect(m_stream.get(), &JournalStream::disconnected, this, [this] { ++m_disconnections; });
        connect(m_stream.get(), &JournalStream::ended, this,
                [this](JournalEnd reason, const Error& why) {
                    m_end = reason;
                    m_why = why;
                });
        m_stream->open(offset);
    }

    const char* end() const {
        if (!m_end)
            return "open";
        switch (*m_end) {
        case JournalEnd::Final:
            return "final";
        case JournalEnd::SupervisorGone:
            return "supervisor gone";
        case JournalEnd::StillRunning:
            return "still running";
        case JournalEnd::NoSuchRun:
            return "no such run";
        case JournalEnd::Unreadable:
            return "unreadable";
        }
        return "?";
    }

    void expectFrames(std::uint64_t first, std::uint64_t last) {
        QCOMPARE(m_frames.size(), last - first + 1);
        for (std::size_t i = 0; i < m_frames.size(); ++i)
            QCOMPARE(m_frames[i].frame.sequence, first + i);
    }

    qint64 journalSize() const {
        return QFileInfo(m_folder->filePath(QStringLiteral("runs/run-1/journal"))).size();
    }

    std::unique_ptr<QTemporaryDir> m_folder;
    std::unique_ptr<JournalStream> m_stream;
    QString m_program;
    std::vector<JournalFrame> m_frames;
    QStringList m_noise;
    int m_disconnections = 0;
    std::optional<JournalEnd> m_end;
    Error m_why;
};

QTEST_GUILESS_MAIN(TestJournalStream)
#include "tst_journal_stream.moc"
