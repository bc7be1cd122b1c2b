// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The classes a model holds for likely, one below the other: name, bar, per cent. The first is
// strong.
#pragma once

#include <QString>
#include <QWidget>

#include <vector>

namespace trainyard::ui {

class Theme;

class ClassBars : public QWidget {
    Q_OBJECT
public:
    struct Bar {
        QString name;
        double share = 0; ///< 0 to 1
    };

    explicit ClassBars(const Theme& theme, QWidget* parent = nullptr);

    void setBars(std::vector<Bar> bars);
    const std::vector<Bar>& bars() const { return m_bars; }

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    int lineHeight() const;

    const Theme& m_theme;
    std::vector<Bar> m_bars;
};

} // namespace trainyard::ui
