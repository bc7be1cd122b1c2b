// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows of text under headings, aligned by what a terminal shows and not by the number of letters.
#pragma once

#include <QString>
#include <QStringList>

#include <vector>

namespace trainyard::app {

struct TableColumn {
    QString heading;
    Qt::Alignment side = Qt::AlignLeft;
    int mostColumns = 1000; ///< longer texts are cut
};

class Table {
public:
    explicit Table(std::vector<TableColumn> columns) : m_columns(std::move(columns)) {}
    /// Cells from outside are made safe to print.
    void addRow(const QStringList& cells);
    /// Without a line break at the end.
    QString text() const;

private:
    std::vector<TableColumn> m_columns;
    std::vector<QStringList> m_rows;
};

} // namespace trainyard::app
