// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/run/journal_stream.h"

#include <QRandomGenerator>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace trainyard::app {

namespace {

// How `attach` ends.
constexpr int kExitFinal = 0;
constexpr int kExitNoSuchRun = 2;
constexpr int kExitDamaged = 4;
constexpr int kExitSupervisorGone = 5;
constexpr int kExitStillRunning = 6;
constexpr int kKilled = -1;

constexpr int kGoneInTime = 1000; ///< ms
constexpr std::size_t kReadBytes = 64u << 10;
/// More than this before the worker's first word is not the greeting of a login shell.
constexpr qsizetype kMostNoise = 1 << 20;

QByteArray newNonce() {
    return "trainyard-" + QByteArray::number(QRandomGenerator::global()->generate64(), 16);
}

} // namespace

JournalStream::JournalStream(AttachCall call, Mode mode, Timing timing, QObject* parent)
    : QObject(parent), m_call(std::move(call)), m_mode(mode), m_timing(timing) {
    m_silence.setSingleShot(true);
    connect(&m_silence, &QTimer::timeout, this, [this] {
        retry(Error(
            {"The worker has been silent for %1 ms.", {std::to_string(m_timing.silence.count())}}));
    });
    m_retry.setSingleShot(true);
    connect(&m_retry, &QTimer::timeout, this, &JournalStream::connectToWorker);
}

JournalStream::~JournalStream() {
    // The one that runs, and those that were killed and have not gone yet.
    for (QProcess* process : findChildren<QProcess*>(Qt::FindDirectChildrenOnly)) {
        process->disconnect();
        process->kill();
        process->waitForFinished(kGoneInTime); // killed, so it is a moment at most
    }
    delete m_readable; // before its descriptor is closed
    if (m_output >= 0)
        ::close(m_output);
}

void JournalStream::open(std::uint64_t offset) {
    close();
    m_offset = offset;
    m_damaged = false;
    m_delay = {};
    m_state = State::Waiting;
    m_retry.start(0); // never a signal from inside open()
}

void JournalStream::close() {
    m_retry.stop();
    disconnectFromWorker();
    m_state = State::Closed;
}

void JournalStream::setPaused(bool paused) {
    m_paused = paused;
    if (m_readable)
        m_readable->setEnabled(!paused);
    if (paused)
        m_silence.stop(); // it cannot speak while nobody listens
    else if (m_process)
        m_silence.start(m_timing.silence);
}

void JournalStream::connectToWorker() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        return retry(Error({"No pipe to the worker: %1.", {::strerror(errno)}}));
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    m_output = ends[0];
    m_readable = new QSocketNotifier(m_output, QSocketNotifier::Read, this);
    m_readable->setEnabled(!m_paused);
    connect(m_readable, &QSocketNotifier::activated, this, &JournalStream::readSome);

    m_state = State::Connecting;
    m_reader = std::make_unique<spec::FrameReader>();
    m_noise.clear();
    const QByteArray nonce = newNonce();
    m_marker = '\n' + nonce + '\n';
    QStringList arguments = m_call.arguments;
    arguments << QStringLiteral("--from") << QString::number(m_offset) << QStringLiteral("--nonce")
              << QString::fromLatin1(nonce);
    if (m_mode == Mode::Once)
        arguments << QStringLiteral("--once");

    m_process = new QProcess(this);
    // A pipe of our own instead of QProcess's, which reads without end whether anybody listens or
    // not.
    m_process->setStandardOutputFile(QProcess::nullDevice());
    startInOwnSession(*m_process, ends[1]);
    connect(m_process, &QProcess::finished, this, &JournalStream::onProcessFinished);
    connect(m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart)
            retry(Error({"%1 cannot be started: %2.",
                         {m_call.program.toStdString(), m_process->errorString().toStdString()}}));
    });
    if (!m_paused)
        m_silence.start(m_timing.silence);
    m_process->start(m_call.program, arguments);
    ::close(ends[1]);
}

void JournalStream::disconnectFromWorker() {
    m_silence.stop();
    m_exitCode.reset();
    if (m_process) {
        // Not waited for: it goes when it has gone.
        m_process->disconnect(this);
        connect(m_process, &QProcess::finished, m_process, &QObject::deleteLater);
        if (m_process->state() == QProcess::NotRunning)
            m_process->deleteLater();
        else
            m_process->kill();
        m_process = nullptr;
    }
    stopReading();
    if (m_output >= 0)
        ::close(m_output);
    m_output = -1;
}

void JournalStream::stopReading() {
    if (!m_readable)
        return;
    m_readable->setEnabled(false); // its descriptor may be closed before it is deleted
    m_readable->deleteLater();
    m_readable = nullptr;
}

