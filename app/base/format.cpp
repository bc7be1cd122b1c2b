// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Text for the screen is built from locale-aware numbers and translatable patterns; text for files
// goes through std::to_chars only.
#include "app/base/format.h"

#include <QCoreApplication>
#include <QDateTime>

#include <array>
#include <charconv>
#include <cmath>

namespace trainyard::app {

namespace {

// In seconds.
constexpr std::int64_t kHour = 3600;
constexpr std::int64_t kDay = 24 * kHour;

QString translated(const char* pattern) {
    return QCoreApplication::translate("Format", pattern);
}

QString nonFiniteText(double value) {
    if (std::isnan(value))
        return QStringLiteral("NaN");
    return value > 0 ? QStringLiteral("∞") : QStringLiteral("-∞");
}

/// `value` with three significant digits while it is below 1000: 1.50, 12.3, 980.
QString threeDigits(double value, const QLocale& locale) {
    const double size = std::abs(value);
    // The limits are where rounding would show a fourth digit.
    const int decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
    return locale.toString(value, 'f', decimals);
}

QString twoDigits(std::int64_t value) {
    return QString::number(value).rightJustified(2, u'0');
}

QDateTime atZone(std::int64_t utcUs, const QTimeZone& zone) {
    // Rounded down also before 1970, so that the order of times is the order of their texts.
    const std::int64_t ms = utcUs >= 0 ? utcUs / 1000 : (utcUs - 999) / 1000;
    return QDateTime::fromMSecsSinceEpoch(ms, zone);
}

} // namespace

QString unknownText() {
    return QStringLiteral("—");
}

QString formatDuration(double seconds, const QLocale& locale) {
    if (!std::isfinite(seconds) || seconds < 0)
        return unknownText();
    if (seconds < 0.9995)
        return translated("%1 ms").arg(locale.toString(seconds * 1000, 'f', 0));
    if (seconds < 59.95)
        return translated("%1 s").arg(locale.toString(seconds, 'f', 1));
    const auto whole = static_cast<std::int64_t>(std::llround(seconds));
    if (whole < kHour)
        return translated("%1 m %2 s").arg(QString::number(whole / 60), twoDigits(whole % 60));
    if (whole < kDay)
        return translated("%1 h %2 m")
            .arg(QString::number(whole / kHour), twoDigits(whole / 60 % 60));
    return translated("%1 d %2 h")
        .arg(locale.toString(static_cast<qlonglong>(whole / kDay)),
             QString::number(whole / kHour % 24));
}

QString formatDateTime(std::int64_t utcUs, const QTimeZone& zone) {
    const QDateTime time = atZone(utcUs, zone);
    const int offset = time.offsetFromUtc();
    const int minutes = std::abs(offset) / 60;
    return time.toString(u"yyyy-MM-dd hh:mm") + (offset < 0 ? u" -" : u" +") +
           twoDigits(minutes / 60) + u':' + twoDigits(minutes % 60);
}

QString formatTimeOfDay(std::int64_t utcUs, const QTimeZone& zone) {
    return atZone(utcUs, zone).toString(u"hh:mm:ss");
}

QString formatBytes(double bytes, const QLocale& locale) {
    if (!std::isfinite(bytes) || bytes < 0)
        return unknownText();
    static constexpr std::array kUnits = {"%1 KiB", "%1 MiB", "%1 GiB", "%1 TiB", "%1 PiB"};
    if (bytes < 1023.5)
        return translated("%1 B").arg(locale.toString(bytes, 'f', 0));
    std::size_t unit = 0;
    double value = bytes / 1024;
    while (value >= 1023.5 && unit + 1 < kUnits.size()) {
        value /= 1024;
        ++unit;
    }
    return translated(kUnits[unit]).arg(threeDigits(value, locale));
}

QString formatCount(std::int64_t count, const QLocale& locale) {
    return locale.toString(static_cast<qlonglong>(count));
}

QString formatShortCount(double count, const QLocale& locale) {
    if (!std::isfinite(count))
        return nonFiniteText(count);
    static constexpr std::array kUnits = {"%1 k", "%1 M", "%1 G", "%1 T"};
    if (std::abs(count) < 999.5)
        return locale.toString(count, 'f', 0);
    std::size_t unit = 0;
    double value = count / 1000;
    while (std::abs(value) >= 999.5 && unit + 1 < kUnits.size()) {
        value /= 1000;
        ++unit;
    }
    return translated(kUnits[unit]).arg(threeDigits(value, locale));
}

QString formatPercent(double fraction, int decimals, const QLocale& locale) {
    if (std::isnan(fraction))
        return nonFiniteText(fraction);
    if (std::isinf(fraction))
        return translated("%1 %").arg(nonFiniteText(fraction));
    return translated("%1 %").arg(locale.toString(fraction * 100, 'f', decimals));
}

QString formatValue(double value, int digits, const QLocale& locale) {
    if (!std::isfinite(value))
        return nonFiniteText(value);
    const double size = std::abs(value);
    // Five zeros after the point, or more digits before it than are significant, read badly.
    if (size != 0 && (size < 1e-4 || size >= 1e7))
        return locale.toString(value, 'e', digits - 1);
    const int before = size < 1 ? 0 : static_cast<int>(std::floor(std::log10(size))) + 1;
    const int leadingZeros =
        size == 0 || size >= 1 ? 0 : -static_cast<int>(std::floor(std::log10(size))) - 1;
    return locale.toString(value, 'f', std::max(0, digits - before + leadingZeros));
}

QString formatValue(std::optional<double> value, int digits, const QLocale& locale) {
    return value ? formatValue(*value, digits, locale) : unknownText();
}

QByteArray plainNumber(double value) {
    if (std::isnan(value))
        return QByteArrayLiteral("NaN");
    if (std::isinf(value))
        return value > 0 ? QByteArrayLiteral("Infinity") : QByteArrayLiteral("-Infinity");
    std::array<char, 32> buffer;
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
    return QByteArray(buffer.data(), end - buffer.data());
}

QByteArray plainUtcTime(std::int64_t utcUs) {
    const QDateTime time = atZone(utcUs, QTimeZone::utc());
    const std::int64_t us = ((utcUs % 1'000'000) + 1'000'000) % 1'000'000;
    return time.toString(u"yyyy-MM-ddThh:mm:ss").toLatin1() + '.' +
           QByteArray::number(static_cast<qlonglong>(us)).rightJustified(6, '0') + 'Z';
}

} // namespace trainyard::app
