// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/cli/signal_watcher.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

namespace trainyard::app {

namespace {

/// A handler may do no more than write; the pipe carries the number to the event loop.
int writeEnd = -1;

void onSignal(int signal) {
    const int saved = errno;
    const auto number = static_cast<unsigned char>(signal);
    (void)!::write(writeEnd, &number, 1);
    errno = saved;
}

} // namespace

SignalWatcher::SignalWatcher(std::initializer_list<int> signals_, QObject* parent)
    : QObject(parent) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0)
        return; // signals then do what they do by default
    writeEnd = ends[1];
    m_notifier = new QSocketNotifier(ends[0], QSocketNotifier::Read, this);
    connect(m_notifier, &QSocketNotifier::activated, this, &SignalWatcher::readSignals);
    for (const int signal : signals_) {
        struct sigaction action = {};
        action.sa_handler = onSignal;
        action.sa_flags = SA_RESTART;
        ::sigaction(signal, &action, nullptr);
    }
}

void SignalWatcher::readSignals() {
    unsigned char number = 0;
    while (::read(static_cast<int>(m_notifier->socket()), &number, 1) == 1)
        emit arrived(number);
}

} // namespace trainyard::app

#include "moc_signal_watcher.cpp"
