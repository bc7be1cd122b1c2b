// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Guards the way lines are painted, by ratios within one run: QPainter strokes a wide zig-zag
// polyline some hundred times slower than single segments, and a chart must not look at every one
// of a million points. Absolute times are measured by the benchmarks, not here.
#include "ui/plots/curve_painter.h"
#include "ui/plots/plot_widget.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QPainter>
#include <QTest>

#include <random>

using namespace trainyard::ui;

namespace {

using Seconds = std::chrono::duration<double>;

/// The fastest of several tries: what else runs on the machine only adds.
template <class Paint>
double fastest(int tries, Paint paint) {
    double best = 1e9;
    for (int i = 0; i < tries; ++i) {
        const auto start = std::chrono::steady_clock::now();
        paint();
        best = std::min(best, Seconds(std::chrono::steady_clock::now() - start).count());
    }
    return best;
}

CurveData zigZag(unsigned seed, int count) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> value(0, 1);
    CurveData data;
    for (int i = 0; i < count; ++i)
        data.append(i, value(random));
    return data;
}

} // namespace

class TestPlotSpeed : public QObject {
    Q_OBJECT
private slots:
    void wideZigZagIsNotSlow();
    void millionPointsCostLikeThousands();
    void appendingIsCheap();
};

void TestPlotSpeed::wideZigZagIsNotSlow() {
    std::vector<CurveData> curves;
    for (unsigned i = 0; i < 8; ++i)
        curves.push_back(zigZag(i, 1000));
    // Wide enough that the pen really is 2 px: closer points are drawn thinner.
    QImage image(2400, 700, QImage::Format_RGB32);
    PlotArea area;
    area.rect = QRectF(0, 0, 2400, 700);
    area.range = {0, 999};
    const auto frame = [&](qreal width) {
        return fastest(5, [&] {
            image.fill(Qt::white);
            QPainter painter(&image);
            CurvePainter curvePainter(painter, area);
            for (const CurveData& data : curves)
                curvePainter.drawRaw(data, {QColor(Qt::blue), width, {}});
        });
    };
    const double thin = frame(1);
    const double wide = frame(2);
    qInfo("8 x 1000 points: pen 1 %.2f ms, pen 2 %.2f ms", thin * 1e3, wide * 1e3);
    // As segments 2 to 5 times; stroked as polylines it is some hundred times.
    QVERIFY2(wide < 15 * thin + 1e-3, qPrintable(QString::number(wide / thin)));
}

void TestPlotSpeed::millionPointsCostLikeThousands() {
    Theme theme(*qApp, Theme::Setting::Light);
    const auto frame = [&theme](int count) {
        TimeAxis axis;
        PlotWidget plot(theme, axis);
        plot.resize(1200, 700);
        for (unsigned i = 0; i < 8; ++i) {
            const int id = plot.addSeries({QStringLiteral("run"), static_cast<int>(i)});
            plot.setData(id, zigZag(i, count));
        }
        return fastest(5, [&plot] { plot.measureFrame(); });
    };
    const double few = frame(10000);
    const double many = frame(1000000);
    qInfo("8 curves, 1e4 points %.2f ms, 1e6 points %.2f ms a frame", few * 1e3, many * 1e3);
    // A hundred times the points; looking at each would take about as many times longer.
    QVERIFY2(many < 6 * few + 1e-3, qPrintable(QString::number(many / few)));
}

void TestPlotSpeed::appendingIsCheap() {
    // The second half of a long curve must not cost more than the first: no copies of all levels.
    CurveData data;
    const auto append = [&data](int count) {
        return fastest(1, [&] {
            for (int i = 0; i < count; ++i)
                data.append(static_cast<double>(data.size()), 1.f);
        });
    };
    append(1000);
    const double first = append(500000);
    append(1000000);
    const double later = append(500000);
    QVERIFY2(later < 5 * first + 1e-3, qPrintable(QString::number(later / first)));
}

QTEST_MAIN(TestPlotSpeed)
#include "tst_ui_plot_speed.moc"
