// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The frame and the lines between the segments belong to the control, the tints to the segments.
#include "ui/widgets/segmented_control.h"

#include "ui/theme/theme.h"

#include <QFontMetrics>
#include <QHBoxLayout>
#include <QPainter>
#include <QPainterPath>

namespace trainyard::ui {

namespace {

class Segment : public ChoiceButton {
public:
    using ChoiceButton::ChoiceButton;

    QSize sizeHint() const override {
        // Measured bold, so that choosing moves nothing.
        const QFontMetrics metrics(theme().font(TypeStyle::Strong));
        return {metrics.horizontalAdvance(text()) + 2 * theme().px(space::kS),
                theme().px(height::kControlSmall) - 2};
    }

protected:
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        const Theme& look = theme();
        QFont font = look.font(TypeStyle::Small);
        font.setWeight(isChecked() ? QFont::DemiBold : QFont::Normal);
        painter.setFont(font);
        Color color = isChecked() ? Color::AccentText : Color::Text2;
        painter.setPen(look.color(isEnabled() ? color : Color::Disabled));
        painter.drawText(rect(), Qt::AlignCenter, text());
        if (hasFocus())
            drawFocusRing(painter, look, rect(), 3);
    }
};

} // namespace

SegmentedControl::SegmentedControl(const Theme& theme, const QString& name, QWidget* parent)
    : QWidget(parent), m_theme(theme), m_group(new ChoiceGroup(this)),
      m_layout(new QHBoxLayout(this)) {
    setAccessibleName(name);
    setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
    m_layout->setContentsMargins(1, 1, 1, 1);
    m_layout->setSpacing(1);
    followTheme(this, theme);
    connect(m_group, &ChoiceGroup::chosen, this, &SegmentedControl::chosen);
}

int SegmentedControl::addSegment(const QString& text) {
    auto* segment = new Segment(m_theme, text, this);
    segment->setAccessibleDescription(accessibleName());
    m_layout->addWidget(segment);
    m_group->add(segment);
    // The tint behind a segment is painted here, by the checked state.
    connect(segment, &QAbstractButton::toggled, this, qOverload<>(&QWidget::update));
    return m_group->count() - 1;
}

void SegmentedControl::setCurrent(int index) {
    m_group->setCurrent(index);
}

void SegmentedControl::setSegmentShown(int index, bool shown) {
    QAbstractButton* segment = m_group->button(index);
    segment->setEnabled(shown); // arrows step over it
    segment->setVisible(shown);
    update();
}

void SegmentedControl::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    QPainterPath shape;
    shape.addRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), radius::kControl,
                         radius::kControl);
    painter.setClipPath(shape);
    painter.fillRect(rect(), m_theme.color(Color::Raised));
    for (int i = 0; i < m_group->count(); ++i) {
        const QAbstractButton* segment = m_group->button(i);
        if (segment->isHidden())
            continue;
        if (segment->isChecked())
            painter.fillRect(segment->geometry().adjusted(-1, 0, 1, 0),
                             m_theme.color(Color::Selected));
        else if (segment->underMouse() && segment->isEnabled())
            painter.fillRect(segment->geometry(), m_theme.color(Color::Hover));
    }
    painter.setClipping(false);
    painter.setRenderHint(QPainter::Antialiasing, false);
    for (int i = 1; i < m_group->count(); ++i)
        if (!m_group->button(i)->isHidden())
            painter.fillRect(m_group->button(i)->x() - 1, 1, 1, height() - 2,
                             m_theme.color(Color::BorderStrong));
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(m_theme.color(Color::Control), 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawPath(shape);
}

} // namespace trainyard::ui

#include "moc_segmented_control.cpp"
