// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The promises of the design about contrast, and that a change of scheme reaches everything.
#include "ui/theme/style_sheet.h"
#include "ui/theme/theme.h"
#include "ui/widgets/button.h"

#include <QApplication>
#include <QDir>
#include <QPushButton>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QSvgRenderer>
#include <QTemporaryDir>
#include <QTest>

#include <cmath>

using namespace trainyard::ui;

namespace {

double channel(double value) {
    return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

double luminance(const QColor& color) {
    return 0.2126 * channel(color.redF()) + 0.7152 * channel(color.greenF()) +
           0.0722 * channel(color.blueF());
}

/// WCAG 2.1.
double contrast(const QColor& a, const QColor& b) {
    const double first = luminance(a), second = luminance(b);
    return (std::max(first, second) + 0.05) / (std::min(first, second) + 0.05);
}

const std::vector<Color> kSurfaces{Color::Chrome, Color::Window,   Color::Surface,
                                   Color::Canvas, Color::Raised,   Color::Field,
                                   Color::Hover,  Color::Selected, Color::Stripe};

/// The average colour of what an icon paints.
QColor inkOf(const QPixmap& pixmap) {
    const QImage image = pixmap.toImage().convertToFormat(QImage::Format_ARGB32);
    for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < image.width(); ++x) {
            if (image.pixelColor(x, y).alpha() == 255)
                return image.pixelColor(x, y);
        }
    }
    return {};
}

} // namespace

class TestTheme : public QObject {
    Q_OBJECT
private slots:
    void initTestCase();
    void cleanupTestCase() { delete m_theme; }
    void contrastOfText();
    void contrastOfControls();
    void contrastOfTones();
    void contrastOfSeries();
    void seriesAreDistinct();
    void switchingChangesEverything();
    void iconsFollowByThemselves();
    void everyIconDraws();
    void styleSheetIsFilled();
    void styleSheetGrowsWithTheFont();
    void largerFontGrowsEverything();
    void chineseComesFirstForChinese();

private:
    void check(Color ink, const std::vector<Color>& grounds, double mark);
    Theme* m_theme = nullptr;
};

void TestTheme::initTestCase() {
    QFont font = QApplication::font();
    font.setPixelSize(13);
    QApplication::setFont(font);
    m_theme = new Theme(*qApp, Theme::Setting::Light);
}

void TestTheme::check(Color ink, const std::vector<Color>& grounds, double mark) {
    for (const Scheme scheme : {Scheme::Light, Scheme::Dark}) {
        for (const Color ground : grounds) {
            const double found = contrast(tokenColor(scheme, ink), tokenColor(scheme, ground));
            QVERIFY2(found >= mark, qPrintable(QStringLiteral("%1 on %2: %3")
                                                   .arg(tokenName(ink), tokenName(ground))
                                                   .arg(found)));
        }
    }
}

void TestTheme::contrastOfText() {
    std::vector<Color> all = kSurfaces;
    all.push_back(Color::Pressed);
    check(Color::Text, all, 7);
    check(Color::Text2, all, 4.5);
    check(Color::Text3, kSurfaces, 4.5);
    check(Color::AccentText, kSurfaces, 4.5);
    check(Color::OnAccent, {Color::Accent, Color::AccentHover, Color::AccentPressed}, 4.5);
    check(Color::OnTooltip, {Color::Tooltip}, 7);
}

void TestTheme::contrastOfControls() {
    const std::vector<Color> grounds{Color::Window, Color::Surface, Color::Field, Color::Raised};
    check(Color::Control, {Color::Window, Color::Surface, Color::Field}, 3);
    check(Color::Focus, grounds, 3);
    check(Color::Accent, grounds, 3);
}

