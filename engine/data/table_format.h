// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// How a table is written: delimiter, header, decimal mark. Chosen by the experiment or found out
// from the begin of the file; what was found is said in notes, and what does not fit is an error.
#pragma once

#include "engine/data/csv_reader.h"
#include "engine/data/text_encoding.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::engine {

struct TableFormat {
    char delimiter = ',';
    bool header = true;
    bool decimalComma = false;
    std::int64_t skipLines = 0;
};

/// What the experiment says, as in the catalogue.
struct TableFormatChoice {
    std::string delimiter = "auto";
    std::string header = "auto";
    std::string decimal = "auto";
    std::int64_t skipLines = 0;
};

enum class CellKind { Missing, Number, OutOfRange, Text };

struct Cell {
    CellKind kind = CellKind::Missing;
    double number = 0;
};

/// "", "NA", "?" and other ways to say that there is no value.
bool isMissing(std::string_view text);
/// Infinite numbers and those beyond the range of doubles are OutOfRange.
Cell readCell(const CsvField& field, bool decimalComma);
/// "5,1"
bool isCommaNumber(std::string_view text);

Result<TableFormat> findFormat(const TextSource& text, const std::string& where,
                               const TableFormatChoice& choice);

/// "The delimiter is the comma ..."
Message describeFormat(const TableFormat& format);

} // namespace trainyard::engine
