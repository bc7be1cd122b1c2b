// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The shape that the model takes: picture or vector, and its extents.
#pragma once

#include "app/models/experiment_document.h"

#include <QWidget>

class QPushButton;

namespace trainyard::ui {

class FieldMessage;
class NumberField;
class Theme;

class InputShapeForm : public QWidget {
    Q_OBJECT
public:
    /// Made for the rank that the input has now; another rank needs another form.
    InputShapeForm(const Theme& theme, app::ExperimentDocument& document, int labelWidth,
                   QWidget* parent = nullptr);

    QWidget* firstInput() const;

private:
    void addKind();
    QStringList extentNames() const;
    void addExtent(const QString& name, int labelWidth);
    void addCure();
    void setShape();
    void refresh();
    const Error* problem() const;

    const Theme& m_theme;
    app::ExperimentDocument& m_document;
    std::vector<NumberField*> m_extents;
    FieldMessage* m_message = nullptr;
    QPushButton* m_cure = nullptr;
};

} // namespace trainyard::ui
