// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/models/run_list_model.h"

#include "app/base/format.h"
#include "app/models/message_text.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace trainyard::app {

namespace {

const QString kAccuracy = QString::fromLatin1(spec::metric::kValidationAccuracy);
const QString kLoss = QString::fromLatin1(spec::metric::kValidationLoss);

bool isFigure(int column) {
    return column == RunListModel::BestColumn || column == RunListModel::LossColumn ||
           column == RunListModel::RanksColumn || column == RunListModel::DurationColumn;
}

bool isKnown(const QVariant& value) {
    if (!value.isValid())
        return false;
    return value.typeId() != QMetaType::Double || std::isfinite(value.toDouble());
}

} // namespace

RunListModel::RunListModel(RunStore& store, QObject* parent)
    : QAbstractTableModel(parent), m_store(store) {
    connect(&m_store, &RunStore::changed, this, &RunListModel::refresh);
    refresh();
}

int RunListModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_records.size());
}

int RunListModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : ColumnCount;
}

void RunListModel::refresh() {
    Result<StoreChanges> changes = m_store.reader().changesSince(m_revision);
    if (!changes) {
        m_error = changes.error();
        emit refreshed();
        return;
    }
    m_error.reset();
    const bool first = m_revision == 0;
    m_revision = changes->revision;
    for (const RunId run : changes->deleted)
        drop(run);
    if (first) {
        beginResetModel();
        m_records = std::move(changes->changed);
        std::sort(m_records.begin(), m_records.end(),
                  [](const RunRecord& a, const RunRecord& b) { return a.id > b.id; });
        endResetModel();
    } else {
        for (RunRecord& record : changes->changed)
            take(std::move(record));
    }
    emit refreshed();
}

void RunListModel::take(RunRecord record) {
    m_figures.erase(record.id);
    const auto place = std::lower_bound(m_records.begin(), m_records.end(), record.id,
                                        [](const RunRecord& a, RunId id) { return a.id > id; });
    const int row = static_cast<int>(place - m_records.begin());
    if (place != m_records.end() && place->id == record.id) {
        *place = std::move(record);
        emit dataChanged(index(row, 0), index(row, ColumnCount - 1));
        return;
    }
    beginInsertRows({}, row, row);
    m_records.insert(place, std::move(record));
    endInsertRows();
}

void RunListModel::drop(RunId run) {
    const QModelIndex found = indexOf(run);
    if (!found.isValid())
        return;
    beginRemoveRows({}, found.row(), found.row());
    m_records.erase(m_records.begin() + found.row());
    m_figures.erase(run);
    endRemoveRows();
    if (m_slots.erase(run) > 0)
        emit comparedChanged();
}

const RunRecord* RunListModel::record(RunId run) const {
    const QModelIndex found = indexOf(run);
    return found.isValid() ? &m_records[static_cast<std::size_t>(found.row())] : nullptr;
}

QModelIndex RunListModel::indexOf(RunId run, int column) const {
    const auto place = std::lower_bound(m_records.begin(), m_records.end(), run,
                                        [](const RunRecord& a, RunId id) { return a.id > id; });
    if (place == m_records.end() || place->id != run)
        return {};
    return index(static_cast<int>(place - m_records.begin()), column);
}

int RunListModel::activeCount() const {
    return static_cast<int>(
        std::count_if(m_records.begin(), m_records.end(),
                      [](const RunRecord& record) { return !isFinal(record.status); }));
}

void RunListModel::setCompared(RunId run, bool compared) {
    if (compared == m_slots.contains(run))
        return;
    if (compared) {
        std::set<int> taken;
        for (const auto& [id, slot] : m_slots)
            taken.insert(slot);
        int slot = 0;
        while (taken.contains(slot))
            ++slot;
        m_slots[run] = slot;
    } else {
        m_slots.erase(run);
    }
    const QModelIndex row = indexOf(run);
    if (row.isValid())
        emit dataChanged(row, row.siblingAtColumn(ColumnCount - 1));
    emit comparedChanged();
}

int RunListModel::slotOf(RunId run) const {
    const auto found = m_slots.find(run);
    return found == m_slots.end() ? -1 : found->second;
}

