// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A file or folder of the data: its path to type or to browse for, and what is wrong with it.
#pragma once

#include "app/models/experiment_document.h"
#include "engine/spec/catalogue.h"

#include <QWidget>

class QFileDialog;
class QLineEdit;

namespace trainyard::ui {

class FieldMessage;
class Theme;

class FileField : public QWidget {
    Q_OBJECT
public:
    /// `part`: "data.train". `filters`: of the dialog, the first one counts.
    FileField(const Theme& theme, app::ExperimentDocument& document, const std::string& part,
              const spec::FileRole& role, QStringList filters, QWidget* parent = nullptr);

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
    bool m_folder;
    QStringList m_filters;
    QLineEdit* m_line;
    FieldMessage* m_message;
};

} // namespace trainyard::ui
