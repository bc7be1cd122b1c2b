// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/widgets/step_bars.h"

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

constexpr int kStepBarTall = 10;
constexpr int kStepRowTall = 22;
constexpr int kSwatch = 10;
constexpr int kRankNameMost = 96;

/// Waiting is hatched, so that it is told apart without its colour.
QBrush brushOf(const Theme& theme, StepPart part) {
    return QBrush(theme.color(part),
                  part == StepPart::Bubble ? Qt::BDiagPattern : Qt::SolidPattern);
}

} // namespace

QString stepPartName(StepPart part) {
    switch (part) {
    case StepPart::Data:
        return StepBars::tr("data");
    case StepPart::Forward:
        return StepBars::tr("forward");
    case StepPart::Backward:
        return StepBars::tr("backward");
    case StepPart::Communication:
        return StepBars::tr("communication");
    case StepPart::Optimizer:
        return StepBars::tr("optimizer");
    case StepPart::Bubble:
        return StepBars::tr("waiting");
    }
    return {};
}

QString stepTimeText(double seconds) {
    if (seconds < 1e-3)
        return withUnit(formatSignificant(seconds * 1e6, 3), QStringLiteral("µs"));
    if (seconds < 1)
        return withUnit(formatSignificant(seconds * 1e3, 3), QStringLiteral("ms"));
    return withUnit(formatSignificant(seconds, 3), QStringLiteral("s"));
}

StepBars::StepBars(const Theme& theme, QWidget* parent) : QWidget(parent), m_theme(theme) {
    setObjectName(QStringLiteral("stepBars"));
    setAccessibleName(tr("Where a step goes"));
    setFocusPolicy(Qt::TabFocus);
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    followTheme(this, theme);
}

void StepBars::setRows(std::vector<Row> rows) {
    const bool resized = rows.size() != m_rows.size();
    m_rows = std::move(rows);
    m_longest = 0;
    for (const Row& row : m_rows)
        m_longest = std::max(m_longest, row.step);
    m_current = std::clamp(m_current, 0, std::max(0, static_cast<int>(m_rows.size()) - 1));
    if (!m_rows.empty())
        setAccessibleDescription(describe(m_rows[static_cast<std::size_t>(m_current)]));
    if (resized)
        updateGeometry();
    update();
}

void StepBars::setCurrent(int row) {
    if (row == m_current || row < 0 || row >= static_cast<int>(m_rows.size()))
        return;
    m_current = row;
    setAccessibleDescription(describe(m_rows[static_cast<std::size_t>(row)]));
    update();
    emit currentChanged(row);
}

QString StepBars::describe(const Row& row) {
    QStringList words;
    for (int part = 0; part < kStepPartCount; ++part) {
        const double seconds = row.parts[static_cast<std::size_t>(part)];
        if (seconds <= 0 || row.step <= 0)
            continue;
        words << tr("%1 %2 (%3)", "part of a step, duration, share")
                     .arg(stepPartName(static_cast<StepPart>(part)), stepTimeText(seconds),
                          withUnit(formatFixed(100 * seconds / row.step, 0), QStringLiteral("%")));
    }
    return tr("%1, %2 a step: %3").arg(row.name, stepTimeText(row.step), words.join(u", "));
}

int StepBars::lineHeight() const {
    return m_theme.px(kStepRowTall);
}

QSize StepBars::sizeHint() const {
    return {m_theme.px(300), static_cast<int>(m_rows.size()) * lineHeight()};
}

QSize StepBars::minimumSizeHint() const {
    return {m_theme.px(160), sizeHint().height()};
}

int StepBars::rowAt(int y) const {
    const int row = y / std::max(1, lineHeight());
    return y >= 0 && row < static_cast<int>(m_rows.size()) ? row : -1;
}

void StepBars::paintBar(QPainter& painter, const Row& row, const QRect& track) const {
    const double pixels = m_longest > 0 ? track.width() / m_longest : 0;
    const auto at = [&](double seconds) {
        return track.left() + static_cast<int>(std::lround(seconds * pixels));
    };
    painter.fillRect(QRect(track.left(), track.top(), at(row.step) - track.left(), track.height()),
                     m_theme.color(Color::Pressed));
    double done = 0;
    for (int part = 0; part < kStepPartCount; ++part) {
        const double seconds = row.parts[static_cast<std::size_t>(part)];
        const int left = at(done);
        done = std::min(done + std::max(0.0, seconds), row.step);
        painter.fillRect(QRect(left, track.top(), at(done) - left, track.height()),
                         brushOf(m_theme, static_cast<StepPart>(part)));
    }
}

