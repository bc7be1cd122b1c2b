// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What the chart shows: every spike at every width, gaps and marks where values are not finite,
// logarithmic cases (A31), one cursor for all, and frames that keep to their budget.
#include "ui/plots/axis_widget.h"
#include "ui/plots/event_strip.h"
#include "ui/plots/lane_widget.h"
#include "ui/plots/plot_widget.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QBuffer>
#include <QLocale>
#include <QPainter>
#include <QPushButton>
#include <QRandomGenerator>
#include <QSignalSpy>
#include <QSvgRenderer>
#include <QTest>
#include <QTimer>
#include <QVBoxLayout>
#include <QWheelEvent>

using namespace trainyard::ui;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

class PaintCounter : public QObject {
public:
    int paints = 0;
    bool eventFilter(QObject*, QEvent* event) override {
        paints += event->type() == QEvent::Paint;
        return false;
    }
};

/// Some pixel in the rectangle is close to the hue of the colour, blended or not.
bool hasInk(const QImage& image, const QRect& rect, const QColor& ground, const QColor& grid) {
    for (int y = rect.top(); y <= rect.bottom(); ++y) {
        for (int x = rect.left(); x <= rect.right(); ++x) {
            const QColor color = image.pixelColor(x, y);
            if (color != ground && color != grid)
                return true;
        }
    }
    return false;
}

} // namespace

class TestPlot : public QObject {
    Q_OBJECT
private slots:
    void initTestCase();
    void init();
    void cleanup();
    void cleanupTestCase() { delete m_theme; }
    void spikeIsVisibleAtAnyWidth_data();
    void spikeIsVisibleAtAnyWidth();
    void gapAtNotANumber();
    void markAtNotANumber();
    void logarithmicCases();
    void nothingPositiveOffersLinear();
    void emptyChartWaits();
    void manyAppendsFewFrames();
    void hiddenChartsDoNotPaint();
    void cursorIsSharedAndReadOut();
    void cursorFindsTheSpike();
    void keys();
    void wheelZoomsAtThePointer();
    void themeChangesTheColours();
    void legendSaysTheNewestValues();
    void truncatedTailIsGone();
    void exportsSvg();
    void laneShowsUnknown();
    void laneLeavesThePlainWheel();

private:
    QImage grab() { return m_plot->grab().toImage().convertToFormat(QImage::Format_RGB32); }
    QRect area() const;
    Theme* m_theme = nullptr;
    TimeAxis* m_axis = nullptr;
    PlotWidget* m_plot = nullptr;
};

void TestPlot::initTestCase() {
    QLocale::setDefault(QLocale(QStringLiteral("en_US")));
    QFont font = QApplication::font();
    font.setPixelSize(13);
    QApplication::setFont(font);
    m_theme = new Theme(*qApp, Theme::Setting::Light);
}

void TestPlot::init() {
    m_axis = new TimeAxis;
    m_axis->setGutters(60, 20);
    m_plot = new PlotWidget(*m_theme, *m_axis);
    m_plot->setLegendVisible(false);
    m_plot->resize(600, 300);
}

void TestPlot::cleanup() {
    delete m_plot;
    delete m_axis;
    m_theme->setSetting(Theme::Setting::Light);
}

QRect TestPlot::area() const {
    return QRect(60, 8, m_plot->width() - 80, m_plot->height() - 16);
}

void TestPlot::spikeIsVisibleAtAnyWidth_data() {
    QTest::addColumn<int>("width");
    QTest::addColumn<int>("count");
    QTest::addColumn<double>("smoothing");
    for (const int width : {240, 333, 600, 1024, 1439})
        for (const int count : {700, 20000, 300000})
            for (const double smoothing : {0.0, 0.9, 0.999})
                QTest::addRow("%d px, %d points, smoothing %g", width, count, smoothing)
                    << width << count << smoothing;
}

