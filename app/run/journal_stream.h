// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Reads the journal of one run as it grows, through `trainyard-worker attach`, and reads on after
// every interruption until the run has said its last word.
// Rules: whole frames only, in their order, each once per open() unless the journal is damaged:
// then it is read again from its beginning, once. A silent worker is a lost one, for a living one
// sends heartbeats. While paused nothing is read, so a slow reader never fills memory.
//
//   Closed --open--> Connecting --nonce--> Streaming --last frame--> Ended
//                      ^    |                  |
//                      |    +--exit, silence---+--> Waiting (longer each time, short again after
//                      +--------- time is over --------+     a frame has come)
#pragma once

#include "app/run/worker_command.h"
#include "app/store/run_store.h"
#include "engine/base/result.h"
#include "engine/spec/frame.h"

#include <QObject>
#include <QProcess>
#include <QSocketNotifier>
#include <QString>
#include <QStringList>
#include <QTimer>

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace trainyard::app {

/// How the journal of one run is read: the words before "--from".
struct AttachCall {
    QString program;
    QStringList arguments;
};

enum class JournalEnd {
    Final,          ///< the last frame has been handed out
    SupervisorGone, ///< nobody writes this journal any more, and it has no last word
    StillRunning,   ///< only with Mode::Once: all there is so far
    NoSuchRun,      ///< the node does not know the run (yet)
    Unreadable      ///< damaged, or of a newer worker
};

class JournalStream : public QObject {
    Q_OBJECT
public:
    enum class Mode {
        Follow,
        Once ///< what there is now; no second try
    };
    struct Timing {
        std::chrono::milliseconds silence{5000};
        std::chrono::milliseconds firstRetry{200};
        std::chrono::milliseconds longestRetry{5000};
    };

    JournalStream(AttachCall call, Mode mode, Timing timing, QObject* parent = nullptr);
    JournalStream(AttachCall call, Mode mode, QObject* parent = nullptr)
        : JournalStream(std::move(call), mode, Timing(), parent) {}
    ~JournalStream() override;

    /// Hands out the frames that lie behind `offset`. Also starts anew when it is open already.
    void open(std::uint64_t offset);
    void close();
    void setPaused(bool paused);
    bool isStreaming() const { return m_state == State::Streaming; }

signals:
    void framesArrived(const std::vector<trainyard::app::JournalFrame>& frames);
    /// The worker answers; also after each interruption.
    void connected();
    /// It does not, and it is tried again after `retry`.
    void disconnected(const trainyard::Error& why, std::chrono::milliseconds retry);
    /// A line that something wrote before the worker's first word.
    void noiseArrived(const QString& line);
    /// Nothing more comes. `why` says more where the reason alone does not.
    void ended(trainyard::app::JournalEnd reason, const trainyard::Error& why);

private:
    enum class State { Closed, Connecting, Streaming, Waiting, Ended };

    void connectToWorker();
    void disconnectFromWorker();
    void stopReading();
    void readSome();
    void takeBytes(std::string_view bytes);
    bool skipNoise(std::string_view bytes);
    void takeFrames();
    void onProcessFinished(int exitCode, QProcess::ExitStatus status);
    /// Called when either the output or the process has ended: acts when both have.
    void settle();
    void onDamage(Error why);
    void retry(Error why);
    void end(JournalEnd reason, Error why = {});
    Error workerError(Message what);

    const AttachCall m_call;
    const Mode m_mode;
    const Timing m_timing;

    State m_state = State::Closed;
    bool m_paused = false;
    std::uint64_t m_offset = 0; ///< of the journal, behind the last frame handed out
    bool m_damaged = false;     ///< it is the second try from the beginning
    std::chrono::milliseconds m_delay{0};

    QProcess* m_process = nullptr;
    int m_output = -1; ///< read end of the worker's stdout
    QSocketNotifier* m_readable = nullptr;
    std::optional<int>
        m_exitCode;      ///< of the process that has ended; its output may not be read yet
    QByteArray m_marker; ///< what the worker writes before its first frame
    QByteArray m_noise;
    std::unique_ptr<spec::FrameReader> m_reader;
    QTimer m_silence;
    QTimer m_retry;
};

} // namespace trainyard::app