void JournalStream::readSome() {
    std::array<char, kReadBytes> buffer;
    const ssize_t count = ::read(m_output, buffer.data(), buffer.size());
    if (count > 0) {
        if (!m_paused && !m_exitCode)
            m_silence.start(m_timing.silence);
        takeBytes({buffer.data(), static_cast<std::size_t>(count)});
    } else if (count == 0) {
        stopReading();
        settle();
    }
}

void JournalStream::takeBytes(std::string_view bytes) {
    if (m_state == State::Streaming)
        m_reader->append(bytes);
    else if (!skipNoise(bytes))
        return;
    takeFrames();
}

bool JournalStream::skipNoise(std::string_view bytes) {
    m_noise.append(bytes.data(), static_cast<qsizetype>(bytes.size()));
    const qsizetype at = m_noise.indexOf(m_marker);
    if (at < 0) {
        if (m_noise.size() > kMostNoise)
            retry(Error({"What answers is not trainyard-worker: %1 bytes of something else.",
                         {std::to_string(m_noise.size())}}));
        return false;
    }
    const QList<QByteArray> lines = m_noise.left(at).split('\n');
    const QByteArray rest = m_noise.mid(at + m_marker.size());
    m_noise.clear();
    m_state = State::Streaming;
    m_reader->append({rest.data(), static_cast<std::size_t>(rest.size())});
    for (const QByteArray& line : lines)
        if (!line.trimmed().isEmpty())
            emit noiseArrived(QString::fromUtf8(line.trimmed()));
    emit connected();
    return m_state == State::Streaming;
}

void JournalStream::takeFrames() {
    std::vector<JournalFrame> frames;
    std::optional<Error> damage;
    for (;;) {
        Result<std::optional<spec::Frame>> next = m_reader->next();
        if (!next.ok()) {
            damage = next.error();
            break;
        }
        if (!*next)
            break;
        spec::Frame frame = std::move(**next);
        if (frame.sequence == 0) // a heartbeat: not of the journal
            continue;
        m_offset += spec::kFrameHeaderBytes + frame.payload.size();
        frames.push_back({std::move(frame), m_offset});
    }
    if (!frames.empty()) {
        m_delay = {};
        emit framesArrived(frames);
    }
    if (damage && m_state == State::Streaming)
        onDamage(*damage);
}

void JournalStream::onDamage(Error why) {
    // Damage on the way heals by reading again, and so does a journal that is another one than it
    // was; damage in the file is there each time.
    if (m_damaged)
        return end(JournalEnd::Unreadable, std::move(why));
    m_damaged = true;
    m_offset = 0;
    disconnectFromWorker();
    m_state = State::Waiting;
    m_retry.start(0);
}

void JournalStream::onProcessFinished(int exitCode, QProcess::ExitStatus status) {
    m_exitCode = status == QProcess::NormalExit ? exitCode : kKilled;
    m_silence.stop();
    settle();
}

void JournalStream::settle() {
    if (!m_exitCode || m_readable)
        return;
    const int code = *m_exitCode;
    const bool whole = m_state == State::Streaming && m_reader->pending() == 0;
    if (code == kExitFinal && whole)
        end(JournalEnd::Final);
    else if (code == kExitSupervisorGone && whole)
        end(JournalEnd::SupervisorGone);
    else if (code == kExitStillRunning && whole)
        end(JournalEnd::StillRunning);
    else if (code == kExitNoSuchRun)
        end(JournalEnd::NoSuchRun, workerError({"The worker does not know the run."}));
    else if (code == kExitDamaged)
        onDamage(workerError({"The journal is damaged."}));
    else
        retry(workerError(
            {"The worker stopped reading the journal (exit code %1).", {std::to_string(code)}}));
}

Error JournalStream::workerError(Message what) {
    const QString written = QString::fromUtf8(m_process->readAllStandardError()).trimmed();
    if (written.isEmpty())
        return Error(std::move(what));
    return Error(std::move(what), {}, {"It wrote: %1", {written.right(400).toStdString()}});
}

void JournalStream::retry(Error why) {
    disconnectFromWorker();
    if (m_mode == Mode::Once)
        return end(JournalEnd::Unreadable, std::move(why));
    m_state = State::Waiting;
    m_delay =
        m_delay.count() == 0 ? m_timing.firstRetry : std::min(m_delay * 2, m_timing.longestRetry);
    m_retry.start(m_delay);
    emit disconnected(why, m_delay);
}

void JournalStream::end(JournalEnd reason, Error why) {
    disconnectFromWorker();
    m_state = State::Ended;
    emit ended(reason, why);
}

} // namespace trainyard::app

#include "moc_journal_stream.cpp"
