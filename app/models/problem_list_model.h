// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with the experiment, one row each: the sentence, where it belongs, and what one
// click can do about it.
#pragma once

#include "app/models/experiment_document.h"
#include "app/models/problem_place.h"

#include <QAbstractListModel>

namespace trainyard::app {

class ProblemListModel : public QAbstractListModel {
    Q_OBJECT
public:
    enum Role {
        CureRole = Qt::UserRole, ///< what the person can do, as a sentence
        CureLabelsRole,          ///< QStringList: what one click can do
        SectionRole              ///< Section as int
    };

    explicit ProblemListModel(ExperimentDocument& document, QObject* parent = nullptr);

    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;

    ProblemPlace placeAt(int row) const;
    /// Problems of this section.
    int countOf(Section section) const;
    /// Does what the label at this place of CureLabelsRole says.
    void applyCure(int row, int cure);

private:
    struct Row {
        Error problem;
        ProblemPlace place;
        QStringList cures;
        bool operator==(const Row&) const = default;
    };

    void follow();

    ExperimentDocument& m_document;
    std::vector<Row> m_rows;
};

} // namespace trainyard::app
