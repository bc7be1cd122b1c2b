// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Palette and style sheet of one scheme; both come from the tokens and from nothing else.
#include "ui/theme/style_sheet.h"

#include <QFile>
#include <QRegularExpression>

#include <array>
#include <cmath>

namespace trainyard::ui {

namespace {

QString schemeName(Scheme scheme) {
    return scheme == Scheme::Dark ? QStringLiteral("dark") : QStringLiteral("light");
}

/// A radius above half the height gives square corners without a word, so radii round down.
QString scaleSizes(const QString& text, double scale) {
    static const QRegularExpression size(QStringLiteral("(border-radius: )?(-?\\d+)px"));
    QString result;
    qsizetype done = 0;
    for (auto it = size.globalMatch(text); it.hasNext();) {
        const QRegularExpressionMatch match = it.next();
        const bool isRadius = match.hasCaptured(1);
        int pixels = match.captured(2).toInt();
        if (std::abs(pixels) > 2) {
            const double grown = pixels * scale;
            pixels = static_cast<int>(isRadius ? std::floor(grown) : std::round(grown));
        }
        result += QStringView(text).sliced(done, match.capturedStart(2) - done);
        result += QString::number(pixels) + QLatin1String("px");
        done = match.capturedEnd();
    }
    result += QStringView(text).sliced(done);
    return result;
}

struct StyleSheetIcon {
    const char* icon;
    const char* name;
    Color color;
    bool bold;
};

constexpr std::array kStyleSheetIcons{
    StyleSheetIcon{"chevron-up", "chevron-up", Color::Text2, false},
    StyleSheetIcon{"chevron-down", "chevron-down", Color::Text2, false},
    StyleSheetIcon{"check", "check-on", Color::OnAccent, true},
    StyleSheetIcon{"check", "check-disabled", Color::Disabled, true},
    StyleSheetIcon{"minus", "check-part", Color::OnAccent, true},
};

} // namespace

QPalette schemePalette(Scheme scheme) {
    struct Entry {
        QPalette::ColorRole role;
        Color color;
    };
    constexpr std::array entries{
        Entry{QPalette::Window, Color::Window},
        Entry{QPalette::WindowText, Color::Text},
        Entry{QPalette::Base, Color::Surface},
        Entry{QPalette::AlternateBase, Color::Stripe},
        Entry{QPalette::Text, Color::Text},
        Entry{QPalette::Button, Color::Raised},
        Entry{QPalette::ButtonText, Color::Text},
        Entry{QPalette::BrightText, Color::OnAccent},
        Entry{QPalette::Highlight, Color::Accent},
        Entry{QPalette::HighlightedText, Color::OnAccent},
        Entry{QPalette::ToolTipBase, Color::Tooltip},
        Entry{QPalette::ToolTipText, Color::OnTooltip},
        Entry{QPalette::PlaceholderText, Color::Text3},
        Entry{QPalette::Link, Color::AccentText},
        Entry{QPalette::LinkVisited, Color::AccentText},
        Entry{QPalette::Light, Color::Raised},
        Entry{QPalette::Midlight, Color::Hover},
        Entry{QPalette::Mid, Color::Border},
        Entry{QPalette::Dark, Color::BorderStrong},
        Entry{QPalette::Shadow, Color::BorderStrong},
    };
    QPalette palette;
    for (const Entry& entry : entries)
        palette.setColor(entry.role, tokenColor(scheme, entry.color));
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        palette.setColor(QPalette::Disabled, role, tokenColor(scheme, Color::Disabled));
    return palette;
}

QString fillStyleSheet(QString text, Scheme scheme, double scale, const QString& iconFolder) {
    const auto fill = [&text](const QString& name, const QString& value) {
        text.replace(u'@' + name + u'@', value);
    };
    for (int i = 0; i < kColorCount; ++i) {
        const Color color = static_cast<Color>(i);
        fill(tokenName(color), tokenColor(scheme, color).name());
    }
    for (int i = 0; i < kStateCount; ++i) {
        const State state = static_cast<State>(i);
        const Tone tone = tokenTone(scheme, state);
        fill(tokenName(state), tone.text.name());
        fill(tokenName(state) + QLatin1String("Tint"), tone.tint.name());
        fill(tokenName(state) + QLatin1String("Solid"), tone.solid.name());
    }
    text = scaleSizes(text, scale);
    // Half of the handle with its border, which does not grow.
    fill(QStringLiteral("sliderRadius"), QString::number((std::lround(10 * scale) + 4) / 2));
    if (iconFolder.isEmpty())
        text.remove(QRegularExpression(QStringLiteral("image: url\\([^)]*\\);")));
    else
        fill(QStringLiteral("icons"), iconFolder + u'/' + schemeName(scheme));
    return text;
}

bool writeStyleSheetIcons(const QString& folder, Scheme scheme) {
    for (const StyleSheetIcon& entry : kStyleSheetIcons) {
        QByteArray svg = coloredSvg(QLatin1String(entry.icon), tokenColor(scheme, entry.color));
        if (entry.bold)
            svg.replace("stroke-width=\"1.5\"", "stroke-width=\"2.6\"");
        QFile file(folder + u'/' + schemeName(scheme) + u'-' + QLatin1String(entry.name) +
                   QLatin1String(".svg"));
        if (!file.open(QIODevice::WriteOnly) || file.write(svg) != svg.size())
            return false;
    }
    return true;
}

QByteArray coloredSvg(const QString& name, const QColor& color) {
    QFile file(QLatin1String(":/trainyard/icons/") + name + QLatin1String(".svg"));
    if (!file.open(QIODevice::ReadOnly))
        return {};
    QByteArray svg = file.readAll();
    svg.replace("currentColor", color.name().toLatin1());
    return svg;
}

} // namespace trainyard::ui
