// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The command field is placed by hand: it keeps the middle of the window whatever stands beside it.
#include "ui/widgets/top_bar.h"

#include "ui/theme/theme.h"
#include "ui/widgets/rail.h"

#include <QAction>
#include <QEvent>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QMenuBar>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace trainyard::ui {

namespace {

/// The mark of the program, as wide as the rail under it.
class Mark : public QWidget {
public:
    Mark(const Theme& theme, QWidget* parent) : QWidget(parent), m_theme(theme) {
        setFixedWidth(theme.px(Rail::kWidth));
        followTheme(this, theme);
    }

protected:
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        const int edge = m_theme.px(icon_size::kEmpty);
        painter.drawPixmap((width() - edge) / 2, (height() - edge) / 2,
                           m_theme.pixmap(QStringLiteral("logo"), m_theme.color(Color::AccentText),
                                          edge, devicePixelRatioF()));
    }

private:
    const Theme& m_theme;
};

} // namespace

Ticker::Ticker(const Theme& theme, QString iconName, State state, QWidget* parent)
    : QAbstractButton(parent), m_theme(theme), m_iconName(std::move(iconName)), m_state(state) {
    setFocusPolicy(Qt::TabFocus);
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    setCursor(Qt::PointingHandCursor);
    followTheme(this, theme);
}

void Ticker::setWords(const QString& words, bool active) {
    m_active = active;
    setText(words);
    setAccessibleName(words);
    updateGeometry();
    update();
}

QSize Ticker::sizeHint() const {
    const qreal words = m_theme.numbers(TypeStyle::Small).width(text());
    return {static_cast<int>(std::ceil(words)) + m_theme.px(icon_size::kInline) + m_theme.px(6) +
                2 * m_theme.px(space::kXs),
            m_theme.px(height::kControlSmall)};
}

void Ticker::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const QColor color = m_active ? m_theme.tone(m_state).text : m_theme.color(Color::Text3);
    const int edge = m_theme.px(icon_size::kInline);
    const int left = m_theme.px(space::kXs);
    painter.drawPixmap(left, (height() - edge) / 2,
                       m_theme.pixmap(m_iconName, color, edge, devicePixelRatioF()));
    painter.setPen(color);
    m_theme.numbers(TypeStyle::Small)
        .draw(painter, QRectF(rect()).adjusted(left + edge + m_theme.px(6), 0, 0, 0),
              Qt::AlignLeft | Qt::AlignVCenter, text());
    if (hasFocus())
        drawFocusRing(painter, m_theme, rect(), radius::kControl);
}

BellButton::BellButton(const Theme& theme, QWidget* parent)
    : QAbstractButton(parent), m_theme(theme) {
    setFocusPolicy(Qt::TabFocus);
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    followTheme(this, theme);
    setCount(0);
}

void BellButton::setCount(int count) {
    m_count = count;
    setAccessibleName(tr("%n messages", nullptr, count));
    setToolTip(accessibleName());
    update();
}

QSize BellButton::sizeHint() const {
    return {m_theme.px(30), m_theme.px(30)};
}

void BellButton::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const int edge = m_theme.px(icon_size::kControl);
    painter.drawPixmap((width() - edge) / 2, (height() - edge) / 2,
                       m_theme.pixmap(QStringLiteral("bell"), m_theme.color(Color::Text2), edge,
                                      devicePixelRatioF()));
    if (m_count > 0) {
        const Tone tone = m_theme.tone(State::Warning);
        const NumberFont& numbers = m_theme.numbers(TypeStyle::Caption);
        const QString shown = m_count > 99 ? QStringLiteral("99+") : QString::number(m_count);
        const qreal tall = m_theme.px(14);
        const qreal wide = std::max(tall, numbers.width(shown) + m_theme.px(6));
        const QRectF badge(width() - wide - 0.5, 0.5, wide, tall);
        painter.setPen(QPen(tone.solid, 1));
        painter.setBrush(tone.tint);
        painter.drawRoundedRect(badge, tall / 2, tall / 2);
        painter.setPen(tone.text);
        numbers.draw(painter, badge, Qt::AlignCenter, shown);
    }
    if (hasFocus())
        drawFocusRing(painter, m_theme, rect(), radius::kControl);
}

TopBar::TopBar(const Theme& theme, QWidget* parent)
    : QFrame(parent), m_theme(theme), m_menus(new QMenuBar(this)), m_command(new QLineEdit(this)),
      m_right(new QHBoxLayout), m_rightBox(new QWidget(this)) {
    setProperty("region", QStringLiteral("topBar"));
    setFixedHeight(theme.px(height::kTopBar));
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, theme.px(space::kS), 0);
    layout->setSpacing(0);
    layout->addWidget(new Mark(theme, this));
    m_menus->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Maximum);
    layout->addWidget(m_menus, 0, Qt::AlignVCenter);
    layout->addStretch(1);
    m_rightBox->setLayout(m_right);
    m_right->setContentsMargins(0, 0, 0, 0);
    m_right->setSpacing(theme.px(space::kM));
    layout->addWidget(m_rightBox);
    m_command->setPlaceholderText(tr("Search or run a command"));
    m_command->setAccessibleName(m_command->placeholderText());
    m_command->addAction(theme.icon(QStringLiteral("search"), Color::Text3),
                         QLineEdit::LeadingPosition);
}

void TopBar::addRight(QWidget* widget) {
    m_right->addWidget(widget, 0, Qt::AlignVCenter);
}

void TopBar::resizeEvent(QResizeEvent* event) {
    QFrame::resizeEvent(event);
    placeCommandField();
}

bool TopBar::event(QEvent* event) {
    const bool handled = QFrame::event(event);
    if (event->type() == QEvent::LayoutRequest || event->type() == QEvent::Show)
        placeCommandField();
    return handled;
}

void TopBar::placeCommandField() {
    const int wide = m_theme.px(width() >= m_theme.px(1200) ? 320 : 230);
    const int tall = m_theme.px(height::kControl);
    const int gap = m_theme.px(space::kM);
    const int afterMenus = m_menus->geometry().right() + gap;
    const int beforeRight = m_rightBox->geometry().left() - gap;
    int left = width() >= m_theme.px(1200) ? (width() - wide) / 2 : afterMenus;
    left = std::max(left, afterMenus);
    const int room = std::max(0, std::min(wide, beforeRight - left));
    m_command->setGeometry(left, (height() - 1 - tall) / 2, room, tall);
}

} // namespace trainyard::ui

#include "moc_top_bar.cpp"
