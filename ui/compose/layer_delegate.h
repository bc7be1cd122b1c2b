// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Draws a row of the model: the edge that comes in with its shape, the node, and beside it what the
// layer costs. Rows that only normalise or activate stand in one block with the row above.
#pragma once

#include <QStyledItemDelegate>

namespace trainyard::ui {

class Theme;

class LayerDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    explicit LayerDelegate(const Theme& theme, QObject* parent = nullptr);

    /// Left edge of the nodes and width of the view, which decides what fits beside them.
    void setGeometry(int nodeLeft, int viewWidth);
    /// What the bars are shares of.
    void setTotals(double parameters, double flops);

    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;

    /// Where the node lies in a row of this rectangle.
    QRect nodeRect(const QRect& row, const QModelIndex& index) const;
    /// The edge above it; empty for the first and for rows of a block.
    QRect edgeRect(const QRect& row, const QModelIndex& index) const;
    /// Where the text of a wrong edge ends.
    int badEdgeTextRight(const QRect& edge, const QModelIndex& index) const;
    int nodeWidth() const;
    /// Room that the figures beside the nodes take.
    int figuresWidth() const;

private:
    int nodeHeight(const QModelIndex& index) const;
    int edgeTextLeft(const QRect& edge) const;
    QFont badEdgeFont() const;
    void paintEdge(QPainter& painter, const QRect& edge, const QModelIndex& index) const;
    void paintNode(QPainter& painter, const QRect& node, const QStyleOptionViewItem& option,
                   const QModelIndex& index) const;
    void paintOutline(QPainter& painter, const QRect& node, const QStyleOptionViewItem& option,
                      const QModelIndex& index) const;
    void paintWords(QPainter& painter, const QRect& node, const QModelIndex& index) const;
    void paintFigures(QPainter& painter, const QRect& node, const QModelIndex& index) const;
    void paintFigure(QPainter& painter, const QRect& cell, const QVariant& value, double total,
                     bool countOnly) const;

    const Theme& m_theme;
    int m_nodeLeft = 0;
    int m_viewWidth = 0;
    double m_parameters = 0;
    double m_flops = 0;
};

} // namespace trainyard::ui
