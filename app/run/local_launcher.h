// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What this machine can be asked for, through the verbs of its worker. The runs of a store lie in
// its folder "node", so another store is another world. Rule: every call returns at once; the
// handler hears later (see WorkerCommand).
#pragma once

#include "app/run/journal_stream.h"
#include "app/run/worker_command.h"
#include "engine/plan/calibration.h"
#include "engine/plan/plan.h"

#include <QJsonObject>

namespace trainyard::app {

/// How this machine is called where hosts are listed.
inline constexpr QLatin1StringView kLocalHost{"local"};

/// What the worker found in the data of an experiment, and on the machine.
struct Inspection {
    Problems problems; ///< of the data; empty: it can be trained on
    plan::DataCounts counts;
    plan::MachineFacts machine;
    int cores = 1;
    QJsonObject data; ///< "train" and "validation" with counts per class, mean and deviation
};

struct StartOrder {
    QString run;
    QByteArray experiment; ///< JSON
    int ranks = 1;
    int threads = 1;             ///< of each rank
    std::size_t bucketBytes = 0; ///< of the plan, so that the ranks cut the same buckets
};

struct StartReply {
    enum class Answer {
        Started,
        Already,  ///< it runs: an earlier start of the same run was not lost
        Finished, ///< it has run, and is over
        Refused   ///< nothing was started
    };
    Answer answer = Answer::Started;
    Error refusal;
};

class LocalLauncher {
public:
    enum class Calibrate {
        Kept,      ///< an error where there is none; at once
        IfNotKept, ///< measured only where there is none
        Anew       ///< some seconds with all cores
    };

    LocalLauncher(QString worker, const QString& storeFolder);

    /// Devices, memory, versions.
    void probe(QObject* context, Handler<QJsonObject> handler) const;
    /// How fast this machine computes and exchanges.
    void calibrate(Calibrate how, QObject* context, Handler<plan::Calibration> handler) const;
    /// Opens the experiment's data and reads all of it.
    void inspect(const QByteArray& experiment, QObject* context, Handler<Inspection> handler) const;
    /// An error only where it is not known whether the run was started; asking again does no harm.
    void start(const StartOrder& order, QObject* context, Handler<StartReply> handler) const;
    /// Answers when the run has ended.
    void stop(const QString& run, QObject* context, Handler<QJsonObject> handler) const;
    /// Writes the run's Chrome trace to the file `path`, also of a run that goes on.
    void trace(const QString& run, const QString& path, QObject* context,
               Handler<QJsonObject> handler) const;
    /// Deletes what the run has left here. Refuses while it runs.
    void remove(const QString& run, QObject* context, Handler<QJsonObject> handler) const;
    AttachCall attach(const QString& run) const;
    /// Where the final weights of a run are, once it has ended well; until it is removed.
    QString weightsFile(const QString& run) const;
    /// Asks a trained model; request and answer are described in engine/runtime/predict.h. What is
    /// wrong with the request is an error. `grown`, if given, hears of a text piece by piece.
    void predict(const QJsonObject& request, QObject* context, Handler<QJsonObject> handler,
                 std::function<void(const QString& piece)> grown = {}) const;

private:
    /// Refusals become errors.
    void call(const QString& verb, const QStringList& arguments, std::chrono::milliseconds timeout,
              QObject* context, Handler<QJsonObject> handler) const;
    QStringList words(const QString& verb, const QStringList& arguments = {}) const;

    QString m_worker;
    QString m_root;
};

/// Threads of each of `ranks` processes. Where a person works at the machine one core stays free
/// for the desktop, if there are more than two.
int threadsPerRank(int cores, int ranks, bool desktopIsHere);

} // namespace trainyard::app
