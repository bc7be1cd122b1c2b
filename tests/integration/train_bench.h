// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A folder with small real data, an experiment on it and a store, for whole runs with the real
// worker.
#pragma once

#include "app/store/run_store.h"
#include "engine/spec/experiment_json.h"
#include "tests/support/idx_writer.h"
#include "tests/support/program.h"

#include <QJsonObject>
#include <QTemporaryDir>

#include <vector>

namespace trainyard::test {

class TrainBench {
public:
    /// `subfolder`: a name of any kind, below a temporary folder.
    explicit TrainBench(const QString& subfolder = QStringLiteral("plain"));
    /// Ends what is still running.
    ~TrainBench();

    /// 210 pictures of 8 x 8: an epoch takes no time. 9 steps of 24 pictures.
    QString quickExperiment();
    /// Steps of some milliseconds, 5 an epoch, for about ever.
    QString endlessExperiment(int epochs = 100'000);

    /// Parameters of 26 MB, and steps for about ever.
    QString largeExperiment();

    QString path(const QString& name) const { return m_path + u'/' + name; }
    QString store() const { return m_store; }
    void setStore(const QString& folder) { m_store = folder; }
    /// A reader of its own, as another program has it.
    std::unique_ptr<app::StoreReader> reader() const;
    std::vector<app::RunRecord> runs() const;
    app::Points points(app::RunId run, const char* metric) const;
    /// Of processes that belong to the store's runs.
    std::vector<qint64> processes() const;
    qint64 supervisorOf(const app::RunRecord& run) const;

    /// An experiment file of this folder, to make another one of it; returns its path.
    spec::Experiment read(const QString& path) const;
    QString write(const QString& name, const spec::Experiment& experiment) const;

private:
    spec::Experiment experimentOn(const QString& data, int side) const;

    QTemporaryDir m_folder;
    QString m_path;
    QString m_store;
};

/// Steps are 1, 2, 3 ... without a gap, and each is there once.
bool isUnbroken(const app::Points& points);

} // namespace trainyard::test