void TestTheme::contrastOfTones() {
    for (const Scheme scheme : {Scheme::Light, Scheme::Dark}) {
        const QColor surface = tokenColor(scheme, Color::Surface);
        for (int i = 0; i < kStateCount; ++i) {
            const Tone tone = tokenTone(scheme, static_cast<State>(i));
            QVERIFY(contrast(tone.text, tone.tint) >= 4.5);
            QVERIFY(contrast(tone.text, surface) >= 4.5);
            QVERIFY(contrast(tone.solid, surface) >= 3);
        }
        for (int i = 0; i < kMeshAxisCount; ++i) {
            const Tone tone = tokenTone(scheme, static_cast<MeshAxis>(i));
            QVERIFY(contrast(tone.text, tone.tint) >= 4.5);
            QVERIFY(contrast(tone.solid, surface) >= 3);
        }
        for (int stage = 0; stage < kStageTintCount; ++stage)
            QVERIFY(contrast(tokenColor(scheme, Color::Text2), tokenStage(scheme, stage)) >= 4.5);
    }
}

void TestTheme::contrastOfSeries() {
    for (const Scheme scheme : {Scheme::Light, Scheme::Dark}) {
        for (int slot = 0; slot < kSeriesCount; ++slot)
            QVERIFY(contrast(tokenSeries(scheme, slot), tokenColor(scheme, Color::Surface)) >= 3);
    }
}

void TestTheme::seriesAreDistinct() {
    for (int slot = 0; slot < kSeriesCount; ++slot) {
        const auto dash = tokenDash(slot);
        QVERIFY(dash.size() % 2 == 0);
        for (int other = 0; other < slot; ++other) {
            QVERIFY(tokenSeries(Scheme::Light, slot) != tokenSeries(Scheme::Light, other));
            const auto otherDash = tokenDash(other);
            QVERIFY(!std::equal(dash.begin(), dash.end(), otherDash.begin(), otherDash.end()));
        }
    }
    QCOMPARE(tokenSeries(Scheme::Dark, 3), tokenSeries(Scheme::Dark, 3 + kSeriesCount));
}

void TestTheme::switchingChangesEverything() {
    m_theme->setSetting(Theme::Setting::Light);
    QSignalSpy changed(m_theme, &Theme::themeChanged);
    QPushButton* button = makeButton(*m_theme, ButtonKind::Normal, QStringLiteral("Pause"));
    button->show();
    const QImage light = button->grab().toImage();
    m_theme->setSetting(Theme::Setting::Dark);
    QCOMPARE(changed.count(), 1);
    m_theme->setSetting(Theme::Setting::Dark);
    QCOMPARE(changed.count(), 1);
    QCOMPARE(m_theme->scheme(), Scheme::Dark);
    QCOMPARE(QApplication::palette().color(QPalette::Window),
             tokenColor(Scheme::Dark, Color::Window));
    QCOMPARE(QApplication::palette().color(QPalette::Disabled, QPalette::Text),
             tokenColor(Scheme::Dark, Color::Disabled));
    const QImage dark = button->grab().toImage();
    const QPoint inside(6, button->height() / 2);
    QCOMPARE(light.pixelColor(inside), tokenColor(Scheme::Light, Color::Raised));
    QCOMPARE(dark.pixelColor(inside), tokenColor(Scheme::Dark, Color::Raised));
    delete button;
    m_theme->setSetting(Theme::Setting::Light);
}

void TestTheme::iconsFollowByThemselves() {
    m_theme->setSetting(Theme::Setting::Light);
    const QIcon icon = m_theme->icon(QStringLiteral("stop"), State::Failed);
    QCOMPARE(inkOf(icon.pixmap(QSize(16, 16), 2.0)), tokenTone(Scheme::Light, State::Failed).text);
    m_theme->setSetting(Theme::Setting::Dark);
    QCOMPARE(inkOf(icon.pixmap(QSize(16, 16), 2.0)), tokenTone(Scheme::Dark, State::Failed).text);
    QCOMPARE(inkOf(icon.pixmap(QSize(16, 16), 2.0, QIcon::Disabled)),
             tokenColor(Scheme::Dark, Color::Disabled));
    const QPixmap sharp = m_theme->pixmap(QStringLiteral("stop"), Qt::red, 16, 1.5);
    QCOMPARE(sharp.size(), QSize(24, 24));
    QCOMPARE(sharp.devicePixelRatio(), 1.5);
    m_theme->setSetting(Theme::Setting::Light);
}

