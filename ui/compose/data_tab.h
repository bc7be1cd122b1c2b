// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The tab Data: which format and which files, and what a look into them has found. Files and values
// are those that the catalogue lists for the format.
#pragma once

#include "app/models/experiment_document.h"
#include "engine/spec/catalogue.h"

#include <QWidget>

class QLabel;
class QVBoxLayout;

namespace trainyard::ui {

class FileField;
class FormField;
class FormGroup;
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
    void makeParts(QVBoxLayout* column);
    void addFiles(QVBoxLayout* column, const std::string& part, std::vector<FileField*>& fields);
    const spec::TypeInfo* format() const;
    ValidationKind validationNow() const;
    spec::FileSet noFiles() const;
    void chooseValidation(int kind);
    void followFormat();
    void refreshForm();

    const Theme& m_theme;
    app::ExperimentDocument& m_document;
    QLabel* m_help = nullptr;
    QVBoxLayout* m_trainBox = nullptr;
    QVBoxLayout* m_validationBox = nullptr;
    FormGroup* m_values = nullptr;
    QWidget* m_preparation = nullptr;
    FormField* m_normalize = nullptr;
    FormGroup* m_augment = nullptr;
    QWidget* m_augmentHead = nullptr;
    std::vector<FileField*> m_trainFiles, m_validationFiles;
    SegmentedControl* m_validation = nullptr;
    FormField* m_share = nullptr;
    std::string m_shownFormat;
    spec::FileSet m_lastValidation; ///< of this format, for the way back from another kind
};

} // namespace trainyard::ui
