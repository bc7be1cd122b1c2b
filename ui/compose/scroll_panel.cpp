// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/scroll_panel.h"

namespace trainyard::ui {

ScrollPanel::ScrollPanel(QWidget* parent) : QScrollArea(parent) {
    setWidgetResizable(true);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::NoFocus); // what is inside takes the keyboard
    viewport()->setAutoFillBackground(false);
}

void ScrollPanel::setContent(QWidget* content) {
    setWidget(content);
    content->setAutoFillBackground(false);
    content->show();
}

} // namespace trainyard::ui
