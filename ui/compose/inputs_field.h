// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What a layer takes: the layer before it, or others by name. A menu offers the input and all
// earlier layers; one of them for most layers, two or more for those that join branches.
#pragma once

#include "app/models/experiment_document.h"

#include <QWidget>

class QMenu;
class QPushButton;

namespace trainyard::ui {

class FieldMessage;
class Theme;

class InputsField : public QWidget {
    Q_OBJECT
public:
    InputsField(const Theme& theme, app::ExperimentDocument& document, int layer, int labelWidth,
                QWidget* parent = nullptr);

    QPushButton* button() const { return m_button; }
    /// Opens the menu; it answers later.
    QMenu* open();
    QString problem() const;

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    bool isThere() const;
    std::vector<std::string> offered() const;
    void addSource(QMenu* menu, const std::string& source, const QString& text);
    void choose(const std::string& source, bool taken);
    void set(const std::vector<std::string>& sources);
    void refresh();
    void showText();

    const Theme& m_theme;
    app::ExperimentDocument& m_document;
    int m_layer;
    QString m_text;
    QPushButton* m_button;
    FieldMessage* m_message;
    QWidget* m_cures = nullptr;
};

} // namespace trainyard::ui
