// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The chosen node in full: its values as fields of the catalogue, the shapes in and out, what it
// costs and what it does.
#pragma once

#include "app/models/layer_list_model.h"
#include "ui/compose/scroll_panel.h"

class QLineEdit;
class QVBoxLayout;

namespace trainyard::ui {

class InputsField;
class Theme;

class LayerInspector : public ScrollPanel {
    Q_OBJECT
public:
    LayerInspector(const Theme& theme, app::ExperimentDocument& document,
                   app::LayerListModel& layers, QWidget* parent = nullptr);

    void showRow(int row);
    /// Puts the keyboard into the first value.
    void focusFirstValue();
    QLineEdit* nameField() const { return m_name; }
    /// Null where the node is no layer.
    InputsField* inputsField() const { return m_inputs; }

signals:
    void duplicateRequested();
    void removeRequested();

private:
    /// What decides which fields there are.
    struct Subject {
        int row = -1;
        app::LayerListModel::Node node = app::LayerListModel::Node::Input;
        QString type;                     ///< of a layer
        std::size_t rank = 0;             ///< of the input's shape
        std::vector<std::string> offered; ///< layers whose weights it may share
        bool operator==(const Subject&) const = default;
    };

    Subject subjectOf(int row) const;
    void rebuild();
    void refresh();
    void addHeader(QVBoxLayout* column);
    void addShapes(QVBoxLayout* column);
    void addValues(QVBoxLayout* column);
    void addName(QVBoxLayout* column);
    void addProblem(QVBoxLayout* column);
    void addCosts(QVBoxLayout* column);
    void addHelp(QVBoxLayout* column);
    QVariant word(int role) const;

    const Theme& m_theme;
    app::ExperimentDocument& m_document;
    app::LayerListModel& m_layers;
    Subject m_subject;
    /// Brings what the rebuilt parts show up to date.
    std::vector<std::function<void()>> m_refreshers;
    QLineEdit* m_name = nullptr;
    InputsField* m_inputs = nullptr;
    std::vector<QWidget*> m_values; ///< inputs in order, for the keyboard
};

} // namespace trainyard::ui
