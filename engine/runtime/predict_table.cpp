// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/predict_table.h"

#include "engine/base/number_text.h"
#include "engine/data/csv_reader.h"
#include "engine/data/table_format.h"
#include "engine/data/text_encoding.h"
#include "engine/spec/catalogue.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace trainyard::engine {

namespace {

using Use = ColumnFacts::Use;

/// What stands for a missing text where training had such rows.
constexpr const char* kMissingCategory = "(missing)";

bool isFeature(const ColumnFacts& column) {
    return column.use == Use::Number || column.use == Use::Category;
}
bool isTarget(const ColumnFacts& column) {
    return column.use == Use::Class || column.use == Use::Target;
}

class RowReader {
public:
    RowReader(const SavedWeights& weights, bool decimalComma)
        : m_data(weights.data()), m_decimalComma(decimalComma) {}

    /// Columns lie where the first row says. False: it is no row of names.
    bool takeHeader(const CsvRecord& record) {
        std::vector<int> places;
        for (const ColumnFacts& column : m_data.columns) {
            const auto found = std::ranges::find(record.fields, column.name, &CsvField::text);
            if (found == record.fields.end() && isFeature(column))
                return false;
            places.push_back(found == record.fields.end()
                                 ? -1
                                 : static_cast<int>(found - record.fields.begin()));
        }
        m_places = std::move(places);
        return true;
    }

    /// `name`: how the row is called in errors.
    Result<void> add(const CsvRecord& record, const std::string& name) {
        if (m_places.empty())
            if (Result<void> placed = placeByOrder(record.fields.size(), name); !placed)
                return placed;
        std::size_t input = 0;
        for (std::size_t i = 0; i < m_data.columns.size(); ++i) {
            const ColumnFacts& column = m_data.columns[i];
            const CsvField* field = fieldOf(record, m_places[i]);
            if (isTarget(column) && field && !isMissing(field->text))
                if (Result<void> added = addTarget(column, *field, name); !added)
                    return added;
            if (!isFeature(column))
                continue;
            if (!field)
                return Error(Message("%1 has no value for the column \"%2\".", {name, column.name}),
                             {}, Message("Leave the value empty if it is not known."));
            if (Result<void> added = addFeature(column, *field, name, input); !added)
                return added;
        }
        ++m_rows.rows;
        return {};
    }

    Result<TableRows> take() {
        const auto rows = static_cast<std::size_t>(m_rows.rows);
        // Some rows with a target and some without: then there is nothing to compare.
        if (m_rows.labels.size() != rows)
            m_rows.labels.clear();
        if (m_rows.targets.size() != rows)
            m_rows.targets.clear();
        return std::move(m_rows);
    }

private:
    static const CsvField* fieldOf(const CsvRecord& record, int place) {
        const bool there = place >= 0 && std::cmp_less(place, record.fields.size());
        return there ? &record.fields[static_cast<std::size_t>(place)] : nullptr;
    }

    /// By position: all columns, or those that the model looks at.
    Result<void> placeByOrder(std::size_t fields, const std::string& name) {
        const auto features =
            static_cast<std::size_t>(std::ranges::count_if(m_data.columns, isFeature));
        const bool all = fields == m_data.columns.size();
        if (!all && fields != features)
            return Error(Message("%1 has %2 values, but the model takes %3: %4.",
                                 {name, std::to_string(fields), std::to_string(features),
                                  namesOfFeatures()}),
                         {}, Message("Give these values in this order, with commas between them."));
        int next = 0;
        for (const ColumnFacts& column : m_data.columns)
            m_places.push_back(all || isFeature(column) ? next++ : -1);
        return {};
    }

    std::string namesOfFeatures() const {
        std::string names;
        for (const ColumnFacts& column : m_data.columns)
            if (isFeature(column))
                names += (names.empty() ? "" : ", ") + column.name;
        return excerpt(names, 400);
    }

