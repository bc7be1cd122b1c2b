// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the lines of a chart's grid stand and how they are labelled. Pure functions.
#pragma once

#include <QLocale>
#include <QString>

#include <vector>

namespace trainyard::ui {

struct Ticks {
    std::vector<double> values;
    /// Distance of linear ticks; 0 for logarithmic ones.
    double step = 0;
};

/// At most maxCount round values in [low, high].
Ticks linearTicks(double low, double high, int maxCount);
/// The same for a logarithmic axis, low > 0: powers of ten, with 1 2 5 or 1 2 3 4 5 6 8 between
/// where there is room; linear ticks where the range is narrower than a factor of two.
Ticks logTicks(double low, double high, int maxCount);
/// Seconds, at round minutes and hours.
Ticks durationTicks(double low, double high, int maxCount);

/// With as many decimals as neighbours need to differ.
QString tickLabel(double value, const Ticks& ticks, const QLocale& locale = QLocale());
/// "05:00" in hours and minutes, or minutes and seconds where the ticks are closer than a minute.
QString durationLabel(double seconds, double step);

} // namespace trainyard::ui
