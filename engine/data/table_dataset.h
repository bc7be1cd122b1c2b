// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows of a table as inputs: numbers scaled by what the training rows say, categories as one input
// each that is 0 or 1. A small table is held in memory; of a large one only the rows of a batch are
// read.
#pragma once

#include "engine/data/dataset.h"
#include "engine/data/row_set.h"
#include "engine/data/table_survey.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace trainyard::engine {

/// What one column of the training table becomes.
struct TableColumn {
    std::string name;
    bool numeric = true;
    double shift = 0; ///< numbers: (x - shift) * scale
    double scale = 1;
    double fill = 0; ///< of a missing number, before scaling
    std::vector<std::string> categories;
    std::map<std::string, std::int64_t, std::less<>> codes; ///< of `categories`
    std::int64_t missingCode = -1; ///< category of a missing value; below 0: none

    std::int64_t inputs() const {
        return numeric ? 1 : static_cast<std::int64_t>(categories.size());
    }
    void setCategories(std::vector<std::string> names, bool withMissing);
};

/// Columns that are used, with the target last.
struct TableSchema {
    std::vector<TableColumn> features;
    TableColumn target;
    bool classes = true; ///< the target is a class, not a number

    std::int64_t inputs() const;
    std::size_t cells() const { return features.size() + 1; }
};

/// One file of rows in the words of a schema.
class Table {
public:
    /// `places`: the file's column of each feature, and of the target at the end.
    Table(TextSource text, std::string where, TableSurvey survey, std::vector<std::size_t> places);

    std::int64_t rows() const { return m_survey.rows; }
    const TableSurvey& survey() const { return m_survey; }
    const TextSource& text() const { return m_text; }
    const std::string& where() const { return m_where; }
    std::size_t targetPlace() const { return m_places.back(); } ///< a column of the file

    /// Numbers and codes of the cells of one row; missing ones and unknown categories are NaN.
    void readRow(const TableSchema& schema, const CsvRecord& record, double* cells) const;
    /// All rows in order: the row, its line, its cells.
    using VisitCells =
        std::function<void(std::int64_t row, const CsvRecord& record, const double* cells)>;
    Result<void> visit(const TableSchema& schema, const VisitCells& visit) const;
    /// Keeps the cells of all rows in memory if they are few.
    Result<void> keepIfSmall(const TableSchema& schema);
    /// Thread-safe; throws as Dataset::gather().
    void cellsOf(const TableSchema& schema, std::int64_t row, std::span<double> cells) const;

private:
    const TextSource m_text;
    const std::string m_where;
    const TableSurvey m_survey;
    const std::vector<std::size_t> m_places;
    std::vector<double> m_kept;
};

class TableDataset final : public Dataset {
public:
    TableDataset(std::shared_ptr<const Table> table, std::shared_ptr<const TableSchema> schema,
                 std::shared_ptr<const RowSet> rows, DatasetInfo info);
    const DatasetInfo& info() const override { return m_info; }
    void gather(std::span<const std::int64_t> samples, const BatchMemory& memory) const override;

private:
    template <class Real>
    Real* writeInputs(std::span<const double> cells, Real* inputs) const;

    const std::shared_ptr<const Table> m_table;
    const std::shared_ptr<const TableSchema> m_schema;
    const std::shared_ptr<const RowSet> m_rows;
    DatasetInfo m_info;
};

} // namespace trainyard::engine
