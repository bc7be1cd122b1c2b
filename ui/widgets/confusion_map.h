// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Labels against predictions as a map: a row for each label, a column for each prediction. What is
// right lies on the diagonal in the accent's colour, mistakes beside it in another one, and both
// the darker the larger their share of the row. Arrow keys go from cell to cell.
#pragma once

#include "app/store/confusion_table.h"

#include <QWidget>

#include <optional>

namespace trainyard::ui {

class Theme;

class ConfusionMap : public QWidget {
    Q_OBJECT
public:
    enum class Values { Counts, Percent };

    explicit ConfusionMap(const Theme& theme, QWidget* parent = nullptr);

    void setTable(const std::optional<app::ConfusionTable>& table);
    void setValues(Values values);
    /// "label cat predicted as dog: 3 of 40"
    QString sentence(int label, int prediction) const;
    /// What stands in a cell; empty where nothing was counted or there is no room.
    QString cellText(int label, int prediction) const;
    QRect cellRect(int label, int prediction) const;

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    bool event(QEvent* event) override;

private:
    struct Layout;
    Layout layoutNow() const;
    QString textIn(const Layout& layout, int label, int prediction) const;
    int classes() const { return m_table ? m_table->classes() : 0; }
    QString nameOf(int index) const;
    QColor fillOf(int label, int prediction) const;
    std::optional<QPoint> cellAt(const QPoint& place) const; ///< x: prediction, y: label
    void goTo(QPoint cell);
    void paintNames(QPainter& painter, const Layout& layout) const;
    void paintCell(QPainter& painter, const Layout& layout, int label, int prediction) const;

    const Theme& m_theme;
    std::optional<app::ConfusionTable> m_table;
    Values m_values = Values::Counts;
    QPoint m_current;
};

} // namespace trainyard::ui
