// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// See run_ingest.h.
#include "app/store/run_ingest.h"

#include "app/store/confusion_table.h"
#include "app/store/store_columns.h"
#include "app/store/store_json.h"

#include <algorithm>
#include <cmath>

namespace trainyard::app {

namespace {

std::int64_t toUs(std::int64_t ns) {
    return ns / 1000;
}

bool isKnownType(std::uint8_t type) {
    return type >= static_cast<std::uint8_t>(spec::EventType::Hello) &&
           type <= static_cast<std::uint8_t>(spec::kLastEventType);
}

/// What a frame says. A frame of a newer worker says nothing to us; a damaged one becomes a log
/// line, so that it is seen and the journal still goes on.
std::optional<spec::Event> eventOf(const spec::Frame& frame) {
    if (!isKnownType(frame.type))
        return std::nullopt;
    Result<spec::Event> event = spec::decode(spec::EventType{frame.type}, frame.payload);
    if (event)
        return std::move(event).value();
    spec::Log line;
    line.level = spec::LogLevel::Warning;
    line.text = Message("Record %1 of the journal cannot be read: %2",
                        {std::to_string(frame.sequence), event.error().sentence()});
    return spec::Event(line);
}

bool follows(std::uint64_t sequence, const JournalPosition& position) {
    return sequence == position.sequence + 1;
}

} // namespace

RunIngest::RunIngest(Connection& connection, PointTails& tails, RunId run)
    : m_connection(connection), m_tails(tails), m_run(run) {
    loadRun();
    if (m_exists)
        loadMetrics();
}

void RunIngest::loadRun() {
    {
        Query rows = m_connection.query(kSelectRun, number(m_run));
        if (!rows.next())
            return;
        m_exists = true;
        m_record = readRunRecord(rows);
    }
    {
        Query rows = m_connection.query(
            "SELECT crashed_us, summary_seconds, failure_us, failure FROM main.run WHERE id = ?",
            number(m_run));
        rows.next();
        m_crashed = !rows.isNull(0);
        if (!rows.isNull(1))
            m_summarySeconds = rows.real(1);
        if (!rows.isNull(2))
            m_failureUs = rows.integer(2);
        m_failure = rows.bytes(3);
    }
    {
        Query rows = m_connection.query(
            "SELECT node, offset, sequence, first_us, last_us, state FROM main.node WHERE run = ?",
            number(m_run));
        while (rows.next()) {
            Node& node = m_nodes[std::string(rows.bytes(0))];
            node.catalog = readPosition(rows, 1);
            if (!rows.isNull(3))
                node.firstUs = rows.integer(3);
            node.lastUs = rows.integer(4);
            if (const auto state = spec::runStateFromName(rows.bytes(5)); state)
                node.state = *state;
        }
    }
    Query rows = m_connection.query(
        "SELECT node, offset, sequence FROM points.position WHERE run = ?", number(m_run));
    while (rows.next())
        m_nodes[std::string(rows.bytes(0))].points = readPosition(rows, 1);
}

void RunIngest::loadMetrics() {
    Query rows = m_connection.query(kSelectSeriesOfRun, number(m_run));
    while (rows.next()) {
        Metric& metric = m_metrics[std::string(rows.bytes(kSeriesMetricName))];
        metric.id = rows.integer(kSeriesMetricId);
        metric.summary = readSummary(rows);
    }
}

std::int64_t RunIngest::metricId(const std::string& name) {
    const auto find = [&]() -> std::int64_t {
        Query rows =
            m_connection.query("SELECT id FROM main.metric WHERE name = ?", std::string_view(name));
        return rows.next() ? rows.integer(0) : 0;
    };
    if (const std::int64_t id = find(); id != 0)
        return id;
    m_connection.query("INSERT INTO main.metric (name) VALUES (?)", std::string_view(name)).run();
    return m_connection.lastInsertedId();
}

RunIngest::Metric& RunIngest::metric(const std::string& name) {
    return m_metrics[name];
}

RunIngest::Outcome RunIngest::take(const std::string& name, const JournalFrame& entry) {
    const spec::Frame& frame = entry.frame;
    Node& node = m_nodes[name];
    const bool newToCatalog = frame.sequence > node.catalog.sequence;
    const bool newToPoints = frame.sequence > node.points.sequence;
    if (frame.sequence == 0 || (!newToCatalog && !newToPoints))
        return Outcome::Known;
    if ((newToCatalog && !follows(frame.sequence, node.catalog)) ||
        (newToPoints && !follows(frame.sequence, node.points)))
        return Outcome::Gap;

    const std::int64_t utcUs = toUs(frame.timeNs);
    const std::optional<spec::Event> event = eventOf(frame);
    if (newToCatalog) {
        node.catalog = {entry.endOffset, frame.sequence};
        node.firstUs = std::min(node.firstUs.value_or(utcUs), utcUs);
        node.lastUs = std::max(node.lastUs, utcUs);
        if (event)
            toCatalog(name, utcUs, *event);
    }
    if (newToPoints) {
        node.points = {entry.endOffset, frame.sequence};
        if (event)
            toPoints(name, utcUs, *event);
    }
    node.changed = true;
    return Outcome::Stored;
}

// ---- catalog
// -------------------------------------------------------------------------------------

void RunIngest::toCatalog(const std::string& name, std::int64_t utcUs, const spec::Event& event) {
    if (const auto* hello = std::get_if<spec::Hello>(&event)) {
        m_record.worldSize = hello->worldSize;
    } else if (const auto* started = std::get_if<spec::RanksStarted>(&event)) {
        for (const spec::RankInfo& rank : started->ranks)
            m_connection
                .query("INSERT OR REPLACE INTO main.rank (run, rank, node, pid, device, threads) "
                       "VALUES (?, ?, ?, ?, ?, ?)",
                       number(m_run), rank.rank, std::string_view(name), rank.pid,
                       std::string_view(rank.device), rank.threads)
                .run();
    } else if (const auto* schedule = std::get_if<spec::Schedule>(&event)) {
        m_record.planHash = schedule->planHash;
        m_record.stepsTotal = schedule->steps;
        m_record.stepsPerEpoch = schedule->stepsPerEpoch;
        m_record.epochsTotal = schedule->epochs;
        m_record.trainSamples = schedule->trainSamples;
        m_record.validationSamples = schedule->validationSamples;
    } else if (const auto* change = std::get_if<spec::StateChanged>(&event)) {
        m_nodes[name].state = change->state;
        addEvent(name, utcUs, change->state, compactText(toJson(change->reason)));
    } else if (const auto* metrics = std::get_if<spec::Metrics>(&event)) {
        catalogMetrics(*metrics);
    } else if (const auto* failure = std::get_if<spec::Failure>(&event)) {
        catalogFailure(name, utcUs, *failure);
    } else if (const auto* summary = std::get_if<spec::Summary>(&event)) {
        catalogSummary(*summary);
    } else if (const auto* confusion = std::get_if<spec::Confusion>(&event)) {
        catalogConfusion(*confusion);
    }
}

void RunIngest::catalogMetrics(const spec::Metrics& event) {
    if (event.step < m_record.lastStep)
        ++m_record.attempt;
    m_record.lastStep = event.step;
    m_record.samples = event.samples;
    if (std::isfinite(event.epoch))
        m_record.epoch = event.epoch;
    for (const auto& [name, value] : event.values) {
        Metric& entry = metric(name);
        entry.rebuild = entry.rebuild || entry.summary.runsBackAt(event.step);
        ++entry.summary.reported;
        if (!entry.rebuild)
            entry.summary.add(event.step, value);
        entry.changed = true;
    }
}

void RunIngest::catalogFailure(const std::string& name, std::int64_t utcUs,
                               const spec::Failure& event) {
    const std::string body = compactText(toJson(event));
    addEvent(name, utcUs, std::nullopt, body);
    // The earliest one is the cause; a tie is decided alike in whatever order nodes are read.
    if (!m_failureUs || std::pair(utcUs, body) < std::pair(*m_failureUs, m_failure)) {
        m_failureUs = utcUs;
        m_failure = body;
    }
}

void RunIngest::catalogSummary(const spec::Summary& event) {
    if (std::isfinite(event.seconds) && event.seconds >= 0)
        m_summarySeconds = event.seconds;
    for (const auto& [name, value] : event.values)
        m_connection
            .query("INSERT OR REPLACE INTO main.final_value (run, metric, value) VALUES (?, ?, ?)",
                   number(m_run), metricId(name), value)
            .run();
}

void RunIngest::catalogConfusion(const spec::Confusion& event) {
    if (!ConfusionTable::from(event))
        return;
    const std::string body = spec::encode(event);
    for (const int best : {0, 1})
        if (best == 0 || event.best)
            m_connection
                .query("INSERT OR REPLACE INTO main.confusion (run, best, body) VALUES (?, ?, ?)",
                       number(m_run), best, Blob{body})
                .run();
}

void RunIngest::addEvent(const std::string& name, std::int64_t utcUs,
                         std::optional<spec::RunState> state, const std::string& body) {
    std::optional<std::string_view> stateName;
    if (state)
        stateName = spec::name(*state);
    m_connection
        .query("INSERT INTO main.event (run, node, time_us, state, body) VALUES (?, ?, ?, ?, ?)",
               number(m_run), std::string_view(name), utcUs, stateName, std::string_view(body))
        .run();
}

// ---- points
// --------------------------------------------------------------------------------------

void RunIngest::toPoints(const std::string& name, std::int64_t utcUs, const spec::Event& event) {
    if (const auto* metrics = std::get_if<spec::Metrics>(&event))
        pointsMetrics(utcUs, *metrics);
    else if (const auto* sample = std::get_if<spec::DeviceSample>(&event))
        pointsDevice(utcUs, *sample);
    else if (const auto* line = std::get_if<spec::Log>(&event))
        addLog(name, utcUs, *line);
}

SeriesTail& RunIngest::axis(const char* name) {
    SeriesTail*& tail = m_axes[name];
    if (tail == nullptr)
        tail = &m_tails.open({m_run, SeriesKind::Axis, name, -1, {}});
    return *tail;
}

void RunIngest::pointsMetrics(std::int64_t utcUs, const spec::Metrics& event) {
    SeriesTail& time = axis(kTimeAxis);
    // Training and validation metrics of one step share the row of the first of them.
    if (time.total() == 0 || time.lastStep != event.step) {
        // A clock that was set back must not bend the curves.
        const double last = time.total() == 0 ? static_cast<double>(utcUs) : time.lastValue;
        time.append(event.step, std::max(static_cast<double>(utcUs), last));
        axis(kEpochAxis).append(event.step, event.epoch);
        axis(kSamplesAxis).append(event.step, static_cast<double>(event.samples));
    }
    for (const auto& [name, value] : event.values) {
        Metric& entry = metric(name);
        if (entry.tail == nullptr)
            entry.tail = &m_tails.open({m_run, SeriesKind::Metric, name, -1, {}});
        entry.tail->append(event.step, value);
    }
}

void RunIngest::pointsDevice(std::int64_t utcUs, const spec::DeviceSample& event) {
    for (const auto& [name, value] : event.values) {
        SeriesTail& tail =
            m_tails.open({m_run, SeriesKind::Device, name, event.rank, event.device});
        tail.append(tail.total() == 0 ? utcUs : std::max(utcUs, tail.lastStep), value);
    }
}

void RunIngest::addLog(const std::string& name, std::int64_t utcUs, const spec::Log& line) {
    m_connection
        .query("INSERT INTO points.log (run, node, time_us, level, rank, format, arguments) "
               "VALUES (?, ?, ?, ?, ?, ?, ?)",
               number(m_run), std::string_view(name), utcUs, static_cast<int>(line.level),
               line.rank, std::string_view(line.text.format),
               std::string_view(argumentsText(line.text.arguments)))
        .run();
}

// ---- writing
// -------------------------------------------------------------------------------------

void RunIngest::flush(std::int64_t revision) {
    m_tails.flush(m_run); // first: a summary may have to be made again from the points
    for (auto& [name, entry] : m_metrics)
        if (entry.changed)
            writeMetric(name, entry);
    for (auto& [name, entry] : m_nodes) {
        if (entry.changed)
            writeNode(name, entry);
        entry.changed = false;
    }
    writeRun(revision);
}

void RunIngest::writeMetric(const std::string& name, Metric& entry) {
    if (entry.id == 0)
        entry.id = metricId(name);
    SeriesSummary& summary = entry.summary;
    if (entry.rebuild) {
        // The points may already reach further than the catalog; those are for later frames.
        if (entry.tail == nullptr)
            entry.tail = &m_tails.open({m_run, SeriesKind::Metric, name, -1, {}});
        const Points line = liveLine(m_tails.firstPoints(*entry.tail, summary.reported)).line;
        SeriesSummary again;
        again.reported = summary.reported;
        for (std::size_t i = 0; i < line.size(); ++i)
            again.add(line.steps[i], line.values[i]);
        summary = std::move(again);
        entry.rebuild = false;
    }
    m_connection
        .query(
            "INSERT INTO main.series (metric, run, reported, count, not_finite, last_step, last, "
            "lo, "
            "lo_step, hi, hi_step, spark) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, "
            "?12) "
            "ON CONFLICT (metric, run) DO UPDATE SET reported = ?3, count = ?4, not_finite = ?5, "
            "last_step = ?6, last = ?7, lo = ?8, lo_step = ?9, hi = ?10, hi_step = ?11, spark = "
            "?12",
            entry.id, number(m_run), summary.reported, summary.count, summary.notFinite,
            summary.lastStep, summary.last, summary.lo, summary.loStep, summary.hi, summary.hiStep,
            Blob{summary.sparkline.pack()})
        .run();
    entry.changed = false;
}

void RunIngest::writeNode(const std::string& name, const Node& node) {
    std::optional<std::string_view> state;
    if (node.state)
        state = spec::name(*node.state);
    m_connection
        .query("INSERT OR REPLACE INTO main.node (run, node, offset, sequence, first_us, last_us, "
               "state) "
               "VALUES (?, ?, ?, ?, ?, ?, ?)",
               number(m_run), std::string_view(name),
               static_cast<std::int64_t>(node.catalog.offset),
               static_cast<std::int64_t>(node.catalog.sequence), node.firstUs, node.lastUs, state)
        .run();
    m_connection
        .query("INSERT OR REPLACE INTO points.position (run, node, offset, sequence) "
               "VALUES (?, ?, ?, ?)",
               number(m_run), std::string_view(name), static_cast<std::int64_t>(node.points.offset),
               static_cast<std::int64_t>(node.points.sequence))
        .run();
}

void RunIngest::writeRun(std::int64_t revision) {
    std::vector<std::optional<spec::RunState>> states;
    RunTimes times{m_record.createdUtcUs, m_summarySeconds};
    for (const auto& [name, node] : m_nodes) {
        if (!node.firstUs)
            continue;
        states.push_back(node.state);
        times.addNode(*node.firstUs, node.lastUs);
    }
    const RunStatus status = combinedStatus(states, m_crashed);
    m_connection
        .query("UPDATE main.run SET state = ?2, started_us = ?3, ended_us = ?4, seconds = ?5, "
               "summary_seconds = ?6, world_size = ?7, attempt = ?8, steps_total = ?9, "
               "steps_per_epoch = ?10, epochs_total = ?11, train_samples = ?12, "
               "validation_samples = ?13, plan_hash = ?14, last_step = ?15, epoch = ?16, samples = "
               "?17, "
               "failure_us = ?18, failure = ?19, revision = ?20 WHERE id = ?1",
               number(m_run), nameOf(status), times.startedUs(), times.endedUs(status),
               times.seconds(), m_summarySeconds, m_record.worldSize, m_record.attempt,
               m_record.stepsTotal, m_record.stepsPerEpoch, m_record.epochsTotal,
               m_record.trainSamples, m_record.validationSamples,
               static_cast<std::int64_t>(m_record.planHash), m_record.lastStep, m_record.epoch,
               m_record.samples, m_failureUs,
               m_failureUs ? std::optional<std::string_view>(m_failure) : std::nullopt, revision)
        .run();
}

} // namespace trainyard::app
