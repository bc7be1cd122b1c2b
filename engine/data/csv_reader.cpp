// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/data/csv_reader.h"

#include "engine/base/number_text.h"

#include <algorithm>
#include <utility>

namespace trainyard::engine {

namespace {

/// No sane record is longer; a quote that is never closed would else swallow the whole file.
constexpr std::size_t kLongestRecord = std::size_t{16} << 20;

bool isBlank(char sign) {
    return sign == ' ' || sign == '\t';
}

class RecordParser {
public:
    RecordParser(std::string_view text, char delimiter, bool last, CsvRecord& record)
        : m_text(text), m_delimiter(delimiter), m_last(last), m_record(record) {
        record.fields.clear();
        record.unescaped.clear();
    }

    CsvParse parse(std::size_t& used) {
        for (;;) {
            if (m_delimiter == ' ' && skipBlanks() && m_position > 0 && atLineEnd())
                return finish(used);
            const CsvParse field = startsQuoted() ? quotedField() : plainField();
            if (field != CsvParse::Complete)
                return field;
            if (m_position < m_text.size() && isDelimiter(m_text[m_position])) {
                ++m_position;
                continue;
            }
            return finish(used);
        }
    }

private:
    bool isDelimiter(char sign) const {
        return m_delimiter == ' ' ? isBlank(sign) : sign == m_delimiter;
    }
    bool isLineEnd(char sign) const { return sign == '\n' || sign == '\r'; }
    bool atLineEnd() const {
        return m_position >= m_text.size() ? m_last : isLineEnd(m_text[m_position]);
    }
    bool skipBlanks() {
        while (m_position < m_text.size() && isBlank(m_text[m_position]))
            ++m_position;
        return true;
    }

    /// Blanks before the quote belong to neither, as in `1, "a"`.
    bool startsQuoted() {
        std::size_t at = m_position;
        while (at < m_text.size() && isBlank(m_text[at]) && !isDelimiter(m_text[at]))
            ++at;
        if (at >= m_text.size() || m_text[at] != '"')
            return false;
        m_position = at;
        return true;
    }

    std::size_t endOfPlain(std::size_t from) const {
        while (from < m_text.size() && !isDelimiter(m_text[from]) && !isLineEnd(m_text[from]))
            ++from;
        return from;
    }

    CsvParse plainField() {
        const std::size_t end = endOfPlain(m_position);
        if (end == m_text.size() && !m_last)
            return CsvParse::Unfinished;
        std::string_view field = m_text.substr(m_position, end - m_position);
        while (!field.empty() && isBlank(field.front()))
            field.remove_prefix(1);
        while (!field.empty() && isBlank(field.back()))
            field.remove_suffix(1);
        m_record.fields.push_back({field, false});
        m_position = end;
        return CsvParse::Complete;
    }

    CsvParse quotedField() {
        const std::size_t begin = m_position + 1;
        std::size_t end = begin;
        bool doubled = false;
        for (;; ++end) {
            end = m_text.find('"', end);
            if (end == std::string_view::npos)
                return m_last ? CsvParse::OpenQuote : CsvParse::Unfinished;
            if (end + 1 == m_text.size() && !m_last)
                return CsvParse::Unfinished; // it may be doubled
            if (end + 1 >= m_text.size() || m_text[end + 1] != '"')
                break;
            doubled = true;
            ++end;
        }
        const std::size_t tail = endOfPlain(end + 1);
        if (tail == m_text.size() && !m_last)
            return CsvParse::Unfinished;
        std::string_view field = m_text.substr(begin, end - begin);
        std::string_view behind = m_text.substr(end + 1, tail - end - 1);
        while (!behind.empty() && isBlank(behind.back()))
            behind.remove_suffix(1);
        if (doubled || !behind.empty())
            field = m_record.unescaped.emplace_back(joined(field, behind));
        m_record.fields.push_back({field, true});
        m_position = tail;
        return CsvParse::Complete;
    }

    static std::string joined(std::string_view field, std::string_view behind) {
        std::string text;
        for (std::size_t i = 0; i < field.size(); ++i) {
            text += field[i];
            if (field[i] == '"')
                ++i;
        }
        return text.append(behind);
    }

    CsvParse finish(std::size_t& used) {
        if (m_record.fields.empty()) // a line of blanks
            m_record.fields.emplace_back();
        if (m_position < m_text.size() && m_text[m_position] == '\r') {
            ++m_position;
            if (m_position == m_text.size() && !m_last)
                return CsvParse::Unfinished; // an LF may follow
        }
        if (m_position < m_text.size() && m_text[m_position] == '\n')
            ++m_position;
        used = m_position;
        return CsvParse::Complete;
    }

    const std::string_view m_text;
    const char m_delimiter;
    const bool m_last;
    CsvRecord& m_record;
    std::size_t m_position = 0;
};

std::int64_t linesIn(std::string_view text) {
    std::int64_t lines = 0;
    for (std::size_t i = 0; i < text.size(); ++i)
        if (text[i] == '\n' || (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n')))
            ++lines;
    return lines;
}

} // namespace

CsvParse parseRecord(std::string_view text, char delimiter, bool last, CsvRecord& record,
                     std::size_t& used) {
    return RecordParser(text, delimiter, last, record).parse(used);
}

CsvReader::CsvReader(const TextSource& text, const std::string& where, char delimiter)
    : m_text(text), m_where(where), m_delimiter(delimiter), m_stream(*text.bytes, text.begin),
      m_bufferOffset(text.begin) {}

bool CsvReader::fill() {
    m_bufferOffset += static_cast<std::int64_t>(m_position);
    m_buffer.erase(0, m_position);
    m_position = 0;
    return m_stream.appendTo(m_buffer);
}

void CsvReader::skipLines(std::int64_t lines) {
    for (; lines > 0; --lines) {
        std::size_t end = m_buffer.find('\n', m_position);
        while (end == std::string::npos && fill())
            end = m_buffer.find('\n', m_position);
        m_position = end == std::string::npos ? m_buffer.size() : end + 1;
        ++m_line;
    }
}

Result<bool> CsvReader::next(CsvRecord& record) {
    for (;;) {
        const std::string_view rest = std::string_view(m_buffer).substr(m_position);
        if (rest.empty() && !fill())
            return false;
        if (rest.empty())
            continue;
        std::size_t used = 0;
        const CsvParse parsed = parseRecord(rest, m_delimiter, m_stream.atEnd(), record, used);
        if (parsed == CsvParse::Complete) {
            record.line = m_line;
            record.offset = m_bufferOffset + static_cast<std::int64_t>(m_position);
            m_line += std::max<std::int64_t>(1, linesIn(rest.substr(0, used)));
            m_position += used;
            return true;
        }
        if (parsed == CsvParse::OpenQuote || rest.size() > kLongestRecord)
            return Error(Message("A quote that opens in line %1 of \"%2\" is never closed.",
                                 {grouped(m_line + linesIn(rest.substr(0, rest.find('"')))),
                                  m_text.bytes->path()}),
                         m_where,
                         Message("Close it, or write a quote that belongs to the text "
                                 "twice, within quotes."));
        fill();
    }
}

Result<bool> CsvReader::nextRow(CsvRecord& record) {
    for (;;) {
        Result<bool> read = next(record);
        if (!read || !*read || !record.blank())
            return read;
    }
}

} // namespace trainyard::engine
