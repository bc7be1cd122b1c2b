// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/fault_bench.h"

#include "tests/support/run_support.h"

#include <QTest>

#include <csignal>

namespace trainyard::test {

using namespace trainyard::app;

const std::vector<Strategy>& strategies() {
    static const std::vector<Strategy> all = {
        {"data", {"parallel.data=2"}},
        {"data over TCP", {"parallel.data=2", "parallel.transport=\"gloo\""}},
        {"ZeRO 3", {"parallel.data=3", "parallel.zero=3"}},
        {"ZeRO 3 over TCP", {"parallel.data=2", "parallel.zero=3", "parallel.transport=\"gloo\""}},
        {"tensor", {"parallel.data=1", "parallel.tensor=2"}},
        {"pipeline", {"parallel.data=1", "parallel.pipeline=3", "parallel.micro_batches=4"}},
        {"pipeline over TCP",
         {"parallel.data=1", "parallel.pipeline=2", "parallel.micro_batches=4",
          "parallel.transport=\"gloo\""}},
        {"interleaved",
         {"parallel.data=1", "parallel.pipeline=2", "parallel.micro_batches=4",
          "parallel.schedule=\"interleaved\""}},
        {"data x tensor x pipeline",
         {"parallel.data=2", "parallel.tensor=2", "parallel.pipeline=2",
          "parallel.micro_batches=2"}},
        {"data x tensor over TCP",
         {"parallel.data=2", "parallel.tensor=2", "parallel.transport=\"gloo\""}},
    };
    return all;
}

const Strategy& strategyAt(int index) {
    return strategies().at(static_cast<std::size_t>(index));
}

int faultRounds(int few) {
    const int asked = qEnvironmentVariableIntValue("TRAINYARD_FAULT_ROUNDS");
    return asked > 0 ? asked : few;
}

std::mt19937 faultDice() {
    const unsigned seed = qEnvironmentVariableIsSet("TRAINYARD_FAULT_SEED")
                              ? qEnvironmentVariable("TRAINYARD_FAULT_SEED").toUInt()
                              : 20261u;
    qInfo() << "TRAINYARD_FAULT_SEED" << seed;
    return std::mt19937(seed);
}

void addFaultRounds(int few) {
    QTest::addColumn<int>("strategy");
    QTest::addColumn<int>("moment");
    QTest::addColumn<int>("victim");
    std::mt19937 random = faultDice();
    const std::size_t first = random();
    for (int round = 0; round < faultRounds(few); ++round) {
        // All come in turn, neighbours in the list not one after the other.
        const auto strategy = (first + 3 * static_cast<std::size_t>(round)) % strategies().size();
        QTest::addRow("%d: %s", round + 1, strategies()[strategy].name)
            << static_cast<int>(strategy) << static_cast<int>(random() % 1000)
            << static_cast<int>(random() % 8);
    }
}

FaultRun::FaultRun(TrainBench& bench, const QString& experiment, const Strategy& strategy,
                   const QString& fault)
    : m_bench(bench) {
    QStringList words = {QStringLiteral("train"), experiment, QStringLiteral("--store"),
                         bench.store()};
    for (const char* setting : strategy.settings)
        words << QStringLiteral("--set") << QString::fromUtf8(setting);
    if (!fault.isEmpty()) {
        qputenv("TRAINYARD_WORKER", builtProgram(QStringLiteral("tests/faulty_worker")).toUtf8());
        qputenv("TRAINYARD_TEST_FAULT", fault.toUtf8());
    }
    m_program = std::make_unique<Program>(words);
    qunsetenv("TRAINYARD_WORKER");
    qunsetenv("TRAINYARD_TEST_FAULT");
}

std::vector<spec::RankInfo> FaultRun::ranks() const {
    const std::vector<RunRecord> runs = m_bench.runs();
    if (runs.empty())
        return {};
    const auto found = m_bench.reader()->ranks(runs[0].id);
    return found.ok() ? *found : std::vector<spec::RankInfo>();
}

spec::RankInfo FaultRun::rankOf(int victim) const {
    const std::vector<spec::RankInfo> all = ranks();
    return all.at(static_cast<std::size_t>(victim) % all.size());
}

QString FaultRun::failureText() const {
    const RunRecord ended = record();
    return ended.failure ? QString::fromStdString(ended.failure->what.text()) : QString();
}

bool FaultRun::reached(std::int64_t step) const {
    return !ranks().empty() && record().lastStep >= step;
}

bool FaultRun::isOver() const {
    return !m_bench.runs().empty() && isFinal(record().status);
}

QStringList FaultRun::log() const {
    const std::vector<RunRecord> runs = m_bench.runs();
    QStringList lines;
    if (runs.empty())
        return lines;
    const std::vector<LogLine> found = *m_bench.reader()->log(runs[0].id);
    for (const LogLine& line : found)
        lines << QString::fromStdString(line.text.text());
    return lines;
}

QString FaultRun::folder() const {
    return m_bench.store() + QStringLiteral("/node/runs/") + record().uid;
}

QString FaultRun::defectOfEnd(int rank, const char* status) {
    const RunRecord ended = record();
    if (nameOf(ended.status) != QLatin1StringView(status))
        return QStringLiteral("status ") + nameOf(ended.status);
    if (m_program->exitCode() != 1)
        return QStringLiteral("exit code %1").arg(m_program->exitCode());
    if (!ended.failure || ended.failure->rank != rank)
        return QStringLiteral("blames rank %1: %2")
            .arg(ended.failure ? ended.failure->rank : -1)
            .arg(QString::fromUtf8(m_program->output()));
    if (ended.failure->host != QSysInfo::machineHostName().toStdString() ||
        ended.failure->pid <= 0 || ended.failure->cure.empty())
        return QStringLiteral("the failure does not say host, process and cure");
    if (!isUnbroken(m_bench.points(ended.id, spec::metric::kTrainLoss)))
        return QStringLiteral("steps are missing");
    if (!QTest::qWaitFor([this] { return m_bench.processes().empty(); }, kEndsWithin))
        return QStringLiteral("processes are left");
    const QString runFolder = folder();
    const Output deleted = runWords({QStringLiteral("runs"), QStringLiteral("delete"), ended.uid,
                                     QStringLiteral("--store"), m_bench.store()});
    if (deleted.exitCode != 0 || QFile::exists(runFolder))
        return QStringLiteral("files are left: ") + QString::fromUtf8(deleted.errors);
    return {};
}

} // namespace trainyard::test
