// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The curves of one run as columns, read from the store piece by piece as the run goes on. Whoever
// writes the run (this program or another one), what is shown is what is stored. Reads are spaced
// so that they never take more than a tenth of a core.
#pragma once

#include "app/store/run_store.h"
#include "app/store/step_splits.h"

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>

#include <map>
#include <vector>

namespace trainyard::app {

/// Points of one metric: values, with what the run had reached at each.
struct CurveColumns {
    std::vector<double> steps;
    std::vector<double> epochs;
    std::vector<double> seconds; ///< since the first point of the run
    std::vector<double> values;
};

/// Samples of one rank's device.
struct LaneColumns {
    QString device;
    std::vector<double> seconds; ///< since the first point of the run; may be negative
    std::vector<double> steps;   ///< reached at that time
    std::vector<double> epochs;
    std::vector<double> utilization; ///< percent
    double memoryBytes = 0;          ///< last one
    StepSplit split;                 ///< last one; step 0: not known
};

class RunCurves : public QObject {
    Q_OBJECT
public:
    RunCurves(RunStore& store, RunId run, QObject* parent = nullptr);

    RunId run() const { return m_run; }
    const std::map<QString, CurveColumns>& metrics() const { return m_metrics; }
    /// By rank.
    const std::map<std::int32_t, LaneColumns>& lanes() const { return m_lanes; }
    const std::vector<LogLine>& log() const { return m_log; }

    /// Reads what is new, at once.
    void refresh();

signals:
    /// The columns are longer than before.
    void appended();
    /// The columns begin anew: the run went back to an earlier step.
    void restarted();

private:
    void scheduleRefresh();
    bool readMetrics(const Axes& axes);
    bool readLanes(const Axes& axes);
    bool readLog();

    RunStore& m_store;
    const RunId m_run;
    std::map<QString, CurveColumns> m_metrics;
    std::map<std::int32_t, LaneColumns> m_lanes;
    std::vector<LogLine> m_log;
    std::map<QString, std::int64_t> m_read; ///< points read of each metric
    std::map<std::pair<std::int32_t, QString>, std::int64_t> m_readLanes;
    QTimer m_timer;
    qint64 m_lastCostMs = 0;
};

} // namespace trainyard::app
