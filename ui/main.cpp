// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// trainyard-studio [FILE] [--sample NAME] [--store DIR]
#include "app/base/folders.h"
#include "app/models/data_inspector.h"
#include "app/models/device_model.h"
#include "app/models/experiment_document.h"
#include "app/models/message_text.h"
#include "app/models/run_list_model.h"
#include "app/run/run_follower.h"
#include "app/run/worker_location.h"
#include "app/settings/settings.h"
#include "ui/main_window.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QCommandLineParser>
#include <QFileInfo>
#include <QMessageBox>

#include <chrono>
#include <cstdio>

using namespace trainyard;

namespace {

struct Options {
    QString file;
    QString sample;
    QString store;
};

Options parseOptions(const QApplication& application) {
    QCommandLineParser parser;
    parser.setApplicationDescription(
        QApplication::translate("main", "The Trainyard studio: compose, train, watch, compare."));
    parser.addHelpOption();
    parser.addVersionOption();
    const QCommandLineOption sample(QStringLiteral("sample"),
                                    QApplication::translate("main", "Open a sample."),
                                    QStringLiteral("NAME"));
    const QCommandLineOption store(QStringLiteral("store"),
                                   QApplication::translate("main", "Keep runs in this folder."),
                                   QStringLiteral("DIR"));
    parser.addOption(sample);
    parser.addOption(store);
    parser.addPositionalArgument(QStringLiteral("FILE"),
                                 QApplication::translate("main", "An experiment to open."),
                                 QStringLiteral("[FILE]"));
    parser.process(application);
    const QString environment = qEnvironmentVariable("TRAINYARD_STORE");
    Options options;
    options.sample = parser.value(sample);
    options.store = parser.isSet(store)      ? parser.value(store)
                    : !environment.isEmpty() ? environment
                                             : app::defaultStoreFolder();
    options.store = QFileInfo(options.store).absoluteFilePath();
    if (!parser.positionalArguments().isEmpty())
        options.file = parser.positionalArguments().constFirst();
    return options;
}

/// What keeps the studio from starting at all.
int refuse(const QString& title, const Error& error) {
    const QString sentence = app::sentenceText(error);
    std::fprintf(stderr, "trainyard-studio: %s %s\n", qPrintable(title), qPrintable(sentence));
    QMessageBox box(QMessageBox::Critical, QStringLiteral("Trainyard"), title);
    box.setInformativeText(sentence);
    box.exec();
    return 1;
}

void openFirst(ui::MainWindow& window, app::ExperimentDocument& document,
               const app::Settings& settings, const Options& options) {
    if (!options.file.isEmpty()) {
        window.openFile(QFileInfo(options.file).absoluteFilePath());
        return;
    }
    if (!options.sample.isEmpty() && window.openSample(options.sample))
        return;
    const QString last = settings.get(app::settings::kLastExperiment);
    if (!last.isEmpty() && QFileInfo::exists(last))
        (void)document.open(last); // it was only a convenience
}

} // namespace

int main(int argc, char** argv) {
    QApplication application(argc, argv);
    QApplication::setApplicationName(QStringLiteral("trainyard-studio"));
    QApplication::setApplicationDisplayName(QStringLiteral("Trainyard"));
    QApplication::setApplicationVersion(QStringLiteral(TRAINYARD_VERSION));
    const Options options = parseOptions(application);

    app::Settings settings;
    ui::Theme theme(application,
                    static_cast<ui::Theme::Setting>(settings.get(app::settings::kTheme)));
    const Result<QString> worker = app::findWorker();
    if (!worker)
        return refuse(QApplication::translate("main", "The worker was not found."), worker.error());
    auto store = app::RunStore::open(options.store);
    if (!store)
        return refuse(QApplication::translate("main", "The run store cannot be opened."),
                      store.error());
    (*store)->watch(std::chrono::milliseconds(1000));

    const app::LocalLauncher launcher(*worker, options.store);
    app::RunController::Options following;
    following.desktopIsHere = true;
    app::RunFollower follower(**store, launcher, following);
    follower.followAll();
    app::RunListModel runs(**store);
    app::ExperimentDocument document;
    app::DataInspector inspector(document, launcher);
    app::DeviceModel devices(launcher);
    ui::MainWindow window(theme, {.settings = settings,
                                  .store = **store,
                                  .launcher = launcher,
                                  .follower = follower,
                                  .runs = runs,
                                  .document = document,
                                  .devices = devices,
                                  .workerPath = *worker});
    openFirst(window, document, settings, options);
    window.show();
    devices.probe();
    devices.lookForCalibration();
    return QApplication::exec();
}
