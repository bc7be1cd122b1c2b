// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The cell of the price strip that shows the memory of a rank by class: figure, a stacked bar, and
// what each colour is. Also the stacked bar itself, which rank tiles draw, too.
#pragma once

#include "engine/plan/plan.h"
#include "ui/theme/tokens.h"

#include <QWidget>

class QPainter;

namespace trainyard::ui {

class Theme;

struct MemoryPart {
    MemoryClass kind;
    std::size_t bytes = 0;
};
/// In the fixed order of the classes.
std::vector<MemoryPart> memoryParts(const plan::MemoryByClass& memory);
QString memoryClassWord(MemoryClass kind);

/// `whole` is what the full width stands for; at least the sum of the parts is taken.
void drawMemoryBar(QPainter& painter, const Theme& theme, const QRect& rect,
                   const std::vector<MemoryPart>& parts, double whole);

class MemoryCell : public QWidget {
    Q_OBJECT
public:
    explicit MemoryCell(const Theme& theme, QWidget* parent = nullptr);

    /// Of the rank that needs most. No parts: not known.
    void setMemory(const std::vector<MemoryPart>& parts, const QString& detail);
    void setStale(bool stale);
    QString figure() const { return m_figure; }

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    int figureWidth() const;
    void paintLegend(QPainter& painter, int left) const;

    const Theme& m_theme;
    std::vector<MemoryPart> m_parts;
    QString m_figure, m_unit, m_detail;
    bool m_stale = false;
};

} // namespace trainyard::ui
