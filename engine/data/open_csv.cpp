// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Data of the format "csv": a table with a column to predict. What numbers are scaled by and
// missing ones are filled with comes from the training rows alone.
#include "engine/base/number_text.h"
#include "engine/base/random.h"
#include "engine/data/format_reader.h"
#include "engine/data/table_dataset.h"
#include "engine/data/table_schema.h"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace trainyard::engine {

namespace {

/// Of one column over the rows of a part.
struct ColumnSums {
    std::int64_t count = 0;
    double first = 0; ///< sums are of differences to it, which keeps their digits
    double sum = 0;
    double squares = 0;
    double least = std::numeric_limits<double>::infinity();
    double largest = -std::numeric_limits<double>::infinity();
    std::vector<std::int64_t> codes; ///< rows of each category

    void add(double value) {
        if (count++ == 0)
            first = value;
        const double difference = value - first;
        sum += difference;
        squares += difference * difference;
        least = std::min(least, value);
        largest = std::max(largest, value);
    }
    double mean() const { return count > 0 ? first + sum / static_cast<double>(count) : 0; }
    double deviation() const {
        if (count == 0 || least == largest)
            return 0;
        const auto n = static_cast<double>(count);
        return std::sqrt(std::max(0.0, squares / n - sum / n * (sum / n)));
    }
};

struct PartRows {
    std::shared_ptr<RowSet> rows;
    std::vector<ColumnSums> sums; ///< of the features, of the target last
};

class CsvOpener {
public:
    CsvOpener(const DataRequest& request, DataOutcome& outcome)
        : m_request(request), m_problems(outcome.problems), m_data(outcome.data) {}

    void open() {
        std::optional<TextSource> text = source(m_request.training());
        std::optional<TableSurvey> survey;
        if (text)
            survey = surveyTraining(*text);
        if (!survey)
            return;
        m_notes = text->notes;
        m_notes.push_back(describeFormat(survey->format));
        m_notes.insert(m_notes.end(), survey->notes.begin(), survey->notes.end());
        SchemaOutcome made = makeSchema(m_request, *survey, m_problems);
        if (m_problems.empty())
            checkCells(m_request, *survey, made.places, made.schema, m_request.training(),
                       m_problems);
        m_notes.insert(m_notes.end(), made.notes.begin(), made.notes.end());
        m_columns = std::move(made.columns);
        m_schema = std::make_shared<TableSchema>(std::move(made.schema));
        if (!m_problems.empty())
            return;
        noteMissing(*survey, made.places);
        m_training = std::make_shared<Table>(std::move(*text), m_request.training().at("table"),
                                             std::move(*survey), made.places);
        if (m_request.hasValidationFiles())
            openValidation(made.places);
        if (m_problems.empty())
            makeDatasets();
    }

private:
    template <class Value>
    std::optional<Value> checked(Result<Value> result) {
        if (result)
            return std::move(*result);
        m_problems.push_back(result.error());
        return std::nullopt;
    }
    bool checked(const Result<void>& result) {
        if (!result)
            m_problems.push_back(result.error());
        return result.ok();
    }

    std::optional<TextSource> source(const Part& part) {
        const std::string file = part.file("table");
        if (file.empty())
            return std::nullopt;
        return checked(openTextSource(file, part.at("table"), m_request.text("encoding")));
    }

    std::optional<TableSurvey> surveyTraining(const TextSource& text) {
        const std::string where = m_request.training().at("table");
        const TableFormatChoice choice{m_request.text("delimiter"), m_request.text("header"),
                                       m_request.text("decimal"), m_request.integer("skip_lines")};
        const std::optional<TableFormat> format = checked(findFormat(text, where, choice));
        if (!format)
            return std::nullopt;
        std::optional<TableSurvey> survey = checked(surveyTable(text, where, *format));
        if (!survey || choice.decimal != "auto" || format->delimiter == ',')
            return survey;
        // The begin of the file had whole numbers only; a comma came later.
        const bool commas = std::ranges::any_of(survey->columns, [](const ColumnSurvey& column) {
            return column.commaNumbers.count > 0 && column.commaNumbers.count == column.texts.count;
        });
        if (!commas)
            return survey;
        TableFormat comma = *format;
        comma.decimalComma = true;
        return checked(surveyTable(text, where, comma));
    }

    void noteMissing(const TableSurvey& survey, const std::vector<std::size_t>& places) {
        std::string list;
        for (const std::size_t place : places) {
            const ColumnSurvey& column = survey.columns[place];
            const std::int64_t missing = column.missing + column.outOfRange.count;
            if (missing > 0)
                list += (list.empty() ? "" : ", ") + column.name + ' ' + grouped(missing);
        }
        if (list.empty())
            return;
        m_notes.push_back(
            m_request.text("missing") == "drop"
                ? Message("Values are missing in these columns; their rows are left out: %1.",
                          {list})
                : Message("Values are missing in these columns: %1. Numbers are filled with the "
                          "mean of the training rows, texts become a category of their own, rows "
                          "without a target are left out.",
                          {list}));
    }