void TestPlot::spikeIsVisibleAtAnyWidth() {
    QFETCH(int, width);
    QFETCH(int, count);
    QFETCH(double, smoothing);
    m_plot->resize(width, 300);
    m_plot->setSmoothing(smoothing);
    QRandomGenerator random(static_cast<quint32>(count + width));
    const int spike = static_cast<int>(random.bounded(count / 10, count - count / 10));
    for (const bool withSpike : {false, true}) {
        m_plot->clearSeries();
        const int id = m_plot->addSeries({QStringLiteral("loss"), 0});
        std::vector<double> xs;
        std::vector<float> ys;
        for (int i = 0; i < count; ++i) {
            xs.push_back(i);
            ys.push_back(static_cast<float>(1 + 0.1 * random.generateDouble()));
        }
        // Without the spike the first point keeps the axis as high.
        ys[static_cast<std::size_t>(withSpike ? spike : 0)] = 10;
        m_plot->append(id, xs, ys);
        const QImage image = grab();
        const double share = (spike + 0.5) / count;
        const int column = area().left() + static_cast<int>(share * area().width());
        const int top = area().top() + static_cast<int>(area().height() * 0.05);
        for (const int y : {top + 4, area().center().y(), area().top() + area().height() * 3 / 4}) {
            const QRect around(column - 3, y, 7, 1);
            QCOMPARE(
                hasInk(image, around, m_theme->color(Color::Surface), m_theme->color(Color::Grid)),
                withSpike);
        }
    }
}

void TestPlot::gapAtNotANumber() {
    const int id = m_plot->addSeries({QStringLiteral("loss"), 0});
    for (const bool gap : {false, true}) {
        CurveData data;
        for (int i = 0; i <= 100; ++i)
            data.append(i, gap && i > 40 && i < 60 ? kNaN : 1.f);
        m_plot->setData(id, data);
        m_plot->setSmoothing(gap ? 0.5 : 0);
        const QImage image = grab();
        const int x = area().left() + area().width() / 2 + 6;
        const QRect column(x, area().top(), 3, area().height());
        bool line = false;
        for (int y = column.top(); y < column.bottom(); ++y)
            line = line || image.pixelColor(x, y) == m_theme->series(0);
        QCOMPARE(line, !gap);
    }
}

void TestPlot::markAtNotANumber() {
    const int id = m_plot->addSeries({QStringLiteral("loss"), 0});
    for (int i = 0; i <= 100; ++i)
        m_plot->append(id, i, i >= 50 ? kNaN : 1.f);
    const QImage image = grab();
    const QColor failed = m_theme->tone(State::Failed).text;
    int red = 0;
    for (int y = 0; y < image.height(); ++y)
        for (int x = area().center().x() - 6; x <= area().center().x() + 6; ++x)
            red += image.pixelColor(x, y).red() > image.pixelColor(x, y).blue() + 60;
    QVERIFY2(red > 15, qPrintable(QStringLiteral("%1 of %2").arg(red).arg(failed.name())));
}

void TestPlot::logarithmicCases() {
    m_plot->setLogarithmic(true);
    int id = m_plot->addSeries({QStringLiteral("a"), 0});
    const std::vector<float> ys{1, 0.1f, 0, -0.01f, kNaN, 0.001f};
    for (std::size_t i = 0; i < ys.size(); ++i)
        m_plot->append(id, static_cast<double>(i), ys[i]);
    grab();
    QCOMPARE(m_plot->notice(), QStringLiteral("3 not shown: not positive"));
    m_plot->setLogarithmic(false);
    grab();
    QVERIFY(m_plot->notice().isEmpty());

    // Twelve decades below 0.1 are spread evenly: the middle decade is in the middle.
    m_plot->clearSeries();
    m_axis->reset();
    m_plot->setLogarithmic(true);
    id = m_plot->addSeries({QStringLiteral("b"), 0});
    for (int i = 0; i <= 12; ++i)
        m_plot->append(id, i, static_cast<float>(std::pow(10, -i)));
    const QImage image = grab();
    QVERIFY(m_plot->notice().isEmpty());
    const QRect middle(area().center().x() - 2, area().center().y() - 4, 5, 9);
    QVERIFY(hasInk(image, middle, m_theme->color(Color::Surface), m_theme->color(Color::Grid)));
    const QRect above(area().center().x() - 2, area().top() + 20, 5, area().height() / 4);
    QVERIFY(!hasInk(image, above, m_theme->color(Color::Surface), m_theme->color(Color::Grid)));
}

void TestPlot::nothingPositiveOffersLinear() {
    m_plot->setLogarithmic(true);
    const int id = m_plot->addSeries({QStringLiteral("zeros"), 0});
    for (int i = 0; i < 10; ++i)
        m_plot->append(id, i, 0);
    m_plot->show();
    QVERIFY(QTest::qWaitForWindowExposed(m_plot));
    QTRY_VERIFY(m_plot->notice().startsWith(QStringLiteral("Nothing to show")));
    auto* linear = m_plot->findChild<QPushButton*>();
    QVERIFY(linear->isVisible());
    QSignalSpy changed(m_plot, &PlotWidget::logarithmicChanged);
    QTest::mouseClick(linear, Qt::LeftButton);
    QCOMPARE(changed.count(), 1);
    QVERIFY(!m_plot->isLogarithmic());
    QTRY_VERIFY(m_plot->notice().isEmpty());
    QVERIFY(!linear->isVisible());
}

