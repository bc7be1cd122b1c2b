// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The look of the program: turns the tokens of one scheme into the application's palette and style
// sheet, fonts and icons. One Theme is made after the QApplication and handed to every widget's
// constructor; widgets ask it in paintEvent and keep no colours of their own. GUI thread only.
#pragma once

#include "ui/theme/number_font.h"
#include "ui/theme/tokens.h"

#include <QIcon>
#include <QObject>
#include <QPixmap>

#include <memory>

class QApplication;
class QLocale;
class QWidget;

namespace trainyard::ui {

class Theme : public QObject {
    Q_OBJECT
public:
    /// System follows the palette that the desktop gave at start (Qt 6.4 tells no more).
    enum class Setting { System, Light, Dark };
    Q_ENUM(Setting)

    explicit Theme(QApplication& application, Setting setting = Setting::System);
    ~Theme() override;

    Setting setting() const { return m_setting; }
    Scheme scheme() const { return m_scheme; }
    void setSetting(Setting setting);
    /// Chooses the fonts that suit the language of the texts (Chinese forms of Han characters).
    void setTextLocale(const QLocale& locale);

    QColor color(Color color) const { return tokenColor(m_scheme, color); }
    QColor color(MemoryClass memory) const { return tokenColor(m_scheme, memory); }
    QColor color(StepPart part) const { return tokenColor(m_scheme, part); }
    Tone tone(State state) const { return tokenTone(m_scheme, state); }
    Tone tone(MeshAxis axis) const { return tokenTone(m_scheme, axis); }
    QColor series(int slot) const { return tokenSeries(m_scheme, slot); }
    QColor stage(int stage) const { return tokenStage(m_scheme, stage); }

    const QFont& font(TypeStyle style) const { return numbers(style).font(); }
    /// The same font, drawing digits of one width: for every number that changes or stands in a
    /// column.
    const NumberFont& numbers(TypeStyle style) const;
    int lineHeight(TypeStyle style) const { return px(tokenType(style).line); }
    /// A size of the tokens, grown with the person's font. Lines of 1 and 2 px stay.
    int px(int pixels) const;

    /// An icon of resources/icons in one colour, at most sharp: size in device-independent pixels.
    QPixmap pixmap(const QString& name, const QColor& color, int size, qreal pixelRatio) const;
    /// Icons for stock widgets. They follow the theme by themselves; greyed when disabled.
    QIcon icon(const QString& name, Color color = Color::Text) const;
    QIcon icon(const QString& name, State state) const;
    static bool hasIcon(const QString& name);

signals:
    /// Everything that this object answers may differ from now on.
    void themeChanged();

private:
    struct Fonts;
    struct Icons;

    void readFonts(const QLocale& locale);
    void apply();

    QApplication& m_application;
    Setting m_setting;
    Scheme m_systemScheme;
    Scheme m_scheme;
    double m_scale = 1;
    QFont m_systemFont;
    std::unique_ptr<Fonts> m_fonts;
    std::unique_ptr<Icons> m_icons;
};

/// Lets an own-painted widget be measured and painted anew when the theme changes.
void followTheme(QWidget* widget, const Theme& theme);

/// The ring of keyboard focus, 2 px inside the rectangle.
void drawFocusRing(QPainter& painter, const Theme& theme, const QRectF& rect, qreal radius = 0);

} // namespace trainyard::ui
