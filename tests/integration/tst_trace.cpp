// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// `trainyard runs trace` on real runs: one that ended well, one that goes on, one that lost a rank.
#include "engine/spec/step_split.h"
#include "tests/integration/train_bench.h"

#include <QDir>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QTest>

#include <algorithm>
#include <csignal>
#include <map>
#include <set>

using namespace trainyard;
using namespace trainyard::app;
using namespace trainyard::test;

namespace {

constexpr int kPatience = 60'000; ///< ms, for a machine under load

struct TraceEvent {
    int rank = 0;
    int lane = 0;
    QString name;
    double begin = 0; ///< microseconds
    double end = 0;
    QJsonObject arguments;

    qint64 argument(const char* key) const {
        return arguments[QLatin1StringView(key)].toInteger(-1);
    }
    bool isUnfinished() const { return arguments[QLatin1StringView("unfinished")].toBool(); }
};

/// Of one rank and lane, in the order they began.
using Lane = std::vector<TraceEvent>;
using Lanes = std::map<std::pair<int, int>, Lane>;

/// Empty when it is no Chrome trace.
Lanes lanesIn(const QString& path) {
    Lanes lanes;
    const QJsonObject trace = QJsonDocument::fromJson(contentOf(path)).object();
    const QJsonArray events = trace[QLatin1StringView("traceEvents")].toArray();
    for (const QJsonValue& value : events) {
        const QJsonObject json = value.toObject();
        if (json[QLatin1StringView("ph")] != QLatin1StringView("X"))
            continue;
        TraceEvent event;
        event.rank = json[QLatin1StringView("pid")].toInt(-1);
        event.lane = json[QLatin1StringView("tid")].toInt(-1);
        event.name = json[QLatin1StringView("name")].toString();
        event.begin = json[QLatin1StringView("ts")].toDouble(-1);
        event.end = event.begin + json[QLatin1StringView("dur")].toDouble(-1);
        event.arguments = json[QLatin1StringView("args")].toObject();
        lanes[{event.rank, event.lane}].push_back(event);
    }
    for (auto& [place, lane] : lanes)
        std::ranges::stable_sort(lane, {}, &TraceEvent::begin);
    return lanes;
}

/// Times are written to the nanosecond; sums of doubles may be a little off.
constexpr double kRounding = 0.01;

void expectNoOverlap(const Lanes& lanes) {
    for (const auto& [place, lane] : lanes)
        for (std::size_t i = 1; i < lane.size(); ++i)
            QVERIFY2(lane[i - 1].end <= lane[i].begin + kRounding,
                     qPrintable(lane[i - 1].name + u" / " + lane[i].name));
}

/// "conv" for "forward conv", by step and micro-batch.
std::multiset<QString> layersOf(const Lane& lane, const QString& verb, qint64 step) {
    std::multiset<QString> layers;
    for (const TraceEvent& event : lane)
        if (event.name.startsWith(verb + u' ') && event.argument("step") == step)
            layers.insert(event.name.mid(verb.size() + 1) + u'#' +
                          QString::number(event.argument("micro_batch")));
    return layers;
}

QString runFolder(const TrainBench& bench) {
    return bench.store() + u"/node/runs/" + bench.runs()[0].uid;
}

} // namespace

class TraceTest : public QObject {
    Q_OBJECT

private slots:
    void aRunThatEndedWell() {
        TrainBench bench;
        const Output done = run({"train", bench.quickExperiment(), "--store", bench.store(),
                                 "--set", "parallel.data=2", "--set", "parallel.accumulate=2"});
        QVERIFY2(done.exitCode == 0, done.errors.constData());
        const QString path = bench.path(QStringLiteral("trace.json"));
        const Output traced = run({"runs", "trace", "1", "--out", path, "--store", bench.store()});
        QVERIFY2(traced.exitCode == 0, traced.errors.constData());
        const Lanes lanes = lanesIn(path);
        QCOMPARE(lanes.size(), 4U); // two ranks, two lanes
        expectNoOverlap(lanes);
        for (const int rank : {0, 1}) {
            const Lane& compute = lanes.at({rank, 0});
            for (qint64 step = 10; step <= 14; ++step) {
                const auto forward = layersOf(compute, QStringLiteral("forward"), step);
                QCOMPARE(forward.count(QStringLiteral("conv#0")), 1U);
                QCOMPARE(forward.count(QStringLiteral("conv#1")), 1U);
                QCOMPARE(layersOf(compute, QStringLiteral("backward"), step), forward);
            }
            QVERIFY(layersOf(compute, QStringLiteral("forward"), 9).empty());
            const Lane& communication = lanes.at({rank, 1});
            QVERIFY(std::ranges::any_of(communication, [](const TraceEvent& event) {
                return event.name.contains(QLatin1StringView("gradients")) &&
                       event.argument("bytes") > 0;
            }));
            QVERIFY(std::ranges::none_of(compute, &TraceEvent::isUnfinished));
            QCOMPARE(compute.back().argument("step"), 26); // the end is there, too
        }
        const QJsonObject json = QJsonDocument::fromJson(contentOf(path)).object();
        const QJsonObject first =
            json[QLatin1StringView("traceEvents")].toArray().first().toObject();
        QCOMPARE(first[QLatin1StringView("name")], QStringLiteral("process_name"));
        QVERIFY(first[QLatin1StringView("args")][QLatin1StringView("name")].toString().startsWith(
            QLatin1StringView("rank 0 (cpu:0, process ")));

        const Output shown = run({"runs", "show", "1", "--json", "--store", bench.store()});
        const QJsonArray splits = QJsonDocument::fromJson(shown.output)
                                      .object()[QLatin1StringView("step_split")]
                                      .toArray();
        QCOMPARE(splits.size(), 2); // also of a run that takes less than a second
        for (const QJsonValue& split : splits) {
            const auto seconds = [&](const char* name) {
                return split[QLatin1StringView(name)].toDouble(-1);
            };
            double parts = 0;
            for (const char* part : spec::metric::kStepParts)
                parts += seconds(part);
            const double step = seconds(spec::metric::kStepTime);
            QVERIFY2(step > 0 && parts > 0.5 * step && parts < 1.02 * step,
                     shown.output.constData());
            QVERIFY(seconds(spec::metric::kStepForward) > 0);
            QVERIFY(seconds(spec::metric::kStepBackward) > 0);
            QVERIFY(seconds(spec::metric::kStepOptimizer) > 0);
            QVERIFY(seconds(spec::metric::kStepExposed) <=
                    seconds(spec::metric::kStepCommunication) * 1.001);
            QCOMPARE(seconds(spec::metric::kStepBubble), 0.0);
        }
        QVERIFY(run({"runs", "show", "1", "--store", bench.store()})
                    .output.contains("Where a step goes"));

        QVERIFY(QFile::exists(runFolder(bench) + u"/trace"));
        const QString folder = runFolder(bench);
        QCOMPARE(run({"runs", "delete", "1", "--store", bench.store()}).exitCode, 0);
        QVERIFY(!QFileInfo::exists(folder));
    }