void StepBars::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const QFont& font = m_theme.font(TypeStyle::Small);
    const QFontMetrics metrics(font);
    const NumberFont& numbers = m_theme.numbers(TypeStyle::Small);
    int nameWidth = 0;
    double figureWidth = 0;
    for (const Row& row : m_rows) {
        nameWidth = std::max(nameWidth, metrics.horizontalAdvance(row.name));
        figureWidth = std::max(figureWidth, numbers.width(stepTimeText(row.step)));
    }
    nameWidth = std::min(nameWidth, m_theme.px(kRankNameMost));
    const int figure = static_cast<int>(std::ceil(figureWidth)) + 1;
    const int gap = m_theme.px(space::kS);
    const int tall = m_theme.px(kStepBarTall);
    for (std::size_t i = 0; i < m_rows.size(); ++i) {
        const QRect line(0, static_cast<int>(i) * lineHeight(), width(), lineHeight());
        painter.setFont(font);
        painter.setPen(m_theme.color(Color::Text2));
        painter.drawText(QRect(gap, line.top(), nameWidth, line.height()),
                         Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine,
                         metrics.elidedText(m_rows[i].name, Qt::ElideMiddle, nameWidth));
        const int left = gap + nameWidth + gap;
        const int wide = std::max(0, width() - left - figure - 2 * gap);
        paintBar(painter, m_rows[i], QRect(left, line.center().y() - tall / 2, wide, tall));
        painter.setPen(m_theme.color(Color::Text));
        numbers.draw(painter, QRectF(width() - figure - gap, line.top(), figure, line.height()),
                     Qt::AlignRight | Qt::AlignVCenter, stepTimeText(m_rows[i].step));
        if (hasFocus() && static_cast<int>(i) == m_current)
            drawFocusRing(painter, m_theme, line, radius::kControl);
    }
}

void StepBars::keyPressEvent(QKeyEvent* event) {
    const int last = static_cast<int>(m_rows.size()) - 1;
    switch (event->key()) {
    case Qt::Key_Up:
        return setCurrent(m_current - 1);
    case Qt::Key_Down:
        return setCurrent(m_current + 1);
    case Qt::Key_Home:
        return setCurrent(0);
    case Qt::Key_End:
        return setCurrent(last);
    default:
        QWidget::keyPressEvent(event);
    }
}

void StepBars::mousePressEvent(QMouseEvent* event) {
    setCurrent(rowAt(static_cast<int>(event->position().y())));
}

bool StepBars::event(QEvent* event) {
    if (event->type() == QEvent::FocusIn || event->type() == QEvent::FocusOut)
        update();
    if (event->type() != QEvent::ToolTip)
        return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const int row = rowAt(help->pos().y());
    if (row < 0)
        QToolTip::hideText();
    else
        QToolTip::showText(help->globalPos(), describe(m_rows[static_cast<std::size_t>(row)]),
                           this);
    return true;
}

StepLegend::StepLegend(const Theme& theme, QWidget* parent) : QWidget(parent), m_theme(theme) {
    QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
    followTheme(this, theme);
}

void StepLegend::setParts(std::vector<StepPart> parts) {
    if (parts == m_parts)
        return;
    m_parts = std::move(parts);
    QStringList words;
    for (const StepPart part : m_parts)
        words << stepPartName(part);
    setAccessibleName(words.join(u", "));
    updateGeometry();
    update();
}

std::vector<QRect> StepLegend::placesFor(int width) const {
    const QFontMetrics metrics(m_theme.font(TypeStyle::Small));
    const int line = m_theme.lineHeight(TypeStyle::Small);
    const int before = m_theme.px(kSwatch) + m_theme.px(space::kXs);
    std::vector<QRect> places;
    QPoint at;
    for (const StepPart part : m_parts) {
        const int wide = before + metrics.horizontalAdvance(stepPartName(part)) + 1;
        if (at.x() > 0 && at.x() + wide > width)
            at = QPoint(0, at.y() + line);
        places.emplace_back(at, QSize(wide, line));
        at.rx() += wide + m_theme.px(space::kM);
    }
    return places;
}

int StepLegend::heightForWidth(int width) const {
    const std::vector<QRect> places = placesFor(width);
    return places.empty() ? 0 : places.back().bottom() + 1;
}

QSize StepLegend::sizeHint() const {
    const int wide = m_theme.px(300);
    return {wide, heightForWidth(wide)};
}

void StepLegend::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setFont(m_theme.font(TypeStyle::Small));
    const std::vector<QRect> places = placesFor(width());
    const int swatch = m_theme.px(kSwatch);
    for (std::size_t i = 0; i < places.size(); ++i) {
        const QRect& place = places[i];
        painter.fillRect(QRect(place.left(), place.center().y() - swatch / 2, swatch, swatch),
                         brushOf(m_theme, m_parts[i]));
        painter.setPen(m_theme.color(Color::Text2));
        painter.drawText(place.adjusted(swatch + m_theme.px(space::kXs), 0, 0, 0),
                         Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine,
                         stepPartName(m_parts[i]));
    }
}

} // namespace trainyard::ui

#include "moc_step_bars.cpp"
