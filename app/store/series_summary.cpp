// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// See series_summary.h.
#include "app/store/series_summary.h"

#include <QStringList>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace trainyard::app {

namespace {

constexpr std::size_t kMostRanges = 48;

float meanOfPair(float a, float b) {
    if (std::isnan(a))
        return b;
    if (std::isnan(b))
        return a;
    return 0.5f * a + 0.5f * b; // halves first: the sum of two large values may overflow
}

template <class T>
void put(std::string& out, const T& value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
void take(std::string_view& bytes, T& value) {
    std::memcpy(&value, bytes.data(), sizeof value);
    bytes.remove_prefix(sizeof value);
}

} // namespace

void Sparkline::add(double value) {
    ++m_seen;
    if (std::isfinite(value)) {
        m_sum += value;
        ++m_finite;
    }
    if (m_seen < m_width)
        return;
    m_means.push_back(static_cast<float>(openMean()));
    m_seen = 0;
    m_finite = 0;
    m_sum = 0;
    if (m_means.size() < kMostRanges)
        return;
    for (std::size_t i = 0; i < kMostRanges / 2; ++i)
        m_means[i] = meanOfPair(m_means[2 * i], m_means[2 * i + 1]);
    m_means.resize(kMostRanges / 2);
    m_width *= 2;
}

double Sparkline::openMean() const {
    if (m_finite == 0)
        return std::numeric_limits<double>::quiet_NaN();
    // Beyond what a float holds the picture is cut off, not made infinite.
    constexpr double kMost = std::numeric_limits<float>::max();
    return std::clamp(m_sum / m_finite, -kMost, kMost);
}

std::vector<float> Sparkline::values() const {
    std::vector<float> values = m_means;
    if (m_seen > 0)
        values.push_back(static_cast<float>(openMean()));
    return values;
}

std::string Sparkline::pack() const {
    std::string bytes;
    put(bytes, m_width);
    put(bytes, m_seen);
    put(bytes, m_finite);
    put(bytes, m_sum);
    bytes.append(reinterpret_cast<const char*>(m_means.data()), m_means.size() * sizeof(float));
    return bytes;
}

Sparkline Sparkline::unpack(std::string_view bytes) {
    Sparkline spark;
    constexpr std::size_t kHeader = 3 * sizeof(std::uint32_t) + sizeof(double);
    if (bytes.size() < kHeader || bytes.size() > kHeader + kMostRanges * sizeof(float))
        return spark;
    take(bytes, spark.m_width);
    take(bytes, spark.m_seen);
    take(bytes, spark.m_finite);
    take(bytes, spark.m_sum);
    spark.m_means.resize(bytes.size() / sizeof(float));
    if (!spark.m_means.empty()) // memcpy takes no null, even for nothing
        std::memcpy(spark.m_means.data(), bytes.data(), spark.m_means.size() * sizeof(float));
    return spark;
}

void SeriesSummary::add(std::int64_t step, double value) {
    ++count;
    lastStep = step;
    last = value;
    sparkline.add(value);
    if (!std::isfinite(value)) {
        ++notFinite;
        return;
    }
    if (!(lo <= value)) {
        lo = value;
        loStep = step;
    }
    if (!(hi >= value)) {
        hi = value;
        hiStep = step;
    }
}

Direction directionOf(const QString& metric) {
    // Names are data, so what is better is told from the words people use in them.
    static constexpr const char* kLower[] = {"loss", "error", "perplexity", "mae",
                                             "mse",  "rmse",  "wer",        "cer"};
    static constexpr const char* kHigher[] = {
        "acc", "accuracy", "f1", "auc",   "precision", "recall", "score", "bleu", "iou",
        "map", "psnr",     "r2", "rouge", "samples",   "ssim",   "dice",  "top1", "top5"};
    QString words = metric.toLower();
    for (QChar& character : words)
        if (!character.isLetterOrNumber())
            character = u' ';
    const QStringList list = words.split(u' ', Qt::SkipEmptyParts);
    for (const char* word : kLower)
        if (list.contains(QLatin1StringView(word)))
            return Direction::Lower;
    for (const char* word : kHigher)
        if (list.contains(QLatin1StringView(word)))
            return Direction::Higher;
    return Direction::None;
}

std::optional<BestValue> bestOf(const QString& metric, const SeriesSummary& summary) {
    if (std::isnan(summary.lo))
        return std::nullopt;
    switch (directionOf(metric)) {
    case Direction::Lower:
        return BestValue{summary.lo, summary.loStep};
    case Direction::Higher:
        return BestValue{summary.hi, summary.hiStep};
    case Direction::None:
        break;
    }
    return std::nullopt;
}

} // namespace trainyard::app
