// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// One picture, as large as there is room, its sides in proportion. Small ones are enlarged by whole
// pixels, so that what a model sees of them is seen.
#pragma once

#include <QImage>
#include <QWidget>

namespace trainyard::ui {

class Theme;

class PictureView : public QWidget {
    Q_OBJECT
public:
    explicit PictureView(const Theme& theme, QWidget* parent = nullptr);

    void setPicture(const QImage& picture, const QString& name);
    /// Reads a file, scaled down to what a screen can show. False: it is no picture.
    bool openFile(const QString& path);
    bool hasPicture() const { return !m_picture.isNull(); }

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    const Theme& m_theme;
    QImage m_picture;
};

} // namespace trainyard::ui
