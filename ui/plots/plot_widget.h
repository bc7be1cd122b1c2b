// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A chart of curves over the shared time axis: linear or logarithmic, raw and smoothed, with a
// legend in the right gutter and a read-out at the cursor. Appending is cheap and may happen
// thousands of times a second; painting follows at most 20 times a second.
#pragma once

#include "ui/plots/plot_scene.h"
#include "ui/plots/readout.h"
#include "ui/plots/timeline_widget.h"

#include <QPixmap>

#include <chrono>
#include <functional>

class QIODevice;
class QLabel;

namespace trainyard::ui {

class PlotWidget : public TimelineWidget {
    Q_OBJECT
public:
    using SeriesId = int;

    PlotWidget(const Theme& theme, TimeAxis& axis, QWidget* parent = nullptr);

    SeriesId addSeries(const SeriesOptions& options);
    void removeSeries(SeriesId id);
    void clearSeries();
    void setSeriesVisible(SeriesId id, bool visible);
    const CurveData& data(SeriesId id) const { return m_scene.series.at(id).data; }

    /// x must not decrease within a series; false if a point was refused.
    bool append(SeriesId id, double x, float y);
    bool append(SeriesId id, std::span<const double> xs, std::span<const float> ys);
    void setData(SeriesId id, CurveData data);
    /// Drops the points from x on: what a resumed run does over again.
    void truncateFrom(SeriesId id, double x);

    void setTitle(const QString& title);
    void setEmptyText(const QString& text);
    /// 0 shows the raw curves alone; at most kMaxSmoothing.
    void setSmoothing(double weight);
    double smoothing() const { return m_scene.smoothing; }
    void setLogarithmic(bool logarithmic);
    bool isLogarithmic() const { return m_scene.logarithmic; }
    void setLegendVisible(bool visible);
    void setBottomAxis(bool shown);

    /// Adds to the read-out at x, e.g. values of other charts; may replace title and subtitle.
    void setReadoutExtra(std::function<void(double x, ReadoutContent& content)> extra);
    const Readout& readout() const { return *m_readout; }

    /// "3 not shown: not positive"; empty if everything is shown.
    QString notice() const { return m_noticeText; }

    /// The whole chart without the cursor, at any size: for files and measurements.
    void paintTo(QPainter& painter, QSize size, qreal pixelRatio = 1);
    /// False if the device cannot be written.
    bool exportSvg(QIODevice& device, QSize size);
    /// Time to paint one frame of the widget's size into memory.
    std::chrono::nanoseconds measureFrame();

    QSize sizeHint() const override { return {640, 280}; }
    QSize minimumSizeHint() const override { return {240, 120}; }

signals:
    /// By setLogarithmic() or by the button "use linear".
    void logarithmicChanged(bool logarithmic);

protected:
    QRect plotRect() const override;
    double snapped(double x) const override;
    void stepCursor(int points) override;
    bool zoomsOnPlainWheel() const override { return true; }
    void contentChanged() override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    void includeInAxis(const CurveData& data);
    void renderLayer();
    void updateNotice(const PlotPainter& painter);
    void updateReadout();
    ReadoutContent readoutAt(double x) const;
    void paintCursorDots(QPainter& painter) const;
    PlotPainter makePainter(QSize size, qreal pixelRatio) const;

    PlotScene m_scene;
    SeriesId m_nextId = 1;
    /// All but the cursor; empty when it must be painted anew.
    QPixmap m_layer;
    PlotArea m_area;
    Readout* m_readout;
    std::function<void(double, ReadoutContent&)> m_readoutExtra;
    QWidget* m_notice;
    QLabel* m_noticeLabel;
    QString m_noticeText;
};

} // namespace trainyard::ui
