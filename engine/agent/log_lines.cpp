// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/agent/log_lines.h"

#include <algorithm>

namespace trainyard::engine {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD"; // U+FFFD
constexpr char kEscape = '\x1b';

unsigned char byteAt(std::string_view text, std::size_t at) {
    return static_cast<unsigned char>(text[at]);
}

/// Length of the terminal sequence that starts with the escape at `text[0]`.
std::size_t terminalSequence(std::string_view text) {
    if (text.size() < 2)
        return text.size();
    if (text[1] == '[') { // parameters, then one final byte 0x40 to 0x7e
        std::size_t end = 2;
        while (end < text.size() && (byteAt(text, end) < 0x40 || byteAt(text, end) > 0x7e))
            ++end;
        return std::min(end + 1, text.size());
    }
    if (text[1] == ']') { // a title or link: up to BEL or ESC backslash
        const std::size_t end = text.find_first_of("\a\x1b", 2);
        if (end == std::string_view::npos)
            return text.size();
        return std::min(end + (text[end] == kEscape ? 2 : 1), text.size());
    }
    return 2;
}

/// Length of the valid UTF-8 character at `text[0]`; 0 when there is none.
std::size_t utf8Character(std::string_view text) {
    const unsigned char first = byteAt(text, 0);
    if (first < 0x80)
        return 1;
    const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() < length)
        return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byteAt(text, i) & 0xc0) != 0x80)
            return 0;
    // Overlong forms, surrogates and numbers beyond U+10FFFF show in the second byte.
    const unsigned char second = byteAt(text, 1);
    const bool impossible = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                            (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
    return impossible ? 0 : length;
}

bool isControl(std::string_view character) {
    const unsigned char first = byteAt(character, 0);
    return first < 0x20 || first == 0x7f ||
           (first == 0xc2 && character.size() == 2 && byteAt(character, 1) < 0xa0);
}

} // namespace

std::string cleanText(std::string_view raw) {
    std::string out;
    out.reserve(raw.size());
    while (!raw.empty()) {
        std::size_t length = 1;
        if (raw[0] == kEscape) {
            length = terminalSequence(raw);
        } else if (raw[0] == '\t') {
            out += ' ';
        } else if (const std::size_t character = utf8Character(raw); character == 0) {
            out += kReplacement;
        } else {
            length = character;
            if (!isControl(raw.substr(0, length)))
                out += raw.substr(0, length);
        }
        raw.remove_prefix(length);
    }
    return out;
}

void LineSplitter::add(std::string_view part) {
    const std::size_t room = kLogLineBytes - m_line.size();
    m_line += part.substr(0, room);
    if (part.size() > room)
        m_cutBytes += part.size() - room;
}

void LineSplitter::endLine(std::vector<std::string>& lines) {
    std::string text = cleanText(m_line);
    if (m_cutBytes > 0)
        text += " ... (" + std::to_string(m_cutBytes) + " more bytes)";
    if (!text.empty())
        lines.push_back(std::move(text));
    m_line.clear();
    m_cutBytes = 0;
}

std::vector<std::string> LineSplitter::take(std::string_view bytes) {
    std::vector<std::string> lines;
    while (!bytes.empty()) {
        const std::size_t stop = bytes.find_first_of("\r\n");
        const std::string_view part = bytes.substr(0, stop);
        if (m_returned && !part.empty()) {
            m_line.clear();
            m_cutBytes = 0;
        }
        m_returned = false;
        add(part);
        if (stop == std::string_view::npos)
            break;
        if (bytes[stop] == '\n')
            endLine(lines);
        else
            m_returned = true;
        bytes.remove_prefix(stop + 1);
    }
    return lines;
}

std::vector<std::string> LineSplitter::finish() {
    std::vector<std::string> lines;
    m_returned = false;
    endLine(lines);
    return lines;
}

LogThrottle::LogThrottle() : LogThrottle(Limits()) {}
LogThrottle::LogThrottle(Limits limits) : m_limits(limits), m_tokens(limits.burstLines) {}

bool LogThrottle::allows(std::size_t bytes, std::int64_t nowNs) {
    const double seconds = static_cast<double>(std::max<std::int64_t>(0, nowNs - m_lastNs)) * 1e-9;
    m_tokens = std::min(m_limits.burstLines, m_tokens + seconds * m_limits.linesPerSecond);
    m_lastNs = nowNs;
    if (m_tokens < 1 || isExhausted()) {
        ++m_dropped.lines;
        m_dropped.bytes += bytes;
        return false;
    }
    m_tokens -= 1;
    m_passedBytes += bytes;
    return true;
}

LogThrottle::Dropped LogThrottle::takeDropped() {
    const Dropped dropped = m_dropped;
    m_dropped = {};
    return dropped;
}

} // namespace trainyard::engine
