// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/data/table_format.h"

#include "engine/base/number_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace trainyard::engine {

namespace {

struct DelimiterName {
    const char* name;
    char sign;
};
/// In order of preference.
constexpr std::array<DelimiterName, 5> kDelimiters = {
    {{"comma", ','}, {"semicolon", ';'}, {"tab", '\t'}, {"pipe", '|'}, {"space", ' '}}};

constexpr std::size_t kSampleRows = 200;
constexpr std::array<std::string_view, 17> kMissingMarks = {
    "",    "?",   "-",    "NA",   "N/A",  "#N/A", "n/a",  "na", "NaN",
    "nan", "NAN", "NULL", "null", "Null", "None", "none", "."};

/// The begin of a file, cut into fields.
struct SampleRow {
    std::vector<std::string> fields;
    std::vector<bool> quoted;
    std::int64_t line = 0;
    CsvField field(std::size_t i) const { return {fields[i], quoted[i]}; }
};
using Sample = std::vector<SampleRow>;

Result<Sample> readSample(const TextSource& text, const std::string& where, char delimiter,
                          std::int64_t skipLines) {
    CsvReader reader(text, where, delimiter);
    reader.skipLines(skipLines);
    Sample sample;
    CsvRecord record;
    while (sample.size() < kSampleRows) {
        const Result<bool> read = reader.nextRow(record);
        if (!read)
            return read.error();
        if (!*read)
            break;
        SampleRow row;
        row.line = record.line;
        for (const CsvField& field : record.fields) {
            row.fields.emplace_back(field.text);
            row.quoted.push_back(field.quoted);
        }
        sample.push_back(std::move(row));
    }
    return sample;
}

/// How well a delimiter cuts the sample: rows of one width, fields that are plain values.
double scoreOf(const Sample& sample) {
    std::map<std::size_t, std::size_t> widths;
    std::size_t numbers = 0;
    std::size_t fields = 0;
    for (const SampleRow& row : sample) {
        ++widths[row.fields.size()];
        for (std::size_t i = 0; i < row.fields.size(); ++i) {
            const CsvField field = row.field(i);
            const bool number =
                readCell(field, false).kind != CellKind::Text || isCommaNumber(field.text);
            numbers += number ? 1 : 0;
            ++fields;
        }
    }
    const auto common = std::ranges::max_element(
        widths, {}, [](const auto& entry) { return std::pair(entry.second, entry.first); });
    if (common == widths.end() || common->first < 2)
        return 0;
    const auto share = [](std::size_t part, std::size_t whole) {
        return static_cast<double>(part) / static_cast<double>(whole);
    };
    return share(common->second, sample.size()) + share(numbers, fields);
}

Result<char> findDelimiter(const TextSource& text, const std::string& where,
                           const TableFormatChoice& choice) {
    for (const DelimiterName& known : kDelimiters)
        if (choice.delimiter == known.name)
            return known.sign;
    char best = ',';
    double bestScore = 0;
    std::optional<Error> error;
    for (const DelimiterName& known : kDelimiters) {
        const Result<Sample> sample = readSample(text, where, known.sign, choice.skipLines);
        // With another delimiter the same quote may be no quote at all.
        if (!sample && !error)
            error = sample.error();
        const double score = sample ? scoreOf(*sample) : 0;
        if (score > bestScore + 1e-9) {
            best = known.sign;
            bestScore = score;
        }
    }
    if (bestScore == 0 && error)
        return *error;
    return best;
}

bool findDecimalComma(const Sample& sample, char delimiter, const TableFormatChoice& choice) {
    if (choice.decimal != "auto")
        return choice.decimal == "comma";
    if (delimiter == ',')
        return false;
    bool comma = false;
    for (const SampleRow& row : sample)
        for (const std::string& field : row.fields) {
            if (field.find('.') != std::string::npos &&
                readCell({field, false}, false).kind == CellKind::Number)
                return false;
            comma = comma || isCommaNumber(field);
        }
    return comma;
}

/// Of the rows below the first: numbers or missing, and at least one number.
bool isNumericBelow(const Sample& sample, std::size_t column, bool decimalComma) {
    bool any = false;
    for (std::size_t row = 1; row < sample.size(); ++row) {
        if (column >= sample[row].fields.size())
            continue;
        const CellKind kind = readCell(sample[row].field(column), decimalComma).kind;
        if (kind == CellKind::Text)
            return false;
        any = any || kind != CellKind::Missing;
    }
    return any;
}

bool occursBelow(const Sample& sample, std::size_t column) {
    return std::any_of(sample.begin() + 1, sample.end(), [&](const SampleRow& row) {
        return column < row.fields.size() && row.fields[column] == sample[0].fields[column];
    });
}

Error neitherHeaderNorRow(const SampleRow& first, std::size_t column, const std::string& path,
                          const std::string& where) {
    return {
        Message(
            "Line %1 of \"%2\" is like neither a header nor the rows below: column %3 holds "
            "\"%4\" there and numbers below, but other columns hold numbers there too.",
            {grouped(first.line), path, std::to_string(column + 1), excerpt(first.fields[column])}),
        where,
        Message("Set data.skip_lines to %1 to leave it out, or data.header to yes or no.",
                {grouped(first.line)})};
}

Result<bool> findHeader(const Sample& sample, bool decimalComma, const TableFormatChoice& choice,
                        const std::string& path, const std::string& where) {
    if (choice.header != "auto" || sample.empty())
        return choice.header != "no";
    const SampleRow& first = sample[0];
    bool numbers = false;
    bool repeated = false;
    std::optional<std::size_t> nameOverNumbers;
    std::set<std::string> names;
    for (std::size_t i = 0; i < first.fields.size(); ++i) {
        const CellKind kind = readCell(first.field(i), decimalComma).kind;
        numbers = numbers || kind == CellKind::Number || kind == CellKind::OutOfRange;
        if (kind != CellKind::Text)
            continue;
        repeated = repeated || !names.insert(first.fields[i]).second || occursBelow(sample, i);
        if (isNumericBelow(sample, i, decimalComma) && !nameOverNumbers)
            nameOverNumbers = i;
    }
    if (numbers && nameOverNumbers)
        return neitherHeaderNorRow(first, *nameOverNumbers, path, where);
    return !numbers && (nameOverNumbers || !repeated);
}

} // namespace

