// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/models/device_model.h"

#include "app/base/format.h"

namespace trainyard::app {

namespace {

/// Numbers stand at the right.
QVariant alignmentOf(int column) {
    return column >= DeviceModel::CoresColumn ? QVariant(Qt::AlignRight | Qt::AlignVCenter)
                                              : QVariant(Qt::AlignLeft | Qt::AlignVCenter);
}

} // namespace

DeviceModel::DeviceModel(const LocalLauncher& launcher, QObject* parent,
                         std::function<QDateTime()> clock)
    : QAbstractTableModel(parent), m_launcher(launcher), m_clock(std::move(clock)) {}

void DeviceModel::probe() {
    if (m_state == State::Probing)
        return;
    m_state = State::Probing;
    emit stateChanged();
    m_launcher.probe(this, [this](const Result<QJsonObject>& answer) { take(answer); });
}

void DeviceModel::take(const Result<QJsonObject>& answer) {
    if (answer.ok()) {
        beginResetModel();
        m_facts = probeFromJson(*answer);
        m_factsTime = m_clock();
        m_error.reset();
        m_state = State::Ready;
        endResetModel();
    } else {
        m_error = answer.error();
        m_errorTime = m_clock();
        m_state = State::Failed;
    }
    emit stateChanged();
}

void DeviceModel::lookForCalibration() {
    if (m_calibrationState != CalibrationState::Measuring)
        ask(LocalLauncher::Calibrate::Kept, CalibrationState::Absent);
}

void DeviceModel::calibrate() {
    if (m_calibrationState == CalibrationState::Measuring)
        return;
    m_calibrationState = CalibrationState::Measuring;
    emit calibrationChanged();
    ask(LocalLauncher::Calibrate::Anew, CalibrationState::Failed);
}

/// An answer to the question before a measurement does not end the measurement.
void DeviceModel::ask(LocalLauncher::Calibrate how, CalibrationState whenFailed) {
    const bool measures = how == LocalLauncher::Calibrate::Anew;
    m_launcher.calibrate(
        how, this, [this, measures, whenFailed](const Result<plan::Calibration>& answer) {
            if (!measures && m_calibrationState == CalibrationState::Measuring)
                return;
            m_calibrationError.reset();
            if (answer.ok())
                m_calibration = *answer;
            else if (measures)
                m_calibrationError = answer.error();
            m_calibrationState = answer.ok() ? CalibrationState::Ready : whenFailed;
            emit calibrationChanged();
        });
}

Result<plan::Price> DeviceModel::priceOf(const spec::Experiment& experiment,
                                         const plan::Plan& plan) const {
    if (!m_calibration)
        return Error({"This computer has not been measured yet."});
    const int threads = threadsPerRank(m_calibration->key.cores, plan.worldSize, true);
    // One rank needs pictures laid out as the plan has them; bf16 runs there where it runs here.
    const plan::MachineFacts machine{.blockedPictures = plan.type != DType::Fp64,
                                     .bf16 = m_calibration->knows("bf16")};
    return plan::priceOf(experiment, plan, machine, *m_calibration, threads);
}

int DeviceModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() || !m_facts ? 0 : static_cast<int>(m_facts->devices.size());
}

int DeviceModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : kColumns;
}

QVariant DeviceModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid))
        return {};
    const ProbedDevice& device = m_facts->devices[static_cast<std::size_t>(index.row())];
    switch (role) {
    case Qt::DisplayRole:
        return textOf(device, index.column());
    case Qt::TextAlignmentRole:
        return alignmentOf(index.column());
    case KindRole:
        return device.kind;
    case IdRole:
        return QString(kLocalHost + u'/' + device.id);
    case NumberRole:
        return number(device, index.column());
    default:
        return {};
    }
}

QVariant DeviceModel::number(const ProbedDevice& device, int column) const {
    if (column == CoresColumn && device.cores > 0)
        return device.cores;
    // Processors work in the memory of the machine.
    if (column == MemoryColumn && device.kind == QLatin1StringView("cpu") && m_facts->memoryTotal)
        return static_cast<qlonglong>(*m_facts->memoryTotal);
    return {};
}

QString DeviceModel::textOf(const ProbedDevice& device, int column) const {
    const QVariant value = number(device, column);
    switch (column) {
    case DeviceColumn:
        return device.kind.toUpper() + u' ' + device.id.section(u':', -1);
    case NameColumn:
        return device.name;
    case CoresColumn:
        return value.isValid() ? formatCount(value.toInt()) : unknownText();
    case MemoryColumn:
        return value.isValid() ? formatBytes(value.toDouble()) : unknownText();
    default:
        return {};
    }
}

QVariant DeviceModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation == Qt::Horizontal && role == Qt::TextAlignmentRole)
        return alignmentOf(section);
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole)
        return {};
    switch (section) {
    case DeviceColumn:
        return tr("Device");
    case NameColumn:
        return tr("Name");
    case CoresColumn:
        return tr("Cores");
    case MemoryColumn:
        return tr("Memory");
    default:
        return {};
    }
}

} // namespace trainyard::app

#include "moc_device_model.cpp"
