// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/history/run_delegate.h"

#include "app/models/run_list_model.h"
#include "ui/run_state.h"
#include "ui/theme/theme.h"
#include "ui/widgets/state_chip.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace trainyard::ui {

using app::RunListModel;

namespace {

constexpr int kCheckSize = 14;
constexpr int kSlotWidth = 28;

bool isNumber(const QModelIndex& index) {
    return index.data(Qt::TextAlignmentRole).toInt() & Qt::AlignRight;
}

} // namespace

RunDelegate::RunDelegate(const Theme& theme, QObject* parent)
    : QStyledItemDelegate(parent), m_theme(theme) {}

QSize RunDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const {
    QSize size = QStyledItemDelegate::sizeHint(option, index);
    size.setHeight(m_theme.px(height::kRow));
    return size;
}

void RunDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                        const QModelIndex& index) const {
    painter->save();
    paintBackground(*painter, option, index);
    const QRect content = option.rect.adjusted(space::kS, 0, -space::kS, -1);
    switch (index.column()) {
    case RunListModel::ComparedColumn:
        paintCheck(*painter, content, index.data(Qt::CheckStateRole).toInt() == Qt::Checked);
        break;
    case RunListModel::SlotColumn:
        paintSlot(*painter, content, index.data(RunListModel::SlotRole).toInt());
        break;
    case RunListModel::StatusColumn:
        drawStateWord(
            *painter, m_theme, content,
            stateOf(static_cast<app::RunStatus>(index.data(RunListModel::StatusRole).toInt())),
            index.data().toString());
        break;
    case RunListModel::CurveColumn:
        paintCurve(*painter, content, index);
        break;
    default:
        paintText(*painter, content, index);
    }
    if (option.state.testFlag(QStyle::State_HasFocus))
        drawFocusRing(*painter, m_theme, QRectF(option.rect).adjusted(0, 0, 0, -1));
    painter->restore();
}

void RunDelegate::paintBackground(QPainter& painter, const QStyleOptionViewItem& option,
                                  const QModelIndex& index) const {
    Color fill = Color::Surface;
    if (option.state.testFlag(QStyle::State_Selected))
        fill = Color::Selected;
    else if (option.state.testFlag(QStyle::State_MouseOver))
        fill = Color::Hover;
    else if (index.data(RunListModel::SlotRole).toInt() >= 0)
        fill = Color::Stripe;
    painter.fillRect(option.rect, m_theme.color(fill));
    painter.fillRect(QRect(option.rect.left(), option.rect.bottom(), option.rect.width(), 1),
                     m_theme.color(Color::Border));
}

void RunDelegate::paintCheck(QPainter& painter, const QRect& rect, bool checked) const {
    const int size = m_theme.px(kCheckSize);
    const QRect box(rect.left(), rect.center().y() - size / 2, size, size);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(m_theme.color(checked ? Color::Accent : Color::Control));
    painter.setBrush(m_theme.color(checked ? Color::Accent : Color::Field));
    painter.drawRoundedRect(QRectF(box).adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
    if (checked)
        painter.drawPixmap(box.adjusted(1, 1, -1, -1),
                           m_theme.pixmap(QStringLiteral("check"), m_theme.color(Color::OnAccent),
                                          size - 2, painter.device()->devicePixelRatioF()));
}

void RunDelegate::paintSlot(QPainter& painter, const QRect& rect, int slot) const {
    if (slot < 0)
        return;
    QPen pen(m_theme.series(slot), 2);
    pen.setCapStyle(Qt::FlatCap);
    painter.setPen(pen);
    // Dashes by single segments: a dashed wide pen is slow (look/design).
    const std::span<const int> dash = tokenDash(slot);
    const int y = rect.center().y();
    const int end = std::min(rect.right(), rect.left() + m_theme.px(kSlotWidth));
    if (dash.empty()) {
        painter.drawLine(rect.left(), y, end, y);
        return;
    }
    int x = rect.left();
    for (std::size_t i = 0; x < end; i = (i + 1) % dash.size()) {
        if (i % 2 == 0)
            painter.drawLine(x, y, std::min(end, x + dash[i]), y);
        x += dash[i];
    }
}

void RunDelegate::paintCurve(QPainter& painter, const QRect& rect, const QModelIndex& index) const {
    const auto values = index.data(RunListModel::SparklineRole).value<QList<float>>();
    float low = std::numeric_limits<float>::infinity();
    float high = -low;
    for (const float value : values) {
        if (!std::isfinite(value))
            continue;
        low = std::min(low, value);
        high = std::max(high, value);
    }
    if (values.size() < 2 || low > high)
        return;
    const QRectF area = QRectF(rect).adjusted(0, 6, 0, -6);
    const float span = high > low ? high - low : 1;
    const int slot = index.data(RunListModel::SlotRole).toInt();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(slot >= 0 ? m_theme.series(slot) : m_theme.color(Color::Text3), 1));
    QPolygonF line;
    for (qsizetype i = 0; i < values.size(); ++i) {
        if (std::isfinite(values[i]))
            line << QPointF(area.left() + area.width() * static_cast<double>(i) /
                                              static_cast<double>(values.size() - 1),
                            area.bottom() - area.height() * static_cast<double>(values[i] - low) /
                                                static_cast<double>(span));
    }
    painter.drawPolyline(line);
}

void RunDelegate::paintText(QPainter& painter, const QRect& rect, const QModelIndex& index) const {
    const QString text = index.data().toString();
    const bool name = index.column() == RunListModel::NameColumn;
    const bool unknown = !index.data(RunListModel::SortRole).isValid();
    const Color color =
        unknown || index.column() == RunListModel::NumberColumn ? Color::Text3 : Color::Text;
    painter.setPen(m_theme.color(color));
    if (isNumber(index) || index.column() == RunListModel::NumberColumn ||
        index.column() == RunListModel::StartedColumn) {
        const Qt::Alignment side = isNumber(index) ? Qt::AlignRight : Qt::AlignLeft;
        m_theme.numbers(TypeStyle::Body).draw(painter, rect, side | Qt::AlignVCenter, text);
        return;
    }
    const QFont& font = m_theme.font(name ? TypeStyle::Strong : TypeStyle::Body);
    painter.setFont(font);
    painter.drawText(rect, Qt::AlignLeft | Qt::AlignVCenter,
                     QFontMetrics(font).elidedText(text, Qt::ElideMiddle, rect.width()));
}

bool RunDelegate::editorEvent(QEvent* event, QAbstractItemModel* model,
                              const QStyleOptionViewItem& option, const QModelIndex& index) {
    // The whole cell is the target, not only the small box.
    const bool click = event->type() == QEvent::MouseButtonRelease &&
                       static_cast<QMouseEvent*>(event)->button() == Qt::LeftButton &&
                       index.column() == RunListModel::ComparedColumn;
    if (!click)
        return QStyledItemDelegate::editorEvent(event, model, option, index);
    const bool checked = index.data(Qt::CheckStateRole).toInt() == Qt::Checked;
    return model->setData(index, checked ? Qt::Unchecked : Qt::Checked, Qt::CheckStateRole);
}

} // namespace trainyard::ui

#include "moc_run_delegate.cpp"
