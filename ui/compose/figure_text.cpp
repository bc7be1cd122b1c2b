// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/figure_text.h"

#include "ui/widgets/format.h"

namespace trainyard::ui {

namespace {

constexpr QChar kUnitSpace(0x202F);

/// Small counts have no fraction.
QString compact(double value) {
    return value < 1000 ? formatFixed(value, 0) : formatCompact(value);
}

} // namespace

FigureText splitUnit(const QString& amount, const QString& word) {
    const qsizetype space = amount.lastIndexOf(kUnitSpace);
    // A narrow space also groups thousands in some languages: only a unit of letters is one.
    if (space < 0 || amount.back().isDigit())
        return {amount, word};
    return {amount.left(space), amount.sliced(space + 1) + word};
}

QString formatFlops(double flops) {
    const FigureText text = splitUnit(compact(flops), QStringLiteral("FLOP"));
    return withUnit(text.figure, text.unit);
}

} // namespace trainyard::ui
