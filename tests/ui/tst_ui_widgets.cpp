// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The small widgets: keys, names for screen readers, and that nothing shakes while values change.
#include "ui/theme/theme.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/class_bars.h"
#include "ui/widgets/confusion_map.h"
#include "ui/widgets/empty_state.h"
#include "ui/widgets/figure_cell.h"
#include "ui/widgets/format.h"
#include "ui/widgets/number_label.h"
#include "ui/widgets/picture_view.h"
#include "ui/widgets/progress_strip.h"
#include "ui/widgets/rail.h"
#include "ui/widgets/segmented_control.h"
#include "ui/widgets/state_chip.h"
#include "ui/widgets/step_bars.h"
#include "ui/widgets/text_label.h"
#include "ui/widgets/toggle_switch.h"
#include "ui/widgets/top_bar.h"

#include <QAccessible>
#include <QApplication>
#include <QElapsedTimer>
#include <QFontMetricsF>
#include <QLineEdit>
#include <QMenuBar>
#include <QPainter>
#include <QPushButton>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QVBoxLayout>

using namespace trainyard::ui;

namespace {

/// Left and right end of what is not background in the picture.
std::pair<int, int> inkRange(const QImage& image, int left, int right) {
    const QRgb ground = image.pixel(0, 0);
    int first = right, last = left;
    for (int x = left; x < right; ++x) {
        for (int y = 0; y < image.height(); ++y) {
            if (image.pixel(x, y) != ground) {
                first = std::min(first, x);
                last = std::max(last, x);
            }
        }
    }
    return {first, last};
}

} // namespace

class TestWidgets : public QObject {
    Q_OBJECT
private slots:
    void initTestCase();
    void cleanupTestCase() { delete m_theme; }
    void digitsStandInCells();
    void numberKeepsItsWidth();
    void railByKeyboard();
    void railByMouse();
    void segmentsByKeyboard();
    void disabledSegmentsAreSkipped();
    void switchBySpace();
    void chipsSayTheirState();
    void textIsCutWithTooltip();
    void figureCellDoesNotShrink();
    void progress();
    void bannerAsksOnce();
    void emptyState();
    void confusionMap();
    void confusionOfManyClasses();
    void classBars();
    void stepBars();
    void stepLegend();
    void pictures();
    void commandFieldStaysInTheMiddle();

private:
    Theme* m_theme = nullptr;
};

void TestWidgets::initTestCase() {
    QLocale::setDefault(QLocale(QStringLiteral("en_US")));
    QFont font = QApplication::font();
    font.setPixelSize(13);
    QApplication::setFont(font);
    m_theme = new Theme(*qApp, Theme::Setting::Light);
}

/// A font with proportional digits; the fonts of the machine, so there may be none.
static QFont proportionalFont() {
    for (const char* family : {"Inter", "Cantarell", "Inter Display"}) {
        QFont font{QString::fromLatin1(family)};
        font.setPixelSize(13);
        const QFontMetricsF metrics(font);
        if (std::abs(metrics.horizontalAdvance(u'1') - metrics.horizontalAdvance(u'0')) > 0.5)
            return font;
    }
    return {};
}

void TestWidgets::digitsStandInCells() {
    const QFont font = proportionalFont();
    if (font == QFont())
        QSKIP("No font with proportional digits (Inter, Cantarell) is installed.");
    const QFontMetricsF metrics(font);
    QVERIFY(metrics.horizontalAdvance(QStringLiteral("1111")) + 4 <
            metrics.horizontalAdvance(QStringLiteral("0000")));
    const NumberFont numbers(font);
    QCOMPARE(numbers.width(QStringLiteral("1111")), numbers.width(QStringLiteral("0000")));
    QCOMPARE(numbers.width(QStringLiteral("11,171.1")), numbers.width(QStringLiteral("88,888.8")));
    // Also as painted: the last digit begins at the same place whatever stands before it.
    int place = -1;
    for (const QString& text :
         {QStringLiteral("1110"), QStringLiteral("8880"), QStringLiteral("4170")}) {
        QImage image(80, 20, QImage::Format_RGB32);
        image.fill(Qt::white);
        QPainter painter(&image);
        numbers.draw(painter, QRectF(0, 0, 80, 20), Qt::AlignLeft | Qt::AlignVCenter, text);
        painter.end();
        const auto [first, last] =
            inkRange(image, static_cast<int>(std::floor(3 * numbers.cell())), 80);
        Q_UNUSED(first)
        if (place < 0)
            place = last;
        QCOMPARE(last, place);
    }
}

