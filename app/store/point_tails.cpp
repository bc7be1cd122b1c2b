// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// See point_tails.h; the chunks are explained with their table in store_schema.cpp.
#include "app/store/point_tails.h"

#include "app/store/chunk_codec.h"

#include <algorithm>
#include <span>

namespace trainyard::app {

namespace {

std::int64_t blockStart(std::int64_t index) {
    return index / kBlockPoints * kBlockPoints;
}

void decodeOrThrow(std::string_view chunk, Points& points) {
    if (!decodeChunk(chunk, points))
        throw SqlError(SqlProblem::Damaged, "a chunk of points is not readable");
}

} // namespace

void SeriesTail::append(std::int64_t step, double value) {
    block.steps.push_back(step);
    block.values.push_back(value);
    lastStep = step;
    lastValue = value;
}

SeriesTail& PointTails::open(const SeriesKey& key) {
    auto& tails = m_tails[key.run];
    if (const auto found = tails.find(key); found != tails.end())
        return found->second;
    SeriesTail tail;
    const auto run = static_cast<std::int64_t>(key.run);
    const int kind = static_cast<int>(key.kind);
    {
        Query rows = m_connection.query(
            "SELECT id FROM points.series WHERE run = ? AND kind = ? AND name = ? AND rank = ? "
            "AND device = ?",
            run, kind, std::string_view(key.name), key.rank, std::string_view(key.device));
        if (rows.next())
            tail.id = rows.integer(0);
    }
    if (tail.id != 0) {
        load(tail);
    } else {
        m_connection
            .query(
                "INSERT INTO points.series (run, kind, name, rank, device) VALUES (?, ?, ?, ?, ?)",
                run, kind, std::string_view(key.name), key.rank, std::string_view(key.device))
            .run();
        tail.id = m_connection.lastInsertedId();
    }
    return tails.emplace(key, std::move(tail)).first->second;
}

void PointTails::load(SeriesTail& tail) {
    std::int64_t lastFirst = 0;
    {
        Query rows =
            m_connection.query("SELECT first, first + n FROM points.chunk WHERE series = ? "
                               "ORDER BY first DESC LIMIT 1",
                               tail.id);
        if (!rows.next())
            return;
        lastFirst = rows.integer(0);
        tail.written = rows.integer(1);
    }
    tail.block.first = blockStart(lastFirst);
    Query rows = m_connection.query(
        "SELECT data FROM points.chunk WHERE series = ? AND first >= ? ORDER BY first", tail.id,
        tail.block.first);
    while (rows.next())
        decodeOrThrow(rows.bytes(0), tail.block);
    if (tail.block.empty() || tail.total() != tail.written)
        throw SqlError(SqlProblem::Damaged, "a chunk of points is not readable");
    tail.lastStep = tail.block.steps.back();
    tail.lastValue = tail.block.values.back();
    if (tail.total() - tail.block.first == kBlockPoints)
        tail.block = Points{.first = tail.written, .steps = {}, .values = {}};
}

void PointTails::flush(RunId run) {
    const auto tails = m_tails.find(run);
    if (tails == m_tails.end())
        return;
    for (auto& [key, tail] : tails->second)
        if (tail.total() > tail.written)
            flush(tail);
}

void PointTails::flush(SeriesTail& tail) {
    const std::int64_t total = tail.total();
    std::int64_t block = tail.block.first;
    for (; total - block >= kBlockPoints; block += kBlockPoints) {
        if (tail.written > block)
            m_connection
                .query("DELETE FROM points.chunk WHERE series = ? AND first >= ?", tail.id, block)
                .run();
        writeChunk(tail, block, kBlockPoints);
    }
    const std::int64_t known = std::max(tail.written, block) - block;
    for (std::int64_t begin = block + known / kTailPoints * kTailPoints; begin < total;
         begin += kTailPoints)
        writeChunk(tail, begin, std::min(kTailPoints, total - begin));
    if (block > tail.block.first) {
        const std::int64_t full = block - tail.block.first;
        tail.block.steps.erase(tail.block.steps.begin(), tail.block.steps.begin() + full);
        tail.block.values.erase(tail.block.values.begin(), tail.block.values.begin() + full);
        tail.block.first = block;
    }
    tail.written = total;
}

void PointTails::writeChunk(const SeriesTail& tail, std::int64_t begin, std::int64_t count) {
    const auto offset = static_cast<std::size_t>(begin - tail.block.first);
    const auto n = static_cast<std::size_t>(count);
    const auto steps = std::span(tail.block.steps).subspan(offset, n);
    const auto values = std::span(tail.block.values).subspan(offset, n);
    const ChunkHead head = headOf(steps, values);
    m_connection
        .query(
            "INSERT INTO points.chunk (series, first, n, step0, step1, lo, hi, not_finite, data) "
            "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (series, first) DO UPDATE SET "
            "n = ?3, step0 = ?4, step1 = ?5, lo = ?6, hi = ?7, not_finite = ?8, data = ?9",
            tail.id, begin, count, head.lowestStep, head.highestStep, head.lo, head.hi,
            head.notFinite, Blob{encodeChunk(steps, values)})
        .run();
}

Points PointTails::firstPoints(const SeriesTail& tail, std::int64_t count) {
    Points points;
    Query rows = m_connection.query(
        "SELECT data FROM points.chunk WHERE series = ? AND first < ? ORDER BY first", tail.id,
        count);
    while (rows.next())
        decodeOrThrow(rows.bytes(0), points);
    if (static_cast<std::int64_t>(points.size()) > count) {
        points.steps.resize(static_cast<std::size_t>(count));
        points.values.resize(static_cast<std::size_t>(count));
    }
    return points;
}

} // namespace trainyard::app
