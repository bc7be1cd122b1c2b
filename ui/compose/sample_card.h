// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A sample to begin with: a drawing of its model, title, what it is. The drawing is made from the
// sample itself.
#pragma once

#include "app/samples/samples.h"

#include <QAbstractButton>

#include <vector>

namespace trainyard::ui {

class Theme;

/// A block of the drawing: what one layer with weights gives.
struct SketchBlock {
    QString size;        ///< "64", the channels or outputs
    bool picture = true; ///< or vector
};
/// From input to output; empty when the text is no experiment.
std::vector<SketchBlock> sketchOf(const QByteArray& experiment);
/// "421 k parameters, 2 ranks"
QString sampleFacts(const QByteArray& experiment);

class SampleCard : public QAbstractButton {
    Q_OBJECT
public:
    SampleCard(const Theme& theme, const app::Sample& sample, QWidget* parent = nullptr);

    QSize sizeHint() const override;
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void enterEvent(QEnterEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    void paintSketch(QPainter& painter, const QRect& rect) const;
    QRect descriptionRect(int width) const;

    const Theme& m_theme;
    QString m_description;
    QString m_facts;
    std::vector<SketchBlock> m_sketch;
};

} // namespace trainyard::ui
