// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs the program trainyard of this build, with its output apart from its errors, or on a
// terminal.
#pragma once

#include <QByteArray>
#include <QProcess>
#include <QString>
#include <QStringList>

#include <initializer_list>

namespace trainyard::test {

/// A word of the command line, from text of either kind.
struct Word {
    Word(const char* utf8) : text(QString::fromUtf8(utf8)) {}
    Word(const QString& word) : text(word) {}
    QString text;
};
using Words = std::initializer_list<Word>;

struct Output {
    int exitCode = -1;
    QByteArray output;
    QByteArray errors;
};

/// Runs it to its end.
Output run(Words words);
Output runWords(const QStringList& words);

QByteArray contentOf(const QString& path);

/// It while it runs.
class Program {
public:
    struct Options {
        int terminalColumns = 0; ///< 0: pipes; else output and errors go to a terminal so wide
        bool noColour = false;
    };
    explicit Program(Words words) : Program(words, Options()) {}
    Program(Words words, Options options);
    explicit Program(const QStringList& words) : Program(words, Options()) {}
    Program(const QStringList& words, Options options);
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    /// Everything it has written so far.
    QByteArray output();
    void send(int signal) const;
    qint64 pid() const { return m_process.processId(); }
    bool waitForEnd();
    int exitCode() const { return m_process.exitCode(); }

private:
    QProcess m_process;
    QByteArray m_output;
    int m_terminal = -1; ///< the master's side
};

} // namespace trainyard::test
