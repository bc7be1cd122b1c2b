// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs as people and programs read them in a terminal.
#pragma once

#include "app/store/store_reader.h"

#include <QJsonObject>
#include <QString>

#include <map>
#include <optional>
#include <vector>

namespace trainyard::app {

/// Last and best values of the usual metrics of all runs.
class RunFigures {
public:
    explicit RunFigures(StoreReader& reader);
    std::optional<double> last(RunId run, const char* metric) const;
    std::optional<double> best(RunId run, const char* metric) const;

private:
    std::map<std::pair<RunId, QString>, SeriesSummary> m_series;
};

/// A line for each run, under headings.
QString runTable(const std::vector<RunRecord>& runs, const RunFigures& figures);
QJsonObject runAsJson(const RunRecord& run, const RunFigures& figures);
/// A page on one run.
Result<QString> runText(StoreReader& reader, const RunRecord& run);

} // namespace trainyard::app
