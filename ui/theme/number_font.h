// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers whose digits all have one width, so that a changing value does not shake and columns
// line up. Qt before 6.7 cannot ask a font for its tabular digits, and Inter and Cantarell have
// proportional ones: there each digit is drawn in a cell of the widest digit.
#pragma once

#include <QFont>
#include <QRectF>
#include <QString>

class QPainter;

namespace trainyard::ui {

class NumberFont {
public:
    explicit NumberFont(const QFont& font);

    const QFont& font() const { return m_font; }
    /// Width of every digit.
    qreal cell() const { return m_cell; }
    qreal height() const { return m_height; }
    qreal ascent() const { return m_ascent; }
    qreal width(const QString& text) const;
    /// Draws with the painter's pen. Text that is wider than the rectangle is not cut.
    void draw(QPainter& painter, const QRectF& rect, Qt::Alignment alignment,
              const QString& text) const;

private:
    QFont m_font;
    qreal m_cell = 0;
    qreal m_height = 0;
    qreal m_ascent = 0;
    /// The font's own digits have one width: text is drawn as it is.
    bool m_uniform = false;
};

} // namespace trainyard::ui
