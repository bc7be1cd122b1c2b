// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What a look into the data files has found: counts, shape, classes or numbers to predict, and what
// the reader has to say; or why that is not known.
#pragma once

#include "app/models/experiment_document.h"

#include <QFrame>

class QHBoxLayout;
class QPushButton;
class QStackedWidget;
class QVBoxLayout;

namespace trainyard::ui {

class ClassBalance;
class DataPreviewView;
class EmptyState;
class FigureCell;
class TextLabel;
class Theme;

class DataFactsView : public QFrame {
    Q_OBJECT
public:
    DataFactsView(const Theme& theme, app::ExperimentDocument& document, QWidget* parent = nullptr);

signals:
    /// The user wants to choose the first file.
    void browseRequested();

private:
    QWidget* makeState();
    QWidget* makeFacts();
    QHBoxLayout* makeFigures();
    void refresh();
    void showState(const QString& title, const QString& sentence, bool failed,
                   const QString& button);
    void showFacts(const app::DataFacts& facts);
    void showShape(const app::PartFacts& part);
    void showTargets(const app::PartFacts& part);
    void showNotes(const app::DataFacts& facts);
    void showBalance(const app::DataFacts& facts);

    const Theme& m_theme;
    app::ExperimentDocument& m_document;
    QStackedWidget* m_stack;
    EmptyState* m_state = nullptr;
    QPushButton* m_stateButton = nullptr;
    FigureCell* m_samples = nullptr;
    FigureCell* m_held = nullptr;
    FigureCell* m_shape = nullptr;
    FigureCell* m_targets = nullptr; ///< classes, or numbers to predict
    FigureCell* m_vocabulary = nullptr;
    QWidget* m_notes = nullptr;
    QVBoxLayout* m_noteRows = nullptr;
    DataPreviewView* m_preview = nullptr;
    TextLabel* m_balanceTitle = nullptr;
    TextLabel* m_balanceText = nullptr;
    ClassBalance* m_balance = nullptr;
};

} // namespace trainyard::ui