std::vector<RunId> RunListModel::compared() const {
    std::vector<std::pair<int, RunId>> bySlot;
    for (const auto& [run, slot] : m_slots)
        bySlot.emplace_back(slot, run);
    std::sort(bySlot.begin(), bySlot.end());
    std::vector<RunId> runs;
    for (const auto& [slot, run] : bySlot)
        runs.push_back(run);
    return runs;
}

const RunListModel::Figures& RunListModel::figures(RunId run) const {
    const auto found = m_figures.find(run);
    if (found != m_figures.end())
        return found->second;
    Figures figures;
    if (const auto series = m_store.reader().seriesOf(run)) {
        for (const SeriesInfo& info : *series) {
            const auto best = bestOf(info.metric, info.summary);
            if (info.metric == kLoss && best)
                figures.loss = best->value;
            if (info.metric == kAccuracy && best)
                figures.accuracy = best->value;
            // Models that predict numbers have no accuracy; their loss is the curve then.
            if (info.metric == kAccuracy || (info.metric == kLoss && figures.curve.isEmpty())) {
                const std::vector<float> values = info.summary.sparkline.values();
                figures.curve = QList<float>(values.begin(), values.end());
            }
        }
    }
    return m_figures[run] = std::move(figures);
}

/// Losses sort behind all accuracies, the smallest first.
std::optional<double> RunListModel::Figures::quality() const {
    if (accuracy)
        return accuracy;
    return loss ? std::optional(-1 - *loss) : std::nullopt;
}

QString RunListModel::bestText(const Figures& figures) const {
    if (figures.accuracy || !figures.loss)
        return formatValue(figures.accuracy);
    return tr("loss %1").arg(formatValue(*figures.loss));
}

QVariant RunListModel::display(const RunRecord& record, int column) const {
    switch (column) {
    case NumberColumn:
        return QString(u'#' + QString::number(static_cast<qint64>(record.id)));
    case NameColumn:
        return record.name;
    case StatusColumn:
        return statusText(record.status);
    case BestColumn:
        return bestText(figures(record.id));
    case LossColumn:
        return formatValue(figures(record.id).loss);
    case RanksColumn:
        return QString::number(record.worldSize);
    case DurationColumn:
        return record.startedUtcUs ? formatDuration(record.seconds) : unknownText();
    case StartedColumn:
        return formatDateTime(record.startedUtcUs.value_or(record.createdUtcUs));
    default:
        return {};
    }
}

QVariant RunListModel::sortValue(const RunRecord& record, int column) const {
    const auto orNothing = [](const std::optional<double>& value) {
        return value ? QVariant(*value) : QVariant();
    };
    switch (column) {
    case ComparedColumn:
    case SlotColumn:
        return slotOf(record.id) < 0 ? QVariant() : QVariant(slotOf(record.id));
    case NumberColumn:
        return static_cast<qint64>(record.id);
    case NameColumn:
        return record.name;
    case StatusColumn:
        return statusText(record.status);
    case BestColumn:
    case CurveColumn:
        return orNothing(figures(record.id).quality());
    case LossColumn:
        return orNothing(figures(record.id).loss);
    case RanksColumn:
        return record.worldSize;
    case DurationColumn:
        return record.startedUtcUs ? QVariant(record.seconds) : QVariant();
    case StartedColumn:
        return static_cast<qint64>(record.startedUtcUs.value_or(record.createdUtcUs));
    default:
        return {};
    }
}

QVariant RunListModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const RunRecord& record = m_records[static_cast<std::size_t>(index.row())];
    switch (role) {
    case Qt::DisplayRole:
        return display(record, index.column());
    case Qt::TextAlignmentRole:
        return headerData(index.column(), Qt::Horizontal, role);
    case Qt::CheckStateRole:
        if (index.column() != ComparedColumn)
            return {};
        return slotOf(record.id) >= 0 ? Qt::Checked : Qt::Unchecked;
    case Qt::ToolTipRole:
        if (index.column() == StatusColumn && record.failure)
            return text(record.failure->what);
        return index.column() == NameColumn ? QVariant(record.name) : QVariant();
    case RunIdRole:
        return static_cast<qint64>(record.id);
    case SortRole:
        return sortValue(record, index.column());
    case StatusRole:
        return static_cast<int>(record.status);
    case SlotRole:
        return slotOf(record.id);
    case SparklineRole:
        return QVariant::fromValue(figures(record.id).curve);
    case FailureRole:
        return record.failure ? text(record.failure->what) : QString();
    default:
        return {};
    }
}