bool isMissing(std::string_view text) {
    return std::ranges::find(kMissingMarks, text) != kMissingMarks.end();
}

bool isCommaNumber(std::string_view text) {
    const std::size_t comma = text.find(',');
    if (comma == std::string_view::npos || text.find('.') != std::string_view::npos)
        return false;
    return readCell({text, false}, true).kind == CellKind::Number;
}

Cell readCell(const CsvField& field, bool decimalComma) {
    std::string_view text = field.text;
    // Most cells are numbers: the first sign tells whether it is worth looking for a mark.
    const bool numeric = !text.empty() && text[0] >= '0' && text[0] <= '9';
    if (!numeric && isMissing(text))
        return {CellKind::Missing};
    std::array<char, 64> copy = {};
    if (decimalComma && text.find(',') != std::string_view::npos) {
        if (text.size() > copy.size() || text.find('.') != std::string_view::npos)
            return {CellKind::Text};
        std::ranges::replace_copy(text, copy.begin(), ',', '.');
        text = {copy.data(), text.size()};
    }
    if (text.size() > 1 && text[0] == '+' && text[1] != '-')
        text.remove_prefix(1);
    double number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (end != text.data() + text.size() || problem == std::errc::invalid_argument)
        return {CellKind::Text};
    if (problem == std::errc::result_out_of_range || !std::isfinite(number))
        return {CellKind::OutOfRange};
    return {CellKind::Number, number};
}

Message describeFormat(const TableFormat& format) {
    std::string delimiter;
    for (const DelimiterName& known : kDelimiters)
        if (known.sign == format.delimiter)
            delimiter = known.name;
    return {format.header ? "The delimiter is the %1, the decimal mark is the %2, the first row is "
                            "a header."
                          : "The delimiter is the %1, the decimal mark is the %2, there is no "
                            "header.",
            {delimiter, format.decimalComma ? "comma" : "point"}};
}

Result<TableFormat> findFormat(const TextSource& text, const std::string& where,
                               const TableFormatChoice& choice) {
    TableFormat format;
    format.skipLines = choice.skipLines;
    const Result<char> delimiter = findDelimiter(text, where, choice);
    if (!delimiter)
        return delimiter.error();
    format.delimiter = *delimiter;
    const Result<Sample> sample = readSample(text, where, *delimiter, choice.skipLines);
    if (!sample)
        return sample.error();
    const std::string& path = text.bytes->path();
    if (sample->empty())
        return Error(Message("\"%1\" has no rows.", {path}), where);
    format.decimalComma = findDecimalComma(*sample, *delimiter, choice);
    const Result<bool> header = findHeader(*sample, format.decimalComma, choice, path, where);
    if (!header)
        return header.error();
    format.header = *header;
    if (*header && sample->size() < 2)
        return Error(Message("\"%1\" has a header but no rows.", {path}), where,
                     Message("Choose another file, or set data.header to no if its only line is a "
                             "row."));
    return format;
}

} // namespace trainyard::engine
