// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// All runs of a store as rows, the newest first, kept up to date with what this and other programs
// write. A run that is compared takes the lowest free series slot and keeps it until it is taken
// out.
#pragma once

#include "app/store/run_store.h"

#include <QAbstractTableModel>
#include <QSortFilterProxyModel>

#include <map>
#include <optional>
#include <vector>

namespace trainyard::app {

class RunListModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column {
        ComparedColumn, ///< check mark
        SlotColumn,     ///< a piece of the run's line in the chart
        NumberColumn,
        NameColumn,
        StatusColumn,
        BestColumn,  ///< on the validation data: accuracy, or the loss of what has none
        CurveColumn, ///< sparkline of the same
        LossColumn,  ///< lowest on the validation data
        RanksColumn,
        DurationColumn,
        StartedColumn,
        ColumnCount
    };
    enum Role {
        RunIdRole = Qt::UserRole, ///< qint64
        SortRole,                 ///< number or text; invalid where unknown
        StatusRole,               ///< int of RunStatus
        SlotRole,                 ///< int, -1: not compared
        SparklineRole,            ///< QList<float>, NaN where nothing is known
        FailureRole               ///< QString, the sentence; empty when it did not fail
    };

    explicit RunListModel(RunStore& store, QObject* parent = nullptr);

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;
    QVariant headerData(int section, Qt::Orientation orientation,
                        int role = Qt::DisplayRole) const override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;

    const RunRecord* record(RunId run) const;
    const std::vector<RunRecord>& records() const { return m_records; }
    QModelIndex indexOf(RunId run, int column = 0) const;
    int activeCount() const;

    void setCompared(RunId run, bool compared);
    /// -1: not compared.
    int slotOf(RunId run) const;
    /// By slot.
    std::vector<RunId> compared() const;

    /// Takes what is new in the store; called by itself when the store says so.
    void refresh();
    /// The store could not be read; empty when it can.
    const std::optional<Error>& error() const { return m_error; }

signals:
    void comparedChanged();
    /// Rows have changed in any way.
    void refreshed();

private:
    struct Figures {
        std::optional<double> accuracy;
        std::optional<double> quality() const; ///< more is better
        std::optional<double> loss;
        QList<float> curve;
    };
    void take(RunRecord record);
    void drop(RunId run);
    const Figures& figures(RunId run) const;
    QString bestText(const Figures& figures) const;
    QVariant display(const RunRecord& record, int column) const;
    QVariant sortValue(const RunRecord& record, int column) const;

    RunStore& m_store;
    std::vector<RunRecord> m_records;
    std::map<RunId, int> m_slots;
    mutable std::map<RunId, Figures> m_figures; ///< read when first shown
    std::int64_t m_revision = 0;
    std::optional<Error> m_error;
};

/// Sorts with unknown values last in both directions; filters by words in name, number and state.
class RunFilterModel : public QSortFilterProxyModel {
    Q_OBJECT
public:
    explicit RunFilterModel(QObject* parent = nullptr);
    void setFilterText(const QString& text);

protected:
    bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;
    bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

private:
    QStringList m_words;
};

/// "Finished", "Running" ... for people.
QString statusText(RunStatus status);

} // namespace trainyard::app
