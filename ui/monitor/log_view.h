// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The log of a run: time, level and text, newest at the foot, with a filter by level. Follows the
// end while it is at the end.
#pragma once

#include "app/models/run_curves.h"

#include <QFrame>

class QComboBox;
class QPlainTextEdit;

namespace trainyard::ui {

class Theme;

class LogView : public QFrame {
    Q_OBJECT
public:
    explicit LogView(const Theme& theme, QWidget* parent = nullptr);

    void setCurves(const app::RunCurves* curves);
    /// What is shown, for tests and for copying.
    QString text() const;

private:
    void rebuild();
    void appendNew();
    void appendLine(const app::LogLine& line);

    const Theme& m_theme;
    const app::RunCurves* m_curves = nullptr;
    std::size_t m_shown = 0;
    QComboBox* m_level;
    QPlainTextEdit* m_lines;
};

} // namespace trainyard::ui