    void openValidation(const std::vector<std::size_t>& trainingPlaces) {
        const Part part = m_request.validation();
        std::optional<TextSource> text = source(part);
        if (!text)
            return;
        std::optional<TableSurvey> survey =
            checked(surveyTable(*text, part.at("table"), m_training->survey().format));
        if (!survey)
            return;
        std::vector<std::size_t> places =
            placesIn(*survey, m_training->survey(), trainingPlaces, part, m_problems);
        if (!m_problems.empty())
            return;
        checkCells(m_request, *survey, places, *m_schema, part, m_problems);
        m_validation = std::make_shared<Table>(std::move(*text), part.at("table"),
                                               std::move(*survey), std::move(places));
        checkNewValues();
    }

    /// Classes that training does not have are an error, such categories worth a note.
    void checkNewValues() {
        Sighting newClass;
        std::int64_t newCategories = 0;
        checked(m_validation->visit(
            *m_schema, [&](std::int64_t, const CsvRecord& record, const double* cells) {
                for (std::size_t i = 0; i < m_schema->features.size(); ++i)
                    if (!m_schema->features[i].numeric && std::isnan(cells[i]))
                        ++newCategories;
                const std::size_t target = m_validation->targetPlace();
                if (m_schema->classes && std::isnan(cells[m_schema->features.size()]) &&
                    target < record.fields.size() && !isMissing(record.fields[target].text))
                    newClass.add(record.line, record.fields[target].text);
            }));
        if (newClass.count > 0)
            m_problems.push_back(
                {{"%1 rows of \"%2\" have a class that the training file does not have, the first "
                  "is \"%3\" in line %4.",
                  {grouped(newClass.count), m_request.validation().file("table"),
                   excerpt(newClass.text), grouped(newClass.line)}},
                 m_request.validation().at("table"),
                 {"Correct them, or choose a training file with all classes."}});
        if (newCategories > 0)
            m_notes.push_back(Message("%1 texts of the validation file do not occur in the "
                                      "training file: none of the inputs of their column is set.",
                                      {grouped(newCategories)}));
    }

    bool dropsMissing() const { return m_request.text("missing") == "drop"; }

    /// Rows with a target and, where asked for, without gaps.
    std::shared_ptr<RowSet> usableRows(const Table& table) {
        auto rows = std::make_shared<RowSet>(table.rows());
        const std::size_t target = m_schema->features.size();
        const bool whole =
            !dropsMissing() && table.survey().columns[table.targetPlace()].missing == 0;
        if (whole)
            for (std::int64_t row = 0; row < table.rows(); ++row)
                rows->add(row);
        else
            checked(table.visit(
                *m_schema, [&](std::int64_t row, const CsvRecord&, const double* cells) {
                    bool usable = row < table.rows() && !std::isnan(cells[target]);
                    for (std::size_t i = 0; usable && dropsMissing() && i < target; ++i)
                        usable = !std::isnan(cells[i]);
                    if (usable)
                        rows->add(row);
                }));
        rows->finish();
        if (rows->count() == 0)
            m_problems.push_back({{"No row of \"%1\" is left: values are missing in all of them.",
                                   {table.text().bytes->path()}},
                                  table.where()});
        else if (rows->count() < table.rows())
            m_notes.push_back(Message("%1 of %2 rows of \"%3\" are left out.",
                                      {grouped(table.rows() - rows->count()), grouped(table.rows()),
                                       table.text().bytes->path()}));
        return rows;
    }

    PartRows newPart(std::shared_ptr<RowSet> rows) const {
        PartRows part{std::move(rows), std::vector<ColumnSums>(m_schema->cells())};
        for (std::size_t i = 0; i < part.sums.size(); ++i) {
            const bool target = i == m_schema->features.size();
            const TableColumn& column = target ? m_schema->target : m_schema->features[i];
            part.sums[i].codes.resize(column.categories.size());
        }
        return part;
    }

    /// The share for validation is taken out of `rows`, which becomes the training part.
    std::shared_ptr<RowSet> splitOff(std::shared_ptr<RowSet>& rows, std::int64_t allRows) {
        const std::int64_t count = rows->count();
        RowSet chosen(count);
        const std::int64_t share = validationShare(count, m_request.data.validationFraction);
        for (std::int64_t position = 0; position < share; ++position)
            chosen.add(permuted(m_request.seed, RandomStream::Split, 0, position, count));
        auto training = std::make_shared<RowSet>(allRows);
        auto validation = std::make_shared<RowSet>(allRows);
        std::int64_t index = 0;
        for (std::int64_t row = 0; row < allRows; ++row)
            if (rows->contains(row))
                (chosen.contains(index++) ? validation : training)->add(row);
        training->finish();
        validation->finish();
        rows = std::move(training);
        return validation;
    }

