// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The figures of a run over its chart: step, loss, speed, elapsed, left, devices; and the strip
// that shows how far it is.
#pragma once

#include "app/run/run_progress.h"
#include "app/store/run_record.h"
#include "engine/plan/mesh.h"

#include <QWidget>

namespace trainyard::ui {

class FigureCell;
class ProgressStrip;
class Theme;

/// What the header shows; from a live controller or, for an ended run, from the store.
struct RunFigures {
    app::RunRecord record;
    app::RunProgress progress;
    QString device; ///< "CPU"
    plan::Mesh mesh;
};

class RunHeader : public QWidget {
    Q_OBJECT
public:
    explicit RunHeader(const Theme& theme, QWidget* parent = nullptr);
    void setFigures(const RunFigures& figures);
    void clear();

private:
    void setSpeed(const RunFigures& figures);
    void setTimes(const RunFigures& figures);

    FigureCell* m_step;
    FigureCell* m_loss;
    FigureCell* m_speed;
    FigureCell* m_elapsed;
    FigureCell* m_left;
    FigureCell* m_devices;
    ProgressStrip* m_strip;
};

} // namespace trainyard::ui