void TestWidgets::numberKeepsItsWidth() {
    NumberLabel label(*m_theme, TypeStyle::Figure);
    label.setNumber(QStringLiteral("1.111"), QStringLiteral("s"));
    const QSize narrow = label.sizeHint();
    label.setNumber(QStringLiteral("8.888"), QStringLiteral("s"));
    QCOMPARE(label.sizeHint(), narrow);
    QCOMPARE(label.accessibleName(), QStringLiteral("8.888 s"));
    label.setNumber({});
    QCOMPARE(label.accessibleName(), notAvailable());
}

void TestWidgets::railByKeyboard() {
    QWidget window;
    auto* layout = new QVBoxLayout(&window);
    auto* before = new QLineEdit;
    layout->addWidget(before);
    auto* rail = new Rail(*m_theme);
    layout->addWidget(rail);
    for (const char* word : {"Compose", "Cluster", "Monitor", "History"})
        rail->addPlace(QStringLiteral("monitor"), QString::fromLatin1(word));
    QAbstractButton* help = rail->addFootAction(QStringLiteral("help"), QStringLiteral("Help"));
    window.show();
    QVERIFY(QTest::qWaitForWindowActive(&window));
    QSignalSpy chosen(rail, &Rail::placeChosen);
    before->setFocus();
    QTest::keyClick(before, Qt::Key_Tab);
    QVERIFY(rail->place(0)->hasFocus());
    QTest::keyClick(rail->place(0), Qt::Key_Down);
    QCOMPARE(rail->current(), 1);
    QVERIFY(rail->place(1)->hasFocus());
    QVERIFY(rail->place(1)->isChecked() && !rail->place(0)->isChecked());
    QTest::keyClick(rail->place(1), Qt::Key_End);
    QCOMPARE(rail->current(), 3);
    QTest::keyClick(rail->place(3), Qt::Key_Down);
    QCOMPARE(rail->current(), 3);
    QTest::keyClick(rail->place(3), Qt::Key_Home);
    QCOMPARE(rail->current(), 0);
    QCOMPARE(chosen.count(), 3);
    // One Tab stop for the places, then the foot.
    QTest::keyClick(rail->place(0), Qt::Key_Tab);
    QVERIFY(help->hasFocus());
    rail->setCurrent(2);
    QCOMPARE(chosen.count(), 3);
    QCOMPARE(QAccessible::queryAccessibleInterface(rail->place(2))->text(QAccessible::Name),
             QStringLiteral("Monitor"));
    QVERIFY(QAccessible::queryAccessibleInterface(rail->place(2))->state().checked);
}

void TestWidgets::railByMouse() {
    Rail rail(*m_theme);
    rail.addPlace(QStringLiteral("monitor"), QStringLiteral("Monitor"));
    rail.addPlace(QStringLiteral("history"), QStringLiteral("History"));
    rail.resize(77, 400);
    rail.show();
    const QImage before = rail.grab().toImage();
    QSignalSpy chosen(&rail, &Rail::placeChosen);
    QTest::mouseClick(rail.place(1), Qt::LeftButton);
    QTest::mouseClick(rail.place(1), Qt::LeftButton);
    QCOMPARE(chosen.count(), 1);
    QCOMPARE(rail.current(), 1);
    const QImage after = rail.grab().toImage();
    // The accent bar went with the choice, at the left edge of the place.
    const QPoint bar(1, 90);
    QCOMPARE(after.pixelColor(bar), m_theme->color(Color::AccentText));
    QVERIFY(before.pixelColor(bar) != after.pixelColor(bar));
    QCOMPARE(rail.place(1)->height(), Rail::kPlaceHeight);
}

