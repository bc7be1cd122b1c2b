// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// One line of text in a type style and a colour of the theme, cut with an ellipsis where there is
// no room; then the tooltip holds the whole. For text that wraps use makeParagraph().
#pragma once

#include "ui/theme/tokens.h"

#include <QWidget>

class QLabel;

namespace trainyard::ui {

class Theme;

class TextLabel : public QWidget {
    Q_OBJECT
public:
    TextLabel(const Theme& theme, TypeStyle style, Color color = Color::Text,
              QWidget* parent = nullptr);

    QString text() const { return m_text; }
    void setText(const QString& text);
    void setColor(Color color);
    void setElideMode(Qt::TextElideMode mode);
    void setAlignment(Qt::Alignment alignment);
    /// True while the last painted text was cut.
    bool isElided() const { return m_elided; }

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    const Theme& m_theme;
    TypeStyle m_style;
    Color m_color;
    QString m_text;
    Qt::TextElideMode m_elideMode = Qt::ElideRight;
    Qt::Alignment m_alignment = Qt::AlignLeft | Qt::AlignVCenter;
    bool m_elided = false;
};

/// What stands above a group.
TextLabel* makeHeading(const Theme& theme, const QString& text, Color color = Color::Text2);

/// A wrapping label. tone is empty or one of the style sheet's: text2 text3 failed warning ...
QLabel* makeParagraph(const Theme& theme, TypeStyle style, const QString& tone,
                      const QString& text = {}, QWidget* parent = nullptr);

} // namespace trainyard::ui
