// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/widgets/confusion_map.h"

#include "ui/theme/theme.h"
#include "ui/widgets/format.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace trainyard::ui {

namespace {

constexpr int kCellMost = 64;
constexpr int kCellLeast = 3;
constexpr int kClassNameMost = 128;
/// Below it names of columns stand upright.
constexpr int kFlatNames = 44;
constexpr int kUprightMost = 84;

QColor mixed(const QColor& from, const QColor& to, double share) {
    const auto mix = [share](int a, int b) {
        return static_cast<int>(std::lround(a + (b - a) * share));
    };
    return {mix(from.red(), to.red()), mix(from.green(), to.green()), mix(from.blue(), to.blue())};
}

/// WCAG's relative luminance.
double luminance(const QColor& color) {
    const auto linear = [](double part) {
        return part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) +
           0.0722 * linear(color.blueF());
}

double contrast(const QColor& a, const QColor& b) {
    const double first = luminance(a) + 0.05, second = luminance(b) + 0.05;
    return std::max(first, second) / std::min(first, second);
}

} // namespace

/// Edge length of a cell, where the cells begin, and which of the names there is room for.
struct ConfusionMap::Layout {
    int cell = 0, left = 0, top = 0, stride = 1;
    bool flat = true; ///< names of columns lie
    QRect rect(int label, int prediction) const;
};

