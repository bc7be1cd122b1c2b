// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// One pass over a table: where its rows lie and what its columns hold. Nothing of the size of the
// file is kept but an offset for every sixteenth row.
#pragma once

#include "engine/data/table_format.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace trainyard::engine {

inline constexpr std::int64_t kRowsPerBlock = 16;

/// Where something was first seen.
struct Sighting {
    std::int64_t count = 0;
    std::int64_t line = 0;
    std::string text;

    void add(std::int64_t atLine, std::string_view seen) {
        if (count++ == 0) {
            line = atLine;
            text = seen;
        }
    }
};

struct ColumnSurvey {
    std::string name;
    std::int64_t missing = 0;
    std::int64_t numbers = 0;
    bool allWhole = true; ///< of the numbers
    Sighting texts;
    Sighting outOfRange;
    Sighting commaNumbers; ///< texts that would be numbers with a decimal comma
    /// Texts and numbers as written, as long as there are few.
    std::map<std::string, Sighting, std::less<>> values;
    bool manyValues = false;
    std::vector<std::string> examples;

    bool empty() const { return numbers == 0 && texts.count == 0 && outOfRange.count == 0; }
    bool numeric() const { return texts.count == 0 && !empty(); }
};

struct TableSurvey {
    TableFormat format;
    std::vector<ColumnSurvey> columns;
    std::int64_t rows = 0;
    std::vector<std::int64_t> offsets; ///< of each kRowsPerBlock-th row, and of the end
    std::vector<Message> notes;

    std::int64_t columnNamed(std::string_view name) const; ///< below 0: there is none
};

/// Each row with its number. The fields may be one more than the columns: an empty one at the end.
using VisitRow = std::function<void(std::int64_t row, const CsvRecord& record)>;

/// Errors: rows of another width, broken quotes, bytes that are no text.
Result<TableSurvey> surveyTable(const TextSource& text, const std::string& where,
                                const TableFormat& format);

/// Once more over all rows of a table that was surveyed.
Result<void> visitRows(const TextSource& text, const std::string& where, const TableFormat& format,
                       const VisitRow& visit);

} // namespace trainyard::engine
