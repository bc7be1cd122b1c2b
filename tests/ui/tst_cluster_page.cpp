// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Cluster: what the probe tells is shown, and what is not known is never shown as if it were. The
// worker is a script, so its answers are known.
#include "app/models/device_model.h"
#include "ui/cluster/cluster_page.h"
#include "ui/cluster/host_details.h"
#include "ui/cluster/host_table.h"
#include "ui/theme/theme.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/empty_state.h"

#include <QAccessible>
#include <QAction>
#include <QApplication>
#include <QFile>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>

using namespace trainyard;
using namespace trainyard::ui;
using Probe = app::DeviceModel::State;

namespace {

// clang-format off
const QByteArray kProbe = R"json({"host": "desk", "os": "Debian GNU/Linux 12", "kernel": "6.1.0",
 "arch": "x86_64", "engine_version": "0.1.0", "cores": 12,
 "cpu": {"model": "Example 9000", "online_cores": 16, "simd": "avx2"},
 "memory": {"total": 68719476736, "available": 34359738368},
 "root": {"path": "/data/node", "writable": true, "free": 1099511627776},
 "devices": [{"id": "cpu:0", "kind": "cpu", "name": "Example 9000", "cores": 12}],
 "runs": [{"run": "r7", "pid": 4711}]})json";
// clang-format on

} // namespace

class ClusterPageTest : public QObject {
    Q_OBJECT
private slots:
    void init();
    void cleanup();
    void showsTheProbe();
    void unknownIsNotShownAsZero();
    void failureWithoutFacts();
    void failureKeepsOldFactsAndDatesThem();
    void probesByKeyAndButton();
    void foldersThatCannotBeWritten();
    void narrowWindowsFit();
    void everythingHasAName();

private:
    void answer(const QByteArray& json, int exitCode = 0);
    void probe(Probe expected);
    QString cell(HostTable::Column column) const { return m_page->hosts()->cell(0, column); }

    std::unique_ptr<QTemporaryDir> m_folder;
    std::unique_ptr<Theme> m_theme;
    std::unique_ptr<app::LocalLauncher> m_launcher;
    std::unique_ptr<app::DeviceModel> m_devices;
    std::unique_ptr<ClusterPage> m_page;
    QDateTime m_now{QDate(2026, 3, 1), QTime(12, 0), Qt::UTC};
};

void ClusterPageTest::init() {
    QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates));
    m_folder = std::make_unique<QTemporaryDir>();
    m_theme = std::make_unique<Theme>(*qApp, Theme::Setting::Light);
    const QString worker = m_folder->filePath(QStringLiteral("worker"));
    m_launcher = std::make_unique<app::LocalLauncher>(worker, m_folder->path());
    m_devices = std::make_unique<app::DeviceModel>(*m_launcher, nullptr, [this] { return m_now; });
    m_page = std::make_unique<ClusterPage>(*m_theme, *m_devices, worker);
    m_page->resize(1364, 860);
    m_page->show();
    QVERIFY(QTest::qWaitForWindowActive(m_page.get()));
}

void ClusterPageTest::cleanup() {
    m_page.reset();
    m_devices.reset();
    m_launcher.reset();
    m_theme.reset();
    m_folder.reset();
}

void ClusterPageTest::answer(const QByteArray& json, int exitCode) {
    const QString data = m_folder->filePath(QStringLiteral("answer"));
    QFile file(data);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(json);
    QFile worker(m_folder->filePath(QStringLiteral("worker")));
    QVERIFY(worker.open(QIODevice::WriteOnly));
    worker.write("#!/bin/sh\ncat '" + data.toUtf8() + "'\necho called >> '" + data.toUtf8() +
                 ".calls'\nexit " + QByteArray::number(exitCode) + "\n");
    worker.setPermissions(QFileDevice::ReadOwner | QFileDevice::WriteOwner | QFileDevice::ExeOwner);
}

void ClusterPageTest::probe(Probe expected) {
    m_devices->probe();
    QTRY_COMPARE(m_devices->state(), expected);
}

void ClusterPageTest::showsTheProbe() {
    answer(kProbe);
    QVERIFY(m_page->isEmpty());
    probe(Probe::Ready);
    QVERIFY(!m_page->isEmpty());
    QVERIFY(!m_page->banner()->isVisible());
    QCOMPARE(cell(HostTable::Host), QStringLiteral("This computer"));
    QCOMPARE(cell(HostTable::State), QStringLiteral("Ready"));
    QCOMPARE(cell(HostTable::Devices), QStringLiteral("12 cores, AVX2, no GPU"));
    QCOMPARE(cell(HostTable::Now), QStringLiteral("run r7"));
    QAbstractItemModel* devices = m_page->deviceTable()->model();
    QCOMPARE(devices->rowCount(), 1);
    QCOMPARE(devices->index(0, 0).data().toString(), QStringLiteral("CPU 0"));
    const auto value = [this](const char* label) {
        return m_page->details()->value(QLatin1StringView(label));
    };
    QCOMPARE(value("Host"), QStringLiteral("desk"));
    QCOMPARE(value("System"), QStringLiteral("Debian GNU/Linux 12"));
    QCOMPARE(value("Processor"), QStringLiteral("Example 9000"));
    QCOMPARE(value("Cores"), QStringLiteral("12 of 16"));
    QCOMPARE(value("Instruction sets"), QStringLiteral("AVX2"));
    QVERIFY(value("Memory").startsWith(QStringLiteral("64")));
    QCOMPARE(value("Runs are kept in"), QStringLiteral("/data/node"));
    QCOMPARE(value("Worker"), m_folder->filePath(QStringLiteral("worker")));
    QCOMPARE(value("Worker version"), QStringLiteral("0.1.0"));
    QVERIFY(m_page->details()->lastError().isEmpty());
}

