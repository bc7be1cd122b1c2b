// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Formatted amounts cut into the figure and its smaller unit, as the price cells show them.
#pragma once

#include <QString>

namespace trainyard::ui {

struct FigureText {
    QString figure;
    QString unit;
};

/// Cuts at the space before the unit: "421 k" and the word "FLOP" give "421", "kFLOP".
FigureText splitUnit(const QString& amount, const QString& word = {});

/// "1.58 GFLOP": operations of a forward pass or a step.
QString formatFlops(double flops);

} // namespace trainyard::ui
