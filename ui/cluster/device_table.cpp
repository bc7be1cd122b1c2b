// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/cluster/device_table.h"

#include "ui/cluster/host_table.h"
#include "ui/theme/theme.h"
#include "ui/widgets/format.h"

#include <QHeaderView>
#include <QPainter>
#include <QStyledItemDelegate>

namespace trainyard::ui {

using app::DeviceModel;

namespace {

constexpr int kDeviceRowHeight = 44;

/// Old facts are dimmed: what they say may no longer hold.
class DeviceDelegate : public QStyledItemDelegate {
public:
    DeviceDelegate(const Theme& theme, const DeviceModel& devices, QObject* parent)
        : QStyledItemDelegate(parent), m_theme(theme), m_devices(devices) {}

    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override {
        painter->save();
        const QRect rect = option.rect;
        painter->fillRect(rect, m_theme.color(option.state.testFlag(QStyle::State_MouseOver)
                                                  ? Color::Hover
                                                  : Color::Surface));
        painter->fillRect(rect.left(), rect.bottom(), rect.width(), 1,
                          m_theme.color(Color::Border));
        QRect inside = rect.adjusted(m_theme.px(space::kS), 0, -m_theme.px(space::kS), -1);
        const bool old = m_devices.state() == DeviceModel::State::Failed;
        if (index.column() == DeviceModel::DeviceColumn) {
            paintName(*painter, inside, index, old);
        } else {
            const bool number = index.column() >= DeviceModel::CoresColumn;
            const bool known = !number || index.data(DeviceModel::NumberRole).isValid();
            const QString text = known ? index.data().toString() : notAvailable();
            painter->setPen(m_theme.color(old || !known ? Color::Text3
                                          : number      ? Color::Text
                                                        : Color::Text2));
            const auto align = Qt::Alignment(index.data(Qt::TextAlignmentRole).toInt());
            const NumberFont& font = m_theme.numbers(TypeStyle::Body);
            const QString shown =
                QFontMetrics(font.font()).elidedText(text, Qt::ElideRight, inside.width());
            font.draw(*painter, inside, align, shown);
        }
        if (option.state.testFlag(QStyle::State_HasFocus))
            drawFocusRing(*painter, m_theme, rect);
        painter->restore();
    }

private:
    void paintName(QPainter& painter, QRect inside, const QModelIndex& index, bool old) const {
        const int size = m_theme.px(icon_size::kControl);
        painter.drawPixmap(inside.left(), inside.center().y() - size / 2 + 1,
                           m_theme.pixmap(index.data(DeviceModel::KindRole).toString(),
                                          m_theme.color(Color::Text2), size,
                                          painter.device()->devicePixelRatioF()));
        inside.adjust(size + m_theme.px(space::kM), 0, 0, 0);
        const QRect upper(inside.left(), inside.center().y() - m_theme.px(18), inside.width(),
                          m_theme.px(20));
        painter.setFont(m_theme.font(TypeStyle::Strong));
        painter.setPen(m_theme.color(old ? Color::Text3 : Color::Text));
        painter.drawText(upper, Qt::AlignVCenter, index.data().toString());
        painter.setFont(m_theme.font(TypeStyle::Caption));
        painter.setPen(m_theme.color(Color::Text3));
        painter.drawText(upper.translated(0, m_theme.px(18)), Qt::AlignVCenter,
                         index.data(DeviceModel::IdRole).toString());
    }

    const Theme& m_theme;
    const DeviceModel& m_devices;
};

} // namespace

DeviceTable::DeviceTable(const Theme& theme, DeviceModel& devices, QWidget* parent)
    : QTableView(parent) {
    setModel(&devices);
    setItemDelegate(new DeviceDelegate(theme, devices, this));
    setAccessibleName(tr("Devices"));
    styleTable(theme, this, kDeviceRowHeight);
    setSelectionMode(NoSelection);
    horizontalHeader()->setStretchLastSection(false);
    horizontalHeader()->setSectionResizeMode(DeviceModel::NameColumn, QHeaderView::Stretch);
    setColumnWidth(DeviceModel::DeviceColumn, theme.px(176));
    setColumnWidth(DeviceModel::CoresColumn, theme.px(96));
    setColumnWidth(DeviceModel::MemoryColumn, theme.px(132));
    connect(&devices, &DeviceModel::stateChanged, viewport(), qOverload<>(&QWidget::update));
}

} // namespace trainyard::ui

#include "moc_device_table.cpp"
