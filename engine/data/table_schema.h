// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// From what a table holds to what a model gets: which column is the target and of which kind, which
// columns are numbers, categories or of no use.
#pragma once

#include "engine/data/format_reader.h"
#include "engine/data/table_dataset.h"

namespace trainyard::engine {

struct SchemaOutcome {
    TableSchema schema;
    std::vector<std::size_t> places; ///< the table's column of each feature, of the target last
    std::vector<ColumnFacts> columns;
    std::vector<Message> notes;
};

/// Adds what is wrong to `problems`. The scaling of numbers is left at none.
SchemaOutcome makeSchema(const DataRequest& request, const TableSurvey& survey, Problems& problems);

/// Where another file has the columns of a schema: by name where both have a header.
std::vector<std::size_t> placesIn(const TableSurvey& survey, const TableSurvey& training,
                                  const std::vector<std::size_t>& trainingPlaces, const Part& part,
                                  Problems& problems);

/// Numbers that are infinite or too large, and texts among numbers.
void checkCells(const DataRequest& request, const TableSurvey& survey,
                const std::vector<std::size_t>& places, const TableSchema& schema, const Part& part,
                Problems& problems);

} // namespace trainyard::engine
