// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A number with an optional smaller unit, its digits in cells of one width.
#pragma once

#include "ui/theme/tokens.h"

#include <QWidget>

namespace trainyard::ui {

class Theme;

class NumberLabel : public QWidget {
    Q_OBJECT
public:
    NumberLabel(const Theme& theme, TypeStyle style, QWidget* parent = nullptr);

    /// text is formatted already (format.h); an empty one shows N/A.
    void setNumber(const QString& text, const QString& unit = {});
    QString number() const { return m_number; }
    void setAlignment(Qt::Alignment alignment);
    /// Old values are dimmed, never shown as live.
    void setStale(bool stale);

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    const Theme& m_theme;
    TypeStyle m_style;
    QString m_number;
    QString m_unit;
    Qt::Alignment m_alignment = Qt::AlignLeft;
    bool m_stale = false;
};

/// Number and unit on one baseline; returns the width used.
qreal drawNumberWithUnit(QPainter& painter, const Theme& theme, TypeStyle style, const QRectF& rect,
                         Qt::Alignment alignment, const QString& number, const QString& unit,
                         const QColor& numberColor);

} // namespace trainyard::ui
