// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// trainyard: the command line. Everything it can do is in commandTable() (command.cpp).
#include "app/cli/command.h"
#include "app/cli/signal_watcher.h"

#include <QCoreApplication>
#include <QLocale>
#include <QTimer>

#include <csignal>

using namespace trainyard::app;

int main(int argc, char** argv) {
    // The command line speaks one language, with a decimal point, and takes and writes UTF-8.
    // Settled here once, because Qt adopts the user's locale, and with it a decimal comma, for the
    // whole process.
    qputenv("LC_ALL", "C.UTF-8");
    QLocale::setDefault(QLocale::c());
    std::signal(SIGPIPE, SIG_IGN);
    QCoreApplication application(argc, argv);
    QCoreApplication::setApplicationVersion(QStringLiteral(TRAINYARD_VERSION));

    Console console;
    const QStringList words = QCoreApplication::arguments().mid(1);
    if (words.isEmpty()) {
        for (const QString& line : generalHelp().trimmed().split(u'\n'))
            console.printError(line);
        return kExitInvalid;
    }
    trainyard::Result<std::unique_ptr<Command>> command = makeCommand(words, console);
    if (!command.ok()) {
        console.printError(QString::fromStdString(command.error().sentence()));
        return kExitInvalid;
    }
    SignalWatcher watcher({SIGINT, SIGTERM, SIGHUP});
    QObject::connect(&watcher, &SignalWatcher::arrived, command->get(), &Command::interrupt);
    QObject::connect(command->get(), &Command::finished, &application,
                     [](int exitCode) { QCoreApplication::exit(exitCode); });
    QTimer::singleShot(0, command->get(), [&command] { (*command)->start(); });
    return QCoreApplication::exec();
}
