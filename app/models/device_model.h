// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// This machine as its worker sees it: the facts of the last probe and its devices as rows. After a
// probe that fails the old facts stay, with their time, and are no longer current. Likewise how
// fast it is, once it was measured.
#pragma once

#include "app/models/machine_probe.h"
#include "app/run/local_launcher.h"
#include "engine/program/price.h"

#include <QAbstractTableModel>
#include <QDateTime>

#include <functional>

namespace trainyard::app {

/// Median error of predicted step times over the plans of `trainyard-bench price`, on a computer
/// that does nothing else, rounded up: tests/bench/README.md.
inline constexpr int kPriceErrorPercent = 10;

class DeviceModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum class State { Unknown, Probing, Ready, Failed };
    enum class CalibrationState {
        Unknown,   ///< not asked yet
        Absent,    ///< never measured, or by another version
        Measuring, ///< takes some seconds and all cores
        Ready,
        Failed
    };
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

    /// Asks for what was measured earlier; measures nothing.
    void lookForCalibration();
    /// Measures; does nothing while it does so already.
    void calibrate();
    CalibrationState calibrationState() const { return m_calibrationState; }
    /// Of the last measurement; null while there has been none.
    const plan::Calibration* calibration() const {
        return m_calibration ? &*m_calibration : nullptr;
    }
    /// Why the last measurement failed.
    const std::optional<Error>& calibrationError() const { return m_calibrationError; }
    /// How long a step of the plan takes here, with the threads that a run of the studio gets; an
    /// error where that cannot be said.
    Result<plan::Price> priceOf(const spec::Experiment& experiment, const plan::Plan& plan) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation,
                        int role = Qt::DisplayRole) const override;

signals:
    void stateChanged();
    void calibrationChanged();

private:
    void take(const Result<QJsonObject>& answer);
    void ask(LocalLauncher::Calibrate how, CalibrationState whenFailed);
    QVariant number(const ProbedDevice& device, int column) const;
    QString textOf(const ProbedDevice& device, int column) const;

    const LocalLauncher& m_launcher;
    std::function<QDateTime()> m_clock;
    State m_state = State::Unknown;
    std::optional<MachineProbe> m_facts;
    QDateTime m_factsTime;
    std::optional<Error> m_error;
    QDateTime m_errorTime;
    CalibrationState m_calibrationState = CalibrationState::Unknown;
    std::optional<plan::Calibration> m_calibration;
    std::optional<Error> m_calibrationError;
};

} // namespace trainyard::app
