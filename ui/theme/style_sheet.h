// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Fills the style sheet template (trainyard.qss.in). A name between at-signs is a token; sizes of
// 3 px and more grow with the font. Images in a style sheet take no colour of the palette, so the
// few that are needed are written per scheme into a folder that lives as long as the program.
#pragma once

#include "ui/theme/tokens.h"

#include <QPalette>
#include <QString>

namespace trainyard::ui {

QPalette schemePalette(Scheme scheme);

/// iconFolder: where writeStyleSheetIcons() has put the pictures; empty leaves them out.
QString fillStyleSheet(QString text, Scheme scheme, double scale, const QString& iconFolder);

/// Writes chevrons and check mark in the scheme's colours. False if the folder cannot be written.
bool writeStyleSheetIcons(const QString& folder, Scheme scheme);

/// The SVG text of an icon with its colour filled in; empty if there is no such icon.
QByteArray coloredSvg(const QString& name, const QColor& color);

} // namespace trainyard::ui
