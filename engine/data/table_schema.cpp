// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/data/table_schema.h"

#include "engine/base/number_text.h"

#include <algorithm>
#include <set>
#include <utility>

namespace trainyard::engine {

namespace {

/// A number column with few whole values is taken for classes, one with more for numbers.
constexpr std::size_t kMostNumberClasses = 20;
/// A text column with more different values than this, most of them only once, is a name or a
/// remark.
constexpr std::size_t kFewValues = 50;
constexpr const char* kTableRole = "table";

std::vector<std::string> namesOf(const TableSurvey& survey) {
    std::vector<std::string> names;
    for (const ColumnSurvey& column : survey.columns)
        names.push_back(column.name);
    return names;
}

std::string trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ')
        text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ')
        text.remove_suffix(1);
    return std::string(text);
}

class SchemaMaker {
public:
    SchemaMaker(const DataRequest& request, const TableSurvey& survey, Problems& problems)
        : m_request(request), m_survey(survey), m_problems(problems) {}

    SchemaOutcome make() {
        const std::set<std::size_t> ignored = ignoredColumns();
        const std::int64_t target = targetColumn(ignored);
        if (target < 0 || !m_problems.empty())
            return std::move(m_outcome);
        m_target = static_cast<std::size_t>(target);
        for (std::size_t i = 0; i < m_survey.columns.size(); ++i) {
            ColumnFacts facts;
            facts.name = m_survey.columns[i].name;
            facts.missing = m_survey.columns[i].missing;
            facts.examples = m_survey.columns[i].examples;
            if (ignored.contains(i))
                facts.use = ColumnFacts::Use::LeftOut;
            else if (i != m_target)
                addFeature(i, facts);
            m_outcome.columns.push_back(std::move(facts));
        }
        if (m_outcome.schema.features.empty())
            problem({"No column of \"%1\" is left to learn from.", {file()}},
                    {"A table needs at least one column besides the target."});
        addTarget();
        return std::move(m_outcome);
    }

private:
    const ColumnSurvey& column(std::size_t i) const { return m_survey.columns[i]; }
    std::string file() const { return m_request.training().file(kTableRole); }
    void problem(Message what, Message cure = {}) {
        m_problems.push_back({std::move(what), "data.train.table", std::move(cure)});
    }
    bool dropsMissing() const { return m_request.text("missing") == "drop"; }

    /// A column by its name, else by its number from 1; below 0: a problem was added.
    std::int64_t find(const std::string& name, const char* field) {
        const std::int64_t named = m_survey.columnNamed(name);
        if (named >= 0)
            return named;
        const auto number = parseInteger(name);
        const auto width = static_cast<std::int64_t>(m_survey.columns.size());
        if (number && *number >= 1 && *number <= width)
            return *number - 1;
        const std::string near = spec::nearest(name, namesOf(m_survey));
        m_problems.push_back(
            {{"\"%1\" has no column \"%2\".", {file(), excerpt(name)}},
             std::string("data.") + field,
             near.empty() ? Message("Its columns are: %1.", {spec::listed(namesOf(m_survey))})
                          : Message("Did you mean \"%1\"?", {near})});
        return -1;
    }

    std::set<std::size_t> ignoredColumns() {
        std::set<std::size_t> ignored;
        const std::string list = m_request.text("ignore");
        for (std::size_t begin = 0; begin <= list.size();) {
            const std::size_t end = std::min(list.find(',', begin), list.size());
            const std::string name = trimmed(list.substr(begin, end - begin));
            if (!name.empty())
                if (const std::int64_t place = find(name, "ignore"); place >= 0)
                    ignored.insert(static_cast<std::size_t>(place));
            begin = end + 1;
        }
        return ignored;
    }

    /// The last column unless the experiment names one.
    std::int64_t targetColumn(const std::set<std::size_t>& ignored) {
        const std::string name = m_request.text("target");
        if (!name.empty())
            return find(name, "target");
        for (std::size_t i = m_survey.columns.size(); i-- > 0;)
            if (!ignored.contains(i)) {
                m_outcome.notes.push_back(
                    Message("The target is the last column, \"%1\".", {column(i).name}));
                return static_cast<std::int64_t>(i);
            }
        problem({"All columns are left out; none is left as the target."});
        return -1;
    }

