// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Stands beside an edge whose shapes do not fit: says why and offers the cures.
#pragma once

#include "app/models/experiment_document.h"

#include <QFrame>

class QHBoxLayout;
class QLabel;

namespace trainyard::ui {

class Theme;

class ShapeCallout : public QFrame {
    Q_OBJECT
public:
    ShapeCallout(const Theme& theme, app::ExperimentDocument& document, QWidget* parent);

    /// Shows the first problem at this path of the experiment.
    void follow(const std::string& path);
    QString sentence() const { return m_sentence; }
    /// As high as the text needs at this width.
    void fit(int width);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    const Error* problem() const;

    const Theme& m_theme;
    app::ExperimentDocument& m_document;
    std::string m_path;
    QLabel* m_text;
    QString m_sentence;
    QHBoxLayout* m_cures;
    QStringList m_labels;
};

} // namespace trainyard::ui