ConfusionMap::ConfusionMap(const Theme& theme, QWidget* parent) : QWidget(parent), m_theme(theme) {
    setFocusPolicy(Qt::TabFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    setAccessibleName(tr("Confusion matrix"));
    followTheme(this, theme);
}

void ConfusionMap::setTable(const std::optional<app::ConfusionTable>& table) {
    const bool other = !table || !m_table || table->classes() != m_table->classes();
    m_table = table;
    if (other)
        m_current = {0, 0};
    setAccessibleDescription(m_table ? sentence(m_current.y(), m_current.x()) : QString());
    updateGeometry();
    update();
}

void ConfusionMap::setValues(Values values) {
    m_values = values;
    update();
}

QString ConfusionMap::nameOf(int index) const {
    return m_table->name(index).simplified();
}

QString ConfusionMap::sentence(int label, int prediction) const {
    return tr("label %1 predicted as %2: %3 of %4")
        .arg(nameOf(label), nameOf(prediction), formatCount(m_table->count(label, prediction)),
             formatCount(m_table->labelled(label)));
}

QString ConfusionMap::cellText(int label, int prediction) const {
    return textIn(layoutNow(), label, prediction);
}

QString ConfusionMap::textIn(const Layout& layout, int label, int prediction) const {
    const std::int64_t count = m_table->count(label, prediction);
    if (count == 0 || layout.cell < m_theme.lineHeight(TypeStyle::Small))
        return {};
    const QString text = m_values == Values::Counts
                             ? formatCount(count)
                             : formatFixed(100 * *m_table->share(label, prediction), 0);
    const bool fits = m_theme.numbers(TypeStyle::Small).width(text) + space::kXs <
                      static_cast<double>(layout.cell);
    return fits ? text : QString();
}

ConfusionMap::Layout ConfusionMap::layoutNow() const {
    Layout layout;
    if (classes() == 0)
        return layout;
    const QFontMetrics metrics(m_theme.font(TypeStyle::Small));
    int widest = QFontMetrics(m_theme.font(TypeStyle::Caption)).horizontalAdvance(tr("Label")) +
                 space::kHair;
    for (int each = 0; each < classes(); ++each)
        widest = std::max(widest, metrics.horizontalAdvance(nameOf(each)) + space::kHair);
    const int line = m_theme.lineHeight(TypeStyle::Small);
    const int caption = m_theme.lineHeight(TypeStyle::Caption);
    layout.left = std::min(widest, m_theme.px(kClassNameMost)) + m_theme.px(space::kS);
    const auto cellBelow = [&](int top) {
        const int room =
            std::min((width() - layout.left) / classes(), (height() - top) / classes());
        return std::clamp(room, kCellLeast, m_theme.px(kCellMost));
    };
    layout.top = caption + line + m_theme.px(space::kXs);
    layout.cell = cellBelow(layout.top);
    layout.flat = layout.cell >= std::min(m_theme.px(kFlatNames), widest + space::kXs);
    if (!layout.flat) {
        layout.top = caption + std::min(widest, m_theme.px(kUprightMost)) + m_theme.px(space::kS);
        layout.cell = cellBelow(layout.top);
    }
    layout.stride = std::max(1, (line + layout.cell - 1) / layout.cell);
    return layout;
}

QRect ConfusionMap::Layout::rect(int label, int prediction) const {
    return {left + prediction * cell, top + label * cell, cell, cell};
}

QRect ConfusionMap::cellRect(int label, int prediction) const {
    return layoutNow().rect(label, prediction);
}

std::optional<QPoint> ConfusionMap::cellAt(const QPoint& place) const {
    const Layout layout = layoutNow();
    if (classes() == 0 || place.x() < layout.left || place.y() < layout.top)
        return std::nullopt;
    const QPoint cell((place.x() - layout.left) / layout.cell,
                      (place.y() - layout.top) / layout.cell);
    if (cell.x() >= classes() || cell.y() >= classes())
        return std::nullopt;
    return cell;
}

QColor ConfusionMap::fillOf(int label, int prediction) const {
    const double share = m_table->share(label, prediction).value_or(0);
    const QColor empty = m_theme.color(Color::Canvas);
    if (label == prediction)
        return mixed(empty, m_theme.color(Color::Accent), share);
    // A few per cent of mistakes are what one looks for: they are not left to be pale.
    return mixed(empty, m_theme.tone(State::Failed).solid, std::sqrt(share));
}

void ConfusionMap::paintNames(QPainter& painter, const Layout& layout) const {
    const int line = m_theme.lineHeight(TypeStyle::Small);
    painter.setFont(m_theme.font(TypeStyle::Caption));
    painter.setPen(m_theme.color(Color::Text3));
    painter.drawText(QRect(layout.left, 0, width() - layout.left, line),
                     Qt::AlignLeft | Qt::AlignVCenter, tr("Predicted as"));
    painter.drawText(QRect(0, layout.top - line, layout.left - m_theme.px(space::kS), line),
                     Qt::AlignRight | Qt::AlignVCenter, tr("Label"));
    const QFont& font = m_theme.font(TypeStyle::Small);
    const QFontMetrics metrics(font);
    painter.setFont(font);
    painter.setPen(m_theme.color(Color::Text2));
    const int room = layout.left - m_theme.px(space::kS);
    const int upright = layout.top - m_theme.lineHeight(TypeStyle::Caption) - m_theme.px(space::kS);
    for (int each = 0; each < classes(); each += layout.stride) {
        const int centre = layout.top + each * layout.cell + layout.cell / 2;
        painter.drawText(QRect(0, centre - line / 2, room, line),
                         Qt::AlignRight | Qt::AlignVCenter | Qt::TextSingleLine,
                         metrics.elidedText(nameOf(each), Qt::ElideMiddle, room));
        const int middle = layout.left + each * layout.cell + layout.cell / 2;
        if (layout.flat) {
            painter.drawText(QRect(middle - layout.cell / 2, layout.top - line, layout.cell, line),
                             Qt::AlignCenter | Qt::TextSingleLine,
                             metrics.elidedText(nameOf(each), Qt::ElideMiddle, layout.cell));
            continue;
        }
        painter.save();
        painter.translate(middle, layout.top - space::kXs);
        painter.rotate(-90);
        painter.drawText(QRect(0, -line / 2, upright, line),
                         Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine,
                         metrics.elidedText(nameOf(each), Qt::ElideMiddle, upright));
        painter.restore();
    }
}

void ConfusionMap::paintCell(QPainter& painter, const Layout& layout, int label,
                             int prediction) const {
    // With a gap where there is room for one.
    const int gap = layout.cell >= 8 ? 1 : 0;
    const QRect rect = layout.rect(label, prediction).adjusted(0, 0, -gap, -gap);
    const QColor fill = fillOf(label, prediction);
    painter.fillRect(rect, fill);
    const QString text = textIn(layout, label, prediction);
    if (text.isEmpty())
        return;
    const QColor ink = m_theme.color(Color::Text), paper = m_theme.color(Color::Surface);
    painter.setPen(contrast(ink, fill) >= contrast(paper, fill) ? ink : paper);
    m_theme.numbers(TypeStyle::Small).draw(painter, rect, Qt::AlignCenter, text);
}

void ConfusionMap::paintEvent(QPaintEvent*) {
    if (classes() == 0)
        return;
    QPainter painter(this);
    const Layout layout = layoutNow();
    paintNames(painter, layout);
    for (int label = 0; label < classes(); ++label)
        for (int prediction = 0; prediction < classes(); ++prediction)
            paintCell(painter, layout, label, prediction);
    if (hasFocus())
        drawFocusRing(painter, m_theme, cellRect(m_current.y(), m_current.x()));
}

void ConfusionMap::goTo(QPoint cell) {
    m_current = {std::clamp(cell.x(), 0, classes() - 1), std::clamp(cell.y(), 0, classes() - 1)};
    const QString text = sentence(m_current.y(), m_current.x());
    setAccessibleDescription(text);
    QToolTip::showText(mapToGlobal(cellRect(m_current.y(), m_current.x()).bottomRight()), text,
                       this);
    update();
}

void ConfusionMap::keyPressEvent(QKeyEvent* event) {
    const QPoint step = event->key() == Qt::Key_Left    ? QPoint(-1, 0)
                        : event->key() == Qt::Key_Right ? QPoint(1, 0)
                        : event->key() == Qt::Key_Up    ? QPoint(0, -1)
                        : event->key() == Qt::Key_Down  ? QPoint(0, 1)
                                                        : QPoint();
    if (step.isNull() || classes() == 0)
        return QWidget::keyPressEvent(event);
    goTo(m_current + step);
}

void ConfusionMap::mousePressEvent(QMouseEvent* event) {
    if (const auto cell = cellAt(event->position().toPoint()))
        goTo(*cell);
}

bool ConfusionMap::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip)
        return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    if (const auto cell = cellAt(help->pos()))
        QToolTip::showText(help->globalPos(), sentence(cell->y(), cell->x()), this);
    else
        QToolTip::hideText();
    return true;
}

QSize ConfusionMap::sizeHint() const {
    const int side = m_theme.px(std::clamp(classes() * 40, 240, 480));
    return {side, side};
}

QSize ConfusionMap::minimumSizeHint() const {
    const int side =
        std::max(m_theme.px(200), classes() * kCellLeast + m_theme.px(kClassNameMost + space::kS));
    return {side, side};
}

} // namespace trainyard::ui

#include "moc_confusion_map.cpp"