void TestWidgets::segmentsByKeyboard() {
    SegmentedControl control(*m_theme, QStringLiteral("Metric"));
    control.addSegment(QStringLiteral("Loss"));
    control.addSegment(QStringLiteral("Learning rate"));
    control.addSegment(QStringLiteral("Gradient norm"));
    control.show();
    QVERIFY(QTest::qWaitForWindowActive(&control));
    QSignalSpy chosen(&control, &SegmentedControl::chosen);
    const QSize size = control.sizeHint();
    control.segment(0)->setFocus();
    QTest::keyClick(control.segment(0), Qt::Key_Right);
    QTest::keyClick(control.segment(1), Qt::Key_Right);
    QTest::keyClick(control.segment(2), Qt::Key_Right);
    QCOMPARE(control.current(), 2);
    QCOMPARE(chosen.count(), 2);
    QTest::keyClick(control.segment(2), Qt::Key_Left);
    QCOMPARE(control.current(), 1);
    QCOMPARE(control.sizeHint(), size);
    QCOMPARE(control.segment(0)->focusPolicy(), Qt::NoFocus);
    QCOMPARE(control.segment(1)->focusPolicy(), Qt::TabFocus);
}

void TestWidgets::disabledSegmentsAreSkipped() {
    SegmentedControl control(*m_theme, QStringLiteral("ZeRO"));
    for (const char* word : {"Off", "1", "2", "3"})
        control.addSegment(QString::fromLatin1(word));
    control.segment(1)->setEnabled(false);
    control.segment(3)->setEnabled(false);
    control.show();
    QVERIFY(QTest::qWaitForWindowActive(&control));
    control.segment(0)->setFocus();
    QTest::keyClick(control.segment(0), Qt::Key_Right);
    QCOMPARE(control.current(), 2);
    QTest::keyClick(control.segment(2), Qt::Key_Right);
    QCOMPARE(control.current(), 2);
    QTest::keyClick(control.segment(2), Qt::Key_End);
    QCOMPARE(control.current(), 2);
}

void TestWidgets::switchBySpace() {
    ToggleSwitch toggle(*m_theme, QStringLiteral("Bias"));
    toggle.show();
    QVERIFY(QTest::qWaitForWindowActive(&toggle));
    toggle.setFocus();
    QSignalSpy toggled(&toggle, &QAbstractButton::toggled);
    QTest::keyClick(&toggle, Qt::Key_Space);
    QVERIFY(toggle.isChecked());
    QCOMPARE(toggled.count(), 1);
    QAccessibleInterface* interface = QAccessible::queryAccessibleInterface(&toggle);
    QCOMPARE(interface->text(QAccessible::Name), QStringLiteral("Bias"));
    QVERIFY(interface->state().checked);
}

void TestWidgets::chipsSayTheirState() {
    StateChip chip(*m_theme);
    QSet<QString> words;
    for (int i = 0; i < kStateCount; ++i) {
        const State state = static_cast<State>(i);
        chip.setState(state);
        words.insert(chip.accessibleName());
        chip.resize(chip.sizeHint());
        const QImage image = chip.grab().toImage();
        QCOMPARE(image.pixelColor(image.width() - 6, image.height() / 2),
                 m_theme->tone(state).tint);
    }
    QCOMPARE(words.size(), kStateCount);
    chip.setState(State::Failed, QStringLiteral("Diverged"));
    QCOMPARE(chip.accessibleName(), QStringLiteral("Diverged"));
}

void TestWidgets::textIsCutWithTooltip() {
    TextLabel label(*m_theme, TypeStyle::Body);
    label.setText(QStringLiteral("a rather long name of an experiment"));
    label.resize(label.sizeHint());
    label.grab();
    QVERIFY(!label.isElided());
    label.resize(60, 20);
    label.grab();
    QVERIFY(label.isElided());
    QVERIFY(label.minimumSizeHint().width() < 60);
    QCOMPARE(label.accessibleName(), label.text());
}

