// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/cluster/host_details.h"

#include "app/models/message_text.h"
#include "ui/theme/theme.h"
#include "ui/widgets/format.h"
#include "ui/widgets/separator.h"
#include "ui/widgets/text_label.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

namespace trainyard::ui {

using Probe = app::DeviceModel::State;

namespace {

constexpr int kMostWidth = 480;

QString orNotAvailable(const QString& text) {
    return text.isEmpty() ? notAvailable() : text;
}

QString bytesText(const std::optional<std::int64_t>& bytes) {
    return bytes ? formatBytes(static_cast<double>(*bytes)) : notAvailable();
}

QString coresText(const app::MachineProbe& probe) {
    if (probe.quotaCores)
        return HostDetails::tr("%1, limited to %2")
            .arg(formatCount(probe.onlineCores.value_or(probe.cores)),
                 formatSignificant(*probe.quotaCores, 2));
    if (probe.onlineCores && *probe.onlineCores != probe.cores)
        return HostDetails::tr("%1 of %2")
            .arg(formatCount(probe.cores), formatCount(*probe.onlineCores));
    return formatCount(probe.cores);
}

} // namespace

HostDetails::HostDetails(const Theme& theme, app::DeviceModel& devices, const QString& workerPath,
                         QWidget* parent)
    : QWidget(parent), m_theme(theme), m_devices(devices), m_workerPath(workerPath) {
    setMaximumWidth(theme.px(kMostWidth)); // values stay near their labels
    auto* column = new QVBoxLayout(this);
    const int side = theme.px(space::kL);
    column->setContentsMargins(side, theme.px(space::kM), side, side);
    column->setSpacing(theme.px(space::kS));
    auto* title = new TextLabel(theme, TypeStyle::Title, Color::Text, this);
    title->setText(tr("This computer"));
    column->addWidget(title);
    for (const QString& label :
         {tr("Host"), tr("System"), tr("Kernel"), tr("Processor"), tr("Cores"),
          tr("Instruction sets"), tr("Memory"), tr("Memory free"), tr("Disk free"),
          tr("Runs are kept in"), tr("Worker"), tr("Worker version"), tr("Probed")})
        if (label != tr("Worker") || !workerPath.isEmpty())
            addRow(column, label);
    m_warning = makeParagraph(theme, TypeStyle::Body, QStringLiteral("warning"), {}, this);
    column->addWidget(m_warning);
    addRuns(column);
    addError(column);
    column->addStretch(1);
    connect(&devices, &app::DeviceModel::stateChanged, this, &HostDetails::refresh);
    refresh();
}

void HostDetails::addRow(QVBoxLayout* column, const QString& label) {
    auto* row = new QHBoxLayout;
    row->setSpacing(m_theme.px(space::kL));
    auto* name = new TextLabel(m_theme, TypeStyle::Body, Color::Text2, this);
    name->setText(label);
    name->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
    auto* value = new TextLabel(m_theme, TypeStyle::Body, Color::Text, this);
    value->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    value->setElideMode(Qt::ElideMiddle);
    row->addWidget(name);
    row->addWidget(value, 1);
    column->addLayout(row);
    m_rows.push_back({label, value});
}

void HostDetails::addRuns(QVBoxLayout* column) {
    column->addSpacing(m_theme.px(space::kS));
    column->addWidget(new Separator(m_theme, Qt::Horizontal, this));
    column->addSpacing(m_theme.px(space::kXs));
    column->addWidget(makeHeading(m_theme, tr("Active runs")));
    m_runs = makeParagraph(m_theme, TypeStyle::Body, QStringLiteral("text2"), {}, this);
    column->addWidget(m_runs);
}

void HostDetails::addError(QVBoxLayout* column) {
    m_errorPart = new QWidget(this);
    auto* part = new QVBoxLayout(m_errorPart);
    part->setContentsMargins(0, m_theme.px(space::kS), 0, 0);
    part->setSpacing(m_theme.px(space::kS));
    part->addWidget(new Separator(m_theme, Qt::Horizontal, m_errorPart));
    part->addWidget(makeHeading(m_theme, tr("Last error")));
    m_error = makeParagraph(m_theme, TypeStyle::Body, QStringLiteral("failed"), {}, m_errorPart);
    m_error->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    part->addWidget(m_error);
    column->addWidget(m_errorPart);
}

void HostDetails::set(const QString& label, const QString& value) {
    const bool old = m_devices.state() == Probe::Failed || m_devices.state() == Probe::Unknown;
    for (const Row& row : m_rows)
        if (row.label == label) {
            row.value->setText(value);
            row.value->setColor(old || value == notAvailable() ? Color::Text3 : Color::Text);
            row.value->setAccessibleName(label + u": " + value);
        }
}

void HostDetails::refresh() {
    const app::MachineProbe* facts = m_devices.facts();
    const app::MachineProbe none;
    const app::MachineProbe& probe = facts ? *facts : none;
    set(tr("Host"), orNotAvailable(probe.host));
    set(tr("System"), orNotAvailable(probe.os));
    set(tr("Kernel"),
        orNotAvailable(probe.kernel.isEmpty() ? QString()
                                              : probe.kernel + u", " + probe.architecture));
    set(tr("Processor"), orNotAvailable(probe.cpuModel));
    set(tr("Cores"), facts ? coresText(probe) : notAvailable());
    set(tr("Instruction sets"), orNotAvailable(app::instructionSetsText(probe)));
    set(tr("Memory"), bytesText(probe.memoryTotal));
    set(tr("Memory free"), bytesText(probe.memoryAvailable));
    set(tr("Disk free"), bytesText(probe.folderFree));
    set(tr("Runs are kept in"), orNotAvailable(probe.folder));
    set(tr("Worker"), orNotAvailable(m_workerPath));
    set(tr("Worker version"), orNotAvailable(probe.engineVersion));
    set(tr("Probed"),
        facts ? QLocale().toString(m_devices.factsTime().toLocalTime(), QLocale::ShortFormat)
              : notAvailable());
    m_warning->setVisible(facts && !probe.folderWritable);
    m_warning->setText(
        tr("The folder where runs are kept cannot be written, so no run can start here."));
    showRuns(facts);
    m_errorPart->setVisible(m_devices.error().has_value());
    m_error->setText(lastError());
}

void HostDetails::showRuns(const app::MachineProbe* facts) {
    if (!facts)
        return m_runs->setText(notAvailable());
    QStringList lines;
    for (const app::ProbedRun& run : facts->runs)
        lines << tr("%1, process %2").arg(run.run, QString::number(run.pid));
    m_runs->setText(lines.isEmpty() ? tr("None.") : lines.join(u'\n'));
}

QString HostDetails::value(const QString& label) const {
    for (const Row& row : m_rows)
        if (row.label == label)
            return row.value->text();
    return {};
}

QString HostDetails::lastError() const {
    if (!m_devices.error())
        return {};
    return tr("%1: %2").arg(
        QLocale().toString(m_devices.errorTime().toLocalTime().time(), QLocale::ShortFormat),
        app::sentenceText(*m_devices.error()));
}

} // namespace trainyard::ui

#include "moc_host_details.cpp"
