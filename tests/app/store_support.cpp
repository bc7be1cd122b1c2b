// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// See store_support.h.
#include "tests/app/store_support.h"

#include "app/store/sqlite.h"
#include "app/store/store_files.h"
#include "app/store/store_json.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <sstream>

namespace trainyard::test {

using namespace app;

JournalBuilder& JournalBuilder::add(const spec::Event& event, std::int64_t afterNs) {
    m_timeNs += afterNs;
    return addRaw(static_cast<std::uint8_t>(spec::typeOf(event)), spec::encode(event));
}

JournalBuilder& JournalBuilder::addRaw(std::uint8_t type, const std::string& payload) {
    JournalFrame entry;
    entry.frame = {m_frames.size() + 1, m_timeNs, type, payload};
    m_offset += spec::kFrameHeaderBytes + payload.size();
    entry.endOffset = m_offset;
    m_frames.push_back(std::move(entry));
    return *this;
}

JournalBuilder& JournalBuilder::metrics(std::int64_t step, std::vector<spec::NamedValue> values,
                                        std::int64_t afterNs) {
    spec::Metrics event;
    event.step = step;
    event.epoch = static_cast<double>(step) / 100.0;
    event.samples = step * 64;
    event.values = std::move(values);
    return add(event, afterNs);
}

std::vector<JournalFrame> JournalBuilder::slice(std::size_t begin, std::size_t end) const {
    return {m_frames.begin() + static_cast<std::ptrdiff_t>(begin),
            m_frames.begin() + static_cast<std::ptrdiff_t>(std::min(end, m_frames.size()))};
}

namespace {

double someValue(std::mt19937& random) {
    switch (random() % 40) {
    case 0:
        return std::numeric_limits<double>::quiet_NaN();
    case 1:
        return std::numeric_limits<double>::infinity();
    case 2:
        return 1e-320;
    case 3:
        return 1.0 / 3.0; // needs all bits of a double
    default:
        return static_cast<double>(std::uniform_real_distribution<float>(0, 3)(random));
    }
}

void addStep(JournalBuilder& journal, std::mt19937& random, std::int64_t step) {
    journal.metrics(step, {{"train_loss", someValue(random)},
                           {"learning_rate", 0.001},
                           {"samples_per_second", someValue(random)}});
    if (step % 50 == 0)
        journal.metrics(step,
                        {{"val_loss", someValue(random)}, {"val_accuracy", someValue(random)}});
    if (step % 50 == 0)
        journal.add(spec::Confusion{step,
                                    static_cast<double>(step) / 100,
                                    step % 100 == 0,
                                    {"a", "\"b\""},
                                    {step, 1, 0, step + 1}});
    if (random() % 8 == 0) {
        spec::DeviceSample sample;
        sample.rank = static_cast<std::int32_t>(random() % 2);
        sample.device = "cpu:" + std::to_string(sample.rank);
        sample.values = {{"utilization", 90.0 + static_cast<double>(random() % 10)},
                         {"memory", 1e9 + static_cast<double>(random() % 1000)}};
        journal.add(sample);
    }
    if (random() % 30 == 0) {
        spec::Log line;
        line.level = static_cast<spec::LogLevel>(random() % 4);
        line.rank = static_cast<std::int32_t>(random() % 3) - 1;
        line.text = Message("Step %1: \"%2\"\n", {std::to_string(step), "quoted, \\ and ∞"});
        journal.add(line);
    }
}

} // namespace

JournalBuilder syntheticJournal(unsigned seed, std::int64_t steps) {
    std::mt19937 random(seed);
    JournalBuilder journal;
    journal.add(spec::Hello{spec::kProtocolVersion, "0.1.0", "uid", "node-a", 2});
    journal.add(spec::StateChanged{spec::RunState::Starting, {}});
    journal.add(spec::RanksStarted{{{0, 1000, "cpu:0", 1}, {1, 1001, "cpu:1", 1}}});
    spec::Schedule schedule;
    schedule.planHash = 0xfedcba9876543210ull;
    schedule.steps = steps;
    schedule.stepsPerEpoch = 100;
    journal.add(schedule);
    journal.add(spec::StateChanged{spec::RunState::Running, {}});
    const std::int64_t back = seed % 3 == 0 ? steps / 2 : 0;
    for (std::int64_t step = 1; step <= steps; ++step) {
        addStep(journal, random, step);
        if (step == back)
            for (std::int64_t again = step - step / 4; again < step; ++again)
                addStep(journal, random, again);
    }
    spec::Summary summary;
    summary.steps = steps;
    summary.seconds = 12.5;
    summary.values = {{"train_loss", 0.25}, {"val_loss", std::numeric_limits<double>::quiet_NaN()}};
    journal.add(summary);
    journal.add(
        spec::StateChanged{spec::RunState::Finished, Message("all %1 steps are done", {"42"})});
    return journal;
}

NewRun newRun(const QString& name, const QString& uid) {
    NewRun run;
    run.name = name;
    run.uid = uid;
    run.host = u"local"_qs;
    run.worldSize = 2;
    run.configuration = R"({"format": "trainyard.experiment/1", "name": "x"})";
    run.createdUtcUs = 1'780'000'000'000'000;
    return run;
}

namespace {

template <class T>
T must(Result<T> result) {
    return std::move(result).value();
}

/// NaNs in summaries have lost their payload; in points every bit counts.
std::string plain(double value) {
    if (std::isnan(value))
        return "nan";
    return std::to_string(std::bit_cast<std::uint64_t>(value));
}

void write(std::ostream& out, const std::string& name, const Points& points) {
    for (std::size_t i = 0; i < points.size(); ++i)
        out << name << ' ' << points.steps[i] << ' '
            << std::bit_cast<std::uint64_t>(points.values[i]) << '\n';
}

void write(std::ostream& out, const RunRecord& run) {
    out << "run " << run.uid.toStdString() << ' ' << run.name.toStdString() << ' '
        << run.host.toStdString() << ' ' << nameOf(run.status).toStdString() << ' ' << run.archived
        << ' ' << run.createdUtcUs << ' ' << run.startedUtcUs.value_or(-1) << ' '
        << run.endedUtcUs.value_or(-1) << ' ' << plain(run.seconds) << ' ' << run.worldSize << ' '
        << run.attempt << ' ' << run.stepsTotal << ' ' << run.stepsPerEpoch << ' ' << run.planHash
        << ' ' << run.lastStep << ' ' << plain(run.epoch) << ' ' << run.samples << '\n';
    if (run.failure)
        out << "failure " << run.failure->sentence() << '\n';
}

} // namespace

std::string contentOf(StoreReader& reader, RunId id) {
    std::ostringstream out;
    write(out, must(reader.run(id)).value());
    out << "config " << must(reader.configuration(id)).toStdString() << '\n';
    for (const spec::RankInfo& rank : must(reader.ranks(id)))
        out << "rank " << rank.rank << ' ' << rank.pid << ' ' << rank.device << ' ' << rank.threads
            << '\n';
    for (const RunEvent& event : must(reader.events(id)))
        out << "event " << event.utcUs << ' ' << event.node.toStdString() << ' '
            << (event.state ? spec::name(*event.state) : "failure") << ' ' << event.reason.text()
            << '\n';
    for (const auto& [name, value] : must(reader.finalValues(id)))
        out << "final " << name << ' ' << plain(value) << '\n';
    for (const SeriesInfo& info : must(reader.seriesOf(id))) {
        const SeriesSummary& s = info.summary;
        out << "summary " << info.metric.toStdString() << ' ' << s.reported << ' ' << s.count << ' '
            << s.notFinite << ' ' << s.lastStep << ' ' << plain(s.last) << ' ' << plain(s.lo) << ' '
            << s.loStep << ' ' << plain(s.hi) << ' ' << s.hiStep;
        for (float value : s.sparkline.values())
            out << ' ' << plain(static_cast<double>(value));
        out << '\n';
        write(out, info.metric.toStdString(), must(reader.points(id, info.metric)));
    }
    for (const Validation which : {Validation::Newest, Validation::Best}) {
        const std::optional<ConfusionTable> table = must(reader.confusion(id, which));
        if (table)
            out << "confusion " << table->step() << ' ' << table->epoch() << ' ' << table->isBest()
                << ' ' << table->classes() << ' ' << table->name(0).toStdString() << ' '
                << table->correct() << ' ' << table->total() << '\n';
    }
    const Axes axes = must(reader.axes(id));
    for (std::size_t i = 0; i < axes.steps.size(); ++i)
        out << "axis " << axes.steps[i] << ' ' << plain(axes.epochs[i]) << ' '
            << plain(axes.samples[i]) << ' ' << plain(axes.utcUs[i]) << '\n';
    for (const DeviceSeries& series : must(reader.deviceSeries(id)))
        write(out, "device " + series.device.toStdString() + " " + series.metric.toStdString(),
              must(reader.devicePoints(id, series)));
    for (const LogLine& line : must(reader.log(id)))
        out << "log " << line.utcUs << ' ' << static_cast<int>(line.level) << ' ' << line.rank
            << ' ' << line.node.toStdString() << ' ' << argumentsText({line.text.text()}) << '\n';
    return out.str();
}

QString firstDifference(const std::string& a, const std::string& b) {
    std::istringstream first(a);
    std::istringstream second(b);
    std::string x;
    std::string y;
    for (int line = 1;; ++line) {
        const bool more = !std::getline(first, x).fail();
        const bool other = !std::getline(second, y).fail();
        if (!more && !other)
            return {};
        if (!more)
            x = "(end)";
        if (!other)
            y = "(end)";
        if (x != y)
            return QStringLiteral("line %1: '%2' against '%3'")
                .arg(QString::number(line), QString::fromStdString(x), QString::fromStdString(y));
    }
}

QString integrityOf(const QString& folder) {
    try {
        Connection connection(catalogFile(folder), Connection::Mode::ReadWriteCreate);
        connection.attach(pointsFile(folder), "points");
        QString text;
        for (const char* check : {"PRAGMA main.integrity_check", "PRAGMA points.integrity_check"}) {
            Query rows = connection.query(check);
            while (rows.next())
                if (rows.text(0) != u"ok")
                    text += rows.text(0) + u'\n';
        }
        return text.isEmpty() ? u"ok"_qs : text;
    } catch (const SqlError& error) {
        return QString::fromUtf8(error.what());
    }
}

} // namespace trainyard::test