void TestWidgets::figureCellDoesNotShrink() {
    FigureCell cell(*m_theme, QStringLiteral("Loss"));
    cell.setFigure(QStringLiteral("12.871"));
    cell.setDetail(QStringLiteral("validation 2.934, best so far"));
    const int wide = cell.sizeHint().width();
    cell.setFigure(QStringLiteral("2.1"));
    cell.setDetail({});
    QCOMPARE(cell.sizeHint().width(), wide);
    QVERIFY(cell.accessibleName().contains(QStringLiteral("2.1")));
    cell.setFigure({});
    QVERIFY(cell.accessibleName().contains(notAvailable()));
    cell.setCaption(QStringLiteral("Step"));
    QVERIFY(cell.sizeHint().width() < wide);
}

void TestWidgets::progress() {
    ProgressStrip strip(*m_theme);
    strip.resize(200, 6);
    strip.setFraction(0.5);
    strip.setState(State::Running);
    QCOMPARE(strip.value(), 500);
    QImage image = strip.grab().toImage();
    QCOMPARE(image.pixelColor(50, 3), m_theme->tone(State::Running).solid);
    QCOMPARE(image.pixelColor(150, 3), m_theme->color(Color::Pressed));
    strip.setSegments(4);
    image = strip.grab().toImage();
    QCOMPARE(image.pixelColor(50, 3), m_theme->color(Color::Surface));
    strip.setFraction(std::nan(""));
    QCOMPARE(strip.grab().toImage().pixelColor(10, 3), m_theme->color(Color::Pressed));
    strip.setFraction(7);
    QCOMPARE(strip.fraction(), 1.0);
}

void TestWidgets::bannerAsksOnce() {
    Banner banner(*m_theme, Banner::Kind::Warning);
    banner.setMessage(QStringLiteral("GPU <2> is hot."), QStringLiteral("88 °C & rising."));
    QCOMPARE(banner.message(), QStringLiteral("GPU <2> is hot. 88 °C & rising."));
    banner.setDismissable(true);
    QPushButton* why = banner.addAction(QStringLiteral("Why"));
    banner.resize(800, banner.sizeHint().height());
    banner.show();
    QCOMPARE(banner.grab().toImage().pixelColor(3, 10), m_theme->tone(State::Warning).tint);
    banner.setKind(Banner::Kind::Error);
    QCOMPARE(banner.grab().toImage().pixelColor(3, 10), m_theme->tone(State::Failed).tint);
    QSignalSpy dismissed(&banner, &Banner::dismissed);
    const auto buttons = banner.findChildren<QPushButton*>();
    QCOMPARE(buttons.size(), 2);
    for (QPushButton* button : buttons) {
        if (button != why)
            QTest::mouseClick(button, Qt::LeftButton);
    }
    QCOMPARE(dismissed.count(), 1);
}

void TestWidgets::emptyState() {
    EmptyState empty(*m_theme, QStringLiteral("history"));
    empty.setMessage(QStringLiteral("No runs yet"), QStringLiteral("Train something."));
    QPushButton* button = empty.setButton(QStringLiteral("New experiment"));
    QCOMPARE(empty.setButton(QStringLiteral("Open")), button);
    QCOMPARE(button->text(), QStringLiteral("Open"));
    QCOMPARE(empty.accessibleName(), QStringLiteral("No runs yet"));
}

