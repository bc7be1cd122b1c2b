// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/data/table_dataset.h"

#include "engine/base/number_text.h"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

namespace trainyard::engine {

namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();
/// Cells that are kept in memory at most.
constexpr std::int64_t kMostKeptCells = std::int64_t{8} << 20;

double codeOf(const TableColumn& column, const CsvField& field) {
    if (isMissing(field.text))
        return column.missingCode >= 0 ? static_cast<double>(column.missingCode) : kNoValue;
    const auto code = column.codes.find(field.text);
    return code == column.codes.end() ? kNoValue : static_cast<double>(code->second);
}

} // namespace

void TableColumn::setCategories(std::vector<std::string> names, bool withMissing) {
    numeric = false;
    categories = std::move(names);
    for (std::size_t i = 0; i < categories.size(); ++i)
        codes.emplace(categories[i], static_cast<std::int64_t>(i));
    if (withMissing) {
        missingCode = static_cast<std::int64_t>(categories.size());
        categories.emplace_back("(missing)");
    }
}

std::int64_t TableSchema::inputs() const {
    std::int64_t inputs = 0;
    for (const TableColumn& column : features)
        inputs += column.inputs();
    return inputs;
}

Table::Table(TextSource text, std::string where, TableSurvey survey,
             std::vector<std::size_t> places)
    : m_text(std::move(text)), m_where(std::move(where)), m_survey(std::move(survey)),
      m_places(std::move(places)) {}

void Table::readRow(const TableSchema& schema, const CsvRecord& record, double* cells) const {
    for (std::size_t i = 0; i < m_places.size(); ++i) {
        const bool isTarget = i + 1 == m_places.size();
        const TableColumn& column = isTarget ? schema.target : schema.features[i];
        if (m_places[i] >= record.fields.size()) {
            cells[i] = kNoValue;
            continue;
        }
        const CsvField& field = record.fields[m_places[i]];
        if (!column.numeric) {
            cells[i] = codeOf(column, field);
            continue;
        }
        const Cell cell = readCell(field, m_survey.format.decimalComma);
        cells[i] = cell.kind == CellKind::Number ? cell.number : kNoValue;
    }
}

Result<void> Table::visit(const TableSchema& schema, const VisitCells& visit) const {
    std::vector<double> cells(m_places.size());
    return visitRows(m_text, m_where, m_survey.format,
                     [&](std::int64_t row, const CsvRecord& record) {
                         readRow(schema, record, cells.data());
                         visit(row, record, cells.data());
                     });
}

Result<void> Table::keepIfSmall(const TableSchema& schema) {
    const auto width = static_cast<std::int64_t>(m_places.size());
    if (m_survey.rows > kMostKeptCells / width)
        return {};
    std::vector<double> kept(static_cast<std::size_t>(m_survey.rows * width));
    Result<void> read = visit(schema, [&](std::int64_t row, const CsvRecord&, const double* cells) {
        if (row < m_survey.rows)
            std::copy_n(cells, width, kept.data() + row * width);
    });
    if (read)
        m_kept = std::move(kept);
    return read;
}

void Table::cellsOf(const TableSchema& schema, std::int64_t row, std::span<double> cells) const {
    if (!m_kept.empty()) {
        std::copy_n(m_kept.data() + row * static_cast<std::int64_t>(cells.size()), cells.size(),
                    cells.data());
        return;
    }
    const auto block = static_cast<std::size_t>(row / kRowsPerBlock);
    const std::int64_t begin = m_survey.offsets[block];
    std::string text(static_cast<std::size_t>(m_survey.offsets[block + 1] - begin), '\0');
    m_text.bytes->read(begin, std::span<char>(text));
    CsvRecord record;
    std::string_view rest = text;
    for (std::int64_t left = row % kRowsPerBlock; left >= 0;) {
        std::size_t used = 0;
        if (rest.empty() ||
            parseRecord(rest, m_survey.format.delimiter, true, record, used) != CsvParse::Complete)
            throw std::runtime_error("The file \"" + m_text.bytes->path() +
                                     "\" has been changed since it was opened.");
        rest.remove_prefix(used);
        left -= record.blank() ? 0 : 1;
    }
    readRow(schema, record, cells.data());
}

TableDataset::TableDataset(std::shared_ptr<const Table> table,
                           std::shared_ptr<const TableSchema> schema,
                           std::shared_ptr<const RowSet> rows, DatasetInfo info)
    : m_table(std::move(table)), m_schema(std::move(schema)), m_rows(std::move(rows)),
      m_info(std::move(info)) {}

template <class Real>
Real* TableDataset::writeInputs(std::span<const double> cells, Real* inputs) const {
    for (std::size_t i = 0; i < m_schema->features.size(); ++i) {
        const TableColumn& column = m_schema->features[i];
        if (column.numeric) {
            const double number = std::isnan(cells[i]) ? column.fill : cells[i];
            *inputs++ = static_cast<Real>((number - column.shift) * column.scale);
            continue;
        }
        std::fill_n(inputs, column.inputs(), Real(0));
        if (!std::isnan(cells[i]))
            inputs[static_cast<std::int64_t>(cells[i])] = Real(1);
        inputs += column.inputs();
    }
    return inputs;
}

void TableDataset::gather(std::span<const std::int64_t> samples, const BatchMemory& memory) const {
    std::vector<double> cells(m_schema->cells());
    auto* floats = static_cast<float*>(memory.inputs);
    auto* doubles = static_cast<double*>(memory.inputs);
    for (std::size_t i = 0; i < samples.size(); ++i) {
        m_table->cellsOf(*m_schema, m_rows->at(samples[i]), cells);
        if (memory.inputType == DType::Fp64)
            doubles = writeInputs(std::span<const double>(cells), doubles);
        else
            floats = writeInputs(std::span<const double>(cells), floats);
        const double target = cells.back();
        if (std::isnan(target))
            throw std::runtime_error("The file \"" + m_table->text().bytes->path() +
                                     "\" has been changed since it was opened.");
        if (m_schema->classes)
            memory.labels[i] = static_cast<std::int32_t>(target);
        else if (memory.numberType == DType::Fp64)
            static_cast<double*>(memory.numbers)[i] = target;
        else
            static_cast<float*>(memory.numbers)[i] = static_cast<float>(target);
    }
}

} // namespace trainyard::engine
