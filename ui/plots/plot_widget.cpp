// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The curves are painted into a layer when they change; a moving cursor only puts the layer on the
// screen again.
#include "ui/plots/plot_widget.h"

#include "ui/theme/theme.h"
#include "ui/widgets/button.h"
#include "ui/widgets/format.h"
#include "ui/widgets/text_label.h"

#include <QAccessible>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QScopedValueRollback>
#include <QSvgGenerator>

#include <cmath>

namespace trainyard::ui {

PlotWidget::PlotWidget(const Theme& theme, TimeAxis& axis, QWidget* parent)
    : TimelineWidget(theme, axis, parent), m_readout(new Readout(theme, this)),
      m_notice(new QWidget(this)),
      m_noticeLabel(makeParagraph(theme, TypeStyle::Small, QStringLiteral("warning"))) {
    setAttribute(Qt::WA_OpaquePaintEvent);
    auto* row = new QHBoxLayout(m_notice);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(theme.px(space::kXs));
    m_noticeLabel->setWordWrap(false);
    row->addWidget(m_noticeLabel);
    auto* linear = makeButton(theme, ButtonKind::Link, tr("use linear"), {}, m_notice);
    row->addWidget(linear);
    connect(linear, &QPushButton::clicked, this, [this] { setLogarithmic(false); });
    m_notice->hide();
    connect(&axis, &TimeAxis::cursorChanged, this, &PlotWidget::updateReadout);
}

PlotWidget::SeriesId PlotWidget::addSeries(const SeriesOptions& options) {
    const SeriesId id = m_nextId++;
    m_scene.series[id].options = options;
    scheduleFrame();
    return id;
}

void PlotWidget::removeSeries(SeriesId id) {
    m_scene.series.erase(id);
    contentChanged();
}

void PlotWidget::clearSeries() {
    m_scene.series.clear();
    contentChanged();
}

void PlotWidget::setSeriesVisible(SeriesId id, bool visible) {
    m_scene.series.at(id).visible = visible;
    contentChanged();
}

bool PlotWidget::append(SeriesId id, double x, float y) {
    const bool taken = m_scene.series.at(id).data.append(x, y);
    axis().include(x);
    scheduleFrame();
    return taken;
}

bool PlotWidget::append(SeriesId id, std::span<const double> xs, std::span<const float> ys) {
    CurveData& data = m_scene.series.at(id).data;
    const bool taken = data.append(xs, ys);
    includeInAxis(data);
    scheduleFrame();
    return taken;
}

void PlotWidget::setData(SeriesId id, CurveData data) {
    PlotSeries& series = m_scene.series.at(id);
    series.data = std::move(data);
    series.smoothed = SmoothedCurve();
    includeInAxis(series.data);
    scheduleFrame();
}

void PlotWidget::truncateFrom(SeriesId id, double x) {
    CurveData& data = m_scene.series.at(id).data;
    data.truncate(data.lowerBound(x));
    scheduleFrame();
}

void PlotWidget::includeInAxis(const CurveData& data) {
    if (data.empty())
        return;
    axis().include(data.x(0));
    axis().include(data.x(data.size() - 1));
}

void PlotWidget::setTitle(const QString& title) {
    m_scene.title = title;
    setAccessibleName(title);
    contentChanged();
}

void PlotWidget::setEmptyText(const QString& text) {
    m_scene.emptyText = text;
    contentChanged();
}

void PlotWidget::setSmoothing(double weight) {
    m_scene.smoothing = std::isfinite(weight) ? std::clamp(weight, 0.0, kMaxSmoothing) : 0;
    contentChanged();
}

void PlotWidget::setLogarithmic(bool logarithmic) {
    if (logarithmic == m_scene.logarithmic)
        return;
    m_scene.logarithmic = logarithmic;
    contentChanged();
    emit logarithmicChanged(logarithmic);
}

void PlotWidget::setLegendVisible(bool visible) {
    m_scene.legend = visible;
    contentChanged();
}

void PlotWidget::setBottomAxis(bool shown) {
    m_scene.bottomAxis = shown;
    contentChanged();
}

void PlotWidget::setReadoutExtra(std::function<void(double, ReadoutContent&)> extra) {
    m_readoutExtra = std::move(extra);
}

PlotPainter PlotWidget::makePainter(QSize size, qreal pixelRatio) const {
    return PlotPainter(theme(), axis(), m_scene, size, theme().px(axis().leftGutter()),
                       theme().px(axis().rightGutter()), pixelRatio);
}

QRect PlotWidget::plotRect() const {
    const QRect across = TimelineWidget::plotRect();
    const PlotPainter painter = makePainter(size(), 1);
    const QRectF rect = painter.area().rect;
    return QRect(across.left(), static_cast<int>(rect.top()), across.width(),
                 static_cast<int>(rect.height()));
}

void PlotWidget::contentChanged() {
    m_layer = QPixmap();
    update();
    updateReadout();
}

void PlotWidget::resizeEvent(QResizeEvent* event) {
    TimelineWidget::resizeEvent(event);
    m_layer = QPixmap();
}

void PlotWidget::focusInEvent(QFocusEvent* event) {
    TimelineWidget::focusInEvent(event);
    update();
}

void PlotWidget::focusOutEvent(QFocusEvent* event) {
    TimelineWidget::focusOutEvent(event);
    update();
}

void PlotWidget::renderLayer() {
    m_scene.updateSmoothing();
    const qreal ratio = devicePixelRatioF();
    m_layer = QPixmap(size() * ratio);
    m_layer.setDevicePixelRatio(ratio);
    const PlotPainter plot = makePainter(size(), ratio);
    m_area = plot.area();
    QPainter painter(&m_layer);
    painter.fillRect(rect(), theme().color(Color::Surface));
    drawSpans(painter, m_area.rect.toRect());
    plot.paintFrame(painter);
    plot.paintCurves(painter);
    plot.paintLegend(painter);
    painter.end();
    updateNotice(plot);
    if (QAccessible::isActive()) {
        QString spoken;
        for (const LegendEntry& entry : plot.legend())
            spoken += entry.name + u' ' + entry.value + QLatin1String(". ");
        setAccessibleDescription(spoken);
    }
}

void PlotWidget::updateNotice(const PlotPainter& plot) {
    QString text;
    if (plot.allHidden())
        text = tr("Nothing to show on a logarithmic axis: no value is positive.");
    else if (plot.hidden() > 0)
        text = tr("%n not shown: not positive", nullptr, static_cast<int>(plot.hidden()));
    m_noticeText = text;
    m_noticeLabel->setText(text);
    m_notice->setVisible(!text.isEmpty());
    if (text.isEmpty())
        return;
    m_notice->adjustSize();
    const QRect area = m_area.rect.toRect();
    if (plot.allHidden())
        m_notice->move(area.center() - m_notice->rect().center());
    else
        m_notice->move(area.left() + theme().px(space::kS), area.bottom() - m_notice->height() - 2);
}

void PlotWidget::paintEvent(QPaintEvent*) {
    if (m_layer.isNull() || m_layer.devicePixelRatio() != devicePixelRatioF())
        renderLayer();
    QPainter painter(this);
    painter.drawPixmap(0, 0, m_layer);
    drawCursor(painter, static_cast<int>(m_area.rect.top()), height());
    paintCursorDots(painter);
    if (hasFocus())
        drawFocusRing(painter, theme(), rect());
}

void PlotWidget::paintCursorDots(QPainter& painter) const {
    if (!axis().cursor())
        return;
    painter.setRenderHint(QPainter::Antialiasing);
    for (const auto& [id, series] : m_scene.series) {
        const auto index = series.data.nearest(*axis().cursor());
        if (!series.visible || !index || !m_area.values.shows(series.data.y(*index)))
            continue;
        const QPointF point(m_area.toX(series.data.x(*index)), m_area.toY(series.data.y(*index)));
        if (!m_area.rect.adjusted(-1, -1, 1, 1).contains(point))
            continue;
        painter.setPen(QPen(theme().color(Color::Surface), 1));
        painter.setBrush(theme().series(series.options.slot));
        painter.drawEllipse(point, 3.5, 3.5);
    }
}

/// The pointer's pixel column may hold hundreds of points: the one that stands out is the one that
/// was pointed at.
double PlotWidget::snapped(double x) const {
    for (const auto& [id, series] : m_scene.series) {
        if (!series.visible || series.data.empty())
            continue;
        const double half = axis().visible().width() / std::max(1, plotRect().width()) * 1.5;
        const std::size_t begin = series.data.lowerBound(x - half);
        const std::size_t end = series.data.lowerBound(x + half);
        if (end <= begin + 1)
            return series.data.x(*series.data.nearest(x));
        double sum = 0;
        std::size_t count = 0;
        for (std::size_t i = begin; i < end; ++i) {
            if (std::isfinite(series.data.y(i))) {
                sum += series.data.y(i);
                ++count;
            }
        }
        const double middle = count > 0 ? sum / static_cast<double>(count) : 0;
        std::size_t best = begin;
        double farthest = -1;
        for (std::size_t i = begin; i < end; ++i) {
            const double away = std::isfinite(series.data.y(i))
                                    ? std::abs(series.data.y(i) - middle)
                                    : std::numeric_limits<double>::infinity();
            if (away > farthest) {
                farthest = away;
                best = i;
            }
        }
        return series.data.x(best);
    }
    return x;
}

void PlotWidget::stepCursor(int points) {
    for (const auto& [id, series] : m_scene.series) {
        if (!series.visible || series.data.empty())
            continue;
        const auto last = static_cast<std::int64_t>(series.data.size()) - 1;
        const double from = axis().cursor().value_or(axis().visible().high);
        const auto index = static_cast<std::int64_t>(*series.data.nearest(from));
        const std::int64_t target = axis().cursor() ? index + points : index;
        axis().setCursor(
            series.data.x(static_cast<std::size_t>(std::clamp<std::int64_t>(target, 0, last))));
        return;
    }
    TimelineWidget::stepCursor(points);
}

ReadoutContent PlotWidget::readoutAt(double x) const {
    ReadoutContent content;
    content.title = axis().positionText(x);
    const bool few = m_scene.series.size() <= 3;
    for (const auto& [id, series] : m_scene.series) {
        if (!series.visible)
            continue;
        const auto index = series.data.nearest(x);
        const std::optional<int> slot = series.options.slot;
        // A curve that has ended, or not begun, is not anything here.
        const bool beyond =
            !index || x > series.data.x(series.data.size() - 1) || x < series.data.x(0);
        content.rows.push_back(
            {series.options.name,
             beyond ? QStringLiteral("—") : formatSignificant(series.data.y(*index), 4), slot});
        if (!beyond && few && series.smoothed.isOn() && *index < series.smoothed.size())
            content.rows.push_back(
                {tr("smoothed"), formatSignificant(series.smoothed.value(*index), 4), slot});
    }
    if (m_readoutExtra)
        m_readoutExtra(x, content);
    return content;
}

void PlotWidget::updateReadout() {
    const std::optional<double> cursor = axis().cursor();
    const AxisRange range = axis().visible();
    if (!cursor || *cursor < range.low || *cursor > range.high || !m_scene.hasPoints()) {
        m_readout->hide();
        return;
    }
    m_readout->setContent(readoutAt(*cursor));
    m_readout->placeBeside(toPixel(*cursor), plotRect());
}

void PlotWidget::paintTo(QPainter& painter, QSize size, qreal pixelRatio) {
    m_scene.updateSmoothing();
    makePainter(size, pixelRatio).paintAll(painter);
}

bool PlotWidget::exportSvg(QIODevice& device, QSize size) {
    QSvgGenerator generator;
    generator.setOutputDevice(&device);
    generator.setSize(size);
    generator.setViewBox(QRect(QPoint(0, 0), size));
    generator.setTitle(m_scene.title);
    generator.setResolution(96);
    QPainter painter;
    if (!painter.begin(&generator))
        return false;
    m_scene.updateSmoothing();
    // A picture stands alone: it needs the labels that an AxisWidget below would carry.
    const QScopedValueRollback<bool> ownAxis(m_scene.bottomAxis, true);
    const int left = theme().px(std::max(64, m_scene.title.isEmpty() ? 0 : 124));
    const int right = theme().px(m_scene.legend ? axis().rightGutter() : 16);
    PlotPainter(theme(), axis(), m_scene, size, left, right, 1).paintAll(painter);
    return painter.end();
}

std::chrono::nanoseconds PlotWidget::measureFrame() {
    const qreal ratio = devicePixelRatioF();
    QImage image(size() * ratio, QImage::Format_RGB32);
    image.setDevicePixelRatio(ratio);
    const auto start = std::chrono::steady_clock::now();
    QPainter painter(&image);
    paintTo(painter, size(), ratio);
    painter.end();
    return std::chrono::steady_clock::now() - start;
}

} // namespace trainyard::ui

#include "moc_plot_widget.cpp"
