// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/sample_card.h"

#include "engine/graph/graph.h"
#include "engine/spec/experiment_json.h"
#include "ui/theme/theme.h"
#include "ui/widgets/format.h"

#include <QKeyEvent>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>

namespace trainyard::ui {

namespace {

constexpr int kPictureHeight = 118;
constexpr int kCardWidth = 280;

graph::BuiltGraph builtFrom(const spec::Experiment& experiment) {
    return experiment.model.layers.empty() ? graph::BuiltGraph()
                                           : graph::buildGraph(experiment.model, {});
}

} // namespace

std::vector<SketchBlock> sketchOf(const QByteArray& text) {
    const spec::ParsedExperiment parsed = spec::parseExperiment(text.toStdString());
    if (!parsed.problems.empty())
        return {};
    const Shape& input = parsed.experiment.model.inputShape;
    const bool picture = input.size() == 3;
    std::vector<SketchBlock> blocks{{picture
                                         ? formatCount(input[1]) + u" × " + formatCount(input[2])
                                         : formatCount(input.front()),
                                     picture}};
    for (const graph::LayerShapes& layer : builtFrom(parsed.experiment).layers)
        if (layer.parameters > 0 && !layer.output.empty())
            blocks.push_back({formatCount(layer.output.front()), layer.output.size() == 3});
    return blocks;
}

QString sampleFacts(const QByteArray& text) {
    const spec::ParsedExperiment parsed = spec::parseExperiment(text.toStdString());
    if (!parsed.problems.empty())
        return {};
    const auto parameters =
        static_cast<double>(builtFrom(parsed.experiment).graph.parameterElements());
    const int ranks = static_cast<int>(parsed.experiment.parallel.ranks());
    const QString rankText =
        ranks == 1 ? SampleCard::tr("one rank") : SampleCard::tr("%n ranks", nullptr, ranks);
    return SampleCard::tr("%1 parameters, %2, %3 epochs")
        .arg(formatCompact(parameters), rankText, formatCount(parsed.experiment.training.epochs));
}

SampleCard::SampleCard(const Theme& theme, const app::Sample& sample, QWidget* parent)
    : QAbstractButton(parent), m_theme(theme), m_description(sample.description),
      m_facts(sampleFacts(sample.json)), m_sketch(sketchOf(sample.json)) {
    setText(sample.title);
    setAccessibleDescription(m_description + u' ' + m_facts);
    setFocusPolicy(Qt::TabFocus);
    setCursor(Qt::PointingHandCursor);
    QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
    followTheme(this, theme);
}

QRect SampleCard::descriptionRect(int width) const {
    const int side = m_theme.px(space::kL);
    const int top = m_theme.px(kPictureHeight) + m_theme.px(space::kM) +
                    m_theme.lineHeight(TypeStyle::Strong) + m_theme.px(space::kXs);
    const QFontMetrics metrics(m_theme.font(TypeStyle::Small));
    const int room = width - 2 * side;
    const int height =
        metrics.boundingRect(0, 0, room, 1000, Qt::TextWordWrap, m_description).height();
    return {side, top, room, height};
}

int SampleCard::heightForWidth(int width) const {
    return descriptionRect(width).bottom() + m_theme.px(space::kS) +
           m_theme.lineHeight(TypeStyle::Caption) + m_theme.px(space::kM);
}

QSize SampleCard::sizeHint() const {
    const int width = m_theme.px(kCardWidth);
    return {width, heightForWidth(width)};
}

void SampleCard::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QRectF outline = QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5);
    QPainterPath path;
    path.addRoundedRect(outline, radius::kTile, radius::kTile);
    painter.fillPath(path, m_theme.color(isDown() || underMouse() ? Color::Hover : Color::Surface));
    const QRect picture(0, 0, width(), m_theme.px(kPictureHeight));
    painter.save();
    painter.setClipPath(path);
    painter.fillRect(picture, m_theme.color(Color::Canvas));
    paintSketch(painter, picture);
    painter.fillRect(QRect(0, picture.bottom(), width(), 1), m_theme.color(Color::Border));
    painter.restore();
    painter.setPen(QPen(m_theme.color(underMouse() ? Color::Control : Color::BorderStrong), 1));
    painter.drawPath(path);

    const QRect description = descriptionRect(width());
    painter.setFont(m_theme.font(TypeStyle::Strong));
    painter.setPen(m_theme.color(Color::Text));
    const int line = m_theme.lineHeight(TypeStyle::Strong);
    painter.drawText(QRect(description.left(), picture.bottom() + m_theme.px(space::kM),
                           description.width(), line),
                     Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(text(), Qt::ElideRight, description.width()));
    painter.setFont(m_theme.font(TypeStyle::Small));
    painter.setPen(m_theme.color(Color::Text2));
    painter.drawText(description, Qt::TextWordWrap, m_description);
    painter.setFont(m_theme.font(TypeStyle::Caption));
    painter.setPen(m_theme.color(Color::Text3));
    const int caption = m_theme.lineHeight(TypeStyle::Caption);
    painter.drawText(QRect(description.left(), height() - m_theme.px(space::kM) - caption,
                           description.width(), caption),
                     Qt::AlignVCenter, m_facts);
    if (hasFocus())
        drawFocusRing(painter, m_theme, rect(), radius::kTile);
}

/// Blocks on one line, joined; pictures are tall, vectors low.
void SampleCard::paintSketch(QPainter& painter, const QRect& rect) const {
    if (m_sketch.empty())
        return;
    const auto count = static_cast<int>(m_sketch.size());
    const int gap = m_theme.px(space::kXl);
    const int room = rect.width() - 2 * m_theme.px(space::kXl) - (count - 1) * gap;
    const int wide = std::clamp(room / count, m_theme.px(16), m_theme.px(36));
    const int all = count * wide + (count - 1) * gap;
    int x = rect.left() + (rect.width() - all) / 2;
    const qreal middle = rect.top() + rect.height() * 0.44;
    const NumberFont& numbers = m_theme.numbers(TypeStyle::Caption);
    for (int i = 0; i < count; ++i) {
        const SketchBlock& block = m_sketch[static_cast<std::size_t>(i)];
        const bool end = i == 0 || i + 1 == count;
        if (i > 0) {
            painter.setPen(QPen(m_theme.color(Color::Text3), 1.5));
            painter.drawLine(QPointF(x - gap, middle), QPointF(x, middle));
        }
        const qreal tall = m_theme.px(block.picture ? 44 : 26);
        const QRectF box(x + 0.5, middle - tall / 2, wide - 1, tall);
        painter.setPen(QPen(m_theme.color(end ? Color::BorderStrong : Color::AccentText), 1));
        painter.setBrush(m_theme.color(end ? Color::Surface : Color::Selected));
        painter.drawRoundedRect(box, radius::kControl, radius::kControl);
        painter.setPen(m_theme.color(Color::Text2));
        numbers.draw(painter, QRectF(x - gap / 2.0, middle + m_theme.px(26), wide + gap, 16),
                     Qt::AlignHCenter, block.size);
        x += wide + gap;
    }
}

void SampleCard::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter)
        click();
    else
        QAbstractButton::keyPressEvent(event);
}

void SampleCard::enterEvent(QEnterEvent* event) {
    QAbstractButton::enterEvent(event);
    update();
}

void SampleCard::leaveEvent(QEvent* event) {
    QAbstractButton::leaveEvent(event);
    update();
}

} // namespace trainyard::ui

#include "moc_sample_card.cpp"