void TestTheme::everyIconDraws() {
    const QStringList files = QDir(QStringLiteral(":/trainyard/icons")).entryList();
    QVERIFY(files.size() > 100);
    for (const QString& file : files) {
        const QString name = file.chopped(4);
        QVERIFY(Theme::hasIcon(name));
        QSvgRenderer renderer(coloredSvg(name, Qt::red));
        QVERIFY2(renderer.isValid(), qPrintable(name));
        const QImage image = m_theme->pixmap(name, Qt::red, 20, 2).toImage();
        int painted = 0;
        for (int y = 0; y < image.height(); ++y)
            for (int x = 0; x < image.width(); ++x)
                painted += image.pixelColor(x, y).alpha() > 60;
        QVERIFY2(painted > 20, qPrintable(name));
    }
    for (int i = 0; i < kStateCount; ++i)
        QVERIFY(Theme::hasIcon(tokenName(static_cast<State>(i))));
}

void TestTheme::styleSheetIsFilled() {
    for (const auto setting : {Theme::Setting::Light, Theme::Setting::Dark}) {
        m_theme->setSetting(setting);
        const QString sheet = qApp->styleSheet();
        QVERIFY(sheet.size() > 1000);
        QVERIFY2(!sheet.contains(u'@'), qPrintable(sheet.mid(sheet.indexOf(u'@'), 40)));
        static const QRegularExpression url(QStringLiteral("url\\(\"([^\"]+)\"\\)"));
        int pictures = 0;
        for (auto it = url.globalMatch(sheet); it.hasNext(); ++pictures)
            QVERIFY(QFile::exists(it.next().captured(1)));
        QVERIFY(pictures >= 4);
    }
    m_theme->setSetting(Theme::Setting::Light);
}

void TestTheme::styleSheetGrowsWithTheFont() {
    const QString filled = fillStyleSheet(
        QStringLiteral(
            "a{margin:-5px 10px;border:1px solid @text@;image: url(\"@icons@-x.svg\");}"),
        Scheme::Light, 1.5, {});
    QCOMPARE(filled, QStringLiteral("a{margin:-8px 15px;border:1px solid %1;}")
                         .arg(tokenColor(Scheme::Light, Color::Text).name()));
    // Radii stay within half the height at any size, else corners turn square.
    QCOMPARE(
        fillStyleSheet(QStringLiteral("height: 6px; border-radius: 3px;"), Scheme::Light, 1.5, {}),
        QStringLiteral("height: 9px; border-radius: 4px;"));
    QCOMPARE(fillStyleSheet(QStringLiteral("width: 10px; border-radius: @sliderRadius@px;"),
                            Scheme::Light, 16.0 / 13, {}),
             QStringLiteral("width: 12px; border-radius: 8px;"));
}

void TestTheme::largerFontGrowsEverything() {
    delete m_theme;
    QFont font = QApplication::font();
    font.setPixelSize(26);
    QApplication::setFont(font);
    m_theme = new Theme(*qApp, Theme::Setting::Light);
    QCOMPARE(m_theme->px(28), 56);
    QCOMPARE(m_theme->px(1), 1);
    QCOMPARE(m_theme->font(TypeStyle::Caption).pixelSize(), 22);
    QCOMPARE(m_theme->lineHeight(TypeStyle::Body), 40);
    delete m_theme;
    font.setPixelSize(13);
    QApplication::setFont(font);
    m_theme = new Theme(*qApp, Theme::Setting::Light);
    QCOMPARE(m_theme->font(TypeStyle::Figure).weight(), QFont::DemiBold);
}

void TestTheme::chineseComesFirstForChinese() {
    m_theme->setTextLocale(QLocale(QLocale::Chinese, QLocale::China));
    QVERIFY(m_theme->font(TypeStyle::Body).families().contains(QStringLiteral("Noto Sans CJK SC")));
    m_theme->setTextLocale(QLocale(QLocale::English));
    QVERIFY(
        !m_theme->font(TypeStyle::Body).families().contains(QStringLiteral("Noto Sans CJK SC")));
}

QTEST_MAIN(TestTheme)
#include "tst_ui_theme.moc"
