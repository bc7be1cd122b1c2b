// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The pages of the gallery. The figures are made up, but look like those of a real run.
#pragma once

#include <QString>

class QWidget;

namespace trainyard::ui {

class Theme;

/// Which language the sample texts are in; the widgets' own words stay English here.
enum class SampleText { English, Russian, Chinese };

QWidget* makeComponentsPage(const Theme& theme, SampleText text);
QWidget* makeMonitorPage(const Theme& theme, SampleText text);

/// Picks the text of the language.
QString sample(SampleText text, const QString& english, const QString& russian,
               const QString& chinese);

} // namespace trainyard::ui
