// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The ranks of a plan as tiles: device, place in the mesh, planned memory, its share of the batch.
// One widget for the whole board.
#pragma once

#include "engine/plan/plan.h"

#include <QWidget>

namespace trainyard::ui {

class Theme;

class RankTiles : public QWidget {
    Q_OBJECT
public:
    explicit RankTiles(const Theme& theme, QWidget* parent = nullptr);

    /// `threads` of each rank; 0: not known. `memoryHere`: of the machine, 0: not known.
    void setPlan(const std::vector<plan::RankPlan>& ranks, int threads, double memoryHere);
    int count() const { return static_cast<int>(m_ranks.size()); }
    QRect tileRect(int rank) const;

    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    int columns(int width) const;
    void paintTile(QPainter& painter, const plan::RankPlan& rank, const QRect& tile) const;
    void paintBracket(QPainter& painter, const plan::RankPlan& rank, const QRect& tile) const;
    QString describe(const plan::RankPlan& rank) const;

    const Theme& m_theme;
    std::vector<plan::RankPlan> m_ranks;
    int m_threads = 0;
    double m_memoryHere = 0;
    std::size_t m_largest = 0;
};

/// "rows 1–64 of a batch", people count from one.
QString rowsText(const plan::RowRange& rows);

} // namespace trainyard::ui
