// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The cures of the problem at one place of the experiment, as buttons; nothing while there is none.
#pragma once

#include "app/models/experiment_document.h"

#include <QWidget>

class QBoxLayout;

namespace trainyard::ui {

class Theme;

class CureRow : public QWidget {
    Q_OBJECT
public:
    /// `path`: what the problem names, "model.loss".
    CureRow(const Theme& theme, app::ExperimentDocument& document, std::string path,
            QWidget* parent = nullptr);

    /// Off while something else is to be done first.
    void setShown(bool shown);

private:
    const Error* problem() const;
    void refresh();

    const Theme& m_theme;
    app::ExperimentDocument& m_document;
    std::string m_path;
    QBoxLayout* m_layout;
    QStringList m_labels;
    bool m_shown = true;
};

} // namespace trainyard::ui