bool RunListModel::setData(const QModelIndex& index, const QVariant& value, int role) {
    if (!index.isValid() || role != Qt::CheckStateRole || index.column() != ComparedColumn)
        return false;
    setCompared(m_records[static_cast<std::size_t>(index.row())].id, value.toInt() == Qt::Checked);
    return true;
}

QVariant RunListModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal)
        return {};
    if (role == Qt::TextAlignmentRole)
        return int(Qt::AlignVCenter | (isFigure(section) ? Qt::AlignRight : Qt::AlignLeft));
    if (role != Qt::DisplayRole)
        return {};
    switch (section) {
    case NumberColumn:
        return tr("Run");
    case NameColumn:
        return tr("Name");
    case StatusColumn:
        return tr("State");
    case BestColumn:
        return tr("Best");
    case CurveColumn:
        return tr("Curve");
    case LossColumn:
        return tr("Lowest loss");
    case RanksColumn:
        return tr("Ranks");
    case DurationColumn:
        return tr("Took");
    case StartedColumn:
        return tr("Started");
    default:
        return {};
    }
}

Qt::ItemFlags RunListModel::flags(const QModelIndex& index) const {
    Qt::ItemFlags flags = QAbstractTableModel::flags(index);
    if (index.column() == ComparedColumn)
        flags |= Qt::ItemIsUserCheckable;
    return flags;
}

RunFilterModel::RunFilterModel(QObject* parent) : QSortFilterProxyModel(parent) {
    setSortRole(RunListModel::SortRole);
    setDynamicSortFilter(true);
}

void RunFilterModel::setFilterText(const QString& text) {
    m_words = text.simplified().split(u' ', Qt::SkipEmptyParts);
    invalidateRowsFilter();
}

bool RunFilterModel::lessThan(const QModelIndex& left, const QModelIndex& right) const {
    const QVariant a = left.data(sortRole());
    const QVariant b = right.data(sortRole());
    if (isKnown(a) != isKnown(b))
        return isKnown(a) == (sortOrder() == Qt::AscendingOrder);
    if (!isKnown(a))
        return false;
    if (a.typeId() == QMetaType::QString)
        return QString::localeAwareCompare(a.toString(), b.toString()) < 0;
    return a.toDouble() < b.toDouble();
}

bool RunFilterModel::filterAcceptsRow(int row, const QModelIndex& parent) const {
    const auto textAt = [&](int column) {
        return sourceModel()->index(row, column, parent).data().toString();
    };
    const QString all = textAt(RunListModel::NumberColumn) + u' ' +
                        textAt(RunListModel::NameColumn) + u' ' +
                        textAt(RunListModel::StatusColumn);
    return std::all_of(m_words.begin(), m_words.end(), [&](const QString& word) {
        return all.contains(word, Qt::CaseInsensitive);
    });
}

QString statusText(RunStatus status) {
    switch (status) {
    case RunStatus::Created:
        return RunListModel::tr("Created");
    case RunStatus::Starting:
        return RunListModel::tr("Starting");
    case RunStatus::Running:
        return RunListModel::tr("Running");
    case RunStatus::Stopping:
        return RunListModel::tr("Stopping");
    case RunStatus::Finished:
        return RunListModel::tr("Finished");
    case RunStatus::Failed:
        return RunListModel::tr("Failed");
    case RunStatus::Stopped:
        return RunListModel::tr("Stopped");
    case RunStatus::Diverged:
        return RunListModel::tr("Diverged");
    case RunStatus::Crashed:
        return RunListModel::tr("Crashed");
    }
    return {};
}

} // namespace trainyard::app

#include "moc_run_list_model.cpp"
