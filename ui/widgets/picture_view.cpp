// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/widgets/picture_view.h"

#include "ui/theme/theme.h"

#include <QFileInfo>
#include <QImageReader>
#include <QPainter>

namespace trainyard::ui {

namespace {

constexpr int kSideMost = 1024; ///< of a picture that is read from a file
constexpr int kSmall = 128;     ///< below it pixels are shown as they are

} // namespace

PictureView::PictureView(const Theme& theme, QWidget* parent) : QWidget(parent), m_theme(theme) {
    setObjectName(QStringLiteral("pictureView"));
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Expanding);
    followTheme(this, theme);
}

void PictureView::setPicture(const QImage& picture, const QString& name) {
    m_picture = picture;
    setAccessibleName(name);
    setToolTip(name);
    update();
}

bool PictureView::openFile(const QString& path) {
    QImageReader reader(path);
    reader.setAutoTransform(true);
    const QSize size = reader.size();
    if (size.isValid() && (size.width() > kSideMost || size.height() > kSideMost))
        reader.setScaledSize(size.scaled(kSideMost, kSideMost, Qt::KeepAspectRatio));
    setPicture(reader.read(), QFileInfo(path).fileName());
    return hasPicture();
}

QSize PictureView::sizeHint() const {
    return {m_theme.px(240), m_theme.px(240)};
}

QSize PictureView::minimumSizeHint() const {
    return {m_theme.px(120), m_theme.px(120)};
}

void PictureView::paintEvent(QPaintEvent*) {
    if (m_picture.isNull())
        return;
    QPainter painter(this);
    const bool small = m_picture.width() <= kSmall && m_picture.height() <= kSmall;
    QSize size = m_picture.size().scaled(this->size(), Qt::KeepAspectRatio);
    if (small && size.width() > m_picture.width())
        size = m_picture.size() * (size.width() / m_picture.width());
    const QRect rect(QPoint((width() - size.width()) / 2, 0), size);
    painter.setRenderHint(QPainter::SmoothPixmapTransform, !small);
    painter.drawImage(rect, m_picture);
    painter.setPen(m_theme.color(Color::Border));
    painter.drawRect(rect.adjusted(0, 0, -1, -1));
}

} // namespace trainyard::ui

#include "moc_picture_view.cpp"
