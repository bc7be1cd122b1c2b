// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Round steps are 1, 2 and 5 times a power of ten; for time also what fits minutes and hours.
#include "ui/plots/ticks.h"

#include "ui/widgets/format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace trainyard::ui {

namespace {

double roundStep(double raw) {
    const double power = std::pow(10, std::floor(std::log10(raw)));
    for (const double factor : {1.0, 2.0, 5.0}) {
        if (raw <= factor * power * (1 + 1e-9))
            return factor * power;
    }
    return 10 * power;
}

Ticks withStep(double low, double high, double step) {
    Ticks ticks;
    ticks.step = step;
    const double first = std::ceil(low / step - 1e-9);
    const double last = std::floor(high / step + 1e-9);
    // Index times step: adding up would drift.
    for (double i = first; i <= last && ticks.values.size() < 1000; ++i)
        ticks.values.push_back(i * step);
    return ticks;
}

std::vector<double> logValues(double low, double high, std::span<const int> mantissas, int stride) {
    std::vector<double> values;
    const int first = static_cast<int>(std::floor(std::log10(low)));
    const int last = static_cast<int>(std::ceil(std::log10(high)));
    for (int exponent = first; exponent <= last; ++exponent) {
        if (exponent % stride != 0)
            continue;
        for (const int mantissa : mantissas) {
            const double value = mantissa * std::pow(10, exponent);
            if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9))
                values.push_back(value);
        }
    }
    return values;
}

} // namespace

Ticks linearTicks(double low, double high, int maxCount) {
    if (!(high > low) || !std::isfinite(high - low) || maxCount < 1)
        return {};
    return withStep(low, high, roundStep((high - low) / maxCount));
}

Ticks logTicks(double low, double high, int maxCount) {
    if (!(low > 0) || !(high > low) || !std::isfinite(high) || maxCount < 1)
        return {};
    if (high / low < 2)
        return linearTicks(low, high, maxCount);
    constexpr std::array fine{1, 2, 3, 4, 5, 6, 8};
    constexpr std::array middle{1, 2, 5};
    constexpr std::array coarse{1};
    for (const std::span<const int> mantissas :
         {std::span<const int>(fine), std::span<const int>(middle)}) {
        Ticks ticks{logValues(low, high, mantissas, 1), 0};
        if (ticks.values.size() >= 2 && static_cast<int>(ticks.values.size()) <= maxCount)
            return ticks;
    }
    const double decades = std::log10(high / low);
    const int stride = std::max(1, static_cast<int>(std::ceil(decades / maxCount)));
    Ticks ticks{logValues(low, high, coarse, stride), 0};
    if (ticks.values.size() < 2)
        ticks.values = logValues(low, high, middle, 1);
    return ticks;
}

Ticks durationTicks(double low, double high, int maxCount) {
    if (!(high > low) || maxCount < 1)
        return {};
    const double raw = (high - low) / maxCount;
    constexpr std::array steps{1.,   2.,   5.,    10.,   15.,   30.,    60.,    120.,   300.,
                               600., 900., 1800., 3600., 7200., 10800., 21600., 43200., 86400.};
    if (raw < steps.front())
        return linearTicks(low, high, maxCount);
    for (const double step : steps) {
        if (step >= raw)
            return withStep(low, high, step);
    }
    return withStep(low, high, 86400 * roundStep(raw / 86400));
}

QString tickLabel(double value, const Ticks& ticks, const QLocale& locale) {
    if (ticks.step > 0) {
        const double largest =
            std::max(std::abs(ticks.values.front()), std::abs(ticks.values.back()));
        if (largest >= 1e6 && ticks.step >= 1e4) {
            const double unit = largest >= 1e9 ? 1e9 : 1e6;
            const double step = ticks.step / unit;
            const int decimals = std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
            if (value == 0)
                return QStringLiteral("0");
            return withUnit(formatFixed(value / unit, decimals, locale),
                            unit == 1e9 ? QStringLiteral("G") : QStringLiteral("M"));
        }
        const int decimals = static_cast<int>(std::ceil(-std::log10(ticks.step) - 1e-9));
        if (largest < 1e-4 || decimals > 6)
            return value == 0 ? QStringLiteral("0") : formatSignificant(value, 3, locale);
        return formatFixed(value, std::max(0, decimals), locale);
    }
    const double exponent = std::floor(std::log10(value) + 1e-9);
    if (exponent < -4 || exponent > 5) {
        const double mantissa = std::round(value / std::pow(10, exponent));
        return QStringLiteral("%1e%2").arg(mantissa).arg(
            formatCount(static_cast<qint64>(exponent)));
    }
    return formatFixed(value, exponent < 0 ? static_cast<int>(-exponent) : 0, locale);
}

QString durationLabel(double seconds, double step) {
    if (step < 1)
        return formatFixed(seconds, step < 0.1 ? 2 : 1);
    const qint64 total = std::llround(std::abs(seconds));
    const qint64 major = step < 60 ? total / 60 : total / 3600;
    const qint64 minor = step < 60 ? total % 60 : total / 60 % 60;
    return (seconds < 0 ? QStringLiteral("−") : QString()) +
           QStringLiteral("%1:%2")
               .arg(major, 2, 10, QLatin1Char('0'))
               .arg(minor, 2, 10, QLatin1Char('0'));
}

} // namespace trainyard::ui
