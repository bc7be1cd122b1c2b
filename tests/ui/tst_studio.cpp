// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The way of a first user through the real studio, by clicks and keys, with the real worker: open
// an experiment, train it, see the loss fall, close the window, open it again, find the run and its
// curve.
#include "app/models/data_inspector.h"
#include "app/models/device_model.h"
#include "app/models/experiment_document.h"
#include "app/models/run_list_model.h"
#include "app/run/run_follower.h"
#include "app/settings/settings.h"
#include "tests/support/idx_writer.h"
#include "ui/compose/compose_page.h"
#include "ui/history/compare_view.h"
#include "ui/history/history_page.h"
#include "ui/main_window.h"
#include "ui/monitor/log_view.h"
#include "ui/monitor/monitor_page.h"
#include "ui/monitor/run_curve_view.h"
#include "ui/theme/theme.h"
#include "ui/widgets/rail.h"

#include <QLineEdit>
#include <QMessageBox>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>

using namespace trainyard;

namespace {

constexpr int kTrainMs = 60'000;

/// Everything that main() makes, on a store of the test's own.
struct Studio {
    Studio(QApplication& application, const QString& store)
        : settings(store + QStringLiteral("/settings.ini")),
          theme(application, ui::Theme::Setting::Light),
          runStore(app::RunStore::open(store).value()),
          launcher(QStringLiteral(TRAINYARD_TEST_WORKER), store), follower(*runStore, launcher, {}),
          runs(*runStore), inspector(document, launcher), devices(launcher),
          window(theme, {.settings = settings,
                         .store = *runStore,
                         .launcher = launcher,
                         .follower = follower,
                         .runs = runs,
                         .document = document,
                         .devices = devices,
                         .workerPath = QStringLiteral(TRAINYARD_TEST_WORKER)}) {
        runStore->watch(std::chrono::milliseconds(200));
        follower.followAll();
        window.show();
    }

    app::Settings settings;
    ui::Theme theme;
    std::unique_ptr<app::RunStore> runStore;
    app::LocalLauncher launcher;
    app::RunFollower follower;
    app::RunListModel runs;
    app::ExperimentDocument document;
    app::DataInspector inspector;
    app::DeviceModel devices;
    ui::MainWindow window;
};

QByteArray experimentText(const QString& folder, int epochs) {
    const QString text = QStringLiteral(R"({
  "format": "trainyard.experiment/1", "name": "tiny",
  "data": {"format": "idx", "train": {"images": "%1/tiny-images", "labels": "%1/tiny-labels"},
           "validation": {"fraction": 0.2}},
  "model": {"input": {"shape": [1, 8, 8]},
            "layers": [{"id": "flat", "type": "flatten"},
                       {"id": "hidden", "type": "linear", "out_features": 16},
                       {"id": "relu", "type": "relu"},
                       {"id": "scores", "type": "linear", "out_features": 4}]},
  "training": {"batch": 16, "epochs": %2, "optimizer": {"type": "sgd", "learning_rate": 0.1}},
  "parallel": {"data": 2}
})");
    return text.arg(folder).arg(epochs).toUtf8();
}

} // namespace

class TestStudio : public QObject {
    Q_OBJECT

private slots:
    void initTestCase();
    void placesByKeys();
    void theWayOfAFirstUser();
    void stopByClick();
    void invalidExperimentCannotBeTrained();

private:
    QPushButton* trainButton(Studio& studio) const {
        return studio.window.composePage().header()->trainButton();
    }
    QTemporaryDir m_data;
};

void TestStudio::initTestCase() {
    QVERIFY(test::writeIdx(m_data.filePath(QStringLiteral("tiny")), {400, 8, 4}, 1));
}

void TestStudio::placesByKeys() {
    QTemporaryDir store;
    Studio studio(*qApp, store.path());
    QVERIFY(QTest::qWaitForWindowActive(&studio.window));
    using Place = ui::MainWindow::Place;
    const std::pair<Qt::Key, Place> places[] = {{Qt::Key_4, Place::History},
                                                {Qt::Key_3, Place::Monitor},
                                                {Qt::Key_2, Place::Cluster},
                                                {Qt::Key_1, Place::Compose}};
    for (const auto& [key, place] : places) {
        QTest::keyClick(&studio.window, key, Qt::ControlModifier);
        QCOMPARE(studio.window.place(), place);
        QCOMPARE(studio.window.rail().current(), static_cast<int>(place));
    }
    QTest::mouseClick(studio.window.rail().place(3), Qt::LeftButton);
    QCOMPARE(studio.window.place(), Place::History);
}

