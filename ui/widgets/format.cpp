// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// All of these take the locale only for separators; words and units go through tr().
#include "ui/widgets/format.h"

#include <QCoreApplication>

#include <array>
#include <cmath>

namespace trainyard::ui {

namespace {

constexpr QChar kMinus(0x2212);
constexpr QChar kNarrowSpace(0x202F);

QString tr(const char* text) {
    return QCoreApplication::translate("trainyard::ui::Format", text);
}

QString withRealMinus(QString text) {
    return text.replace(u'-', kMinus);
}

/// Empty for finite values.
QString nonFinite(double value) {
    if (std::isnan(value))
        return QStringLiteral("NaN");
    if (std::isinf(value))
        return value > 0 ? QStringLiteral("∞") : QString(kMinus) + u'∞';
    return {};
}

} // namespace

QString formatCount(qint64 value, const QLocale& locale) {
    return withRealMinus(locale.toString(value));
}

QString formatFixed(double value, int decimals, const QLocale& locale) {
    if (const QString special = nonFinite(value); !special.isEmpty())
        return special;
    return withRealMinus(locale.toString(value, 'f', decimals));
}

QString formatSignificant(double value, int digits, const QLocale& locale) {
    if (const QString special = nonFinite(value); !special.isEmpty())
        return special;
    const double magnitude = std::abs(value);
    if (value == 0 || (magnitude >= 1e-4 && magnitude < 1e7)) {
        const int exponent = value == 0 ? 0 : static_cast<int>(std::floor(std::log10(magnitude)));
        return formatFixed(value, std::max(0, digits - 1 - std::max(exponent, -4)), locale);
    }
    return withRealMinus(locale.toString(value, 'g', digits).toLower());
}

QString formatCompact(double value, int digits, const QLocale& locale) {
    if (const QString special = nonFinite(value); !special.isEmpty())
        return special;
    struct Step {
        double factor;
        const char* letter;
    };
    constexpr std::array steps{Step{1e12, "T"}, Step{1e9, "G"}, Step{1e6, "M"}, Step{1e3, "k"}};
    for (const Step& step : steps) {
        // Rounding must not give "1000 k".
        if (std::abs(value) >= step.factor * (1 - 0.5 * std::pow(10, -digits)))
            return withUnit(formatSignificant(value / step.factor, digits, locale),
                            QLatin1String(step.letter));
    }
    return formatSignificant(value, digits, locale);
}

QString formatBytes(double bytes, const QLocale& locale) {
    if (const QString special = nonFinite(bytes); !special.isEmpty())
        return special;
    constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    while (std::abs(bytes) >= 1023.5 && unit + 1 < units.size()) {
        bytes /= 1024;
        ++unit;
    }
    const int decimals = unit == 0 || bytes >= 99.95 ? 0 : 1;
    return withUnit(formatFixed(bytes, decimals, locale), QLatin1String(units[unit]));
}

QString formatClock(double seconds) {
    if (!std::isfinite(seconds))
        return notAvailable();
    const qint64 total = std::max<qint64>(0, std::llround(seconds));
    const qint64 hours = total / 3600;
    const QString tail = QStringLiteral("%1:%2")
                             .arg(total / 60 % 60, hours > 0 ? 2 : 1, 10, QLatin1Char('0'))
                             .arg(total % 60, 2, 10, QLatin1Char('0'));
    return hours > 0 ? QString::number(hours) + u':' + tail : tail;
}

QString formatDuration(double seconds) {
    if (!std::isfinite(seconds))
        return notAvailable();
    const qint64 total = std::max<qint64>(0, std::llround(seconds));
    const auto part = [](qint64 value, const QString& unit) {
        return withUnit(QString::number(value), unit);
    };
    const QString day = tr("d"), hour = tr("h"), minute = tr("min"), second = tr("s");
    if (total >= 86400)
        return part(total / 86400, day) + u' ' + part(total / 3600 % 24, hour);
    if (total >= 3600)
        return part(total / 3600, hour) + u' ' + part(total / 60 % 60, minute);
    if (total >= 600)
        return part(total / 60, minute);
    if (total >= 60)
        return part(total / 60, minute) + u' ' + part(total % 60, second);
    return part(total, second);
}

QString withUnit(const QString& number, const QString& unit) {
    return number + kNarrowSpace + unit;
}

QString notAvailable() {
    return tr("N/A");
}

} // namespace trainyard::ui
