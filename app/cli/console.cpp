// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/cli/console.h"

#include <QStringList>

#include <algorithm>
#include <sys/ioctl.h>
#include <unistd.h>

namespace trainyard::app {

namespace {

constexpr int kUnknownWidth = 80;
constexpr const char* kWipeLine = "\r\x1b[K";

/// East Asian wide and full-width ranges that terminals draw over two columns.
bool isWide(char32_t c) {
    return (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
           (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
           (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
           (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1faff) ||
           (c >= 0x20000 && c <= 0x3fffd);
}

int widthOf(char32_t c) {
    const QChar::Category category = QChar::category(c);
    if (category == QChar::Mark_NonSpacing || category == QChar::Mark_Enclosing ||
        category == QChar::Other_Format)
        return 0;
    return isWide(c) ? 2 : 1;
}

/// Controls of both sets, and the marks that turn the direction of the text around.
bool isUnsafe(char32_t c) {
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069) || c == 0x2028 || c == 0x2029;
}

const char* codeOf(Colour colour) {
    switch (colour) {
    case Colour::Plain:
        return "";
    case Colour::Faint:
        return "\x1b[2m";
    case Colour::Good:
        return "\x1b[32m";
    case Colour::Bad:
        return "\x1b[31m";
    case Colour::Accent:
        return "\x1b[36m";
    }
    return "";
}

QString escapeOf(char32_t c) {
    switch (c) {
    case U'\n':
        return QStringLiteral("\\n");
    case U'\r':
        return QStringLiteral("\\r");
    case U'\t':
        return QStringLiteral("\\t");
    default:
        break;
    }
    const QString digits = QString::number(static_cast<uint>(c), 16);
    return c < 0x100 ? u"\\x" + digits.rightJustified(2, u'0')
                     : u"\\u" + digits.rightJustified(4, u'0');
}

} // namespace

QString visibleText(const QString& text) {
    QString out;
    for (const char32_t c : text.toStdU32String())
        out += isUnsafe(c) ? escapeOf(c) : QString::fromUcs4(&c, 1);
    return out;
}

int columnsOf(const QString& text) {
    int columns = 0;
    for (const char32_t c : text.toStdU32String())
        columns += widthOf(c);
    return columns;
}

int columnsOf(const Line& line) {
    int columns = 0;
    for (const Span& span : line)
        columns += columnsOf(visibleText(span.text));
    return columns;
}

QString fitted(const QString& text, int columns) {
    if (columnsOf(text) <= columns)
        return text;
    QString out;
    int used = 1; // the ellipsis
    for (const char32_t c : text.toStdU32String()) {
        used += widthOf(c);
        if (used > columns)
            break;
        out += QString::fromUcs4(&c, 1);
    }
    return columns > 0 ? out + u'…' : QString();
}

QString padded(const QString& text, int columns, Qt::Alignment side) {
    const QString space(std::max(0, columns - columnsOf(text)), u' ');
    return side == Qt::AlignRight ? space + text : text + space;
}

Console::Console(std::FILE* output, std::FILE* errors) : m_output(output), m_errors(errors) {}

void Console::write(std::FILE* stream, const QByteArray& bytes) {
    std::fwrite(bytes.constData(), 1, static_cast<std::size_t>(bytes.size()), stream);
    std::fflush(stream);
}

QByteArray Console::encoded(const Line& line, int columns) const {
    QByteArray bytes;
    int left = columns;
    for (const Span& span : line) {
        const QString text = fitted(visibleText(span.text), left);
        left -= columnsOf(text);
        const bool coloured = span.colour != Colour::Plain && !text.isEmpty() && hasColours();
        bytes += coloured ? codeOf(span.colour) + text.toUtf8() + "\x1b[0m" : text.toUtf8();
    }
    return bytes;
}

void Console::print(const Line& line) {
    wipeStatus();
    write(people(), encoded(line, std::numeric_limits<int>::max()) + '\n');
}

void Console::printText(const QString& text) {
    for (const QString& line : text.split(u'\n'))
        print(line);
}

void Console::printError(const QString& line) {
    wipeStatus();
    write(m_errors, visibleText(line).toUtf8() + '\n');
}

void Console::printRaw(const QByteArray& bytes) {
    wipeStatus();
    write(m_output, bytes);
}

void Console::drawStatus(const Line& line) {
    // One column is left free: a cursor behind the last column would wrap on some terminals.
    write(people(), kWipeLine + encoded(line, width() - 1));
    m_statusShown = true;
}

void Console::wipeStatus() {
    if (std::exchange(m_statusShown, false))
        write(people(), kWipeLine);
}

bool Console::isTerminal() const {
    return ::isatty(::fileno(people())) == 1 && qgetenv("TERM") != "dumb";
}

bool Console::hasColours() const {
    return isTerminal() && qEnvironmentVariableIsEmpty("NO_COLOR");
}

int Console::width() const {
    winsize size{};
    if (::ioctl(::fileno(people()), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    bool ok = false;
    const int columns = qEnvironmentVariableIntValue("COLUMNS", &ok);
    return ok && columns > 0 ? columns : kUnknownWidth;
}

} // namespace trainyard::app