void ClusterPageTest::unknownIsNotShownAsZero() {
    answer(R"({"host": "desk", "devices": [{"id": "cpu:0", "kind": "cpu", "name": "x"}]})");
    probe(Probe::Ready);
    const QString none = QStringLiteral("N/A");
    for (const char* label : {"Memory", "Memory free", "Disk free", "Processor", "Kernel",
                              "Instruction sets", "Runs are kept in"})
        QCOMPARE(m_page->details()->value(QLatin1StringView(label)), none);
    QCOMPARE(cell(HostTable::Memory), none);
    QCOMPARE(cell(HostTable::Now), QStringLiteral("free"));
}

void ClusterPageTest::failureWithoutFacts() {
    // There is no worker at all.
    probe(Probe::Failed);
    QVERIFY(m_page->isEmpty());
    QVERIFY(m_page->emptyState()->isVisible());
    QCOMPARE(m_page->emptyState()->accessibleName(),
             QStringLiteral("This computer could not be looked at"));
    QVERIFY(!m_page->emptyState()->accessibleDescription().isEmpty());
    answer(kProbe);
    QTest::mouseClick(m_page->probeButton(), Qt::LeftButton);
    QTRY_VERIFY(!m_page->isEmpty());
}

void ClusterPageTest::failureKeepsOldFactsAndDatesThem() {
    answer(kProbe);
    probe(Probe::Ready);
    answer("nonsense", 2);
    m_now = m_now.addSecs(3600);
    probe(Probe::Failed);
    QVERIFY(!m_page->isEmpty());
    QCOMPARE(cell(HostTable::State), QStringLiteral("No answer"));
    QCOMPARE(m_page->details()->value(QStringLiteral("Host")), QStringLiteral("desk"));
    QVERIFY(m_page->banner()->isVisible());
    const QString then =
        QLocale().toString(m_now.addSecs(-3600).toLocalTime(), QLocale::ShortFormat);
    QVERIFY2(m_page->banner()->message().contains(then), qPrintable(m_page->banner()->message()));
    QVERIFY(!m_page->details()->lastError().isEmpty());
    answer(kProbe);
    probe(Probe::Ready);
    QVERIFY(!m_page->banner()->isVisible());
    QVERIFY(m_page->details()->lastError().isEmpty());
}

void ClusterPageTest::probesByKeyAndButton() {
    answer(kProbe);
    QSignalSpy changed(m_devices.get(), &app::DeviceModel::stateChanged);
    QTest::keyClick(m_page.get(), Qt::Key_F5);
    QCOMPARE(m_devices->state(), Probe::Probing);
    QVERIFY(!m_page->probeButton()->isEnabled());
    QCOMPARE(m_page->probeButton()->text(), QStringLiteral("Probing…"));
    QTRY_COMPARE(m_devices->state(), Probe::Ready);
    QVERIFY(m_page->probeButton()->isEnabled());
    QTest::mouseClick(m_page->probeButton(), Qt::LeftButton);
    QCOMPARE(cell(HostTable::State), QStringLiteral("Probing"));
    QTRY_COMPARE(m_devices->state(), Probe::Ready);
    QCOMPARE(changed.count(), 4);
}

void ClusterPageTest::foldersThatCannotBeWritten() {
    answer(QByteArray(kProbe).replace("\"writable\": true", "\"writable\": false"));
    probe(Probe::Ready);
    bool said = false;
    for (const QLabel* label : m_page->details()->findChildren<QLabel*>())
        said = said || (label->isVisible() && label->text().contains(u"cannot be written"));
    QVERIFY(said);
}

void ClusterPageTest::narrowWindowsFit() {
    answer(kProbe);
    probe(Probe::Ready);
    m_page->resize(948, 660);
    QVERIFY(m_page->minimumSizeHint().width() <= 948);
    QTRY_VERIFY(m_page->details()->mapTo(m_page.get(), QPoint()).y() >
                m_page->deviceTable()->mapTo(m_page.get(), QPoint()).y());
    m_page->resize(1364, 860);
    QTRY_VERIFY(m_page->details()->mapTo(m_page.get(), QPoint()).x() >
                m_page->deviceTable()->width() / 2);
}

void ClusterPageTest::everythingHasAName() {
    answer(kProbe);
    probe(Probe::Ready);
    for (QWidget* widget : m_page->findChildren<QWidget*>()) {
        if (!(widget->focusPolicy() & Qt::TabFocus) || !widget->isVisible())
            continue;
        QAccessibleInterface* face = QAccessible::queryAccessibleInterface(widget);
        QVERIFY2(face && !face->text(QAccessible::Name).isEmpty(),
                 widget->metaObject()->className());
    }
}

QTEST_MAIN(ClusterPageTest)
#include "tst_cluster_page.moc"
