// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The buttons are own painted: accent bar, tint and icon follow the chosen state.
#include "ui/widgets/rail.h"

#include "ui/theme/theme.h"

#include <QPainter>
#include <QVBoxLayout>

namespace trainyard::ui {

namespace {

class RailButton : public ChoiceButton {
public:
    RailButton(const Theme& theme, QString iconName, const QString& word, QWidget* parent)
        : ChoiceButton(theme, word, parent), m_iconName(std::move(iconName)) {
        setAccessibleName(word);
    }

    QSize sizeHint() const override {
        return {theme().px(Rail::kWidth), theme().px(Rail::kPlaceHeight)};
    }

protected:
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        const Theme& look = theme();
        const bool chosen = isChecked();
        QColor color = look.color(chosen ? Color::AccentText : Color::Text2);
        if (!isEnabled())
            color = look.color(Color::Disabled);
        if (chosen) {
            painter.fillRect(rect(), look.color(Color::Selected));
            painter.fillRect(0, 0, 3, height(), color);
        } else if (isDown()) {
            painter.fillRect(rect(), look.color(Color::Pressed));
        } else if (underMouse() && isEnabled()) {
            painter.fillRect(rect(), look.color(Color::Hover));
        }
        const int edge = look.px(icon_size::kRail);
        const int line = look.lineHeight(TypeStyle::Caption);
        const int gap = look.px(space::kXs);
        const int top = (height() - edge - gap - line) / 2;
        painter.drawPixmap((width() - edge) / 2, top,
                           look.pixmap(m_iconName, color, edge, devicePixelRatioF()));
        QFont font = look.font(TypeStyle::Caption);
        if (chosen)
            font.setWeight(QFont::DemiBold);
        painter.setFont(font);
        painter.setPen(color);
        const QRect textRect(3, top + edge + gap, width() - 6, line);
        painter.drawText(
            textRect, Qt::AlignCenter,
            painter.fontMetrics().elidedText(text(), Qt::ElideRight, textRect.width()));
        if (hasFocus())
            drawFocusRing(painter, look, QRectF(rect()).adjusted(4, 2, -2, -2), radius::kControl);
    }

private:
    QString m_iconName;
};

} // namespace

Rail::Rail(const Theme& theme, QWidget* parent)
    : QFrame(parent), m_theme(theme), m_group(new ChoiceGroup(this)), m_places(new QVBoxLayout),
      m_foot(new QVBoxLayout) {
    setProperty("region", QStringLiteral("rail"));
    auto* layout = new QVBoxLayout(this);
    for (QVBoxLayout* part : {layout, m_places, m_foot}) {
        part->setContentsMargins(0, 0, 0, 0);
        part->setSpacing(0);
    }
    layout->addLayout(m_places);
    layout->addStretch(1);
    layout->addLayout(m_foot);
    setFixedWidth(theme.px(kWidth) + 1);
    connect(m_group, &ChoiceGroup::chosen, this, &Rail::placeChosen);
}

int Rail::addPlace(const QString& iconName, const QString& word) {
    auto* button = new RailButton(m_theme, iconName, word, this);
    m_places->addWidget(button);
    m_group->add(button);
    return m_group->count() - 1;
}

QAbstractButton* Rail::addFootAction(const QString& iconName, const QString& word) {
    auto* button = new RailButton(m_theme, iconName, word, this);
    button->setCheckable(false);
    button->setFocusPolicy(Qt::TabFocus);
    m_foot->addWidget(button);
    return button;
}

void Rail::setCurrent(int place) {
    m_group->setCurrent(place);
}

void Rail::setWord(int place, const QString& word) {
    m_group->button(place)->setText(word);
    m_group->button(place)->setAccessibleName(word);
}

} // namespace trainyard::ui

#include "moc_rail.cpp"
