// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the agent share: a root of their own, calls of the scripted worker, and looks
// at journals and processes. Nothing here waits blindly: every wait is for something that can be
// seen.
#pragma once

#include "engine/agent/run_folder.h"
#include "engine/spec/frame.h"

#include <QByteArray>
#include <QJsonObject>
#include <QProcess>
#include <QStringList>
#include <QTemporaryDir>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

struct Outcome {
    int exitCode = -1;
    QByteArray output;
    QByteArray errors;
    /// The output as one JSON object; empty when it is none.
    QJsonObject json() const;
};

struct JournalFrame {
    trainyard::spec::Frame frame;
    std::optional<trainyard::spec::Event> event; ///< empty: of a type not known
    std::uint64_t endsAt = 0;                    ///< offset behind it
};

/// Frames in `bytes`; `whole` tells whether they end with a whole frame and nothing is damaged.
std::vector<JournalFrame> framesIn(const QByteArray& bytes, bool* whole = nullptr);

template <class T>
std::vector<T> eventsOf(const std::vector<JournalFrame>& frames) {
    std::vector<T> found;
    for (const JournalFrame& frame : frames)
        if (frame.event && std::holds_alternative<T>(*frame.event))
            found.push_back(std::get<T>(*frame.event));
    return found;
}

class AgentHarness {
public:
    /// `root`: where runs lie; empty: a temporary folder.
    explicit AgentHarness(const QString& root = {});
    /// Ends every run and checks nothing; tests that care about leftovers look themselves.
    ~AgentHarness();

    QString root() const { return m_root; }
    QString worker() const { return m_worker; }
    void setEnvironment(const QString& name, const QString& value) {
        m_environment.insert(name, value);
    }

    Outcome call(const QStringList& arguments, const QByteArray& input = {}) const;
    /// `scripts`: JSON text, a list of commands per rank.
    QJsonObject start(const QString& run, int ranks, const QByteArray& scripts) const;
    /// A worker that goes on while the test does other things.
    std::unique_ptr<QProcess> spawn(const QStringList& arguments) const;

    trainyard::engine::RunFolder folder(const QString& run) const;
    QByteArray journalBytes(const QString& run) const;
    std::vector<JournalFrame> journal(const QString& run) const;
    std::optional<trainyard::spec::StateChanged> finalState(const QString& run) const;
    bool waitForEnd(const QString& run, int ms = 15000) const;
    bool waitFor(const QString& run,
                 const std::function<bool(const std::vector<JournalFrame>&)>& seen,
                 int ms = 15000) const;
    void touch(const QString& run, const QString& file) const;
    bool fileExists(const QString& run, const QString& file) const;

    /// Living processes that carry the cookie of this root.
    int processes() const;
    /// All log lines as English text.
    QStringList logLines(const QString& run) const;

private:
    std::unique_ptr<QTemporaryDir> m_temporary;
    QString m_root;
    QString m_worker;
    QProcessEnvironment m_environment;
};
