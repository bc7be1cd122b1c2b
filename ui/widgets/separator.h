// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A line of 1 px in the colour of borders between regions.
#pragma once

#include <QWidget>

namespace trainyard::ui {

class Theme;

class Separator : public QWidget {
    Q_OBJECT
public:
    Separator(const Theme& theme, Qt::Orientation orientation, QWidget* parent = nullptr);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    const Theme& m_theme;
};

} // namespace trainyard::ui
