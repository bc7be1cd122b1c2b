// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/models/problem_list_model.h"

#include "app/models/message_text.h"

#include <algorithm>

namespace trainyard::app {

ProblemListModel::ProblemListModel(ExperimentDocument& document, QObject* parent)
    : QAbstractListModel(parent), m_document(document) {
    connect(&m_document, &ExperimentDocument::problemsChanged, this, &ProblemListModel::follow);
    follow();
}

void ProblemListModel::follow() {
    const int layers = static_cast<int>(m_document.experiment().model.layers.size());
    std::vector<Row> rows;
    for (const Error& problem : m_document.problems()) {
        QStringList labels;
        for (const Cure& cure : m_document.cures(problem))
            labels << cure.label;
        rows.push_back({problem, placeOf(problem.where, layers), labels});
    }
    if (rows == m_rows)
        return;
    beginResetModel();
    m_rows = std::move(rows);
    endResetModel();
}

int ProblemListModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

QVariant ProblemListModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid))
        return {};
    const Row& row = m_rows[static_cast<std::size_t>(index.row())];
    switch (role) {
    case Qt::DisplayRole:
        return whatText(row.problem);
    case Qt::ToolTipRole:
    case Qt::AccessibleTextRole:
        return sentenceText(row.problem);
    case CureRole:
        return cureText(row.problem);
    case CureLabelsRole:
        return row.cures;
    case SectionRole:
        return static_cast<int>(row.place.section);
    default:
        return {};
    }
}

ProblemPlace ProblemListModel::placeAt(int row) const {
    return m_rows[static_cast<std::size_t>(row)].place;
}

int ProblemListModel::countOf(Section section) const {
    return static_cast<int>(std::count_if(m_rows.begin(), m_rows.end(), [section](const Row& row) {
        return row.place.section == section;
    }));
}

void ProblemListModel::applyCure(int row, int cure) {
    if (row < 0 || row >= rowCount())
        return;
    const std::vector<Cure> cures = m_document.cures(m_rows[static_cast<std::size_t>(row)].problem);
    if (cure >= 0 && cure < static_cast<int>(cures.size()))
        m_document.apply(cures[static_cast<std::size_t>(cure)]);
}

} // namespace trainyard::app

#include "moc_problem_list_model.cpp"
