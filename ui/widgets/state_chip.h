// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The state of a run, host or warning: icon, word and colour together, in a pill.
#pragma once

#include "ui/theme/tokens.h"

#include <QWidget>

namespace trainyard::ui {

class Theme;

/// "Running", "Finished", ...
QString stateWord(State state);

QSize stateChipSize(const Theme& theme, const QString& word);
/// For delegates: the pill at the left edge of the rectangle, centred vertically.
void drawStateChip(QPainter& painter, const Theme& theme, const QRect& rect, State state,
                   const QString& word);
/// For tables: icon and word without the pill.
void drawStateWord(QPainter& painter, const Theme& theme, const QRect& rect, State state,
                   const QString& word);

class StateChip : public QWidget {
    Q_OBJECT
public:
    explicit StateChip(const Theme& theme, QWidget* parent = nullptr);

    State state() const { return m_state; }
    QString word() const { return m_word; }
    /// An own word says more than the state's, e.g. "Diverged" for Failed.
    void setState(State state, const QString& word = {});

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    const Theme& m_theme;
    State m_state = State::Queued;
    QString m_word;
};

} // namespace trainyard::ui
