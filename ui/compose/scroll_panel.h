// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A vertical scroll area that shows the surface behind it.
#pragma once

#include <QScrollArea>

namespace trainyard::ui {

class ScrollPanel : public QScrollArea {
    Q_OBJECT
public:
    explicit ScrollPanel(QWidget* parent = nullptr);

    /// Takes the place of setWidget(), which would paint a background and delete what was there at
    /// once: something in it may be the caller.
    void setContent(QWidget* content);

private:
    QWidget* m_frame;
    QWidget* m_content = nullptr;
};

} // namespace trainyard::ui