void TestWidgets::confusionMap() {
    namespace app = trainyard::app;
    ConfusionMap map(*m_theme);
    map.resize(500, 400);
    map.setTable(app::ConfusionTable::from({10, 1, true, {"cat", "dog"}, {30, 10, 0, 60}}));
    QCOMPARE(map.sentence(0, 1), QStringLiteral("label cat predicted as dog: 10 of 40"));
    QCOMPARE(map.cellText(0, 1), QStringLiteral("10"));
    QCOMPARE(map.cellText(1, 0), QString()); // nothing to say
    map.setValues(ConfusionMap::Values::Percent);
    QCOMPARE(map.cellText(0, 0), QStringLiteral("75"));
    QCOMPARE(map.cellText(1, 1), QStringLiteral("100"));
    QVERIFY(map.rect().contains(map.cellRect(1, 1)));
    // Right ones and mistakes differ from each other and from what was not counted.
    const QImage image = map.grab().toImage();
    const auto colorAt = [&](int label, int prediction) {
        return image.pixelColor(map.cellRect(label, prediction).topLeft() + QPoint(3, 3));
    };
    QVERIFY(colorAt(0, 0) != colorAt(0, 1));
    QVERIFY(colorAt(0, 1) != colorAt(1, 0));
    QCOMPARE(colorAt(1, 0), m_theme->color(Color::Canvas));
    QCOMPARE(colorAt(1, 1), m_theme->color(Color::Accent));
    // By keys, and never out of the table.
    QTest::keyClick(&map, Qt::Key_Right);
    QCOMPARE(map.accessibleDescription(), map.sentence(0, 1));
    QTest::keyClick(&map, Qt::Key_Right);
    QTest::keyClick(&map, Qt::Key_Down);
    QTest::keyClick(&map, Qt::Key_Down);
    QCOMPARE(map.accessibleDescription(), map.sentence(1, 1));
    QTest::mouseClick(&map, Qt::LeftButton, {}, map.cellRect(1, 0).center());
    QCOMPARE(map.accessibleDescription(), QStringLiteral("label dog predicted as cat: 0 of 60"));
    map.setTable(std::nullopt);
    QVERIFY(map.accessibleDescription().isEmpty());
    QTest::keyClick(&map, Qt::Key_Right);
    map.grab();
}

void TestWidgets::confusionOfManyClasses() {
    namespace app = trainyard::app;
    ConfusionMap map(*m_theme);
    trainyard::spec::Confusion confusion{1, 1, false, {}, std::vector<std::int64_t>(10000, 3)};
    for (int each = 0; each < 100; ++each)
        confusion.classNames.push_back("a class with a long name " + std::to_string(each));
    map.setTable(app::ConfusionTable::from(confusion));
    map.resize(map.minimumSizeHint());
    QVERIFY(map.rect().contains(map.cellRect(99, 99)));
    QCOMPARE(map.cellText(5, 6), QString()); // no room for figures
    QElapsedTimer timer;
    timer.start();
    map.grab();
    QVERIFY2(timer.elapsed() < 500, qPrintable(QString::number(timer.elapsed())));
}

void TestWidgets::classBars() {
    ClassBars bars(*m_theme);
    bars.resize(400, 100);
    bars.setBars({{QStringLiteral("9 Ankle boot"), 0.75}, {QStringLiteral("7 Sneaker"), 0.25}});
    QCOMPARE(bars.accessibleDescription(),
             QStringLiteral("9 Ankle boot 75.0\u202f%, 7 Sneaker 25.0\u202f%"));
    const QImage image = bars.grab().toImage();
    // The bar of 75 % is three times as long as that of 25 %.
    const auto length = [&](int y, const QColor& color) {
        int pixels = 0;
        for (int x = 0; x < image.width(); ++x)
            pixels += image.pixelColor(x, y) == color;
        return pixels;
    };
    const int line = bars.sizeHint().height() / 2;
    const int first = length(line / 2, m_theme->color(Color::Accent));
    const int second = length(line + line / 2, m_theme->color(Color::Text3));
    QVERIFY2(first > 60 && std::abs(first - 3 * second) <= 3,
             qPrintable(QStringLiteral("%1 %2").arg(first).arg(second)));
}

