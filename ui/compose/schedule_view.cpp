// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/schedule_view.h"

#include "ui/theme/theme.h"
#include "ui/widgets/format.h"
#include "ui/widgets/mesh_tag.h"

#include <QHelpEvent>
#include <QPaintEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <numeric>

namespace trainyard::ui {

namespace {

constexpr int kLineHeight = 18;
constexpr int kLineGap = 4;
constexpr int kHeadHeight = 26;
constexpr int kTagWidth = 28;
/// More than these cannot be told apart on a screen.
constexpr int kMostRanks = 16;
constexpr std::int64_t kMostMicroBatches = 64;

} // namespace

ScheduleView::ScheduleView(const Theme& theme, QWidget* parent) : QWidget(parent), m_theme(theme) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setAccessibleName(tr("Schedule of the pipeline"));
    followTheme(this, theme);
    hide();
}

void ScheduleView::setPlan(const plan::Plan& plan) {
    const bool drawn = plan.mesh.pipeline > 1 && plan.mesh.pipeline <= kMostRanks &&
                       plan.microBatches <= kMostMicroBatches;
    setVisible(drawn);
    if (!drawn)
        return;
    plan::Rehearsal rehearsal =
        plan::rehearse(plan, plan::Purpose::Training, plan.rowsOfStep(0), plan::costByFlops(plan));
    m_ranks = plan.mesh.pipeline;
    m_length = rehearsal.seconds;
    m_times = std::move(rehearsal.times);
    const double busy = std::accumulate(rehearsal.busy.begin(), rehearsal.busy.end(), 0.0);
    const double idle = m_length > 0 ? 1 - busy / (m_length * m_ranks) : 0;
    m_verdict = tr("ranks wait %1 % of a step for each other, by multiply-adds")
                    .arg(formatCount(std::llround(100 * idle)));
    setAccessibleDescription(m_verdict);
    updateGeometry();
    update();
}

QSize ScheduleView::sizeHint() const {
    const int lines = m_ranks * m_theme.px(kLineHeight + kLineGap);
    return {m_theme.px(240), m_theme.px(kHeadHeight + 2 * space::kM) + lines};
}

QRectF ScheduleView::lineRect(int rank) const {
    const int side = m_theme.px(space::kL), tag = m_theme.px(kTagWidth);
    const int top = m_theme.px(space::kM + kHeadHeight) + rank * m_theme.px(kLineHeight + kLineGap);
    return {static_cast<qreal>(side + tag), static_cast<qreal>(top),
            static_cast<qreal>(width() - 2 * side - tag),
            static_cast<qreal>(m_theme.px(kLineHeight))};
}

QRectF ScheduleView::blockRect(const plan::StageTime& time) const {
    const QRectF line = lineRect(time.rank);
    const double scale = m_length > 0 ? line.width() / m_length : 0;
    return {line.left() + time.begin * scale, line.top(), (time.end - time.begin) * scale,
            line.height()};
}

void ScheduleView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    paintHead(painter);
    for (int rank = 0; rank < m_ranks; ++rank)
        paintLine(painter, rank);
    for (const plan::StageTime& time : m_times)
        paintBlock(painter, time);
}

/// What the colours mean, and what the picture comes to.
void ScheduleView::paintHead(QPainter& painter) const {
    const int side = m_theme.px(space::kL);
    QRect line(side, m_theme.px(space::kS), width() - 2 * side, m_theme.px(20));
    painter.setFont(m_theme.font(TypeStyle::Strong));
    painter.setPen(m_theme.color(Color::Text));
    const QString title = tr("One step");
    painter.drawText(line, Qt::AlignVCenter, title);
    line.setLeft(line.left() + painter.fontMetrics().horizontalAdvance(title) +
                 m_theme.px(space::kM));
    painter.setFont(m_theme.font(TypeStyle::Small));
    const int square = m_theme.px(8);
    const auto entry = [&](const QBrush& brush, const QString& word) {
        painter.fillRect(QRect(line.left(), line.center().y() - square / 2, square, square), brush);
        line.setLeft(line.left() + square + m_theme.px(space::kXs));
        painter.setPen(m_theme.color(Color::Text2));
        painter.drawText(line, Qt::AlignVCenter, word);
        line.setLeft(line.left() + painter.fontMetrics().horizontalAdvance(word) +
                     m_theme.px(space::kM));
    };
    entry(m_theme.color(StepPart::Forward), tr("forward"));
    entry(m_theme.color(StepPart::Backward), tr("backward"));
    entry(QBrush(m_theme.color(StepPart::Bubble), Qt::BDiagPattern), tr("waits"));
    painter.setPen(m_theme.color(Color::Text3));
    painter.drawText(line, Qt::AlignVCenter | Qt::AlignRight,
                     painter.fontMetrics().elidedText(m_verdict, Qt::ElideRight, line.width()));
}

void ScheduleView::paintLine(QPainter& painter, int rank) const {
    const QRectF line = lineRect(rank);
    drawMeshTags(painter, m_theme, line.translated(-m_theme.px(kTagWidth), 0),
                 {{MeshAxis::Pipeline, rank}});
    painter.fillRect(line, QBrush(m_theme.color(StepPart::Bubble), Qt::BDiagPattern));
}

void ScheduleView::paintBlock(QPainter& painter, const plan::StageTime& time) const {
    const QRectF block = blockRect(time);
    painter.fillRect(block,
                     m_theme.color(time.turn.backward ? StepPart::Backward : StepPart::Forward));
    painter.setPen(QPen(m_theme.color(Color::Surface), 1));
    painter.drawLine(block.topRight(), block.bottomRight());
    const QString number = QString::number(time.turn.microBatch + 1);
    const NumberFont& font = m_theme.numbers(TypeStyle::Caption);
    if (font.width(number) + 4 > block.width())
        return;
    painter.setPen(time.turn.backward ? m_theme.color(Color::OnAccent)
                                      : m_theme.color(Color::Window));
    font.draw(painter, block, Qt::AlignCenter, number);
}

QString ScheduleView::describe(const plan::StageTime& time) const {
    const QString direction = time.turn.backward ? tr("backward") : tr("forward");
    return tr("Micro-batch %1, stage %2, %3")
        .arg(formatCount(time.turn.microBatch + 1), formatCount(time.turn.stage), direction);
}

bool ScheduleView::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip)
        return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    for (const plan::StageTime& time : m_times)
        if (blockRect(time).contains(help->pos())) {
            QToolTip::showText(help->globalPos(), describe(time), this,
                               blockRect(time).toAlignedRect());
            return true;
        }
    QToolTip::hideText();
    return true;
}

} // namespace trainyard::ui

#include "moc_schedule_view.cpp"
