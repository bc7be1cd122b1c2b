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
#include "ui/history/predict_view.h"
#include "ui/main_window.h"
#include "ui/monitor/confusion_view.h"
#include "ui/monitor/log_view.h"
#include "ui/monitor/monitor_page.h"
#include "ui/monitor/run_curve_view.h"
#include "ui/monitor/step_split_view.h"
#include "ui/theme/theme.h"
#include "ui/widgets/class_bars.h"
#include "ui/widgets/confusion_map.h"
#include "ui/widgets/picture_view.h"
#include "ui/widgets/rail.h"
#include "ui/widgets/segmented_control.h"
#include "ui/widgets/step_bars.h"

#include <QAbstractButton>
#include <QAbstractSpinBox>
#include <QDropEvent>
#include <QFileDialog>
#include <QLineEdit>
#include <QMessageBox>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>

#include <cmath>
#include <numeric>

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
    void confusionOfARun();
    void askAModelOfPictures();
    void askAModelOfTexts();

private:
    /// Trains what is open to its end by a click.
    app::RunId trainToTheEnd(Studio& studio) const;
    /// Goes to History, chooses the run and presses "Predict…".
    void openPrediction(Studio& studio) const;
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
    // Where its steps go is told after about a second, for each rank.
    ui::StepSplitView& split = studio.window.monitorPage().stepSplitView();
    QTRY_COMPARE_WITH_TIMEOUT(split.bars().rows().size(), std::size_t{2}, 20'000);
    QVERIFY(split.isVisible());
    for (const ui::StepBars::Row& row : split.bars().rows()) {
        const double parts = std::accumulate(row.parts.begin(), row.parts.end(), 0.0);
        QVERIFY2(parts > 0.5 * row.step && parts <= 1.05 * row.step,
                 qPrintable(ui::StepBars::describe(row)));
    }
    QVERIFY2(split.details().startsWith(QStringLiteral("Rank 0, ")), qPrintable(split.details()));
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

app::RunId TestStudio::trainToTheEnd(Studio& studio) const {
    const auto trained = [&](auto&& check) {
        [&] {
            QTRY_VERIFY_WITH_TIMEOUT(check(), kTrainMs);
        }();
    };
    trained([&] { return trainButton(studio)->isEnabled(); });
    QTest::mouseClick(trainButton(studio), Qt::LeftButton);
    trained([&] { return studio.window.monitorPage().shownRun().has_value(); });
    const app::RunId run = *studio.window.monitorPage().shownRun();
    trained([&] { return studio.runs.record(run)->status == app::RunStatus::Finished; });
    return run;
}

void TestStudio::openPrediction(Studio& studio) const {
    studio.window.goTo(ui::MainWindow::Place::History);
    ui::HistoryPage& page = studio.window.historyPage();
    auto* button = page.findChild<QPushButton*>(QStringLiteral("predictButton"));
    QVERIFY(!button->isEnabled()); // nothing is chosen
    const QModelIndex name = page.table().model()->index(0, app::RunListModel::NameColumn);
    QTest::mouseClick(page.table().viewport(), Qt::LeftButton, {},
                      page.table().visualRect(name).center());
    QVERIFY(button->isEnabled());
    QTest::mouseClick(button, Qt::LeftButton);
    QVERIFY(page.predictView().isVisible());
}

void TestStudio::confusionOfARun() {
    QTemporaryDir store;
    Studio studio(*qApp, store.path());
    QVERIFY(QTest::qWaitForWindowActive(&studio.window));
    QVERIFY(studio.document.openText(experimentText(m_data.path(), 20)).ok());
    trainToTheEnd(studio);
    ui::MonitorPage& monitor = studio.window.monitorPage();
    QAbstractButton* segment = nullptr;
    for (QAbstractButton* each : monitor.findChildren<QAbstractButton*>())
        if (each->text() == QStringLiteral("Confusion"))
            segment = each;
    QVERIFY(segment != nullptr);
    QTRY_VERIFY(segment->isVisible());
    QTest::mouseClick(segment, Qt::LeftButton);
    ui::ConfusionView& view = monitor.confusionView();
    QVERIFY(view.isVisible() && view.map().isVisible() && view.toolbar()->isVisible());
    // 400 pictures, a fifth of them held back.
    QTRY_VERIFY(view.findChild<QWidget*>(QStringLiteral("classTable")) != nullptr);
    QCOMPARE(view.classes().rowCount(), 4);
    std::int64_t right = 0, all = 0;
    const auto table =
        studio.runStore->reader().confusion(*monitor.shownRun(), app::Validation::Newest).value();
    right = table->correct();
    all = table->total();
    QCOMPARE(all, 80);
    QCOMPARE(table->step(), 400);
    QVERIFY2(right > 40, qPrintable(QString::number(right))); // it has learned something
    QVERIFY(view.map().sentence(0, 0).startsWith(QStringLiteral("label 0 predicted as 0: ")));

    studio.window.goTo(ui::MainWindow::Place::History);
    ui::HistoryPage& history = studio.window.historyPage();
    auto* panel = history.findChild<ui::SegmentedControl*>(QStringLiteral("historyPanel"));
    QVERIFY(!panel->segment(1)->isVisible()); // nothing is chosen
    history.table().setCurrentIndex(history.table().model()->index(0, 3));
    QVERIFY(panel->segment(1)->isVisible());
    QTest::mouseClick(panel->segment(1), Qt::LeftButton);
    QVERIFY(history.confusionView().map().isVisible());
    QCOMPARE(history.confusionView().classes().rowCount(), 4);
}

void TestStudio::askAModelOfPictures() {
    QTemporaryDir store;
    Studio studio(*qApp, store.path());
    QVERIFY(QTest::qWaitForWindowActive(&studio.window));
    QVERIFY(studio.document.openText(experimentText(m_data.path(), 5)).ok());
    trainToTheEnd(studio);
    openPrediction(studio);
    ui::PredictView& view = studio.window.historyPage().predictView();
    QImage picture(8, 8, QImage::Format_Grayscale8);
    picture.fill(120);
    const QString file = store.filePath(QStringLiteral("a.png"));
    QVERIFY(picture.save(file));

    auto* browse = view.findChild<QPushButton*>(QStringLiteral("browsePrediction"));
    QTest::mouseClick(browse, Qt::LeftButton);
    auto* dialog = view.findChild<QFileDialog*>();
    QVERIFY(dialog && dialog->isVisible());
    emit dialog->filesSelected({file});
    dialog->close();
    QCOMPARE(view.job().state(), app::PredictionJob::State::Running); // and the window goes on
    auto* cancel = view.findChild<QPushButton*>(QStringLiteral("cancelPrediction"));
    QVERIFY(cancel->isVisible());
    QTRY_COMPARE_WITH_TIMEOUT(view.job().state(), app::PredictionJob::State::Done, 20'000);
    QVERIFY(!cancel->isVisible());
    auto* bars = view.findChild<ui::ClassBars*>(QStringLiteral("classBars"));
    QVERIFY(bars->isVisible());
    QCOMPARE(bars->bars().size(), std::size_t{4});
    double sum = 0;
    for (const ui::ClassBars::Bar& bar : bars->bars())
        sum += bar.share;
    QVERIFY(std::abs(sum - 1) < 1e-5);
    QVERIFY(view.findChild<ui::PictureView*>(QStringLiteral("pictureView"))->isVisible());

    // Dropped: no picture at all.
    const QString wrong = store.filePath(QStringLiteral("b.png"));
    QFile text(wrong);
    QVERIFY(text.open(QIODevice::WriteOnly) && text.write("no picture") > 0);
    text.close();
    QMimeData data;
    data.setUrls({QUrl::fromLocalFile(wrong)});
    QDragEnterEvent enter(QPoint(10, 10), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&view, &enter);
    QVERIFY(enter.isAccepted());
    QDropEvent drop(QPointF(10, 10), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&view, &drop);
    QTRY_COMPARE_WITH_TIMEOUT(view.job().state(), app::PredictionJob::State::Failed, 20'000);
    auto* state = view.findChild<QWidget*>(QStringLiteral("predictState"));
    QVERIFY(state->isVisible());
    QVERIFY2(state->accessibleDescription().contains(QStringLiteral("b.png")),
             qPrintable(state->accessibleDescription()));
    // The IDX file it was trained on: a table, one row of which is looked at.
    view.askAbout({m_data.filePath(QStringLiteral("tiny-images"))});
    QTRY_COMPARE_WITH_TIMEOUT(view.job().state(), app::PredictionJob::State::Done, 20'000);
    auto* table = view.findChild<QTableWidget*>(QStringLiteral("predictTable"));
    QVERIFY(table->isVisible());
    QCOMPARE(table->rowCount(), 400);
}

void TestStudio::askAModelOfTexts() {
    QTemporaryDir store;
    Studio studio(*qApp, store.path());
    QVERIFY(QTest::qWaitForWindowActive(&studio.window));
    QFile song(store.filePath(QStringLiteral("song.txt")));
    QVERIFY(song.open(QIODevice::WriteOnly));
    for (int line = 0; line < 200; ++line)
        song.write("abcd\n");
    song.close();
    const QString experiment = QStringLiteral(R"({
  "format": "trainyard.experiment/1", "name": "song",
  "data": {"format": "text", "train": {"text": "%1"}, "context": 8,
           "validation": {"fraction": 0.1}},
  "model": {"input": {"shape": [8]},
            "layers": [{"id": "words", "type": "embedding", "vocabulary": 5, "features": 16},
                       {"id": "scores", "type": "linear", "out_features": 5}]},
  "training": {"batch": 16, "epochs": 30,
               "optimizer": {"type": "adamw", "learning_rate": 0.05}}
})");
    QVERIFY(studio.document.openText(experiment.arg(song.fileName()).toUtf8()).ok());
    trainToTheEnd(studio);
    openPrediction(studio);
    ui::PredictView& view = studio.window.historyPage().predictView();
    auto* ask = view.findChild<QPushButton*>(QStringLiteral("askButton"));
    QVERIFY(!ask->isEnabled()); // no text yet
    auto* prompt = view.findChild<QPlainTextEdit*>(QStringLiteral("predictPrompt"));
    QTest::keyClicks(prompt, QStringLiteral("ab"));
    QVERIFY(ask->isEnabled());
    const auto type = [&](const char* field, const char* keys) {
        auto* input = view.findChild<QAbstractSpinBox*>(QString::fromUtf8(field));
        input->selectAll();
        QTest::keyClicks(input, QString::fromUtf8(keys));
    };
    type("predictTemperature", "0"); // always the likeliest
    QTest::mouseClick(ask, Qt::LeftButton);
    QTRY_COMPARE_WITH_TIMEOUT(view.job().state(), app::PredictionJob::State::Done, 20'000);
    auto* text = view.findChild<QPlainTextEdit*>(QStringLiteral("predictText"));
    QVERIFY(text->isVisible());
    QVERIFY2(text->toPlainText().startsWith(QStringLiteral("abcd\nabcd\n")),
             qPrintable(text->toPlainText()));
    QCOMPARE(text->toPlainText().size(), 202);

    // A long one grows before one's eyes, and can be cancelled.
    type("predictTokens", "1000000");
    QSignalSpy grown(&view.job(), &app::PredictionJob::grown);
    QTest::mouseClick(ask, Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(grown.count() >= 2, 20'000);
    QVERIFY(view.job().state() == app::PredictionJob::State::Running);
    QVERIFY2(text->toPlainText().startsWith(QStringLiteral("abcd\nabcd\nabcd")),
             qPrintable(text->toPlainText().left(80)));
    QCOMPARE(text->toPlainText(), QStringLiteral("ab") + view.job().textSoFar());
    QTest::mouseClick(view.findChild<QPushButton*>(QStringLiteral("cancelPrediction")),
                      Qt::LeftButton);
    QCOMPARE(view.job().state(), app::PredictionJob::State::Idle);
    QVERIFY(ask->isEnabled());
    const qsizetype pieces = grown.count();
    QTest::mouseClick(ask, Qt::LeftButton); // and asked anew
    QTRY_VERIFY_WITH_TIMEOUT(grown.count() > pieces, 20'000);
}

QTEST_MAIN(TestStudio)
#include "tst_studio.moc"
