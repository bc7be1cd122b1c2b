// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Paints the rows of the runs: check mark, piece of line, state with its icon, small curve, numbers
// in digits of one width.
#pragma once

#include <QStyledItemDelegate>

namespace trainyard::ui {

class Theme;

class RunDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    RunDelegate(const Theme& theme, QObject* parent);

    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    bool editorEvent(QEvent* event, QAbstractItemModel* model, const QStyleOptionViewItem& option,
                     const QModelIndex& index) override;

private:
    void paintBackground(QPainter& painter, const QStyleOptionViewItem& option,
                         const QModelIndex& index) const;
    void paintCheck(QPainter& painter, const QRect& rect, bool checked) const;
    void paintSlot(QPainter& painter, const QRect& rect, int slot) const;
    void paintCurve(QPainter& painter, const QRect& rect, const QModelIndex& index) const;
    void paintText(QPainter& painter, const QRect& rect, const QModelIndex& index) const;

    const Theme& m_theme;
};

} // namespace trainyard::ui