    void aShortRunHasItsLastSteps() {
        TrainBench bench;
        const Output done = run({"train", bench.quickExperiment(), "--store", bench.store(),
                                 "--set", "training.max_steps=3"});
        QVERIFY2(done.exitCode == 0, done.errors.constData());
        const QString path = bench.path(QStringLiteral("trace.json"));
        QCOMPARE(run({"runs", "trace", "1", "--out", path, "--store", bench.store()}).exitCode, 0);
        const Lanes lanes = lanesIn(path);
        for (qint64 step = 0; step < 3; ++step)
            QVERIFY(!layersOf(lanes.at({0, 0}), QStringLiteral("forward"), step).empty());
    }

    void aRunThatGoesOnAndThenLosesARank() {
        TrainBench bench;
        Program program({"train", bench.endlessExperiment(), "--store", bench.store()});
        QTRY_VERIFY_WITH_TIMEOUT(!bench.runs().empty() && bench.runs()[0].lastStep >= 20,
                                 kPatience);
        const QString path = bench.path(QStringLiteral("trace.json"));
        const Output traced = run({"runs", "trace", "1", "--out", path, "--store", bench.store()});
        QVERIFY2(traced.exitCode == 0, traced.errors.constData());
        const Lanes living = lanesIn(path);
        QCOMPARE(living.size(), 4U);
        expectNoOverlap(living);
        QVERIFY(!layersOf(living.at({1, 0}), QStringLiteral("backward"), 12).empty());

        const std::vector<spec::RankInfo> ranks = *bench.reader()->ranks(bench.runs()[0].id);
        ::kill(static_cast<pid_t>(ranks.at(1).pid), SIGKILL);
        QVERIFY(program.waitForEnd());
        const RunRecord record = bench.runs()[0];
        QVERIFY(record.failure.has_value());
        QCOMPARE(run({"runs", "trace", "1", "--out", path, "--store", bench.store()}).exitCode, 0);
        const Lanes dead = lanesIn(path);
        QCOMPARE(dead.size(), 4U);
        expectNoOverlap(dead);
        Lane both = dead.at({1, 0});
        both.insert(both.end(), dead.at({1, 1}).begin(), dead.at({1, 1}).end());
        const TraceEvent last = *std::ranges::max_element(both, {}, &TraceEvent::begin);
        QCOMPARE(last.argument("step"), record.failure->step);
        QCOMPARE(last.argument("instruction"), record.failure->instruction);
        // The last 256 of each lane, whatever step they are of, and five whole steps before.
        QVERIFY(std::ranges::count_if(both, [](const TraceEvent& event) {
                    return event.argument("step") > 14;
                }) >= 200);
    }

    void aTraceThatCanNotBeKeptHarmsNothing() {
        TrainBench bench;
        Program program({"train", bench.endlessExperiment(), "--store", bench.store()});
        QTRY_VERIFY_WITH_TIMEOUT(!bench.runs().empty() && bench.runs()[0].lastStep >= 3, kPatience);
        QVERIFY(QDir().mkpath(runFolder(bench) + u"/trace.new")); // in the way of the file
        QCOMPARE(run({"runs", "stop", "1", "--store", bench.store()}).exitCode, 0);
        QVERIFY(program.waitForEnd());
        QVERIFY(bench.runs()[0].status == RunStatus::Stopped);
        const std::vector<LogLine> log = *bench.reader()->log(bench.runs()[0].id);
        QCOMPARE(std::ranges::count_if(log,
                                       [](const LogLine& line) {
                                           return line.text.text().starts_with(
                                               "What the ranks did last can not be kept: ");
                                       }),
                 1);
        const Output traced = run({"runs", "trace", "1", "--out", bench.path(QStringLiteral("t")),
                                   "--store", bench.store()});
        QCOMPARE(traced.exitCode, 1);
        QVERIFY2(traced.errors.contains("has no trace."), traced.errors.constData());
    }
};

QTEST_GUILESS_MAIN(TraceTest)
#include "tst_trace.moc"
