// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The ranks of a plan as tiles: device, place in the mesh, planned memory, its share of the batch.
// Stages of a pipeline lie below each other, copies of the model side by side under brackets, the
// parts of a layer are joined by a double line. One widget for the whole board.
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
    void setPlan(const plan::Plan& plan, int threads, double memoryHere);
    int count() const { return static_cast<int>(m_ranks.size()); }
    QRect tileRect(int rank) const;
    QString describe(int rank) const;

    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    int ranksOfStage() const { return m_mesh.data * m_mesh.tensor; }
    int gutter() const;
    int columns(int width) const;
    int rowsOfStage(int width) const;
    int stageTop(int stage, int width) const;
    bool startsBracket(int rank) const;
    void paintStage(QPainter& painter, int stage) const;
    void paintTile(QPainter& painter, const plan::RankPlan& rank, const QRect& tile) const;
    void paintBracket(QPainter& painter, const plan::RankPlan& rank, const QRect& tiles) const;
    void paintLink(QPainter& painter, int rank) const;
    QString stageTitle(int stage) const;

    const Theme& m_theme;
    plan::Mesh m_mesh;
    std::vector<plan::RankPlan> m_ranks;
    std::vector<QString> m_layers;  ///< by pipeline rank
    std::vector<QString> m_classes; ///< by rank, that it scores; empty: all, or none
    int m_stagesOfRank = 1;
    int m_threads = 0;
    double m_memoryHere = 0;
    std::size_t m_largest = 0;
};

/// "rows 1–64 of a batch", people count from one.
QString rowsText(const plan::RowRange& rows);

} // namespace trainyard::ui
