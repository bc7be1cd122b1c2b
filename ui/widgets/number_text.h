// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Reads numbers as people type them, in any locale: "0.001" and "0,001" are both a thousandth.
// What could be read in two ways is refused with a sentence, never guessed.
#pragma once

#include <QLocale>
#include <QString>

namespace trainyard::ui {

struct ParsedNumber {
    /// Valid only while problem is empty.
    double value = 0;
    /// A sentence for the person; empty if the text was understood.
    QString problem;
    bool ok() const { return problem.isEmpty(); }
};

/// locale says which sign groups thousands, and with which the examples are written.
ParsedNumber parseReal(const QString& text, const QLocale& locale);
/// Whole numbers; also accepts "1e6" and groups of three parted by spaces.
ParsedNumber parseWhole(const QString& text, const QLocale& locale);

/// The shortest text that reads back as the same number, with the locale's decimal sign and
/// without groups: what an input field shows.
QString editText(double value, const QLocale& locale);

} // namespace trainyard::ui