void TestStudio::theWayOfAFirstUser() {
    QTemporaryDir store;
    app::RunId run{};
    qint64 points = 0;
    {
        Studio studio(*qApp, store.path());
        QVERIFY(QTest::qWaitForWindowActive(&studio.window));
        QVERIFY(studio.document.openText(experimentText(m_data.path(), 20)).ok());
        studio.window.goTo(ui::MainWindow::Place::Compose);
        QTRY_VERIFY_WITH_TIMEOUT(trainButton(studio)->isEnabled(), 10'000);
        QTest::mouseClick(trainButton(studio), Qt::LeftButton);
        QTRY_COMPARE_WITH_TIMEOUT(studio.window.place(), ui::MainWindow::Place::Monitor, 20'000);
        QVERIFY(studio.window.monitorPage().shownRun().has_value());
        run = *studio.window.monitorPage().shownRun();
        QTRY_COMPARE_WITH_TIMEOUT(studio.runs.record(run)->status, app::RunStatus::Finished,
                                  kTrainMs);
        ui::RunCurveView& view = studio.window.monitorPage().curveView();
        const auto loss = [&view] {
            return view.curve(QStringLiteral("train_loss"));
        };
        // 20 epochs of 320 training samples in batches of 16.
        QTRY_COMPARE_WITH_TIMEOUT(static_cast<qint64>(loss()->size()), qint64{400}, 10'000);
        points = static_cast<qint64>(loss()->size());
        QVERIFY2(loss()->y(399) < 0.5F * loss()->y(0), "the loss does not fall");
        QCOMPARE(view.curve(QStringLiteral("val_loss"))->size(), std::size_t{20});
        QVERIFY(studio.window.monitorPage().logView().text().contains(
            QStringLiteral("Validation at step 400")));
        studio.window.close();
    }
    Studio again(*qApp, store.path());
    QVERIFY(QTest::qWaitForWindowActive(&again.window));
    again.window.goTo(ui::MainWindow::Place::History);
    QTableView& table = again.window.historyPage().table();
    QCOMPARE(table.model()->rowCount(), 1);
    const QModelIndex check = table.model()->index(0, app::RunListModel::ComparedColumn);
    QTest::mouseClick(table.viewport(), Qt::LeftButton, {}, table.visualRect(check).center());
    QCOMPARE(again.runs.compared().size(), std::size_t{1});
    const ui::CurveData* compared = again.window.historyPage().compareView().curve(run);
    QVERIFY(compared != nullptr);
    QCOMPARE(static_cast<qint64>(compared->size()), points);
    table.setFocus();
    table.setCurrentIndex(check);
    QTest::keyClick(&table, Qt::Key_Return);
    QCOMPARE(again.window.place(), ui::MainWindow::Place::Monitor);
    QCOMPARE(*again.window.monitorPage().shownRun(), run);
    const ui::CurveData* reopened =
        again.window.monitorPage().curveView().curve(QStringLiteral("train_loss"));
    QCOMPARE(static_cast<qint64>(reopened->size()), points);
    again.document.close();
}

void TestStudio::stopByClick() {
    QTemporaryDir store;
    Studio studio(*qApp, store.path());
    QVERIFY(QTest::qWaitForWindowActive(&studio.window));
    QVERIFY(studio.document.openText(experimentText(m_data.path(), 1'000'000)).ok());
    QTRY_VERIFY_WITH_TIMEOUT(trainButton(studio)->isEnabled(), 10'000);
    QTest::keyClick(&studio.window, Qt::Key_Return, Qt::ControlModifier);
    QTRY_COMPARE_WITH_TIMEOUT(studio.window.place(), ui::MainWindow::Place::Monitor, 20'000);
    const app::RunId run = *studio.window.monitorPage().shownRun();
    QTRY_COMPARE_WITH_TIMEOUT(studio.runs.record(run)->status, app::RunStatus::Running, 20'000);
    QTRY_COMPARE_WITH_TIMEOUT(studio.window.monitorPage().curveView().lanes().size(),
                              std::size_t{2}, 10'000);
    auto* stop = studio.window.findChild<QPushButton*>(QStringLiteral("stopButton"));
    QTRY_VERIFY(stop->isVisible() && stop->isEnabled());
    QTest::mouseClick(stop, Qt::LeftButton);
    auto* question = studio.window.findChild<QMessageBox*>(QStringLiteral("stopQuestion"));
    QVERIFY(question != nullptr);
    for (QAbstractButton* button : question->buttons())
        if (question->buttonRole(button) == QMessageBox::DestructiveRole)
            QTest::mouseClick(button, Qt::LeftButton);
    QTRY_COMPARE_WITH_TIMEOUT(studio.runs.record(run)->status, app::RunStatus::Stopped, 30'000);
    QVERIFY(!stop->isVisible());
}

void TestStudio::invalidExperimentCannotBeTrained() {
    QTemporaryDir store;
    Studio studio(*qApp, store.path());
    QVERIFY(studio.document.openText(experimentText(m_data.path(), 1)).ok());
    studio.document.setValue("training.batch", spec::Value(std::int64_t{1}));
    QTRY_VERIFY(!trainButton(studio)->isEnabled());
    studio.document.undo();
    QTRY_VERIFY_WITH_TIMEOUT(trainButton(studio)->isEnabled(), 10'000);
}

QTEST_MAIN(TestStudio)
#include "tst_studio.moc"