    void leaveOut(ColumnFacts& facts, Message why) {
        facts.use = ColumnFacts::Use::LeftOut;
        m_outcome.notes.push_back(std::move(why));
    }

    void addFeature(std::size_t place, ColumnFacts& facts) {
        const ColumnSurvey& source = column(place);
        if (source.empty())
            return leaveOut(facts, {"Column \"%1\" is left out: it has no values.", {source.name}});
        TableColumn feature;
        feature.name = source.name;
        const std::size_t different = source.values.size();
        // Texts among many numbers are reported by checkCells().
        feature.numeric = source.numeric() || source.numbers >= 9 * source.texts.count;
        if (!feature.numeric) {
            const auto filled = static_cast<std::size_t>(m_survey.rows - source.missing);
            if (source.manyValues || (different > kFewValues && 2 * different > filled))
                return leaveOut(facts, {"Column \"%1\" is left out: its texts are mostly different "
                                        "from row to row.",
                                        {source.name}});
            std::vector<std::string> names;
            for (const auto& [value, seen] : source.values)
                names.push_back(value);
            feature.setCategories(std::move(names), source.missing > 0 && !dropsMissing());
            facts.use = ColumnFacts::Use::Category;
            facts.categories = feature.categories;
        }
        m_outcome.schema.features.push_back(std::move(feature));
        m_outcome.places.push_back(place);
    }

    void addTarget() {
        const ColumnSurvey& source = column(m_target);
        TableSchema& schema = m_outcome.schema;
        ColumnFacts& facts = m_outcome.columns[m_target];
        schema.target.name = source.name;
        m_outcome.places.push_back(m_target);
        const std::string task = m_request.text("task");
        const bool numeric = source.numeric() || source.numbers >= 9 * source.texts.count;
        if (source.empty())
            return problem({"The target column \"%1\" has no values.", {source.name}});
        if (task == "regression" && !numeric)
            return problem({"The target column \"%1\" holds texts, the first is \"%2\" in line %3; "
                            "a regression needs numbers.",
                            {source.name, excerpt(source.texts.text), grouped(source.texts.line)}},
                           {"Choose another target, or set data.task to classification."});
        const bool few =
            !source.manyValues && source.allWhole && source.values.size() <= kMostNumberClasses;
        schema.classes = task == "classification" || (task == "auto" && (!numeric || few));
        facts.use = schema.classes ? ColumnFacts::Use::Class : ColumnFacts::Use::Target;
        if (schema.classes)
            addClasses(source, facts);
        else if (task == "auto")
            m_outcome.notes.push_back(
                Message("\"%1\" is predicted as a number (regression).", {source.name}));
    }

    void addClasses(const ColumnSurvey& source, ColumnFacts& facts) {
        if (source.manyValues)
            return problem({"The target column \"%1\" has more than 1,000 different values, too "
                            "many for classes.",
                            {source.name}},
                           {"Choose another target, or set data.task to regression."});
        TableColumn& target = m_outcome.schema.target;
        if (!source.numeric()) {
            std::vector<std::string> names;
            for (const auto& [value, seen] : source.values)
                names.push_back(value);
            target.setCategories(std::move(names), false);
        } else {
            setNumberClasses(source, target);
        }
        facts.categories = target.categories;
        m_outcome.notes.push_back(Message("\"%1\" has %2 classes.",
                                          {source.name, std::to_string(target.categories.size())}));
        checkClasses(source, target);
    }

    /// In order of the numbers; "1" and "1.0" are one class.
    void setNumberClasses(const ColumnSurvey& source, TableColumn& target) const {
        std::map<double, std::vector<std::string>> byNumber;
        for (const auto& [value, seen] : source.values)
            byNumber[readCell({value, false}, m_survey.format.decimalComma).number].push_back(
                value);
        std::vector<std::string> names;
        for (const auto& [number, spellings] : byNumber)
            names.push_back(shortest(number));
        target.setCategories(std::move(names), false);
        target.codes.clear();
        std::int64_t code = 0;
        for (const auto& [number, spellings] : byNumber) {
            for (const std::string& spelling : spellings)
                target.codes.emplace(spelling, code);
            ++code;
        }
    }

