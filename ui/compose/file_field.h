// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A file of the data: its path to type or to browse for, and what is wrong with it.
#pragma once

#include "app/models/experiment_document.h"

#include <QWidget>

class QFileDialog;
class QLineEdit;

namespace trainyard::ui {

class FieldMessage;
class Theme;

class FileField : public QWidget {
    Q_OBJECT
public:
    /// `path`: "data.train.images".
    FileField(const Theme& theme, app::ExperimentDocument& document, const std::string& path,
              const QString& label, QWidget* parent = nullptr);

    const std::string& path() const { return m_path; }
    QLineEdit* line() const { return m_line; }
    QString problem() const;
    /// Opens the dialog; it answers later.
    QFileDialog* browse();

private:
    void set(const QString& file);
    void refresh();
    QString startFolder() const;

    const Theme& m_theme;
    app::ExperimentDocument& m_document;
    std::string m_path;
    QString m_label;
    QLineEdit* m_line;
    FieldMessage* m_message;
};

} // namespace trainyard::ui