void TestPlot::emptyChartWaits() {
    const QRect middle(area().center() - QPoint(80, 10), QSize(160, 20));
    QVERIFY(hasInk(grab(), middle, m_theme->color(Color::Surface), m_theme->color(Color::Grid)));
    const int id = m_plot->addSeries({QStringLiteral("loss"), 0});
    m_plot->append(id, 1, 2.f);
    m_plot->append(id, 2, 5.f);
    m_plot->append(id, 100, 5.f);
    const QRect low = middle.translated(0, 60);
    QVERIFY(!hasInk(grab(), low, m_theme->color(Color::Surface), m_theme->color(Color::Grid)));
}

void TestPlot::manyAppendsFewFrames() {
    const int id = m_plot->addSeries({QStringLiteral("loss"), 0});
    m_plot->show();
    QVERIFY(QTest::qWaitForWindowExposed(m_plot));
    PaintCounter counter;
    m_plot->installEventFilter(&counter);
    QTimer source;
    int step = 0;
    connect(&source, &QTimer::timeout, m_plot, [&] {
        for (int i = 0; i < 20; ++i)
            m_plot->append(id, ++step, 1.f);
    });
    source.start(1);
    QTimer end;
    QSignalSpy ended(&end, &QTimer::timeout);
    end.setSingleShot(true);
    end.start(1000);
    QVERIFY(ended.wait(5000));
    source.stop();
    QVERIFY(step > 500);
    QVERIFY2(counter.paints >= 3 && counter.paints <= 23,
             qPrintable(QString::number(counter.paints)));
    // The last points come on the screen too.
    const int before = counter.paints;
    m_plot->append(id, ++step, 9.f);
    QTRY_VERIFY(counter.paints > before);
    m_plot->removeEventFilter(&counter);
}

void TestPlot::hiddenChartsDoNotPaint() {
    const int id = m_plot->addSeries({QStringLiteral("loss"), 0});
    m_plot->append(id, 1, 1.f);
    m_plot->show();
    QVERIFY(QTest::qWaitForWindowExposed(m_plot));
    m_plot->hide();
    PaintCounter counter;
    m_plot->installEventFilter(&counter);
    m_plot->append(id, 2, 100.f);
    QTimer end;
    QSignalSpy ended(&end, &QTimer::timeout);
    end.setSingleShot(true);
    end.start(3 * FrameTimer::kIntervalMs);
    QVERIFY(ended.wait(5000));
    QCOMPARE(counter.paints, 0);
    m_plot->show();
    QTRY_VERIFY(counter.paints > 0);
    m_plot->removeEventFilter(&counter);
}

void TestPlot::cursorIsSharedAndReadOut() {
    auto* second = new PlotWidget(*m_theme, *m_axis);
    second->resize(600, 200);
    const int loss = m_plot->addSeries({QStringLiteral("loss"), 0});
    const int norm = second->addSeries({QStringLiteral("norm"), 1});
    for (int i = 0; i <= 100; ++i) {
        m_plot->append(loss, i, static_cast<float>(i));
        second->append(norm, i, static_cast<float>(-i));
    }
    m_plot->setReadoutExtra([](double, ReadoutContent& content) {
        content.rows.push_back({QStringLiteral("extra"), QStringLiteral("41.8"), {}});
    });
    m_plot->show();
    second->show();
    QVERIFY(QTest::qWaitForWindowExposed(second));
    const QImage before = second->grab().toImage();
    QTest::mouseMove(m_plot, QPoint(area().left() + area().width() / 4, area().center().y()));
    QTRY_VERIFY(m_axis->cursor());
    QCOMPARE(*m_axis->cursor(), 25.0);
    QTRY_VERIFY(m_plot->readout().isVisible());
    const ReadoutContent content = m_plot->readout().content();
    QCOMPARE(content.title, QStringLiteral("step 25"));
    QCOMPARE(content.rows[0].value, QStringLiteral("25.00"));
    QCOMPARE(content.rows.back().name, QStringLiteral("extra"));
    QCOMPARE(second->readout().content().rows[0].value, QStringLiteral("−25.00"));
    QVERIFY(second->grab().toImage() != before);
    QTest::keyClick(m_plot, Qt::Key_Escape);
    QVERIFY(!m_axis->cursor());
    QVERIFY(!m_plot->readout().isVisible());
    delete second;
}

