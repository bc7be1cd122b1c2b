// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// One run while its journals flow in: turns frames into rows of both files.
// Rules: each file takes a frame exactly once, by the sequence it has stored for the node. The two
// may stand at different frames after a crash, so each event is applied to either file by itself
// and must not look into the other one. Used only inside a write transaction; stale as soon as one
// fails or another connection has written.
#pragma once

#include "app/store/point_tails.h"
#include "app/store/run_record.h"
#include "app/store/sqlite.h"
#include "engine/spec/event.h"
#include "engine/spec/frame.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace trainyard::app {

/// A frame and where it ends in its journal.
struct JournalFrame {
    spec::Frame frame;
    std::uint64_t endOffset = 0;
};

class RunIngest {
public:
    RunIngest(Connection& connection, PointTails& tails, RunId run);

    /// False when the store has no such run.
    bool exists() const { return m_exists; }

    enum class Outcome {
        Stored,
        Known, ///< both files had it
        Gap    ///< frames before it are missing
    };
    Outcome take(const std::string& node, const JournalFrame& frame);

    /// Writes what take() has gathered. `revision` is the new one of the store.
    void flush(std::int64_t revision);

private:
    struct Node {
        JournalPosition catalog;
        JournalPosition points;
        std::optional<std::int64_t> firstUs;
        std::int64_t lastUs = 0;
        std::optional<spec::RunState> state;
        bool changed = false;
    };
    struct Metric {
        std::int64_t id = 0;
        SeriesSummary summary;
        bool changed = false;
        bool rebuild = false; ///< an earlier step was reported again
        SeriesTail* tail = nullptr;
    };

    void loadRun();
    void loadMetrics();
    Node& node(const std::string& name);
    Metric& metric(const std::string& name);
    std::int64_t metricId(const std::string& name);
    void addEvent(const std::string& node, std::int64_t utcUs, std::optional<spec::RunState> state,
                  const std::string& body);
    void addLog(const std::string& node, std::int64_t utcUs, const spec::Log& line);

    // What an event means for the catalog ...
    void toCatalog(const std::string& node, std::int64_t utcUs, const spec::Event& event);
    void catalogMetrics(const spec::Metrics& event);
    void catalogFailure(const std::string& node, std::int64_t utcUs, const spec::Failure& event);
    void catalogSummary(const spec::Summary& event);
    void catalogConfusion(const spec::Confusion& event);
    // ... and for the points.
    void toPoints(const std::string& node, std::int64_t utcUs, const spec::Event& event);
    void pointsMetrics(std::int64_t utcUs, const spec::Metrics& event);
    void pointsDevice(std::int64_t utcUs, const spec::DeviceSample& event);
    SeriesTail& axis(const char* name);

    void writeNode(const std::string& name, const Node& node);
    void writeMetric(const std::string& name, Metric& metric);
    void writeRun(std::int64_t revision);

    Connection& m_connection;
    PointTails& m_tails;
    RunId m_run;
    bool m_exists = false;
    bool m_crashed = false;
    RunRecord m_record; ///< only what the journals decide
    std::optional<double> m_summarySeconds;
    std::optional<std::int64_t> m_failureUs;
    std::string m_failure; ///< as JSON
    std::map<std::string, Node> m_nodes;
    std::map<std::string, Metric> m_metrics;
    std::map<std::string, SeriesTail*> m_axes;
};

} // namespace trainyard::app
