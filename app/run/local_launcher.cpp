// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/run/local_launcher.h"

#include "engine/spec/weights.h"

#include <QDir>
#include <QJsonArray>
#include <QJsonDocument>

#include <algorithm>

namespace trainyard::app {

namespace {

using namespace std::chrono_literals;

constexpr auto kProbeTimeout = 20s;
constexpr auto kCalibrateTimeout = 5min; ///< seconds, on a machine that does nothing else
constexpr auto kInspectTimeout = 10min;  ///< large data on a slow disk
constexpr auto kPredictTimeout = 60min;  ///< a large data set with a large model
constexpr auto kStartTimeout = 90s;
constexpr auto kTraceTimeout = 2min; ///< some 100 MB for many ranks
constexpr auto kStopTimeout = 60s;   ///< the ranks get time to end, and are killed then

Problems problemsFromJson(const QJsonArray& array) {
    Problems problems;
    for (const QJsonValue& item : array)
        problems.push_back(errorFromJson(item.toObject()));
    return problems;
}

Inspection inspectionFromJson(const QJsonObject& json) {
    Inspection found;
    found.problems = problemsFromJson(json[QLatin1StringView("problems")].toArray());
    found.data = json[QLatin1StringView("data")].toObject();
    const QJsonObject train = found.data[QLatin1StringView("train")].toObject();
    const QJsonObject validation = found.data[QLatin1StringView("validation")].toObject();
    found.counts.trainSamples = train[QLatin1StringView("samples")].toInteger();
    found.counts.validationSamples = validation[QLatin1StringView("samples")].toInteger();
    found.counts.classes = train[QLatin1StringView("classes")].toInteger();
    for (const QJsonValue& extent : train[QLatin1StringView("shape")].toArray())
        found.counts.sampleShape.push_back(extent.toInteger());
    const QJsonObject machine = json[QLatin1StringView("machine")].toObject();
    found.machine.blockedPictures = machine[QLatin1StringView("blocked_pictures")].toBool();
    if (const QJsonValue bf16 = machine[QLatin1StringView("bf16")]; bf16.isBool())
        found.machine.bf16 = bf16.toBool();
    const auto size = [&](const char* key) {
        return static_cast<std::size_t>(
            std::max<qint64>(0, machine[QLatin1StringView(key)].toInteger()));
    };
    found.machine.bucketBytes = size("bucket_bytes");
    found.machine.networkBucketBytes = size("network_bucket_bytes");
    found.cores = std::max(1, machine[QLatin1StringView("cores")].toInt(1));
    return found;
}

bool isRefusal(const QJsonObject& reply) {
    return reply[QLatin1StringView("answer")] == QLatin1StringView("refused");
}

Error refusalIn(const QJsonObject& reply) {
    return Error(Message("%1", {reply[QLatin1StringView("error")].toString().toStdString()}));
}

Result<StartReply> startReplyFromJson(const QJsonObject& reply) {
    const QString answer = reply[QLatin1StringView("answer")].toString();
    if (answer == QLatin1StringView("started"))
        return StartReply{StartReply::Answer::Started, {}};
    if (answer == QLatin1StringView("already"))
        return StartReply{StartReply::Answer::Already, {}};
    if (answer == QLatin1StringView("finished"))
        return StartReply{StartReply::Answer::Finished, {}};
    if (isRefusal(reply))
        return StartReply{StartReply::Answer::Refused, refusalIn(reply)};
    return Error({"The worker answered to \"start\" with \"%1\", which this version does not know.",
                  {answer.toStdString()}});
}

} // namespace

int threadsPerRank(int cores, int ranks, bool desktopIsHere) {
    const int usable = desktopIsHere && cores > 2 ? cores - 1 : cores;
    return std::max(1, usable / std::max(1, ranks));
}

LocalLauncher::LocalLauncher(QString worker, const QString& storeFolder)
    : m_worker(std::move(worker)),
      m_root(QDir(storeFolder).absoluteFilePath(QStringLiteral("node"))) {}

QStringList LocalLauncher::words(const QString& verb, const QStringList& arguments) const {
    return QStringList{verb, QStringLiteral("--root"), m_root} + arguments;
}

void LocalLauncher::call(const QString& verb, const QStringList& arguments,
                         std::chrono::milliseconds timeout, QObject* context,
                         Handler<QJsonObject> handler) const {
    WorkerCommand::run({m_worker, words(verb, arguments), {}, timeout}, context,
                       [handler = std::move(handler)](const Result<WorkerReply>& reply) {
                           if (!reply.ok())
                               handler(reply.error());
                           else if (isRefusal(reply->json))
                               handler(refusalIn(reply->json));
                           else
                               handler(reply->json);
                       });
}

void LocalLauncher::probe(QObject* context, Handler<QJsonObject> handler) const {
    call(QStringLiteral("probe"), {}, kProbeTimeout, context, std::move(handler));
}

void LocalLauncher::calibrate(Calibrate how, QObject* context,
                              Handler<plan::Calibration> handler) const {
    QStringList words{QStringLiteral("calibrate")};
    if (how != Calibrate::IfNotKept)
        words << (how == Calibrate::Kept ? QStringLiteral("--kept") : QStringLiteral("--refresh"));
    WorkerCommand::run(
        {m_worker, words, {}, kCalibrateTimeout}, context,
        [handler = std::move(handler)](const Result<WorkerReply>& reply) {
            if (!reply.ok())
                return handler(reply.error());
            if (isRefusal(reply->json))
                return handler(refusalIn(reply->json));
            handler(plan::calibrationFromJson(
                QJsonDocument(reply->json).toJson(QJsonDocument::Compact).toStdString()));
        });
}

void LocalLauncher::inspect(const QByteArray& experiment, QObject* context,
                            Handler<Inspection> handler) const {
    WorkerCommand::run({m_worker, {QStringLiteral("inspect")}, experiment, kInspectTimeout},
                       context, [handler = std::move(handler)](const Result<WorkerReply>& reply) {
                           if (!reply.ok())
                               return handler(reply.error());
                           handler(inspectionFromJson(reply->json));
                       });
}

void LocalLauncher::start(const StartOrder& order, QObject* context,
                          Handler<StartReply> handler) const {
    const QStringList arguments{
        QStringLiteral("--run"),          order.run,
        QStringLiteral("--ranks"),        QString::number(order.ranks),
        QStringLiteral("--threads"),      QString::number(order.threads),
        QStringLiteral("--bucket-bytes"), QString::number(order.bucketBytes)};
    WorkerCommand::run(
        {m_worker, words(QStringLiteral("start"), arguments), order.experiment, kStartTimeout},
        context, [handler = std::move(handler)](const Result<WorkerReply>& reply) {
            if (!reply.ok())
                return handler(reply.error());
            handler(startReplyFromJson(reply->json));
        });
}

void LocalLauncher::stop(const QString& run, QObject* context, Handler<QJsonObject> handler) const {
    call(QStringLiteral("stop"), {QStringLiteral("--run"), run}, kStopTimeout, context,
         std::move(handler));
}

void LocalLauncher::trace(const QString& run, const QString& path, QObject* context,
                          Handler<QJsonObject> handler) const {
    call(QStringLiteral("trace"),
         {QStringLiteral("--run"), run, QStringLiteral("--out"),
          QDir::current().absoluteFilePath(path)},
         kTraceTimeout, context, std::move(handler));
}

void LocalLauncher::remove(const QString& run, QObject* context,
                           Handler<QJsonObject> handler) const {
    call(QStringLiteral("remove"), {QStringLiteral("--run"), run}, kStopTimeout, context,
         std::move(handler));
}

AttachCall LocalLauncher::attach(const QString& run) const {
    return {
        m_worker,
        {QStringLiteral("attach"), QStringLiteral("--root"), m_root, QStringLiteral("--run"), run}};
}

QString LocalLauncher::weightsFile(const QString& run) const {
    return m_root + u"/runs/" + run + u'/' + QString::fromUtf8(spec::kWeightsFile);
}

void LocalLauncher::predict(const QJsonObject& request, QObject* context,
                            Handler<QJsonObject> handler,
                            std::function<void(const QString& piece)> grown) const {
    QJsonObject asked = request;
    WorkerCall call{m_worker, {QStringLiteral("predict")}, {}, kPredictTimeout, {}};
    if (grown) {
        asked[QLatin1StringView("stream")] = true;
        call.onLine = [grown = std::move(grown)](const QByteArray& line) {
            const QJsonValue piece = QJsonDocument::fromJson(line)[QLatin1StringView("grown")];
            if (piece.isString())
                grown(piece.toString());
        };
    }
    call.input = QJsonDocument(asked).toJson(QJsonDocument::Compact);
    WorkerCommand::run(
        std::move(call), context, [handler = std::move(handler)](const Result<WorkerReply>& reply) {
            if (!reply.ok())
                return handler(reply.error());
            const Problems problems =
                problemsFromJson(reply->json[QLatin1StringView("problems")].toArray());
            if (!problems.empty())
                return handler(problems.front());
            handler(reply->json);
        });
}

} // namespace trainyard::app
