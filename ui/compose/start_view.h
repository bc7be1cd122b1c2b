// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What Compose shows before an experiment is open: ways to begin, and the samples.
#pragma once

#include "app/samples/samples.h"

#include <QWidget>

#include <vector>

class QGridLayout;
class QPushButton;

namespace trainyard::ui {

class SampleCard;
class Theme;

class StartView : public QWidget {
    Q_OBJECT
public:
    StartView(const Theme& theme, std::vector<app::Sample> samples, QWidget* parent = nullptr);

    /// Offers the way back to what is open; an empty name hides it.
    void setBack(const QString& experiment);
    SampleCard* card(int index) const { return m_cards[static_cast<std::size_t>(index)]; }

signals:
    void sampleChosen(const trainyard::app::Sample& sample);
    void openRequested();
    void emptyRequested();
    void backRequested();

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    QWidget* makeMain();
    QWidget* makeSide();
    void placeCards(int width);

    const Theme& m_theme;
    std::vector<app::Sample> m_samples;
    std::vector<SampleCard*> m_cards;
    QGridLayout* m_grid = nullptr;
    QPushButton* m_back = nullptr;
    QWidget* m_side = nullptr;
    int m_columns = 0;
};

} // namespace trainyard::ui
