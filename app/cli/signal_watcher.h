// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Signals of the operating system as signals of Qt.
// Rule: one at a time in a program, for a signal has one handler.
#pragma once

#include <QObject>
#include <QSocketNotifier>

#include <initializer_list>

namespace trainyard::app {

class SignalWatcher : public QObject {
    Q_OBJECT
public:
    explicit SignalWatcher(std::initializer_list<int> signals_, QObject* parent = nullptr);

signals:
    void arrived(int signal);

private:
    void readSignals();
    QSocketNotifier* m_notifier = nullptr;
};

} // namespace trainyard::app
