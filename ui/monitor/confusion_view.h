// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Which classes a run's model takes for which: the map of a validation, and how much of each class
// is found. Whoever shows it gives its toolbar a place.
#pragma once

#include "app/store/run_store.h"

#include <QWidget>

#include <optional>

class QStackedWidget;
class QTableWidget;

namespace trainyard::ui {

class ConfusionMap;
class EmptyState;
class SegmentedControl;
class TextLabel;
class Theme;

class ConfusionView : public QWidget {
    Q_OBJECT
public:
    ConfusionView(const Theme& theme, app::RunStore& store, QWidget* parent = nullptr);

    /// Not part of this widget's layout.
    QWidget* toolbar() const { return m_toolbar; }
    void showRun(std::optional<app::RunId> run);
    /// Reads again what the store has of the run.
    void refresh();
    bool hasTable() const { return m_table.has_value(); }
    ConfusionMap& map() { return *m_map; }
    QTableWidget& classes() { return *m_classes; }

private:
    void makeToolbar();
    QWidget* makeBody();
    void makeClasses();
    void fillClasses();
    void showEmpty();

    const Theme& m_theme;
    app::RunStore& m_store;
    std::optional<app::RunId> m_run;
    std::optional<app::RunId> m_tableOf;
    std::optional<app::ConfusionTable> m_table;
    QWidget* m_toolbar;
    SegmentedControl* m_which;
    SegmentedControl* m_values;
    TextLabel* m_sentence;
    QStackedWidget* m_stack;
    EmptyState* m_empty;
    ConfusionMap* m_map;
    QTableWidget* m_classes;
};

} // namespace trainyard::ui