void TestPlot::cursorFindsTheSpike() {
    const int id = m_plot->addSeries({QStringLiteral("loss"), 0});
    for (int i = 0; i < 100000; ++i)
        m_plot->append(id, i, i == 40003 ? 7.42f : 3.f);
    m_plot->show();
    QVERIFY(QTest::qWaitForWindowExposed(m_plot));
    QTest::mouseMove(m_plot, QPoint(area().left() + static_cast<int>(area().width() * 0.4), 100));
    QTRY_VERIFY(m_axis->cursor());
    QCOMPARE(*m_axis->cursor(), 40003.0);
}

void TestPlot::keys() {
    const int id = m_plot->addSeries({QStringLiteral("loss"), 0});
    for (int i = 0; i <= 200; ++i)
        m_plot->append(id, i * 5, 1.f);
    m_plot->show();
    QVERIFY(QTest::qWaitForWindowActive(m_plot));
    m_plot->setFocus();
    QTest::keyClick(m_plot, Qt::Key_Left);
    QCOMPARE(*m_axis->cursor(), 1000.0);
    QTest::keyClick(m_plot, Qt::Key_Left);
    QCOMPARE(*m_axis->cursor(), 995.0);
    QTest::keyClick(m_plot, Qt::Key_Left, Qt::ShiftModifier);
    QCOMPARE(*m_axis->cursor(), 945.0);
    QTest::keyClick(m_plot, Qt::Key_Right);
    QCOMPARE(*m_axis->cursor(), 950.0);
    QTest::keyClick(m_plot, Qt::Key_Plus);
    const double zoomed = m_axis->visible().width();
    QVERIFY(zoomed < 1000);
    const double low = m_axis->visible().low;
    QTest::keyClick(m_plot, Qt::Key_Left, Qt::ControlModifier);
    QVERIFY(m_axis->visible().low < low);
    QTest::keyClick(m_plot, Qt::Key_Minus);
    QVERIFY(m_axis->visible().width() > zoomed);
    QTest::keyClick(m_plot, Qt::Key_Home);
    QCOMPARE(m_axis->visible(), (AxisRange{0, 1000}));
}

