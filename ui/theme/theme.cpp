// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Applies a scheme to the application. Order matters: the palette before the style sheet, because
// a style sheet on the application stops a later setPalette from reaching the widgets.
#include "ui/theme/theme.h"

#include "ui/theme/style_sheet.h"

#include <QApplication>
#include <QFile>
#include <QFontDatabase>
#include <QFontInfo>
#include <QHash>
#include <QIconEngine>
#include <QLocale>
#include <QPainter>
#include <QPointer>
#include <QSvgRenderer>
#include <QTemporaryDir>
#include <QWidget>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <vector>

// Outside of any namespace, as Qt asks; needed because the pictures sit in a static library.
static void initStudioResources() {
    Q_INIT_RESOURCE(trainyard);
}

namespace trainyard::ui {

namespace {

/// Draws from the theme each time, so that an icon follows a change of scheme without being
/// rebuilt.
class ThemeIconEngine : public QIconEngine {
public:
    using Paint = std::function<QColor(const Theme&)>;
    ThemeIconEngine(const Theme& theme, QString name, Paint colorOf)
        : m_theme(&theme), m_name(std::move(name)), m_colorOf(std::move(colorOf)) {}

    void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode,
               QIcon::State state) override {
        const qreal ratio = painter->device()->devicePixelRatio();
        painter->drawPixmap(rect.topLeft(), scaledPixmap(rect.size() * ratio, mode, state, ratio));
    }
    QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override {
        return scaledPixmap(size, mode, state, 1);
    }
    /// size is in device pixels.
    QPixmap scaledPixmap(const QSize& size, QIcon::Mode mode, QIcon::State state,
                         qreal scale) override {
        if (!m_theme)
            return {};
        QColor color = m_colorOf(*m_theme);
        if (mode == QIcon::Disabled)
            color = m_theme->color(Color::Disabled);
        else if (state == QIcon::On)
            color = m_theme->color(Color::AccentText);
        const int edge =
            static_cast<int>(std::lround(std::min(size.width(), size.height()) / scale));
        const QPixmap icon = m_theme->pixmap(m_name, color, edge, scale);
        if (size.width() <= size.height())
            return icon;
        // A size wider than high asks for a gap after the icon, which styles do not let us set.
        QPixmap wide(size);
        wide.setDevicePixelRatio(scale);
        wide.fill(Qt::transparent);
        QPainter(&wide).drawPixmap(0, 0, icon);
        return wide;
    }
    QIconEngine* clone() const override { return new ThemeIconEngine(*m_theme, m_name, m_colorOf); }
    bool isNull() override { return !m_theme || !Theme::hasIcon(m_name); }

private:
    QPointer<const Theme> m_theme;
    QString m_name;
    Paint m_colorOf;
};

Scheme schemeOf(const QPalette& palette) {
    return palette.color(QPalette::Window).lightness() < 128 ? Scheme::Dark : Scheme::Light;
}

} // namespace

struct Theme::Fonts {
    std::vector<NumberFont> styles;
};

struct Theme::Icons {
    QTemporaryDir styleSheetFolder;
    std::array<bool, 2> written{false, false};
    mutable QHash<QString, QPixmap> cache;
};

Theme::Theme(QApplication& application, Setting setting)
    : m_application(application), m_setting(setting),
      m_systemScheme(schemeOf(application.palette())), m_scheme(m_systemScheme),
      m_systemFont(application.font()), m_icons(std::make_unique<Icons>()) {
    initStudioResources();
    m_application.setStyle(QStringLiteral("Fusion"));
    readFonts(QLocale());
    apply();
}

Theme::~Theme() = default;

void Theme::setSetting(Setting setting) {
    if (setting == m_setting)
        return;
    m_setting = setting;
    apply();
}

void Theme::setTextLocale(const QLocale& locale) {
    readFonts(locale);
    apply();
}

