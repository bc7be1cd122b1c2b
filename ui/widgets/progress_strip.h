// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The progress of a run as a strip of 6 px, cut into epochs. A QProgressBar, so that screen
// readers know the value; painted here.
#pragma once

#include "ui/theme/tokens.h"

#include <QProgressBar>

namespace trainyard::ui {

class Theme;

class ProgressStrip : public QProgressBar {
    Q_OBJECT
public:
    explicit ProgressStrip(const Theme& theme, QWidget* parent = nullptr);

    /// 0 to 1; negative means unknown and shows an empty strip.
    void setFraction(double fraction);
    double fraction() const { return m_fraction; }
    /// Cuts at every segment (an epoch); 0 or 1 for none. Not drawn where narrower than 6 px.
    void setSegments(double segments);
    void setState(State state);

    QSize sizeHint() const override { return {120, kHeight}; }
    QSize minimumSizeHint() const override { return {24, kHeight}; }
    static constexpr int kHeight = 6;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    const Theme& m_theme;
    double m_fraction = -1;
    double m_segments = 0;
    State m_state = State::Running;
};

} // namespace trainyard::ui
