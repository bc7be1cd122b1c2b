// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The run store against its budgets: 100,000 points/s from a journal, ten thousand runs listed in
// 100 ms, ten curves of a million points read in 300 ms. Files lie in the temporary folder; reads
// are warm, on a new connection each round.
#include "tests/bench/bench.h"

#include "app/store/point_tails.h"
#include "app/store/run_store.h"
#include "app/store/store_files.h"

#include <QFileInfo>
#include <QTemporaryDir>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <stdexcept>

namespace trainyard::bench {

namespace {

using namespace app;

constexpr int kRounds = 5;
constexpr int kMetrics = 8;

double wallSeconds(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Row rowOf(std::string name, std::vector<double> rounds, std::string unit) {
    std::sort(rounds.begin(), rounds.end());
    Row row;
    row.name = std::move(name);
    row.value = rounds[rounds.size() / 2];
    row.unit = std::move(unit);
    row.spread = (rounds.back() - rounds.front()) / row.value;
    return row;
}

NewRun someRun(int index) {
    NewRun run;
    run.name = QStringLiteral("run %1").arg(index);
    run.host = QStringLiteral("local");
    run.configuration = QByteArray(600, 'x');
    return run;
}

/// Frames as a run of kMetrics metrics writes them.
std::vector<JournalFrame> journal(std::int64_t steps) {
    std::vector<JournalFrame> frames;
    std::uint64_t offset = 0;
    for (std::int64_t step = 1; step <= steps; ++step) {
        spec::Metrics event;
        event.step = step;
        event.epoch = static_cast<double>(step) / 469;
        event.samples = step * 128;
        for (int metric = 0; metric < kMetrics; ++metric) {
            const float value = std::sin(static_cast<float>(step * (metric + 1)) * 0.01f);
            event.values.emplace_back("metric_" + std::to_string(metric),
                                      static_cast<double>(value));
        }
        JournalFrame entry;
        entry.frame.sequence = static_cast<std::uint64_t>(step);
        entry.frame.timeNs = 1'790'000'000'000'000'000 + step * 2'000'000;
        entry.frame.type = static_cast<std::uint8_t>(spec::EventType::Metrics);
        entry.frame.payload = spec::encode(event);
        offset += spec::kFrameHeaderBytes + entry.frame.payload.size();
        entry.endOffset = offset;
        frames.push_back(std::move(entry));
    }
    return frames;
}

/// A journal through the whole store, in pieces as they come over a connection.
std::vector<Row> benchIngest() {
    constexpr std::int64_t kSteps = 50'000;
    constexpr std::size_t kPiece = 500;
    constexpr double kPoints = static_cast<double>(kSteps * kMetrics);
    const std::vector<JournalFrame> frames = journal(kSteps);
    std::vector<double> wall;
    double bytes = 0;
    for (int round = 0; round < kRounds; ++round) {
        const QTemporaryDir folder;
        {
            const auto store = std::move(RunStore::open(folder.path())).value();
            const RunId run = store->createRun(someRun(0)).value().id;
            wall.push_back(kPoints / wallSeconds([&] {
                               for (std::size_t at = 0; at < frames.size(); at += kPiece)
                                   store->ingest(
                                       {run, QStringLiteral("node")},
                                       {frames.begin() + static_cast<std::ptrdiff_t>(at),
                                        frames.begin() + static_cast<std::ptrdiff_t>(at + kPiece)});
                               if (const auto done = store->flush().get(); !done)
                                   throw std::runtime_error(done.error().sentence());
                           }));
            for (int metric = 0; metric < kMetrics; ++metric) {
                const QString name = QStringLiteral("metric_%1").arg(metric);
                if (store->reader().points(run, name).value().size() != frames.size())
                    throw std::runtime_error("points are missing after the journal was read");
            }
        }
        bytes = static_cast<double>(QFileInfo(pointsFile(folder.path())).size());
    }
    Row size;
    size.name = "bytes on disk a point, with the axes";
    size.value = bytes / kPoints;
    size.unit = "B";
    return {rowOf("journal into the store, 8 metrics", wall, "points/s"), size};
}

std::vector<Row> benchList() {
    constexpr int kRuns = 10'000;
    const QTemporaryDir folder;
    {
        auto opened = std::move(openStoreFiles(folder.path(), std::chrono::seconds(5))).value();
        StoreWriter writer(std::move(opened.writer), folder.path());
        const std::vector<JournalFrame> frames = journal(10);
        std::vector<JournalSlice> slices;
        for (int i = 0; i < kRuns; ++i)
            slices.push_back(
                {{writer.createRun(someRun(i)).value().id, QStringLiteral("node")}, frames});
        if (const auto done = writer.ingest(slices); !done)
            throw std::runtime_error(done.error().sentence());
    }
    std::vector<double> list;
    std::vector<double> history;
    for (int round = 0; round < kRounds; ++round) {
        const auto reader = std::move(StoreReader::open(folder.path())).value();
        std::size_t rows = 0;
        list.push_back(1e3 * wallSeconds([&] { rows = reader->runs().value().size(); }));
        const double summaries = wallSeconds(
            [&] { rows += reader->seriesNamed(QStringLiteral("metric_0")).value().size(); });
        history.push_back(list.back() + 1e3 * summaries);
        if (rows != 2 * kRuns)
            throw std::runtime_error("the list of runs is not complete");
    }
    return {rowOf("list 10,000 runs", list, "ms"),
            rowOf("list 10,000 runs with last and best of a metric", history, "ms")};
}

std::vector<Row> benchCurves() {
    constexpr int kRuns = 10;
    constexpr int kPoints = 1'000'000;
    const QTemporaryDir folder;
    {
        const auto store = std::move(RunStore::open(folder.path())).value();
        auto opened = std::move(openStoreFiles(folder.path(), std::chrono::seconds(5))).value();
        PointTails tails(*opened.writer);
        for (int run = 1; run <= kRuns; ++run) {
            if (store->createRun(someRun(run)).value().id != RunId{run})
                throw std::runtime_error("runs are not numbered from 1");
            Transaction transaction(*opened.writer);
            SeriesTail& tail = tails.open({RunId{run}, SeriesKind::Metric, "train_loss", -1, {}});
            for (int step = 1; step <= kPoints; ++step)
                tail.append(step,
                            static_cast<double>(std::exp(-1e-6f * static_cast<float>(step * run))));
            tails.flush(RunId{run});
            transaction.commit();
            tails.forget();
        }
    }
    std::vector<double> all;
    std::vector<double> tail;
    for (int round = 0; round < kRounds; ++round) {
        const auto reader = std::move(StoreReader::open(folder.path())).value();
        std::size_t points = 0;
        all.push_back(
            1e3 * wallSeconds([&] {
                for (int run = 1; run <= kRuns; ++run)
                    points +=
                        reader->points(RunId{run}, QStringLiteral("train_loss")).value().size();
            }));
        tail.push_back(1e6 * wallSeconds([&] {
                           points +=
                               reader->points(RunId{1}, QStringLiteral("train_loss"), kPoints - 10)
                                   .value()
                                   .size();
                       }));
        if (points != std::size_t{kRuns} * kPoints + 10)
            throw std::runtime_error("the curves are not complete");
    }
    return {rowOf("read 10 curves of 1e6 points", all, "ms"),
            rowOf("read the last 10 of 1e6 points", tail, "us")};
}

} // namespace

std::vector<Row> benchStore() {
    std::vector<Row> rows;
    for (const auto part : {benchIngest, benchList, benchCurves}) {
        const std::vector<Row> more = part();
        rows.insert(rows.end(), more.begin(), more.end());
    }
    return rows;
}

} // namespace trainyard::bench
