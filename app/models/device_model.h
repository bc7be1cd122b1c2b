// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// This machine as its worker sees it: the facts of the last probe and its devices as rows. After a
// probe that fails the old facts stay, with their time, and are no longer current.
#pragma once

#include "app/models/machine_probe.h"
#include "app/run/local_launcher.h"

#include <QAbstractTableModel>
#include <QDateTime>

#include <functional>

namespace trainyard::app {

class DeviceModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum class State { Unknown, Probing, Ready, Failed };
    enum Column { DeviceColumn, NameColumn, CoresColumn, MemoryColumn };
    static constexpr int kColumns = 4;
    enum Role {
        KindRole = Qt::UserRole, ///< "cpu"
        IdRole,                  ///< as experiments name it: "local/cpu:0"
        NumberRole               ///< cores or bytes, for drawing and sorting; invalid where unknown
    };

    /// `clock` tells the time; tests have their own.
    explicit DeviceModel(const LocalLauncher& launcher, QObject* parent = nullptr,
                         std::function<QDateTime()> clock = &QDateTime::currentDateTimeUtc);

    /// Asks the worker; does nothing while an answer is awaited.
    void probe();

    State state() const { return m_state; }
    /// Of the last probe that succeeded; null while there has been none.
    const MachineProbe* facts() const { return m_facts ? &*m_facts : nullptr; }
    QDateTime factsTime() const { return m_factsTime; }
    /// Why the last probe failed.
    const std::optional<Error>& error() const { return m_error; }
    QDateTime errorTime() const { return m_errorTime; }
    /// Cores that a run here may use; 1 while not known.
    int cores() const { return m_facts ? m_facts->cores : 1; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation,
                        int role = Qt::DisplayRole) const override;

signals:
    void stateChanged();

private:
    void take(const Result<QJsonObject>& answer);
    QVariant number(const ProbedDevice& device, int column) const;
    QString textOf(const ProbedDevice& device, int column) const;

    const LocalLauncher& m_launcher;
    std::function<QDateTime()> m_clock;
    State m_state = State::Unknown;
    std::optional<MachineProbe> m_facts;
    QDateTime m_factsTime;
    std::optional<Error> m_error;
    QDateTime m_errorTime;
};

} // namespace trainyard::app
