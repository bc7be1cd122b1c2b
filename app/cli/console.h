// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the command line writes. Answers go to one stream, problems to the other.
// Rules: UTF-8 whatever the locale; what comes from outside (names, paths, log lines) cannot
// control the terminal, because control characters are shown as escapes; colour only on a terminal
// whose user has not set NO_COLOR; a reader that went away (trainyard ... | head) is no error.
#pragma once

#include <QByteArray>
#include <QString>

#include <cstdio>
#include <limits>
#include <vector>

namespace trainyard::app {

/// "a\x1b[2J" for control characters, everything else as it is. Line breaks are escaped, too.
QString visibleText(const QString& text);

/// Columns of a terminal that the text takes: wide characters two, marks none.
int columnsOf(const QString& text);
/// As much of `text` as fits into `columns`, with an ellipsis where something is missing.
QString fitted(const QString& text, int columns);
/// Filled up with spaces.
QString padded(const QString& text, int columns, Qt::Alignment side = Qt::AlignLeft);

enum class Colour { Plain, Faint, Good, Bad, Accent };

/// A piece of a line.
struct Span {
    QString text;
    Colour colour = Colour::Plain;
};
using Line = std::vector<Span>;
int columnsOf(const Line& line);

class Console {
public:
    explicit Console(std::FILE* output = stdout, std::FILE* errors = stderr);

    /// A line of its own, made safe by visibleText(). A status line is wiped before.
    void print(const Line& line);
    void print(const QString& line) { print(Line{{line}}); }
    /// Several lines.
    void printText(const QString& text);
    void printError(const QString& line);
    /// Bytes for programs, as they are.
    void printRaw(const QByteArray& bytes);

    /// One line that is drawn over itself on the stream for people; only where isTerminal().
    void drawStatus(const Line& line);
    void wipeStatus();

    /// Progress goes to the errors' stream when the output is for a program.
    void setOutputIsForPrograms(bool forPrograms) { m_forPrograms = forPrograms; }
    /// Whether a line can be drawn over itself where progress goes.
    bool isTerminal() const;
    bool hasColours() const;
    int width() const;

private:
    std::FILE* people() const { return m_forPrograms ? m_errors : m_output; }
    void write(std::FILE* stream, const QByteArray& bytes);
    QByteArray encoded(const Line& line, int columns) const;

    std::FILE* m_output;
    std::FILE* m_errors;
    bool m_forPrograms = false;
    bool m_statusShown = false;
};

} // namespace trainyard::app
