// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What tests of data formats have in common: opening, gathering rows, sentences of problems.
#pragma once

#include "engine/data/dataset.h"

#include "tests/data/idx_writer.h"

#include <QTemporaryDir>
#include <QtTest>

#include <chrono>
#include <numeric>
#include <string>
#include <vector>

namespace trainyard::test {

inline std::vector<std::int64_t> firstRows(std::int64_t count) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
    std::iota(rows.begin(), rows.end(), 0);
    return rows;
}

/// Rows of a data set with inputs of type Input: float, double or std::int32_t.
template <class Input>
struct Rows {
    std::vector<Input> inputs;
    std::vector<std::int32_t> labels;
    std::vector<double> numbers;
};

template <class Input>
Rows<Input> gatherRows(const engine::Dataset& dataset, const std::vector<std::int64_t>& rows) {
    const engine::DatasetInfo& info = dataset.info();
    Rows<Input> result;
    result.inputs.resize(rows.size() * static_cast<std::size_t>(elementCount(info.sampleShape)));
    const std::size_t targets =
        rows.size() * static_cast<std::size_t>(elementCount(info.targetShape));
    const bool numbers = info.target == engine::TargetKind::Numbers;
    (numbers ? result.numbers.resize(targets) : result.labels.resize(targets));
    const DType type = std::is_same_v<Input, std::int32_t> ? DType::Int32
                       : std::is_same_v<Input, double>     ? DType::Fp64
                                                           : DType::Fp32;
    dataset.gather(rows, {.inputs = result.inputs.data(),
                          .inputType = type,
                          .labels = result.labels.data(),
                          .numbers = result.numbers.data(),
                          .numberType = DType::Fp64});
    return result;
}

inline QString allSentences(const Problems& problems) {
    QString text;
    for (const Error& problem : problems)
        text += QString::fromStdString(problem.sentence()) + QLatin1Char('\n');
    return text;
}

inline QString allNotes(const engine::DatasetInfo& info) {
    QString text;
    for (const Message& note : info.notes)
        text += QString::fromStdString(note.text()) + QLatin1Char('\n');
    return text;
}

/// Prints how many samples of `dataset` are gathered in a second, in batches of 128.
inline double measureGather(const char* what, const engine::Dataset& dataset) {
    const std::int64_t samples = dataset.info().samples;
    const std::int64_t batch = std::min<std::int64_t>(128, samples);
    std::vector<std::int64_t> rows(static_cast<std::size_t>(batch));
    const auto begin = std::chrono::steady_clock::now();
    double seconds = 0;
    std::int64_t gathered = 0;
    while (seconds < 0.2) {
        for (std::int64_t& row : rows)
            row = (gathered++ * 7919) % samples;
        if (dataset.info().vocabulary > 0)
            gatherRows<std::int32_t>(dataset, rows);
        else
            gatherRows<float>(dataset, rows);
        seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    const double rate = static_cast<double>(gathered) / seconds;
    qInfo("%s: %.0f samples/s", what, rate);
    return rate;
}

} // namespace trainyard::test

/// `condition` with all problems of `outcome` in the failure.
#define VERIFY_OPENED(outcome)                                                                     \
    QVERIFY2((outcome).problems.empty(), qPrintable(allSentences((outcome).problems)))
/// The problems say `text`, and nothing was opened.
#define VERIFY_REFUSED(outcome, text)                                                              \
    do {                                                                                           \
        const QString sentences_ = allSentences((outcome).problems);                               \
        QVERIFY2(sentences_.contains(QString::fromUtf8(text)), qPrintable(sentences_));            \
        QVERIFY(!(outcome).data.training);                                                         \
    } while (false)
