// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranks that do not belong together: one with another plan than the others, two runs at once, and
// somebody who connects to the ports of a run's ranks. TRAINYARD_FAULT_ROUNDS: how many times each
// (1 to 3).
#include "tests/integration/fault_bench.h"

#include <QDir>
#include <QElapsedTimer>
#include <QTest>

#include <arpa/inet.h>
#include <csignal>
#include <cstring>
#include <set>
#include <sys/socket.h>
#include <unistd.h>

using namespace trainyard;
using namespace trainyard::app;
using namespace trainyard::test;

namespace {

const Strategy kDataOverTcp{"data over TCP", {"parallel.data=2", "parallel.transport=\"gloo\""}};
const Strategy kMeshOverTcp{
    "data x tensor over TCP",
    {"parallel.data=2", "parallel.tensor=2", "parallel.transport=\"gloo\""}};

/// What one rank reads in place of the run's experiment: the file that the run was started with,
/// with one thing changed.
struct OtherPlan {
    const char* differs; ///< as the sentence says it
    void (*change)(spec::Experiment& experiment);
};

const std::vector<OtherPlan>& otherPlans() {
    static const std::vector<OtherPlan> all = {
        {"32 training samples instead of 640",
         [](spec::Experiment& experiment) {
             experiment.data.train = experiment.data.validation;
         }},
        {"640 validation samples instead of 32",
         [](spec::Experiment& experiment) {
             experiment.data.validation = experiment.data.train;
         }},
        {"64 rows in a batch instead of 128",
         [](spec::Experiment& experiment) {
             experiment.training.batch = 64;
         }},
        {"5 steps instead of 500,000",
         [](spec::Experiment& experiment) {
             experiment.training.epochs = 1;
         }},
        {"a setting of the experiment differs",
         [](spec::Experiment& experiment) {
             experiment.training.seed += 1;
         }},
        {"parameters instead of 9,571",
         [](spec::Experiment& experiment) {
             experiment.model.layers[0].values["out_channels"] = std::int64_t{8};
         }},
    };
    return all;
}

/// The strategy's settings, as the run's own experiment has them.
void apply(const Strategy& strategy, spec::Experiment& experiment) {
    for (const char* setting : strategy.settings) {
        const QString text = QString::fromUtf8(setting);
        const QString value = text.section(u'=', 1);
        if (text.startsWith(QStringLiteral("parallel.data=")))
            experiment.parallel.data = value.toInt();
        if (text.startsWith(QStringLiteral("parallel.zero=")))
            experiment.parallel.zero = value.toInt();
        if (text.startsWith(QStringLiteral("parallel.tensor=")))
            experiment.parallel.tensor = value.toInt();
        if (text.startsWith(QStringLiteral("parallel.transport=")))
            experiment.parallel.transport = "gloo";
    }
}

/// Ports of this host on which a process listens.
std::set<quint16> listeningPorts(qint64 pid) {
    std::set<QByteArray> sockets;
    const QString descriptors = QStringLiteral("/proc/%1/fd/").arg(pid);
    for (const QString& name : QDir(descriptors).entryList(QDir::NoDotAndDotDot | QDir::System)) {
        char target[64] = {};
        const QByteArray path = (descriptors + name).toUtf8();
        if (::readlink(path.constData(), target, sizeof target - 1) > 8 &&
            std::strncmp(target, "socket:[", 8) == 0)
            sockets.insert(QByteArray(target + 8).chopped(1));
    }
    std::set<quint16> ports;
    for (const QByteArray& line : contentOf(QStringLiteral("/proc/net/tcp")).split('\n')) {
        const QList<QByteArray> words = line.simplified().split(' ');
        if (words.size() > 9 && words[3] == "0A" && sockets.contains(words[9]))
            ports.insert(words[1].split(':').last().toUShort(nullptr, 16));
    }
    return ports;
}

/// Connects to every port on which `pid` listens and sends what no rank sends. How many took it.
class Stranger {
public:
    explicit Stranger(unsigned seed) : m_random(seed) {}
    ~Stranger() {
        for (const int socket : m_sockets)
            ::close(socket);
    }
    Stranger(const Stranger&) = delete;
    Stranger& operator=(const Stranger&) = delete;

    void disturb(qint64 pid) {
        for (const quint16 port : listeningPorts(pid))
            disturbPort(port);
    }
    std::size_t connections() const { return m_sockets.size(); }

private:
    void disturbPort(quint16 port) {
        const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
            ::close(socket);
            return;
        }
        QByteArray garbage(static_cast<qsizetype>(m_random() % 200), '\0');
        for (char& byte : garbage)
            byte = static_cast<char>(m_random());
        (void)!::send(socket, garbage.constData(), static_cast<std::size_t>(garbage.size()),
                      MSG_NOSIGNAL);
        m_sockets.push_back(socket); // and stays
    }

    std::mt19937 m_random;
    std::vector<int> m_sockets;
};

} // namespace

class FaultStrangersTest : public QObject {
    Q_OBJECT

private slots:
    void init() { qputenv("TRAINYARD_WAIT_SECONDS", "30"); }
    void aRankWithAnotherPlan_data() { addFaultRounds(3); }
    void aRankWithAnotherPlan();
    void twoRunsAtOnceNeverMeet_data() { addFaultRounds(1); }
    void twoRunsAtOnceNeverMeet();
    void whoConnectsToAPortOfARunIsNoRank_data() { addFaultRounds(1); }
    void whoConnectsToAPortOfARunIsNoRank();
};

