// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/page_tabs.h"

#include "ui/theme/theme.h"
#include "ui/widgets/format.h"

#include <QHBoxLayout>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace trainyard::ui {

int problemCountWidth(const Theme& theme, int count) {
    const int text =
        static_cast<int>(std::ceil(theme.numbers(TypeStyle::Caption).width(formatCount(count))));
    return std::max(theme.px(16), text + theme.px(space::kS));
}

void drawProblemCount(QPainter& painter, const Theme& theme, const QRect& rect, int count) {
    const Tone tone = theme.tone(State::Failed);
    QRectF pill(0, 0, problemCountWidth(theme, count), theme.px(16));
    pill.moveLeft(rect.left());
    pill.moveTop(rect.center().y() - pill.height() / 2 + 0.5);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(tone.tint);
    painter.drawRoundedRect(pill, pill.height() / 2, pill.height() / 2);
    painter.setPen(tone.text);
    theme.numbers(TypeStyle::Caption).draw(painter, pill, Qt::AlignCenter, formatCount(count));
    painter.restore();
}

PageTab::PageTab(const Theme& theme, const QString& text, QWidget* parent)
    : ChoiceButton(theme, text, parent) {
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Expanding);
}

void PageTab::setProblems(int count) {
    if (count == m_problems)
        return;
    m_problems = count;
    setAccessibleDescription(count > 0 ? tr("%n problems", nullptr, count) : tr("no problems"));
    updateGeometry();
    update();
}

void PageTab::setTight(bool tight, bool withoutTick) {
    if (tight == m_tight && withoutTick != m_tick)
        return;
    m_tight = tight;
    m_tick = !withoutTick;
    updateGeometry();
    update();
}

int PageTab::side() const {
    return theme().px(m_tight ? space::kS : 14);
}

int PageTab::markWidth() const {
    if (m_problems > 0)
        return problemCountWidth(theme(), m_problems);
    return m_tick ? theme().px(icon_size::kInline) : 0;
}

QSize PageTab::sizeHint() const {
    // Measured in the heavier weight, so that choosing a tab moves nothing.
    const int text = QFontMetrics(theme().font(TypeStyle::Strong)).horizontalAdvance(this->text());
    const int mark = markWidth() > 0 ? theme().px(space::kS) + markWidth() : 0;
    return {2 * side() + text + mark, theme().px(height::kPageHeader)};
}

void PageTab::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const bool chosen = isChecked();
    const QFont& font = theme().font(chosen ? TypeStyle::Strong : TypeStyle::Body);
    painter.setFont(font);
    painter.setPen(theme().color(chosen || underMouse() ? Color::Text : Color::Text2));
    painter.drawText(rect().adjusted(side(), 0, 0, 0), Qt::AlignVCenter | Qt::TextSingleLine,
                     text());
    paintMark(painter, width() - side() - markWidth());
    if (chosen)
        painter.fillRect(QRect(side() / 2, height() - 2, width() - side(), 2),
                         theme().color(Color::AccentText));
    if (hasFocus())
        drawFocusRing(painter, theme(), rect().adjusted(2, 4, -2, -4), radius::kControl);
}

void PageTab::paintMark(QPainter& painter, int x) const {
    if (m_problems > 0) {
        drawProblemCount(painter, theme(), QRect(x, 0, markWidth(), height()), m_problems);
        return;
    }
    if (!m_tick)
        return;
    const int size = theme().px(icon_size::kInline);
    painter.drawPixmap(x, (height() - size) / 2,
                       theme().pixmap(QStringLiteral("check"), theme().tone(State::Finished).text,
                                      size, devicePixelRatioF()));
}

PageTabs::PageTabs(const Theme& theme, const QString& name, QWidget* parent)
    : QWidget(parent), m_theme(theme), m_group(new ChoiceGroup(this)),
      m_layout(new QHBoxLayout(this)) {
    setAccessibleName(name);
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Expanding);
    m_layout->setContentsMargins(0, 0, 0, 0);
    m_layout->setSpacing(0);
    connect(m_group, &ChoiceGroup::chosen, this, &PageTabs::chosen);
}

void PageTabs::addTab(const QString& text) {
    auto* tab = new PageTab(m_theme, text, this);
    m_layout->addWidget(tab);
    m_group->add(tab);
}

void PageTabs::setTight(bool tight, bool withoutTicks) {
    for (int index = 0; index < count(); ++index)
        tab(index)->setTight(tight, withoutTicks);
    updateGeometry(); // at once, not when the tabs are laid out
}

PageTab* PageTabs::tab(int index) const {
    return static_cast<PageTab*>(m_group->button(index));
}

} // namespace trainyard::ui

#include "moc_page_tabs.cpp"
