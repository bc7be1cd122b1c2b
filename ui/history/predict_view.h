// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Asks the model of a finished run: pictures by dialog or drop, rows of a table by file or as
// values, a text to go on with. The worker answers in the background; the answer is shown beside.
// Whoever shows it gives its toolbar a place.
#pragma once

#include "app/models/prediction.h"
#include "app/store/run_store.h"

#include <QWidget>

#include <optional>

class QFileDialog;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QPushButton;
class QStackedWidget;

namespace trainyard::ui {

class NumberField;
class PredictResults;
class TextLabel;
class Theme;

class PredictView : public QWidget {
    Q_OBJECT
public:
    PredictView(const Theme& theme, app::RunStore& store, const app::LocalLauncher& launcher,
                QWidget* parent = nullptr);

    /// Not part of this widget's layout.
    QWidget* toolbar() const { return m_toolbar; }
    /// A run that can be asked, or none.
    void showRun(const app::RunRecord* run);
    app::PredictionJob& job() { return m_job; }
    /// The dialog that asks for files; it is open when it comes back.
    QFileDialog* browse();
    void askAbout(const QStringList& files);

protected:
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    void makeToolbar();
    QWidget* makeForm();
    QWidget* makeFilesForm();
    QWidget* makeTextForm();
    void ask();
    void askAboutRow();
    void goOn();
    void updateForm();
    void updateButtons();
    bool takesFiles() const;

    const Theme& m_theme;
    app::RunStore& m_store;
    app::PredictionJob m_job;
    std::optional<app::RunRecord> m_run;
    app::PredictionInput m_input = app::PredictionInput::Pictures;
    QString m_folder; ///< files were chosen from it last
    QWidget* m_toolbar;
    TextLabel* m_title;
    QStackedWidget* m_forms;
    QLabel* m_filesHint;
    QPushButton* m_browse;
    QLabel* m_rowLabel;
    QLineEdit* m_row;
    QPlainTextEdit* m_prompt;
    NumberField* m_temperature;
    NumberField* m_topK;
    NumberField* m_tokens;
    QPushButton* m_ask;
    QPushButton* m_cancel;
    PredictResults* m_results;
};

} // namespace trainyard::ui
