// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The tab Data: which files, and what a look into them has found.
#pragma once

#include "app/models/experiment_document.h"

#include <QWidget>

class QVBoxLayout;

namespace trainyard::ui {

class FileField;
class FormField;
class SegmentedControl;
class Theme;

class DataTab : public QWidget {
    Q_OBJECT
public:
    DataTab(const Theme& theme, app::ExperimentDocument& document, QWidget* parent = nullptr);

    /// Puts the keyboard into the value that `path` names.
    void visit(const std::string& path);
    FileField* fileField(const std::string& path) const;
    SegmentedControl* validationKind() const { return m_validation; }

private:
    enum ValidationKind { Files, Share, None };

    QWidget* makeForm();
    void addFiles(QVBoxLayout* column, const std::string& part);
    ValidationKind validationNow() const;
    void chooseValidation(int kind);
    void refreshForm();

    const Theme& m_theme;
    app::ExperimentDocument& m_document;
    std::vector<FileField*> m_trainFiles, m_validationFiles;
    SegmentedControl* m_validation = nullptr;
    FormField* m_share = nullptr;
    spec::FileSet m_lastValidation; ///< for the way back from another kind
};

} // namespace trainyard::ui
