// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/cli/table.h"

#include "app/cli/console.h"
#include "engine/base/check.h"

#include <algorithm>

namespace trainyard::app {

void Table::addRow(const QStringList& cells) {
    TRAINYARD_CHECK_EQ(static_cast<std::size_t>(cells.size()), m_columns.size());
    QStringList row;
    for (std::size_t i = 0; i < m_columns.size(); ++i)
        row += fitted(visibleText(cells[static_cast<qsizetype>(i)]), m_columns[i].mostColumns);
    m_rows.push_back(std::move(row));
}

QString Table::text() const {
    QStringList headings;
    for (const TableColumn& column : m_columns)
        headings += column.heading;
    std::vector<QStringList> rows{headings};
    rows.insert(rows.end(), m_rows.begin(), m_rows.end());

    QStringList lines(static_cast<qsizetype>(rows.size()));
    for (std::size_t i = 0; i < m_columns.size(); ++i) {
        const auto cell = static_cast<qsizetype>(i);
        int width = 0;
        for (const QStringList& row : rows)
            width = std::max(width, columnsOf(row[cell]));
        for (std::size_t r = 0; r < rows.size(); ++r)
            lines[static_cast<qsizetype>(r)] += (i > 0 ? QStringLiteral("  ") : QString()) +
                                                padded(rows[r][cell], width, m_columns[i].side);
    }
    for (QString& line : lines)
        while (line.endsWith(u' '))
            line.chop(1);
    return lines.join(u'\n');
}

} // namespace trainyard::app
