// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A switch: on or off, takes effect at once. Space changes it.
#pragma once

#include <QAbstractButton>

namespace trainyard::ui {

class Theme;

class ToggleSwitch : public QAbstractButton {
    Q_OBJECT
public:
    /// name: what is switched; shown beside it only by the page, read by screen readers.
    ToggleSwitch(const Theme& theme, const QString& name, QWidget* parent = nullptr);

    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    void enterEvent(QEnterEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    const Theme& m_theme;
};

} // namespace trainyard::ui
