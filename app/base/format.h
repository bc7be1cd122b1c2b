// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers, times and sizes as text. The functions that take a QLocale are for the screen;
// plainNumber is for files and is the same in every locale. Rule: a value that is not known is an
// em dash, NaN is "NaN", infinities are "∞" and "-∞".
#pragma once

#include <QLocale>
#include <QString>
#include <QTimeZone>

#include <cstdint>
#include <optional>

namespace trainyard::app {

/// "—", shown for what is not known.
QString unknownText();

/// "420 ms", "14.2 s", "3 m 05 s", "2 h 37 m", "5 d 4 h". Negative and non-finite ones are unknown.
QString formatDuration(double seconds, const QLocale& locale = QLocale());

/// "2026-07-29 12:56 +02:00": absolute, in `zone`, with its offset at that moment.
QString formatDateTime(std::int64_t utcUs, const QTimeZone& zone = QTimeZone::systemTimeZone());

/// "12:56:07", the time of day in `zone`.
QString formatTimeOfDay(std::int64_t utcUs, const QTimeZone& zone = QTimeZone::systemTimeZone());

/// "0 B", "980 B", "1.50 KiB", "12.3 GiB": three significant digits, powers of 1024.
QString formatBytes(double bytes, const QLocale& locale = QLocale());

/// "1,234,567", grouped as the locale does.
QString formatCount(std::int64_t count, const QLocale& locale = QLocale());

/// "950", "12.3 k", "4.56 M", "7.89 G": three significant digits.
QString formatShortCount(double count, const QLocale& locale = QLocale());

/// A fraction as percent: 0.8934 is "89.3 %".
QString formatPercent(double fraction, int decimals = 1, const QLocale& locale = QLocale());

/// A loss, a learning rate, a metric: `digits` significant digits, "1.2e-05" where that is shorter.
QString formatValue(double value, int digits = 4, const QLocale& locale = QLocale());
QString formatValue(std::optional<double> value, int digits = 4, const QLocale& locale = QLocale());

/// The shortest text that reads back as the same double, for files: "0.1", "1e-320", "NaN",
/// "Infinity", "-Infinity".
QByteArray plainNumber(double value);

/// "2026-07-29T10:56:07.123456Z", for files.
QByteArray plainUtcTime(std::int64_t utcUs);

} // namespace trainyard::app
