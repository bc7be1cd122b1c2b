// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// One cell of the run header or the price strip: caption, figure with unit, and a small line that
// says what it means. Never shrinks while its value changes, so that the neighbours stand still.
#pragma once

#include "ui/widgets/mesh_tag.h"

#include <QWidget>

namespace trainyard::ui {

class FigureCell : public QWidget {
    Q_OBJECT
public:
    static constexpr int kHeight = 72;

    FigureCell(const Theme& theme, const QString& caption, QWidget* parent = nullptr);

    void setCaption(const QString& caption);
    /// An empty figure shows N/A.
    void setFigure(const QString& figure, const QString& unit = {});
    void setDetail(const QString& detail);
    /// Mesh tags after the detail.
    void setTags(const std::vector<MeshTag>& tags);
    /// Shows the figure as an old one.
    void setStale(bool stale);
    /// A line at the right edge; on by default.
    void setSeparator(bool shown);
    QString figure() const { return m_figure; }
    QString detail() const { return m_detail; }

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    void changed();
    int contentWidth() const;
    void paintDetail(QPainter& painter, const QRect& rect) const;

    const Theme& m_theme;
    QString m_caption;
    QString m_figure;
    QString m_unit;
    QString m_detail;
    std::vector<MeshTag> m_tags;
    bool m_stale = false;
    bool m_separator = true;
    /// The widest content so far, in the current theme.
    int m_widest = 0;
};

} // namespace trainyard::ui
