// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The model as a column of nodes: choose, move by keys or by dragging, add, delete. Where shapes do
// not fit a callout stands beside the edge with the sentence and its cures.
#pragma once

#include "app/models/layer_list_model.h"

#include <QListView>

namespace trainyard::ui {

class LayerDelegate;
class ShapeCallout;
class Theme;

class LayerView : public QListView {
    Q_OBJECT
public:
    LayerView(const Theme& theme, app::ExperimentDocument& document, app::LayerListModel& layers,
              QWidget* parent = nullptr);

    int chosenRow() const { return currentIndex().row(); }
    void choose(int row);
    /// Adds a layer of this type behind the chosen one and chooses it.
    void addLayer(const QString& type);
    void removeChosen();
    void duplicateChosen();
    void moveChosen(int by);
    /// The middle of the chosen node's lower edge, in this widget: where a list to add from opens.
    QPoint addPosition() const;
    ShapeCallout* callout() const { return m_callout; }

signals:
    void rowChosen(int row);
    /// The user wants to edit the chosen node.
    void editRequested();
    /// The user wants to choose a layer to add.
    void addRequested();

protected:
    void currentChanged(const QModelIndex& current, const QModelIndex& previous) override;
    void keyPressEvent(QKeyEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void dragMoveEvent(QDragMoveEvent* event) override;
    void dragLeaveEvent(QDragLeaveEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    void updateGeometries() override;
    void scrollContentsBy(int dx, int dy) override;

private:
    void followModel();
    void placeNodes();
    void placeCallout();
    int badRow() const;
    QRect nodeAt(int row) const;
    void paintDropLine(QPainter& painter) const;
    void paintBranches(QPainter& painter) const;
    void paintBranch(QPainter& painter, int from, int to, int lane) const;
    int dropRow(const QPoint& position) const;
    bool handleKey(const QKeyEvent& event);

    const Theme& m_theme;
    app::ExperimentDocument& m_document;
    app::LayerListModel& m_layers;
    LayerDelegate* m_delegate;
    ShapeCallout* m_callout;
    int m_dropRow = -1;
};

} // namespace trainyard::ui