    void checkClasses(const ColumnSurvey& source, const TableColumn& target) {
        const auto classes = static_cast<std::int64_t>(target.categories.size());
        const std::int64_t model = m_request.modelClasses;
        if (model <= 0 || classes <= model)
            return;
        // The one that does not belong: a number outside the model's classes, else the rarest.
        const auto rank = [&](const auto& entry) {
            const auto number = parseInteger(entry.first);
            const bool inside = !number || (*number >= 0 && *number < model);
            return std::pair(inside, entry.second.count);
        };
        const auto odd = std::ranges::min_element(source.values, {}, rank);
        problem({"The target \"%1\" has %2 classes, but the model has %3; \"%4\" is first seen in "
                 "line %5 (%6 rows).",
                 {source.name, std::to_string(classes), std::to_string(model), excerpt(odd->first),
                  grouped(odd->second.line), grouped(odd->second.count)}},
                {"Correct the rows, or raise the outputs of the last layer to %1.",
                 {std::to_string(classes)}});
    }

    const DataRequest& m_request;
    const TableSurvey& m_survey;
    Problems& m_problems;
    std::size_t m_target = 0;
    SchemaOutcome m_outcome;
};

} // namespace

SchemaOutcome makeSchema(const DataRequest& request, const TableSurvey& survey,
                         Problems& problems) {
    return SchemaMaker(request, survey, problems).make();
}

std::vector<std::size_t> placesIn(const TableSurvey& survey, const TableSurvey& training,
                                  const std::vector<std::size_t>& trainingPlaces, const Part& part,
                                  Problems& problems) {
    std::vector<std::size_t> places;
    const bool named = survey.format.header && training.format.header;
    for (const std::size_t place : trainingPlaces) {
        const std::string& name = training.columns[place].name;
        const std::int64_t found =
            named ? survey.columnNamed(name)
                  : (place < survey.columns.size() ? static_cast<std::int64_t>(place) : -1);
        if (found < 0)
            problems.push_back({{"\"%1\" has no column \"%2\", which the training file has.",
                                 {part.file(kTableRole), name}},
                                part.at(kTableRole),
                                {"Choose a file with the same columns."}});
        places.push_back(static_cast<std::size_t>(std::max<std::int64_t>(found, 0)));
    }
    return places;
}

void checkCells(const DataRequest& request, const TableSurvey& survey,
                const std::vector<std::size_t>& places, const TableSchema& schema, const Part& part,
                Problems& problems) {
    const bool refuse = request.text("non_finite") == "refuse";
    const std::string file = part.file(kTableRole);
    for (std::size_t i = 0; i < places.size(); ++i) {
        const ColumnSurvey& column = survey.columns[places[i]];
        const bool isTarget = i + 1 == places.size();
        const bool numeric = isTarget ? schema.target.numeric : schema.features[i].numeric;
        if (numeric && column.texts.count > 0)
            problems.push_back(
                {{"Column \"%1\" of \"%2\" holds numbers and %3 texts, the first is \"%4\" in line "
                  "%5.",
                  {column.name, file, grouped(column.texts.count), excerpt(column.texts.text),
                   grouped(column.texts.line)}},
                 part.at(kTableRole),
                 {"Correct them, write NA where there is no value, or leave the column out with "
                  "data.ignore."}});
        if (column.outOfRange.count > 0 && (refuse || isTarget))
            problems.push_back(
                {{"%1 rows of \"%2\" hold infinite numbers or ones that no computer number can "
                  "hold in column \"%3\"; the first is \"%4\" in line %5.",
                  {grouped(column.outOfRange.count), file, column.name,
                   excerpt(column.outOfRange.text), grouped(column.outOfRange.line)}},
                 part.at(kTableRole),
                 {"Correct them, or set data.non_finite to missing to take them as missing."}});
    }
}

} // namespace trainyard::engine
