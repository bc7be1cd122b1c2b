// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The pipeline's schedule, drawn from the real programs: a line for each rank, a block for each
// micro-batch forward and backward, hatched where the rank waits for others.
#pragma once

#include "engine/program/rehearsal.h"

#include <QWidget>

#include <vector>

namespace trainyard::ui {

class Theme;

class ScheduleView : public QWidget {
    Q_OBJECT
public:
    explicit ScheduleView(const Theme& theme, QWidget* parent = nullptr);

    /// Hides itself where there is no pipeline, or one too long to be drawn.
    void setPlan(const plan::Plan& plan);
    /// "each rank waits 20 % of a step ..."
    QString verdict() const { return m_verdict; }
    int blockCount() const { return static_cast<int>(m_times.size()); }

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    QRectF lineRect(int rank) const;
    QRectF blockRect(const plan::StageTime& time) const;
    void paintHead(QPainter& painter) const;
    void paintLine(QPainter& painter, int rank) const;
    void paintBlock(QPainter& painter, const plan::StageTime& time) const;
    QString describe(const plan::StageTime& time) const;

    const Theme& m_theme;
    int m_ranks = 0;
    double m_length = 0;
    std::vector<plan::StageTime> m_times;
    QString m_verdict;
};

} // namespace trainyard::ui
