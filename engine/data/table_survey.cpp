// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/data/table_survey.h"

#include "engine/base/number_text.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace trainyard::engine {

namespace {

constexpr std::size_t kMostValues = 1000;
constexpr std::size_t kExamples = 3;
constexpr std::int64_t kLinesNamed = 5;

bool isUtf8Text(std::string_view text) {
    for (std::size_t position = 0; position < text.size();)
        if (decodeCharacter(text, position) == kNoCharacter)
            return false;
    return true;
}

class Surveyor {
public:
    Surveyor(const TextSource& text, const std::string& where, const TableFormat& format)
        : m_text(text), m_where(where), m_reader(text, where, format.delimiter) {
        m_survey.format = format;
    }

    Result<TableSurvey> survey() {
        m_reader.skipLines(m_survey.format.skipLines);
        CsvRecord record;
        for (bool first = true;; first = false) {
            const Result<bool> read = m_reader.nextRow(record);
            if (!read)
                return read.error();
            if (!*read)
                break;
            if (first)
                nameColumns(record);
            if (!first || !m_survey.format.header)
                if (const Result<void> taken = takeRow(record); !taken)
                    return taken.error();
        }
        if (const Result<void> even = checkWidths(); !even)
            return even.error();
        m_survey.offsets.push_back(m_text.bytes->size());
        for (const ColumnSurvey& column : m_survey.columns)
            if (!isUtf8Text(column.name))
                return notUtf8(m_text, m_where, m_text.begin);
        return std::move(m_survey);
    }

private:
    std::size_t width() const { return m_survey.columns.size(); }

    void nameColumns(const CsvRecord& record) {
        m_firstLine = record.line;
        for (std::size_t i = 0; i < record.fields.size(); ++i) {
            ColumnSurvey column;
            if (m_survey.format.header)
                column.name = record.fields[i].text;
            if (column.name.empty())
                column.name = "column " + std::to_string(i + 1);
            m_survey.columns.push_back(std::move(column));
        }
        m_lastUnnamed = m_survey.format.header && record.fields.back().text.empty();
    }

    Result<void> takeRow(const CsvRecord& record) {
        if (m_survey.rows++ % kRowsPerBlock == 0)
            m_survey.offsets.push_back(record.offset);
        const std::size_t fields = record.fields.size();
        const bool oneMore = fields == width() + 1 && record.fields.back().text.empty();
        m_oneMore += oneMore ? 1 : 0;
        if (fields != width())
            noteWidth(record);
        for (std::size_t i = 0; i < std::min(fields, width()); ++i)
            if (!takeCell(m_survey.columns[i], record.fields[i], record.line))
                return notUtf8(m_text, m_where, record.offset);
        return {};
    }

    void noteWidth(const CsvRecord& record) {
        const std::size_t fields = record.fields.size();
        m_allSameWidth = m_allSameWidth && (m_uneven == 0 || fields == m_unevenWidth);
        m_unevenWidth = fields;
        if (m_uneven++ < kLinesNamed) {
            m_unevenLines += m_unevenLines.empty() ? "" : ", ";
            m_unevenLines += grouped(record.line) + " (" + std::to_string(fields) + ")";
        }
    }

    bool takeCell(ColumnSurvey& column, const CsvField& field, std::int64_t line) {
        const Cell cell = readCell(field, m_survey.format.decimalComma);
        if (column.examples.size() < kExamples)
            column.examples.push_back(excerpt(field.text, 40));
        switch (cell.kind) {
        case CellKind::Missing:
            ++column.missing;
            return true;
        case CellKind::OutOfRange:
            column.outOfRange.add(line, field.text);
            return true;
        case CellKind::Number:
            ++column.numbers;
            column.allWhole = column.allWhole && cell.number == std::floor(cell.number);
            break;
        case CellKind::Text:
            column.texts.add(line, field.text);
            if (!m_survey.format.decimalComma && isCommaNumber(field.text))
                column.commaNumbers.add(line, field.text);
            break;
        }
        return takeValue(column, field.text, line);
    }

    /// False: not text.
    bool takeValue(ColumnSurvey& column, std::string_view text, std::int64_t line) {
        if (column.manyValues)
            return true;
        auto known = column.values.find(text);
        if (known == column.values.end()) {
            if (!isUtf8Text(text))
                return false;
            if (column.values.size() == kMostValues) {
                column.manyValues = true;
                column.values.clear();
                return true;
            }
            known = column.values.emplace(text, Sighting()).first;
        }
        known->second.add(line, {});
        return true;
    }

    Result<void> checkWidths() {
        const std::string& path = m_text.bytes->path();
        if (m_survey.rows == 0)
            return Error(Message("\"%1\" has no rows.", {path}), m_where);
        if (m_uneven > 0 && m_oneMore == m_survey.rows) {
            m_survey.notes.push_back(Message("Each row ends with a delimiter; the empty column "
                                             "behind it is left out."));
            return {};
        }
        if (m_uneven > 0 && m_allSameWidth && m_uneven == m_survey.rows)
            return Error(
                Message("The first row of \"%1\" (line %2) has %3 fields, all others have "
                        "%4.",
                        {path, grouped(m_firstLine), std::to_string(width()),
                         std::to_string(m_unevenWidth)}),
                m_where,
                Message("Set data.skip_lines to %1 if it is no header, or give each column "
                        "a name.",
                        {grouped(m_firstLine)}));
        // Without a header the first row is itself one of the rows.
        if (m_uneven > 0)
            return Error(Message("%1 rows of \"%2\" do not have %3 fields: line (fields) %4%5.",
                                 {grouped(m_uneven), path, std::to_string(width()), m_unevenLines,
                                  m_uneven > kLinesNamed ? " and others" : ""}),
                         m_where, Message("Correct these lines, or choose another delimiter."));
        dropEmptyEnd();
        return {};
    }

    void dropEmptyEnd() {
        const ColumnSurvey& last = m_survey.columns.back();
        if (width() < 2 || !last.empty() || (m_survey.format.header && !m_lastUnnamed))
            return;
        m_survey.columns.pop_back();
        m_survey.notes.push_back(
            Message("Each row ends with a delimiter; the empty column behind it is left out."));
    }

    const TextSource& m_text;
    const std::string m_where;
    CsvReader m_reader;
    TableSurvey m_survey;
    bool m_lastUnnamed = false;
    std::int64_t m_firstLine = 1;
    std::int64_t m_oneMore = 0;
    std::int64_t m_uneven = 0;
    std::size_t m_unevenWidth = 0;
    bool m_allSameWidth = true;
    std::string m_unevenLines;
};

} // namespace

std::int64_t TableSurvey::columnNamed(std::string_view name) const {
    for (std::size_t i = 0; i < columns.size(); ++i)
        if (columns[i].name == name)
            return static_cast<std::int64_t>(i);
    return -1;
}

Result<TableSurvey> surveyTable(const TextSource& text, const std::string& where,
                                const TableFormat& format) {
    return Surveyor(text, where, format).survey();
}

Result<void> visitRows(const TextSource& text, const std::string& where, const TableFormat& format,
                       const VisitRow& visit) {
    CsvReader reader(text, where, format.delimiter);
    reader.skipLines(format.skipLines);
    CsvRecord record;
    std::int64_t row = format.header ? -1 : 0;
    for (;; ++row) {
        const Result<bool> read = reader.nextRow(record);
        if (!read)
            return read.error();
        if (!*read)
            return {};
        if (row >= 0)
            visit(row, record);
    }
}

} // namespace trainyard::engine
