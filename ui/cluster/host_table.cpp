// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/cluster/host_table.h"

#include "ui/theme/theme.h"
#include "ui/widgets/format.h"
#include "ui/widgets/state_chip.h"

#include <QHeaderView>
#include <QPainter>
#include <QStandardItemModel>
#include <QStyledItemDelegate>

namespace trainyard::ui {

using Probe = app::DeviceModel::State;

namespace {

constexpr int kStateRole = Qt::UserRole + 1;
constexpr int kIconRole = Qt::UserRole + 2;
constexpr int kHostRowHeight = 32;

struct HostState {
    ui::State state;
    QString word;
};

HostState stateOf(const app::DeviceModel& devices) {
    switch (devices.state()) {
    case Probe::Ready:
        return {ui::State::Finished, HostTable::tr("Ready")};
    case Probe::Probing:
        return {ui::State::Running, HostTable::tr("Probing")};
    case Probe::Failed:
        return {ui::State::Failed, HostTable::tr("No answer")};
    case Probe::Unknown:
        break;
    }
    return {ui::State::Queued, HostTable::tr("Not probed")};
}

class HostDelegate : public QStyledItemDelegate {
public:
    HostDelegate(const Theme& theme, QObject* parent)
        : QStyledItemDelegate(parent), m_theme(theme) {}

    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override {
        painter->save();
        const QRect rect = option.rect;
        const bool selected = option.state.testFlag(QStyle::State_Selected);
        const bool hovered = option.state.testFlag(QStyle::State_MouseOver);
        painter->fillRect(rect, m_theme.color(selected  ? Color::Selected
                                              : hovered ? Color::Hover
                                                        : Color::Surface));
        painter->fillRect(rect.left(), rect.bottom(), rect.width(), 1,
                          m_theme.color(Color::Border));
        QRect inside = rect.adjusted(m_theme.px(space::kS), 0, -m_theme.px(space::kS), -1);
        const QVariant state = index.data(kStateRole);
        if (state.isValid()) {
            drawStateChip(*painter, m_theme, inside, static_cast<ui::State>(state.toInt()),
                          index.data().toString());
            painter->restore();
            return;
        }
        const QString icon = index.data(kIconRole).toString();
        const bool first = !icon.isEmpty();
        if (first) {
            const int size = m_theme.px(icon_size::kControl);
            painter->drawPixmap(inside.left(), inside.center().y() - size / 2 + 1,
                                m_theme.pixmap(icon, m_theme.color(Color::Text2), size,
                                               painter->device()->devicePixelRatioF()));
            inside.adjust(size + m_theme.px(space::kM), 0, 0, 0);
        }
        painter->setFont(m_theme.font(first ? TypeStyle::Strong : TypeStyle::Body));
        painter->setPen(m_theme.color(first ? Color::Text : Color::Text2));
        painter->drawText(inside, Qt::AlignVCenter | Qt::TextSingleLine,
                          painter->fontMetrics().elidedText(index.data().toString(), Qt::ElideRight,
                                                            inside.width()));
        if (option.state.testFlag(QStyle::State_HasFocus))
            drawFocusRing(*painter, m_theme, rect);
        painter->restore();
    }

private:
    const Theme& m_theme;
};

QString nowText(const app::MachineProbe& probe) {
    if (probe.runs.empty())
        return HostTable::tr("free");
    if (probe.runs.size() == 1)
        return HostTable::tr("run %1").arg(probe.runs.front().run);
    return HostTable::tr("%n runs", nullptr, static_cast<int>(probe.runs.size()));
}

QString devicesText(const app::MachineProbe& probe) {
    return HostTable::tr("%1 cores, %2, no GPU")
        .arg(formatCount(probe.cores), app::instructionSetsText(probe));
}

QString memoryText(const app::MachineProbe& probe) {
    if (!probe.memoryTotal)
        return notAvailable();
    const QString total = formatBytes(static_cast<double>(*probe.memoryTotal));
    if (!probe.memoryAvailable)
        return total;
    return HostTable::tr("%1 of %2 free")
        .arg(formatBytes(static_cast<double>(*probe.memoryAvailable)), total);
}

} // namespace

void styleTable(const Theme& theme, QTableView* table, int rowHeight) {
    table->setFrameShape(QFrame::NoFrame);
    table->setShowGrid(false);
    table->setMouseTracking(true);
    table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    table->setSelectionBehavior(QAbstractItemView::SelectRows);
    table->setSelectionMode(QAbstractItemView::SingleSelection);
    table->setTabKeyNavigation(false);
    table->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    table->verticalHeader()->hide();
    table->verticalHeader()->setDefaultSectionSize(theme.px(rowHeight));
    table->horizontalHeader()->setFixedHeight(theme.px(height::kRow));
    table->horizontalHeader()->setHighlightSections(false);
    table->horizontalHeader()->setStretchLastSection(true);
    table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
}

HostTable::HostTable(const Theme& theme, app::DeviceModel& devices, QWidget* parent)
    : QTableView(parent), m_theme(theme), m_devices(devices),
      m_rows(new QStandardItemModel(1, Now + 1, this)) {
    m_rows->setHorizontalHeaderLabels(
        {tr("Host"), tr("State"), tr("Address"), tr("Devices"), tr("Memory"), tr("Now")});
    setModel(m_rows);
    setItemDelegate(new HostDelegate(theme, this));
    setAccessibleName(tr("Hosts"));
    styleTable(theme, this, kHostRowHeight);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    const int widths[] = {176, 116, 76, 280, 188};
    for (int column = 0; column < Now; ++column)
        setColumnWidth(column, theme.px(widths[column]));
    connect(&devices, &app::DeviceModel::stateChanged, this, &HostTable::refresh);
    refresh();
    selectRow(0);
}

void HostTable::refresh() {
    const HostState state = stateOf(m_devices);
    const app::MachineProbe* facts = m_devices.facts();
    const auto set = [this](Column column, const QString& text) {
        QStandardItem* item = m_rows->item(0, column);
        if (!item) {
            item = new QStandardItem;
            m_rows->setItem(0, column, item);
        }
        item->setText(text);
        item->setToolTip(text);
        return item;
    };
    set(Host, tr("This computer"))->setData(QStringLiteral("host"), kIconRole);
    set(State, state.word)->setData(static_cast<int>(state.state), kStateRole);
    set(Address, tr("local"));
    set(Devices, facts ? devicesText(*facts) : QStringLiteral("…"));
    set(Memory, facts ? memoryText(*facts) : QStringLiteral("…"));
    set(Now, facts ? nowText(*facts) : QString());
}

QString HostTable::cell(int row, Column column) const {
    return m_rows->index(row, column).data().toString();
}

QSize HostTable::sizeHint() const {
    return {m_theme.px(400),
            m_theme.px(height::kRow) + m_rows->rowCount() * m_theme.px(kHostRowHeight)};
}

} // namespace trainyard::ui

#include "moc_host_table.cpp"
