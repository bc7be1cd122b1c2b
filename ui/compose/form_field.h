// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// One input of a form, made from a field's description and bound to a value of the document: label,
// input, a note, and what is wrong with the value with its cures. What is typed goes into the
// document at once; leaving the input ends the undo step.
#pragma once

#include "app/models/experiment_document.h"
#include "app/models/experiment_fields.h"

#include <QWidget>

#include <functional>

class QGridLayout;
class QHBoxLayout;
class QLabel;
class QLineEdit;

namespace trainyard::ui {

class CureRow;
class FieldMessage;
class NumberField;
class Theme;

class FormField : public QWidget {
    Q_OBJECT
public:
    /// Labels of a form share one width, so that the inputs stand in a column.
    FormField(const Theme& theme, app::ExperimentDocument& document, const app::EditorField& field,
              int labelWidth, QWidget* parent = nullptr);

    const std::string& path() const { return m_field.path; }
    /// A small line under the input, for what follows from the value.
    void setNote(const QString& note);
    QString note() const;
    /// What stands in red under the input; empty while the value is good.
    QString problem() const;
    /// The widget that takes the keyboard.
    QWidget* input() const { return m_inputs.front(); }
    void focusInput();

private:
    using MaybeValue = std::optional<spec::Value>;

    void build(int labelWidth);
    void buildInput(QHBoxLayout* row);
    void buildNumber(QHBoxLayout* row);
    void buildPair(QHBoxLayout* row);
    void buildList(QHBoxLayout* row);
    void buildSwitch(QHBoxLayout* row);
    void buildChoice(QHBoxLayout* row);
    void buildText(QHBoxLayout* row);
    NumberField* addNumber(QHBoxLayout* row, const QString& name);
    void addInput(QHBoxLayout* row, QWidget* input);
    MaybeValue numberValue(double number) const;
    void set(const MaybeValue& value);
    void refresh();
    void refreshProblem();
    const Error* documentProblem() const;

    const Theme& m_theme;
    app::ExperimentDocument& m_document;
    app::EditorField m_field;
    QGridLayout* m_layout = nullptr;
    std::vector<QWidget*> m_inputs;
    std::vector<NumberField*> m_numbers;
    std::function<void(const MaybeValue&)> m_show;
    QString m_listProblem; ///< of text that is no list
    QLabel* m_note = nullptr;
    FieldMessage* m_message = nullptr;
    CureRow* m_cures = nullptr;
};

/// The field with this path among the children; null if there is none.
FormField* findField(const QWidget* root, std::string_view path);

/// Lets Ctrl+Z through to the document while the line has nothing of its own to undo.
void shareUndo(QWidget* input);

} // namespace trainyard::ui