    /// `input`: of the model, moves on.
    Result<void> addFeature(const ColumnFacts& column, const CsvField& field,
                            const std::string& name, std::size_t& input) {
        if (column.use == Use::Category) {
            addCategory(column, field, input);
            return {};
        }
        const Cell cell = readCell(field, m_decimalComma);
        if (cell.kind == CellKind::Text || cell.kind == CellKind::OutOfRange)
            return Error(Message("%1 has \"%2\" in the column \"%3\", which takes numbers.",
                                 {name, excerpt(std::string(field.text)), column.name}),
                         {}, Message("Correct it, or leave it empty if it is not known."));
        const double value = cell.kind == CellKind::Missing ? m_data.mean[input] : cell.number;
        m_rows.inputs.push_back((value - m_data.shift[input]) * m_data.scale[input]);
        ++input;
        return {};
    }

    /// A text that training did not have sets none of the column's inputs.
    void addCategory(const ColumnFacts& column, const CsvField& field, std::size_t& input) {
        const std::string_view text = isMissing(field.text) ? kMissingCategory : field.text;
        for (const std::string& category : column.categories)
            m_rows.inputs.push_back(category == text ? 1 : 0);
        input += column.categories.size();
    }

    Result<void> addTarget(const ColumnFacts& column, const CsvField& field,
                           const std::string& name) {
        const Cell cell = readCell(field, m_decimalComma);
        if (column.use == Use::Target) {
            if (cell.kind != CellKind::Number)
                return Error(Message("%1 has \"%2\" as its target, which is no number.",
                                     {name, excerpt(std::string(field.text))}),
                             {}, Message("Correct it, or leave it empty."));
            m_rows.targets.push_back(cell.number);
            return {};
        }
        // Classes that are numbers are called by their shortest spelling.
        const std::string number =
            cell.kind == CellKind::Number ? shortest(cell.number) : std::string();
        const auto& names = m_data.classNames;
        const auto found = std::ranges::find_if(names, [&](const std::string& known) {
            return known == field.text || (!number.empty() && known == number);
        });
        if (found == names.end())
            return Error(Message("%1 has the class \"%2\", which the training data does not have.",
                                 {name, excerpt(std::string(field.text))}),
                         {}, Message("Its classes are: %1.", {spec::listed(names)}));
        m_rows.labels.push_back(static_cast<std::int32_t>(found - names.begin()));
        return {};
    }

    const DatasetInfo& m_data;
    const bool m_decimalComma;
    std::vector<int> m_places; ///< field of each column; below 0: not given
    TableRows m_rows;
};

std::string textOf(const spec::DataSpec& data, std::string_view field) {
    const spec::TypeInfo* format = spec::findType(spec::Kind::DataFormat, data.format);
    return format ? spec::textOf(*format, data.values, field) : std::string();
}

} // namespace

Result<TableRows> rowsFromWords(const SavedWeights& weights,
                                const std::vector<std::string>& words) {
    RowReader reader(weights, false);
    for (const std::string& word : words) {
        CsvRecord record;
        std::size_t used = 0;
        const std::string name = "\"" + excerpt(word) + "\"";
        if (parseRecord(word, ',', true, record, used) != CsvParse::Complete || used != word.size())
            return Error(Message("%1 is no row of a table.", {name}), {},
                         Message("Give values with commas between them."));
        if (Result<void> added = reader.add(record, name); !added)
            return added.error();
    }
    return reader.take();
}

Result<TableRows> rowsFromFile(const SavedWeights& weights, const std::string& path) {
    const spec::DataSpec& data = weights.experiment().data;
    const Result<TextSource> text = openTextSource(path, {}, textOf(data, "encoding"));
    if (!text)
        return text.error();
    const Result<TableFormat> found =
        findFormat(*text, {}, {textOf(data, "delimiter"), "auto", textOf(data, "decimal"), 0});
    if (!found)
        return found.error();
    CsvReader csv(*text, {}, found->delimiter);
    RowReader reader(weights, found->decimalComma);
    CsvRecord record;
    bool first = true;
    for (;;) {
        const Result<bool> more = csv.nextRow(record);
        if (!more)
            return more.error();
        if (!*more)
            break;
        if (!std::exchange(first, false) || !reader.takeHeader(record))
            if (Result<void> added =
                    reader.add(record, "Line " + grouped(record.line) + " of \"" + path + "\"");
                !added)
                return added.error();
    }
    Result<TableRows> rows = reader.take();
    if (rows && rows->rows == 0)
        return Error(Message("There are no rows in \"%1\".", {path}), {},
                     Message("Add at least one row below the names of the columns."));
    return rows;
}

} // namespace trainyard::engine