void Theme::readFonts(const QLocale& locale) {
    QFont base = m_systemFont;
    const int systemPixels = QFontInfo(base).pixelSize();
    // Desktops without settings give 12 px or less; captions would no longer be readable.
    const int pixels = std::max(systemPixels, kBaseFontPixels);
    m_scale = static_cast<double>(pixels) / kBaseFontPixels;
    if (locale.language() == QLocale::Chinese) {
        // Without a Chinese family first, Han characters fall to their Japanese forms.
        QStringList families = base.families();
        families << (locale.script() == QLocale::TraditionalHanScript
                         ? QStringLiteral("Noto Sans CJK TC")
                         : QStringLiteral("Noto Sans CJK SC"));
        base.setFamilies(families);
    }
    auto fonts = std::make_unique<Fonts>();
    for (int i = 0; i < kTypeStyleCount; ++i) {
        const TypeStyle style = static_cast<TypeStyle>(i);
        const TypeSpec spec = tokenType(style);
        QFont font =
            style == TypeStyle::Mono ? QFontDatabase::systemFont(QFontDatabase::FixedFont) : base;
        font.setPixelSize(static_cast<int>(std::lround(pixels * spec.ratio)));
        font.setWeight(static_cast<QFont::Weight>(spec.weight));
        fonts->styles.emplace_back(font);
    }
    m_fonts = std::move(fonts);
}

void Theme::apply() {
    m_scheme = m_setting == Setting::System ? m_systemScheme
               : m_setting == Setting::Dark ? Scheme::Dark
                                            : Scheme::Light;
    QString folder;
    if (m_icons->styleSheetFolder.isValid()) {
        bool& written = m_icons->written[static_cast<std::size_t>(m_scheme)];
        written = written || writeStyleSheetIcons(m_icons->styleSheetFolder.path(), m_scheme);
        if (written)
            folder = m_icons->styleSheetFolder.path();
    }
    QFile sheet(QStringLiteral(":/trainyard/theme/trainyard.qss.in"));
    const bool opened = sheet.open(QIODevice::ReadOnly);
    Q_ASSERT_X(opened, "Theme", "the style sheet is not in the resources");
    Q_UNUSED(opened)
    m_application.setFont(font(TypeStyle::Body));
    m_application.setPalette(schemePalette(m_scheme));
    m_application.setStyleSheet(
        fillStyleSheet(QString::fromUtf8(sheet.readAll()), m_scheme, m_scale, folder));
    emit themeChanged();
}

const NumberFont& Theme::numbers(TypeStyle style) const {
    return m_fonts->styles[static_cast<std::size_t>(style)];
}

int Theme::px(int pixels) const {
    return std::abs(pixels) <= 2 ? pixels : static_cast<int>(std::lround(pixels * m_scale));
}

QPixmap Theme::pixmap(const QString& name, const QColor& color, int size, qreal pixelRatio) const {
    const QString key =
        name + color.name() + QString::number(size) + u'@' + QString::number(pixelRatio);
    const auto found = m_icons->cache.constFind(key);
    if (found != m_icons->cache.constEnd())
        return *found;
    QSvgRenderer renderer;
    const QByteArray svg = coloredSvg(name, color);
    const bool loaded = !svg.isEmpty() && renderer.load(svg);
    if (!loaded)
        qWarning("Theme: there is no icon \"%s\"", qUtf8Printable(name));
    const int devicePixels = static_cast<int>(std::lround(size * pixelRatio));
    QPixmap pixmap(devicePixels, devicePixels);
    pixmap.setDevicePixelRatio(pixelRatio);
    pixmap.fill(Qt::transparent);
    if (loaded) {
        QPainter painter(&pixmap);
        renderer.render(&painter, QRectF(0, 0, size, size));
    }
    m_icons->cache.insert(key, pixmap);
    return pixmap;
}

QIcon Theme::icon(const QString& name, Color color) const {
    return QIcon(new ThemeIconEngine(*this, name,
                                     [color](const Theme& theme) { return theme.color(color); }));
}

QIcon Theme::icon(const QString& name, State state) const {
    return QIcon(new ThemeIconEngine(
        *this, name, [state](const Theme& theme) { return theme.tone(state).text; }));
}

bool Theme::hasIcon(const QString& name) {
    initStudioResources();
    return QFile::exists(QLatin1String(":/trainyard/icons/") + name + QLatin1String(".svg"));
}

void followTheme(QWidget* widget, const Theme& theme) {
    QObject::connect(&theme, &Theme::themeChanged, widget, [widget] {
        widget->updateGeometry();
        widget->update();
    });
}

void drawFocusRing(QPainter& painter, const Theme& theme, const QRectF& rect, qreal radius) {
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme.color(Color::Focus), 2));
    painter.drawRoundedRect(rect.adjusted(1, 1, -1, -1), radius, radius);
    painter.restore();
}

} // namespace trainyard::ui

#include "moc_theme.cpp"
