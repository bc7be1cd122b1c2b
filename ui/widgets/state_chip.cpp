// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Own painted: a style sheet can put neither an icon nor a pill into a table cell.
#include "ui/widgets/state_chip.h"

#include "ui/theme/theme.h"

#include <QCoreApplication>
#include <QFontMetrics>
#include <QPainter>

namespace trainyard::ui {

namespace {

QFont chipFont(const Theme& theme) {
    QFont font = theme.font(TypeStyle::Small);
    font.setWeight(QFont::DemiBold);
    return font;
}

void drawIconAndWord(QPainter& painter, const Theme& theme, const QRect& rect, State state,
                     const QString& word) {
    const QColor color = theme.tone(state).text;
    const int edge = theme.px(icon_size::kInline);
    const qreal ratio = painter.device()->devicePixelRatioF();
    painter.drawPixmap(rect.left(), rect.top() + (rect.height() - edge) / 2,
                       theme.pixmap(tokenName(state), color, edge, ratio));
    painter.setPen(color);
    const QRect textRect = rect.adjusted(edge + theme.px(4), 0, 0, 0);
    painter.drawText(textRect, Qt::AlignVCenter | Qt::TextSingleLine,
                     painter.fontMetrics().elidedText(word, Qt::ElideRight, textRect.width()));
}

} // namespace

QString stateWord(State state) {
    const auto word = [](const char* text) {
        return QCoreApplication::translate("trainyard::ui::StateChip", text);
    };
    switch (state) {
    case State::Queued:
        return word(QT_TRANSLATE_NOOP("trainyard::ui::StateChip", "Queued"));
    case State::Running:
        return word(QT_TRANSLATE_NOOP("trainyard::ui::StateChip", "Running"));
    case State::Paused:
        return word(QT_TRANSLATE_NOOP("trainyard::ui::StateChip", "Paused"));
    case State::Finished:
        return word(QT_TRANSLATE_NOOP("trainyard::ui::StateChip", "Finished"));
    case State::Failed:
        return word(QT_TRANSLATE_NOOP("trainyard::ui::StateChip", "Failed"));
    case State::Warning:
        return word(QT_TRANSLATE_NOOP("trainyard::ui::StateChip", "Warning"));
    case State::Stopped:
        return word(QT_TRANSLATE_NOOP("trainyard::ui::StateChip", "Stopped"));
    }
    return {};
}

QSize stateChipSize(const Theme& theme, const QString& word) {
    const QFontMetrics metrics(chipFont(theme));
    const int sides = theme.px(6) + theme.px(icon_size::kInline) + theme.px(4) + theme.px(9);
    return {metrics.horizontalAdvance(word) + sides + 1, theme.px(height::kChip)};
}

void drawStateChip(QPainter& painter, const Theme& theme, const QRect& rect, State state,
                   const QString& word) {
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    QSize size = stateChipSize(theme, word);
    size.setWidth(std::min(size.width(), rect.width()));
    const QRect pill(QPoint(rect.left(), rect.center().y() - (size.height() - 1) / 2), size);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.tone(state).tint);
    painter.drawRoundedRect(pill, pill.height() / 2.0, pill.height() / 2.0);
    painter.setFont(chipFont(theme));
    drawIconAndWord(painter, theme, pill.adjusted(theme.px(6), 0, -theme.px(8), 0), state, word);
    painter.restore();
}

void drawStateWord(QPainter& painter, const Theme& theme, const QRect& rect, State state,
                   const QString& word) {
    painter.save();
    painter.setFont(theme.font(TypeStyle::Body));
    drawIconAndWord(painter, theme, rect, state, word);
    painter.restore();
}

StateChip::StateChip(const Theme& theme, QWidget* parent) : QWidget(parent), m_theme(theme) {
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    followTheme(this, theme);
    setState(State::Queued);
}

void StateChip::setState(State state, const QString& word) {
    const QString shown = word.isEmpty() ? stateWord(state) : word;
    if (state == m_state && shown == m_word)
        return;
    m_state = state;
    m_word = shown;
    setAccessibleName(m_word);
    updateGeometry();
    update();
}

QSize StateChip::sizeHint() const {
    return stateChipSize(m_theme, m_word);
}

void StateChip::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    drawStateChip(painter, m_theme, rect(), m_state, m_word);
}

} // namespace trainyard::ui

#include "moc_state_chip.cpp"