void TestWidgets::stepBars() {
    StepBars bars(*m_theme);
    bars.resize(400, 100);
    bars.setRows({{QStringLiteral("Rank 0"), 0.1, {0, 0.025, 0.05, 0.005, 0.02, 0}},
                  {QStringLiteral("Rank 1"), 0.2, {0, 0.025, 0.05, 0.005, 0.02, 0.1}}});
    const QString first = QStringLiteral("Rank 0, 100\u202fms a step: forward 25.0\u202fms "
                                         "(25\u202f%), backward 50.0\u202fms (50\u202f%), "
                                         "communication 5.00\u202fms (5\u202f%), optimizer "
                                         "20.0\u202fms (20\u202f%)");
    QCOMPARE(StepBars::describe(bars.rows()[0]), first);
    QCOMPARE(bars.accessibleDescription(), first);
    const int line = bars.sizeHint().height() / 2;
    const QImage image = bars.grab().toImage();
    const auto length = [&](int y, StepPart part) {
        int pixels = 0;
        for (int x = 0; x < image.width(); ++x)
            pixels += image.pixelColor(x, y) == m_theme->color(part);
        return pixels;
    };
    const int forward = length(line / 2, StepPart::Forward);
    const int backward = length(line / 2, StepPart::Backward);
    QVERIFY2(forward > 20 && std::abs(backward - 2 * forward) <= 2,
             qPrintable(QStringLiteral("%1 %2").arg(forward).arg(backward)));
    QCOMPARE(length(line + line / 2, StepPart::Backward), backward); // one scale for all

    bars.show();
    QVERIFY(QTest::qWaitForWindowExposed(&bars));
    bars.setFocus();
    QSignalSpy changed(&bars, &StepBars::currentChanged);
    QTest::keyClick(&bars, Qt::Key_Down);
    QTest::keyClick(&bars, Qt::Key_Down); // there is no third
    QCOMPARE(changed.size(), 1);
    QCOMPARE(bars.current(), 1);
    QVERIFY(
        bars.accessibleDescription().endsWith(QStringLiteral("waiting 100\u202fms (50\u202f%)")));
    bars.setRows({bars.rows()[0]});
    QCOMPARE(bars.current(), 0);
    QCOMPARE(stepTimeText(0.000'5), QStringLiteral("500\u202fµs"));
    QCOMPARE(stepTimeText(3.08), QStringLiteral("3.08\u202fs"));
}

void TestWidgets::stepLegend() {
    StepLegend legend(*m_theme);
    legend.setParts(
        {StepPart::Forward, StepPart::Backward, StepPart::Communication, StepPart::Optimizer});
    QCOMPARE(legend.accessibleName(),
             QStringLiteral("forward, backward, communication, optimizer"));
    QVERIFY(legend.heightForWidth(120) > legend.heightForWidth(800)); // wraps
}

void TestWidgets::pictures() {
    QTemporaryDir folder;
    const QString file = folder.filePath(QStringLiteral("red.png"));
    QImage red(8, 4, QImage::Format_RGB32);
    red.fill(Qt::red);
    QVERIFY(red.save(file));
    PictureView view(*m_theme);
    view.resize(83, 83);
    QVERIFY(view.openFile(file));
    QCOMPARE(view.accessibleName(), QStringLiteral("red.png"));
    const QImage shown = view.grab().toImage(); // enlarged ten times, in the middle
    QCOMPARE(shown.pixelColor(41, 20), QColor(Qt::red));
    QVERIFY(shown.pixelColor(41, 45) != QColor(Qt::red));
    QVERIFY(!view.openFile(folder.filePath(QStringLiteral("nothing.png"))));
    QVERIFY(!view.hasPicture());
}

void TestWidgets::commandFieldStaysInTheMiddle() {
    TopBar bar(*m_theme);
    for (const char* word : {"File", "Edit", "View"})
        bar.menuBar()->addMenu(QString::fromLatin1(word));
    auto* ticker = new Ticker(*m_theme, QStringLiteral("running"), State::Running);
    bar.addRight(ticker);
    bar.resize(1440, 40);
    bar.show();
    ticker->setWords(QStringLiteral("1 running"), true);
    QTRY_COMPARE(bar.commandField()->geometry().center().x(), 719);
    ticker->setWords(QStringLiteral("12 running and more"), true);
    QTRY_COMPARE(bar.commandField()->width(), 320);
    QCOMPARE(bar.commandField()->geometry().center().x(), 719);
    bar.resize(1024, 40);
    QTRY_COMPARE(bar.commandField()->width(), 230);
    QVERIFY(bar.commandField()->x() > bar.menuBar()->geometry().right());
}

QTEST_MAIN(TestWidgets)
#include "tst_ui_widgets.moc"