void FaultStrangersTest::aRankWithAnotherPlan() {
    QFETCH(int, strategy);
    QFETCH(int, moment);
    QFETCH(int, victim);
    const Strategy& how =
        strategy % 2 == 0 ? strategies()[static_cast<std::size_t>(strategy / 4)] : kMeshOverTcp;
    const OtherPlan& other = otherPlans()[static_cast<std::size_t>(moment) % otherPlans().size()];
    TrainBench bench;
    const QString path = bench.endlessExperiment();
    spec::Experiment experiment = bench.read(path);
    apply(how, experiment);
    other.change(experiment);
    QDir().mkpath(bench.path(QStringLiteral("other")));
    bench.write(QStringLiteral("other/experiment.json"), experiment);
    // Where most ranks agree each may be the odd one; of two it is the second.
    const int ranks = how.settings[0] == std::string("parallel.data=3") ? 3
                      : &how == &kMeshOverTcp                           ? 4
                                                                        : 2;
    const int odd = ranks == 2 ? 1 : victim % ranks;
    FaultRun run(
        bench, path, how,
        QStringLiteral("experiment %1 %2").arg(odd).arg(bench.path(QStringLiteral("other"))));
    QElapsedTimer timer;
    timer.start();
    QVERIFY(run.program().waitForEnd());
    QVERIFY2(timer.elapsed() < 2 * kEndsWithin, qPrintable(QString::number(timer.elapsed())));
    const QString what = run.failureText();
    const int right = odd == 0 ? 1 : 0;
    QVERIFY2(what.startsWith(
                 QStringLiteral("Rank %1 (process %2) has another plan than rank %3 (process %4): ")
                     .arg(odd)
                     .arg(run.rankOf(odd).pid)
                     .arg(right)
                     .arg(run.rankOf(right).pid)),
             qPrintable(QString::fromUtf8(run.program().output())));
    QVERIFY2(what.contains(QString::fromUtf8(other.differs)) &&
                 what.endsWith(QStringLiteral(" Nothing was trained.")),
             qPrintable(what));
    QCOMPARE(run.record().lastStep, 0);
    QCOMPARE(run.defectOfEnd(odd), QString());
}

void FaultStrangersTest::twoRunsAtOnceNeverMeet() {
    TrainBench one;
    TrainBench two;
    TrainBench alone;
    FaultRun first(one, one.endlessExperiment(30), kDataOverTcp);
    FaultRun second(two, two.endlessExperiment(30), kDataOverTcp);
    QVERIFY(first.program().waitForEnd() && second.program().waitForEnd());
    FaultRun third(alone, alone.endlessExperiment(30), kDataOverTcp);
    QVERIFY(third.program().waitForEnd());
    const auto losses = [](const TrainBench& bench, const FaultRun& run) {
        return bench.points(run.record().id, spec::metric::kTrainLoss).values;
    };
    QCOMPARE(losses(alone, third).size(), std::size_t{150});
    QVERIFY(losses(one, first) == losses(alone, third));
    QVERIFY(losses(two, second) == losses(alone, third));
}

/// Ranks listen only while they meet. Rank 1 has said that it is there and is then halted, so that
/// rank 0, which was kept back until then, listens for it until it goes on.
void FaultStrangersTest::whoConnectsToAPortOfARunIsNoRank() {
    QFETCH(int, moment);
    const Strategy& how = moment % 2 == 0 ? kDataOverTcp : kMeshOverTcp;
    TrainBench bench;
    FaultRun run(bench, bench.endlessExperiment(10), how, QStringLiteral("halt 0"));
    QTRY_VERIFY_WITH_TIMEOUT(!run.ranks().empty(), kPatience);
    const std::vector<spec::RankInfo> ranks = run.ranks();
    const QString meeting = run.folder() + QStringLiteral("/rendezvous/");
    QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(meeting + QStringLiteral("rank-1.card")), kPatience);
    QCOMPARE(::kill(static_cast<pid_t>(ranks[1].pid), SIGSTOP), 0);
    QCOMPARE(::kill(static_cast<pid_t>(ranks[0].pid), SIGCONT), 0);
    const auto first = static_cast<qint64>(ranks[0].pid); // the first one to listen
    QTRY_VERIFY_WITH_TIMEOUT(listeningPorts(first).size() == ranks.size() - 1, kPatience);
    Stranger stranger(static_cast<unsigned>(moment));
    stranger.disturb(first);
    QCOMPARE(stranger.connections(), ranks.size() - 1);
    QCOMPARE(::kill(static_cast<pid_t>(ranks[1].pid), SIGCONT), 0);
    QVERIFY(run.program().waitForEnd());
    QVERIFY2(
        run.record().status == RunStatus::Finished,
        qPrintable(QString::fromUtf8(run.program().output()) + run.log().join(QLatin1Char('\n'))));
    QCOMPARE(run.record().lastStep, 50);
    QTRY_VERIFY(bench.processes().empty());
}

QTEST_GUILESS_MAIN(FaultStrangersTest)
#include "tst_fault_strangers.moc"
