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

    /// Takes the place of setWidget(), which would paint a background.
    void setContent(QWidget* content);
};

} // namespace trainyard::ui