    void addCells(PartRows& part, std::int64_t row, const double* cells) const {
        if (!part.rows->contains(row))
            return;
        for (std::size_t i = 0; i < part.sums.size(); ++i) {
            if (std::isnan(cells[i]))
                continue;
            ColumnSums& sums = part.sums[i];
            if (sums.codes.empty())
                sums.add(cells[i]);
            else
                ++sums.codes[static_cast<std::size_t>(cells[i])];
        }
    }

    void sumUp(const Table& table, std::initializer_list<PartRows*> parts) {
        checked(
            table.visit(*m_schema, [&](std::int64_t row, const CsvRecord&, const double* cells) {
                for (PartRows* part : parts)
                    if (row < table.rows())
                        addCells(*part, row, cells);
            }));
    }

    void makeDatasets() {
        std::shared_ptr<RowSet> rows = usableRows(*m_training);
        std::shared_ptr<RowSet> validationRows;
        if (m_validation)
            validationRows = usableRows(*m_validation);
        checkSplit(m_request, rows->count(), m_problems);
        if (!m_problems.empty())
            return;
        if (m_request.splits())
            validationRows = splitOff(rows, m_training->rows());
        PartRows training = newPart(std::move(rows));
        std::optional<PartRows> validation;
        if (validationRows)
            validation = newPart(std::move(validationRows));
        if (validation && !m_validation) {
            sumUp(*m_training, {&training, &*validation});
        } else {
            sumUp(*m_training, {&training});
            if (validation)
                sumUp(*m_validation, {&*validation});
        }
        setScaling(training);
        for (const std::shared_ptr<Table>& table : {m_training, m_validation})
            if (table)
                checked(table->keepIfSmall(*m_schema));
        if (!m_problems.empty())
            return;
        m_data.training = datasetOf(m_training, training, m_notes);
        if (validation)
            m_data.validation =
                datasetOf(m_validation ? m_validation : m_training, *validation, {});
    }

    void setScaling(const PartRows& training) {
        const std::string& normalize = m_request.data.normalize;
        for (std::size_t i = 0; i < m_schema->features.size(); ++i) {
            TableColumn& column = m_schema->features[i];
            if (!column.numeric)
                continue;
            const ColumnSums& sums = training.sums[i];
            column.fill = sums.mean();
            if (sums.count > 0 && sums.least == sums.largest)
                m_notes.push_back(Message("Column \"%1\" is %2 in all training rows: nothing can "
                                          "be learned from it.",
                                          {column.name, shortest(sums.least)}));
            const bool varies = sums.count > 0 && sums.deviation() > 0;
            if (normalize == "standard") {
                column.shift = sums.mean();
                column.scale = varies ? 1 / sums.deviation() : 1;
            } else if (normalize == "unit" && sums.count > 0) {
                column.shift = sums.least;
                column.scale = varies ? 1 / (sums.largest - sums.least) : 1;
            }
        }
    }

    std::unique_ptr<Dataset> datasetOf(const std::shared_ptr<Table>& table, const PartRows& part,
                                       std::vector<Message> notes) const {
        DatasetInfo info;
        info.samples = part.rows->count();
        info.sampleShape = {m_schema->inputs()};
        info.columns = m_columns;
        info.notes = std::move(notes);
        const ColumnSums& target = part.sums.back();
        if (m_schema->classes) {
            info.classNames = m_schema->target.categories;
            info.classes = static_cast<std::int64_t>(info.classNames.size());
            info.classCounts = target.codes;
        } else {
            info.target = TargetKind::Numbers;
            info.targetShape = {1};
        }
        for (std::size_t i = 0; i < m_schema->features.size(); ++i) {
            const ColumnSums& sums = part.sums[i];
            const TableColumn& column = m_schema->features[i];
            if (column.numeric) {
                info.mean.push_back(sums.mean());
                info.deviation.push_back(sums.deviation());
            }
            const auto inputs = static_cast<std::size_t>(column.inputs());
            info.shift.insert(info.shift.end(), inputs, column.shift);
            info.scale.insert(info.scale.end(), inputs, column.scale);
            for (const std::int64_t rows : sums.codes) {
                const double share = static_cast<double>(rows) / static_cast<double>(info.samples);
                info.mean.push_back(share);
                info.deviation.push_back(std::sqrt(share * (1 - share)));
            }
        }
        return std::make_unique<TableDataset>(table, m_schema, part.rows, std::move(info));
    }

    const DataRequest& m_request;
    Problems& m_problems;
    OpenedData& m_data;
    std::shared_ptr<TableSchema> m_schema;
    std::shared_ptr<Table> m_training;
    std::shared_ptr<Table> m_validation;
    std::vector<ColumnFacts> m_columns;
    std::vector<Message> m_notes;
};

} // namespace

void openCsv(const DataRequest& request, DataOutcome& outcome) {
    CsvOpener(request, outcome).open();
}

} // namespace trainyard::engine
