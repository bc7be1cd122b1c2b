// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What a model has answered: the picture with its most likely classes, a table of rows, or a text
// as it grows; or why there is no answer.
#pragma once

#include "app/models/prediction.h"

#include <QWidget>

class QPlainTextEdit;
class QStackedWidget;
class QTableWidget;

namespace trainyard::ui {

class ClassBars;
class EmptyState;
class PictureView;
class TextLabel;
class Theme;

class PredictResults : public QWidget {
    Q_OBJECT
public:
    PredictResults(const Theme& theme, app::PredictionJob& job, QWidget* parent = nullptr);

    /// What is said while nothing was asked yet.
    void setHint(const QString& title, const QString& sentence);
    /// A text is shown behind what the person has begun.
    void beginText(const QString& prompt);

private:
    QWidget* makeSamples();
    QWidget* makeText();
    void update();
    void showSamples();
    void fillTable(const app::Prediction& prediction);
    void showSample(int row);
    QString summaryOf(const app::Prediction& prediction) const;

    const Theme& m_theme;
    app::PredictionJob& m_job;
    QString m_prompt;
    QString m_hintTitle;
    QString m_hint;
    bool m_isText = false;
    QStackedWidget* m_stack;
    EmptyState* m_state;
    TextLabel* m_summary;
    QTableWidget* m_table;
    QWidget* m_detail;
    PictureView* m_picture;
    TextLabel* m_name;
    ClassBars* m_bars;
    QPlainTextEdit* m_text;
};

} // namespace trainyard::ui
