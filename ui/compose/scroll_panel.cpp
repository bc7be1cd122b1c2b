// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/scroll_panel.h"

#include <QVBoxLayout>

namespace trainyard::ui {

ScrollPanel::ScrollPanel(QWidget* parent) : QScrollArea(parent), m_frame(new QWidget) {
    auto* layout = new QVBoxLayout(m_frame);
    layout->setContentsMargins(0, 0, 0, 0);
    setWidgetResizable(true);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::NoFocus); // what is inside takes the keyboard
    viewport()->setAutoFillBackground(false);
    setWidget(m_frame);
    m_frame->setAutoFillBackground(false);
}

void ScrollPanel::setContent(QWidget* content) {
    // Not taken out: that would style all of it anew, only to be deleted.
    if (m_content) {
        m_frame->layout()->removeWidget(m_content);
        m_content->hide();
        m_content->deleteLater();
    }
    m_content = content;
    m_frame->layout()->addWidget(content);
    content->show(); // the layout would do so later
}

} // namespace trainyard::ui

#include "moc_scroll_panel.cpp"