void TestPlot::wheelZoomsAtThePointer() {
    const int id = m_plot->addSeries({QStringLiteral("loss"), 0});
    for (int i = 0; i <= 1000; ++i)
        m_plot->append(id, i, 1.f);
    const QPointF at(area().left() + area().width() * 0.25, 100);
    QWheelEvent event(at, at, {}, {0, 240}, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
    QApplication::sendEvent(m_plot, &event);
    QVERIFY(m_axis->visible().width() < 800);
    const double share = (250 - m_axis->visible().low) / m_axis->visible().width();
    QVERIFY(std::abs(share - 0.25) < 0.01);
}

void TestPlot::themeChangesTheColours() {
    const int id = m_plot->addSeries({QStringLiteral("loss"), 0});
    m_plot->append(id, 0, 1.f);
    m_plot->append(id, 10, 1.f);
    const auto count = [this](const QColor& color) {
        const QImage image = grab();
        int found = 0;
        for (int y = 0; y < image.height(); ++y)
            for (int x = 0; x < image.width(); ++x)
                found += image.pixelColor(x, y) == color;
        return found;
    };
    QVERIFY(count(tokenSeries(Scheme::Light, 0)) > 300);
    m_theme->setSetting(Theme::Setting::Dark);
    QCOMPARE(count(tokenSeries(Scheme::Light, 0)), 0);
    QVERIFY(count(tokenSeries(Scheme::Dark, 0)) > 300);
    QVERIFY(count(tokenColor(Scheme::Dark, Color::Surface)) > 10000);
}

void TestPlot::legendSaysTheNewestValues() {
    PlotScene scene;
    scene.series[1].options = {QStringLiteral("training"), 0};
    scene.series[2].options = {QStringLiteral("validation"), 1, SeriesKind::Points};
    scene.smoothing = 0.9;
    scene.series[1].data.append(0, 10);
    scene.series[1].data.append(1, 1);
    scene.updateSmoothing();
    m_axis->include(0);
    m_axis->include(1);
    auto legend = PlotPainter(*m_theme, *m_axis, scene, QSize(600, 300), 60, 200, 1).legend();
    QCOMPARE(legend.size(), std::size_t(3));
    QCOMPARE(legend[0].value, QStringLiteral("1.000"));
    QVERIFY(legend[0].raw);
    QCOMPARE(legend[1].value, QStringLiteral("5.263"));
    QCOMPARE(legend[2].value, QStringLiteral("N/A"));
    scene.series[1].data.append(2, kNaN);
    scene.updateSmoothing();
    legend = PlotPainter(*m_theme, *m_axis, scene, QSize(600, 300), 60, 200, 1).legend();
    QCOMPARE(legend[0].value, QStringLiteral("NaN"));
    QVERIFY(legend[0].failed);
}

void TestPlot::truncatedTailIsGone() {
    const int id = m_plot->addSeries({QStringLiteral("loss"), 0});
    for (int i = 0; i <= 150; ++i)
        m_plot->append(id, i, 1.f);
    m_plot->truncateFrom(id, 100);
    QCOMPARE(m_plot->data(id).size(), std::size_t(100));
    QVERIFY(m_plot->append(id, 100, 2.f));
    QVERIFY(!m_plot->append(id, 99, 2.f));
}

void TestPlot::exportsSvg() {
    m_plot->setTitle(QStringLiteral("Loss"));
    const int id = m_plot->addSeries({QStringLiteral("training"), 0});
    for (int i = 0; i < 5000; ++i)
        m_plot->append(id, i, static_cast<float>(1 + std::sin(i / 300.0)));
    m_plot->setSmoothing(0.9);
    QBuffer buffer;
    QVERIFY(buffer.open(QIODevice::WriteOnly));
    QVERIFY(m_plot->exportSvg(buffer, QSize(900, 400)));
    QSvgRenderer renderer(buffer.data());
    QVERIFY(renderer.isValid());
    QCOMPARE(renderer.viewBox().size(), QSize(900, 400));
    QVERIFY(buffer.data().contains("Loss"));
    QImage image(900, 400, QImage::Format_RGB32);
    image.fill(Qt::black);
    QPainter painter(&image);
    renderer.render(&painter);
    painter.end();
    int blue = 0;
    for (int x = 0; x < image.width(); ++x)
        for (int y = 0; y < image.height(); ++y)
            blue += image.pixelColor(x, y).blue() > image.pixelColor(x, y).red() + 40;
    QVERIFY(blue > 1000);
}

void TestPlot::laneShowsUnknown() {
    const std::vector<LaneColumn> columns{{QStringLiteral("Load"), QStringLiteral("100 %")}};
    LaneWidget lane(*m_theme, *m_axis, QStringLiteral("GPU 0"), columns);
    lane.resize(600, 34);
    for (int i = 0; i <= 100; ++i)
        lane.append(i, 90);
    lane.setValues({{QStringLiteral("90 %")}});
    const QImage known = lane.grab().toImage();
    QVERIFY(lane.accessibleDescription().contains(QStringLiteral("90 %")));
    lane.setUnknownFrom(50);
    const QImage unknown = lane.grab().toImage();
    QVERIFY(lane.accessibleDescription().contains(QStringLiteral("N/A")));
    QVERIFY(!lane.accessibleDescription().contains(QStringLiteral("90 %")));
    const QPoint before(area().left() + area().width() / 4, 20);
    const QPoint after(area().left() + area().width() * 3 / 4, 20);
    QCOMPARE(unknown.pixel(before), known.pixel(before));
    QVERIFY(unknown.copy(after.x(), 4, 20, 26) != known.copy(after.x(), 4, 20, 26));
    // A dip of a single sample among thousands stays visible.
    lane.setUnknownFrom(std::nullopt);
    for (int i = 101; i < 50000; ++i)
        lane.append(i, i == 30000 ? 0.f : 100.f);
    const QImage dip = lane.grab().toImage();
    const int x = area().left() + static_cast<int>(area().width() * 0.6);
    bool found = false;
    for (int dx = -2; dx <= 2; ++dx)
        found = found || dip.pixelColor(x + dx, 25) == m_theme->series(0);
    QVERIFY(found);
}

void TestPlot::laneLeavesThePlainWheel() {
    LaneWidget lane(*m_theme, *m_axis, QStringLiteral("GPU 0"), {});
    lane.resize(600, 34);
    lane.append(0, 1);
    lane.append(100, 1);
    const auto turn = [&](Qt::KeyboardModifiers modifiers) {
        QWheelEvent event({300, 10}, {300, 10}, {}, {0, 120}, Qt::NoButton, modifiers,
                          Qt::NoScrollPhase, false);
        QApplication::sendEvent(&lane, &event);
        return event.isAccepted();
    };
    QVERIFY(!turn({}));
    QVERIFY(!m_axis->isZoomed());
    QVERIFY(turn(Qt::ControlModifier));
    QVERIFY(m_axis->isZoomed());
}

QTEST_MAIN(TestPlot)
#include "tst_ui_plot.moc"
