// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/agent/agent_harness.h"

#include "engine/agent/processes.h"

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QJsonDocument>
#include <QtTest>

using namespace trainyard;
using namespace trainyard::engine;

namespace {

constexpr int kCallMs = 60000;

} // namespace

QJsonObject Outcome::json() const {
    return QJsonDocument::fromJson(output).object();
}

std::vector<JournalFrame> framesIn(const QByteArray& bytes, bool* whole) {
    std::vector<JournalFrame> frames;
    spec::FrameReader reader;
    reader.append(std::string_view(bytes.constData(), static_cast<std::size_t>(bytes.size())));
    for (;;) {
        Result<std::optional<spec::Frame>> next = reader.next();
        if (whole)
            *whole = next.ok() && reader.pending() == 0;
        if (!next || !next.value())
            return frames;
        spec::Frame frame = *std::move(next.value());
        const Result<spec::Event> event =
            spec::decode(static_cast<spec::EventType>(frame.type), frame.payload);
        frames.push_back({std::move(frame), event ? std::optional(event.value()) : std::nullopt,
                          reader.consumed()});
    }
}

AgentHarness::AgentHarness(const QString& root)
    : m_environment(QProcessEnvironment::systemEnvironment()) {
    if (root.isEmpty()) {
        m_temporary = std::make_unique<QTemporaryDir>();
        m_root = QDir(m_temporary->path()).canonicalPath() + QStringLiteral("/root");
    } else {
        m_root = root;
    }
    m_worker = QCoreApplication::applicationDirPath() + QStringLiteral("/scripted_worker");
}

AgentHarness::~AgentHarness() {
    const QStringList runs =
        QDir(m_root + QStringLiteral("/runs")).entryList(QDir::Dirs | QDir::NoDotAndDotDot);
    for (const QString& run : runs)
        if (RunLock::isHeld(folder(run)))
            call({QStringLiteral("stop"), QStringLiteral("--run"), run, QStringLiteral("--grace"),
                  QStringLiteral("0")});
    call({QStringLiteral("sweep")});
}

std::unique_ptr<QProcess> AgentHarness::spawn(const QStringList& arguments) const {
    auto process = std::make_unique<QProcess>();
    process->setProcessEnvironment(m_environment);
    process->start(m_worker, arguments + QStringList{QStringLiteral("--root"), m_root});
    process->waitForStarted();
    return process;
}

Outcome AgentHarness::call(const QStringList& arguments, const QByteArray& input) const {
    const std::unique_ptr<QProcess> process = spawn(arguments);
    process->write(input);
    process->closeWriteChannel();
    if (!process->waitForFinished(kCallMs)) {
        process->kill();
        return {-1, process->readAllStandardOutput(), "did not end"};
    }
    return {process->exitStatus() == QProcess::NormalExit ? process->exitCode() : -1,
            process->readAllStandardOutput(), process->readAllStandardError()};
}

QJsonObject AgentHarness::start(const QString& run, int ranks, const QByteArray& scripts) const {
    return call({QStringLiteral("start"), QStringLiteral("--run"), run, QStringLiteral("--ranks"),
                 QString::number(ranks), QStringLiteral("--threads"), QStringLiteral("1")},
                "{\"format\": \"trainyard.experiment/1\", \"script\": " + scripts + "}")
        .json();
}

RunFolder AgentHarness::folder(const QString& run) const {
    return RunFolder(m_root.toStdString(), run.toStdString());
}

QByteArray AgentHarness::journalBytes(const QString& run) const {
    QFile file(QString::fromStdString(folder(run).journal()));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

std::vector<JournalFrame> AgentHarness::journal(const QString& run) const {
    return framesIn(journalBytes(run));
}

std::optional<spec::StateChanged> AgentHarness::finalState(const QString& run) const {
    const std::vector<JournalFrame> frames = journal(run);
    const auto* state = frames.empty() || !frames.back().event
                            ? nullptr
                            : std::get_if<spec::StateChanged>(&*frames.back().event);
    return state && spec::isFinal(state->state) ? std::optional(*state) : std::nullopt;
}

bool AgentHarness::waitForEnd(const QString& run, int ms) const {
    return QTest::qWaitFor(
        [&]() { return finalState(run).has_value() && !RunLock::isHeld(folder(run)); }, ms);
}

bool AgentHarness::waitFor(const QString& run,
                           const std::function<bool(const std::vector<JournalFrame>&)>& seen,
                           int ms) const {
    return QTest::qWaitFor([&]() { return seen(journal(run)); }, ms);
}

void AgentHarness::touch(const QString& run, const QString& file) const {
    QFile(QString::fromStdString(folder(run).path()) + QLatin1Char('/') + file)
        .open(QIODevice::WriteOnly);
}

bool AgentHarness::fileExists(const QString& run, const QString& file) const {
    return QFile::exists(QString::fromStdString(folder(run).path()) + QLatin1Char('/') + file);
}

int AgentHarness::processes() const {
    return static_cast<int>(markedProcesses(m_root.toStdString() + "/").size());
}

QStringList AgentHarness::logLines(const QString& run) const {
    QStringList lines;
    for (const spec::Log& log : eventsOf<spec::Log>(journal(run)))
        lines += QString::fromStdString(log.text.text());
    return lines;
}
