// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// How many samples of each class there are, as bars: training and validation on one scale.
#pragma once

#include <QWidget>

#include <cstdint>
#include <string>
#include <vector>

namespace trainyard::ui {

class Theme;

class ClassBalance : public QWidget {
    Q_OBJECT
public:
    explicit ClassBalance(const Theme& theme, QWidget* parent = nullptr);

    /// `validation` may be empty; so may `names`: classes are numbers then.
    void setCounts(const std::vector<std::int64_t>& training,
                   const std::vector<std::int64_t>& validation,
                   const std::vector<std::string>& names = {});
    /// "Each class has 6,000 samples.", or how far apart they are.
    QString sentence() const;

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    struct Columns;
    Columns columns() const;
    void paintRow(QPainter& painter, const Columns& columns, int row) const;
    std::int64_t largest() const;
    int rowHeight() const;
    int rows() const;
    QString nameOf(std::size_t row) const;

    const Theme& m_theme;
    std::vector<std::int64_t> m_training;
    std::vector<std::int64_t> m_validation;
    std::vector<std::string> m_names;
};

} // namespace trainyard::ui
