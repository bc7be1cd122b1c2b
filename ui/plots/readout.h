// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The box beside the cursor: where it stands and what each curve is there. A child widget that is
// moved, not a tooltip; it takes no mouse.
#pragma once

#include "ui/theme/tokens.h"

#include <QFrame>
#include <QString>

#include <optional>
#include <vector>

namespace trainyard::ui {

class Theme;

struct ReadoutRow {
    QString name;
    QString value;
    /// Draws the line sample of the slot before the name.
    std::optional<int> slot;
    bool operator==(const ReadoutRow&) const = default;
};

struct ReadoutContent {
    /// Bold at the left, plain at the right of the first line.
    QString title;
    QString subtitle;
    std::vector<ReadoutRow> rows;
    bool operator==(const ReadoutContent&) const = default;
};

class Readout : public QFrame {
    Q_OBJECT
public:
    Readout(const Theme& theme, QWidget* parent);

    void setContent(const ReadoutContent& content);
    const ReadoutContent& content() const { return m_content; }
    /// Shows it beside x, inside bounds, on the side with more room.
    void placeBeside(qreal x, const QRect& bounds);
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    const Theme& m_theme;
    ReadoutContent m_content;
};

} // namespace trainyard::ui
