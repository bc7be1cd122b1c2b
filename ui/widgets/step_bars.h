// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the time of a step goes: one stacked bar for each rank, all on one scale, and the legend
// that names the parts. Up and down choose a rank, whose figures others can show; the tooltip has
// those under the pointer.
#pragma once

#include "ui/theme/tokens.h"

#include <QString>
#include <QWidget>

#include <array>
#include <vector>

namespace trainyard::ui {

class Theme;

/// Seconds of a step by StepPart; what they leave of the step is drawn as an empty bar.
using StepParts = std::array<double, kStepPartCount>;

QString stepPartName(StepPart part);
/// Three digits with µs, ms or s.
QString stepTimeText(double seconds);

class StepBars : public QWidget {
    Q_OBJECT
public:
    struct Row {
        QString name;
        double step = 0; ///< seconds
        StepParts parts{};
    };

    explicit StepBars(const Theme& theme, QWidget* parent = nullptr);

    void setRows(std::vector<Row> rows);
    const std::vector<Row>& rows() const { return m_rows; }
    int current() const { return m_current; }
    void setCurrent(int row);
    /// "Rank 1: 12.3 ms a step: forward 3.1 ms (25 %), ..."
    static QString describe(const Row& row);

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

signals:
    void currentChanged(int row);

protected:
    void paintEvent(QPaintEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    bool event(QEvent* event) override;

private:
    int lineHeight() const;
    int rowAt(int y) const;
    void paintBar(QPainter& painter, const Row& row, const QRect& track) const;

    const Theme& m_theme;
    std::vector<Row> m_rows;
    int m_current = 0;
    double m_longest = 0; ///< seconds that a whole bar stands for
};

/// Names of the parts beside their colours, in as many lines as they need.
class StepLegend : public QWidget {
    Q_OBJECT
public:
    explicit StepLegend(const Theme& theme, QWidget* parent = nullptr);
    void setParts(std::vector<StepPart> parts);
    const std::vector<StepPart>& parts() const { return m_parts; }

    QSize sizeHint() const override;
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    /// Where each part's swatch and word stand.
    std::vector<QRect> placesFor(int width) const;

    const Theme& m_theme;
    std::vector<StepPart> m_parts;
};

} // namespace trainyard::ui
