// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A titled group of form fields whose inputs stand in one column.
#pragma once

#include "app/models/experiment_document.h"
#include "app/models/experiment_fields.h"

#include <QWidget>

class QVBoxLayout;

namespace trainyard::ui {

class FormField;
class Theme;

class FormGroup : public QWidget {
    Q_OBJECT
public:
    FormGroup(const Theme& theme, app::ExperimentDocument& document, const QString& title,
              int labelWidth, QWidget* parent = nullptr);

    FormField* addField(const app::EditorField& field);
    /// One of the fixed fields, by its path.
    FormField* addField(std::string_view path);
    void addWidget(QWidget* widget);
    /// A row with a label of the group's width.
    void addRow(const QString& label, QWidget* widget);
    int labelWidth() const { return m_labelWidth; }
    /// Takes all fields out again, for another type; fields that are kept are not.
    void clear();

private:
    const Theme& m_theme;
    app::ExperimentDocument& m_document;
    int m_labelWidth;
    QVBoxLayout* m_layout;
    std::vector<QWidget*> m_rows;
};

/// Replaces the fields of the group when the type that they are made for changes.
class TypedGroup : public FormGroup {
    Q_OBJECT
public:
    using Fields = std::vector<app::EditorField> (*)(const spec::Experiment&);

    /// `typePath`: "training.optimizer.type"; its choices are the catalogue's types of this kind.
    TypedGroup(const Theme& theme, app::ExperimentDocument& document, const QString& title,
               spec::Kind kind, const std::string& typePath, Fields fields, int labelWidth,
               QWidget* parent = nullptr);

    FormField* typeField() const { return m_typeField; }

private:
    void followType();

    app::ExperimentDocument& m_experiment;
    std::string m_typePath;
    Fields m_fields;
    std::string m_type;
    FormField* m_typeField = nullptr;
    FormGroup* m_values;
};

} // namespace trainyard::ui
