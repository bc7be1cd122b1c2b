// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// CSV as RFC 4180 has it, read in pieces: fields in double quotes may hold delimiters, line ends
// and doubled quotes. Lines end in LF, CRLF or CR. A quote that never closes is an error that names
// its line, not a field as long as the file.
#pragma once

#include "engine/data/text_encoding.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::engine {

/// Blanks at both ends of a field without quotes are left out.
struct CsvField {
    std::string_view text;
    bool quoted = false;
};

struct CsvRecord {
    std::vector<CsvField> fields; ///< valid until the next record is read
    std::int64_t line = 0;        ///< counted from 1
    std::int64_t offset = 0;      ///< in the file
    std::deque<std::string> unescaped;

    /// Nothing but an end of line.
    bool blank() const { return fields.size() == 1 && fields[0].text.empty() && !fields[0].quoted; }
};

enum class CsvParse { Complete, Unfinished, OpenQuote };

/// A delimiter of ' ' stands for any number of blanks and tabs.
/// Reads one record from the begin of `text`, `used` bytes with its line end. `last`: nothing
/// follows `text`.
CsvParse parseRecord(std::string_view text, char delimiter, bool last, CsvRecord& record,
                     std::size_t& used);

class CsvReader {
public:
    /// `where`: for errors. The text must outlive the reader.
    CsvReader(const TextSource& text, const std::string& where, char delimiter);

    /// Leaves out `lines` lines. Only before the first record.
    void skipLines(std::int64_t lines);
    /// False at the end.
    Result<bool> next(CsvRecord& record);
    /// The next record that is not blank.
    Result<bool> nextRow(CsvRecord& record);

private:
    bool fill();

    const TextSource& m_text;
    const std::string m_where;
    const char m_delimiter;
    ByteStream m_stream;
    std::string m_buffer;
    std::size_t m_position = 0;
    std::int64_t m_bufferOffset = 0; ///< of the buffer's begin, in the file
    std::int64_t m_line = 1;
};

} // namespace trainyard::engine
