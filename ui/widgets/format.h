// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// How numbers, amounts and times are written on screen: by the locale's separators, with a real
// minus sign, a narrow no-break space before units and fixed decimals. Never used for files.
#pragma once

#include <QLocale>
#include <QString>

namespace trainyard::ui {

/// "18,420"; the sign is U+2212.
QString formatCount(qint64 value, const QLocale& locale = QLocale());

/// Fixed decimals; not-a-number and infinities as "NaN", "∞", "−∞".
QString formatFixed(double value, int decimals, const QLocale& locale = QLocale());

/// As many significant digits as asked, padded so that a changing value keeps its width:
/// 2.871, 0.00042, 1.2e−7.
QString formatSignificant(double value, int digits, const QLocale& locale = QLocale());

/// With the large-number letters k, M, G: 7.41 M.
QString formatCompact(double value, int digits = 3, const QLocale& locale = QLocale());

/// Bytes in KiB, MiB, GiB with the unit.
QString formatBytes(double bytes, const QLocale& locale = QLocale());

/// Clock style for a running time: 15:32, 2:05:09 (hours without a limit).
QString formatClock(double seconds);

/// In words for an estimate: "18 h 44 min", "45 s".
QString formatDuration(double seconds);

/// A number and its unit, held together by U+202F.
QString withUnit(const QString& number, const QString& unit);

/// What stands where a value is not known. Never 0, never empty.
QString notAvailable();

} // namespace trainyard::ui
