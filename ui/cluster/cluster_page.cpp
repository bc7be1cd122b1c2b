// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/cluster/cluster_page.h"

#include "app/models/message_text.h"
#include "ui/cluster/device_table.h"
#include "ui/cluster/host_details.h"
#include "ui/cluster/host_table.h"
#include "ui/compose/scroll_panel.h"
#include "ui/theme/theme.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/button.h"
#include "ui/widgets/empty_state.h"
#include "ui/widgets/format.h"
#include "ui/widgets/separator.h"
#include "ui/widgets/text_label.h"

#include <QAction>
#include <QHBoxLayout>
#include <QPushButton>
#include <QResizeEvent>
#include <QStackedWidget>
#include <QStyle>
#include <QVBoxLayout>

namespace trainyard::ui {

using Probe = app::DeviceModel::State;

namespace {

constexpr int kDetailsWidth = 324;
constexpr int kBarHeight = 36;
constexpr int kDetailsBeside = 1124;

} // namespace

ClusterPage::ClusterPage(const Theme& theme, app::DeviceModel& devices, const QString& workerPath,
                         QWidget* parent)
    : QWidget(parent), m_theme(theme), m_devices(devices),
      m_probe(new QAction(tr("Probe again"), this)) {
    m_probe->setShortcut(Qt::Key_F5);
    m_probe->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    addAction(m_probe);
    connect(m_probe, &QAction::triggered, &devices, &app::DeviceModel::probe);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(makeHeader());
    m_banner = new Banner(theme, Banner::Kind::Error, this);
    layout->addWidget(m_banner);
    m_stack = new QStackedWidget(this);
    m_empty = new EmptyState(theme, QStringLiteral("host"), m_stack);
    m_stack->addWidget(m_empty);
    m_stack->addWidget(makeContent(workerPath));
    layout->addWidget(m_stack, 1);
    connect(&devices, &app::DeviceModel::stateChanged, this, &ClusterPage::refresh);
    refresh();
}

QWidget* ClusterPage::makeHeader() {
    auto* header = new QFrame(this);
    header->setProperty("region", QStringLiteral("pageHeader"));
    header->setFixedHeight(m_theme.px(height::kPageHeader));
    auto* row = new QHBoxLayout(header);
    row->setContentsMargins(m_theme.px(space::kL), 0, m_theme.px(space::kL), 0);
    row->setSpacing(m_theme.px(space::kL));
    auto* title = new TextLabel(m_theme, TypeStyle::Title, Color::Text, header);
    title->setText(tr("Cluster"));
    title->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
    m_summary = new TextLabel(m_theme, TypeStyle::Small, Color::Text3, header);
    m_probeButton =
        makeButton(m_theme, ButtonKind::Normal, m_probe->text(), QStringLiteral("refresh"), header);
    m_probeButton->setToolTip(tr("Look at this computer again (F5)"));
    connect(m_probeButton, &QPushButton::clicked, m_probe, &QAction::trigger);
    row->addWidget(title);
    row->addWidget(m_summary, 1);
    row->addWidget(m_probeButton);
    return header;
}

QWidget* ClusterPage::makeContent(const QString& workerPath) {
    auto* content = new QWidget(m_stack);
    m_columns = new QHBoxLayout(content);
    m_columns->setContentsMargins(0, 0, 0, 0);
    m_columns->setSpacing(0);
    auto* tables = new QVBoxLayout;
    tables->setSpacing(0);
    m_hosts = new HostTable(m_theme, m_devices, content);
    auto* bar = new QFrame(content);
    bar->setProperty("region", QStringLiteral("pageHeader"));
    bar->setFixedHeight(m_theme.px(kBarHeight));
    auto* barRow = new QHBoxLayout(bar);
    barRow->setContentsMargins(m_theme.px(space::kL), 0, m_theme.px(space::kL), 0);
    auto* title = new TextLabel(m_theme, TypeStyle::Strong, Color::Text, bar);
    title->setText(tr("Devices"));
    barRow->addWidget(title);
    m_table = new DeviceTable(m_theme, m_devices, content);
    tables->addWidget(m_hosts);
    tables->addWidget(bar);
    tables->addWidget(m_table, 1);
    m_columns->addLayout(tables, 1);
    m_panel = new QFrame(content);
    m_panel->setProperty("region", QStringLiteral("panelRight"));
    auto* inside = new QVBoxLayout(m_panel);
    inside->setContentsMargins(1, 1, 0, 0);
    auto* scroll = new ScrollPanel(m_panel);
    m_details = new HostDetails(m_theme, m_devices, workerPath);
    scroll->setContent(m_details);
    inside->addWidget(scroll);
    m_columns->addWidget(m_panel);
    return content;
}

void ClusterPage::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    // In a narrow window the details stand at the foot.
    const bool narrow = event->size().width() < m_theme.px(kDetailsBeside);
    m_columns->setDirection(narrow ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
    m_panel->setProperty("region", narrow ? QStringLiteral("strip") : QStringLiteral("panelRight"));
    m_panel->style()->unpolish(m_panel);
    m_panel->style()->polish(m_panel);
    m_panel->setMinimumWidth(narrow ? 0 : m_theme.px(kDetailsWidth));
    m_panel->setMaximumWidth(narrow ? QWIDGETSIZE_MAX : m_theme.px(kDetailsWidth));
    m_panel->setMinimumHeight(narrow ? height() * 2 / 5 : 0);
    m_panel->setMaximumHeight(narrow ? height() * 2 / 5 : QWIDGETSIZE_MAX);
}

QTableView* ClusterPage::deviceTable() const {
    return m_table;
}

bool ClusterPage::isEmpty() const {
    return m_stack->currentWidget() == m_empty;
}

QString ClusterPage::summary() const {
    if (!m_devices.facts())
        return {};
    const int devices = m_devices.rowCount();
    const QString known = devices == 1 ? tr("one device") : tr("%n devices", nullptr, devices);
    return m_devices.facts()->runs.empty() ? tr("this computer: %1, free").arg(known)
                                           : tr("this computer: %1, in use").arg(known);
}

void ClusterPage::refresh() {
    const bool probing = m_devices.state() == Probe::Probing;
    m_probe->setEnabled(!probing);
    m_probeButton->setEnabled(!probing);
    m_probeButton->setText(probing ? tr("Probing…") : m_probe->text());
    m_summary->setText(summary());
    const bool failed = m_devices.state() == Probe::Failed;
    const bool known = m_devices.facts() != nullptr;
    m_banner->setVisible(failed && known);
    if (failed && known)
        m_banner->setMessage(tr("This computer did not answer."),
                             app::sentenceText(*m_devices.error()) + u' ' +
                                 tr("What is shown was found at %1.")
                                     .arg(QLocale().toString(m_devices.factsTime().toLocalTime(),
                                                             QLocale::ShortFormat)));
    m_stack->setCurrentIndex(known ? 1 : 0);
    if (known)
        return;
    if (failed)
        m_empty->setMessage(tr("This computer could not be looked at"),
                            app::sentenceText(*m_devices.error()), EmptyState::Kind::Failed);
    else
        m_empty->setMessage(tr("Looking at this computer"),
                            tr("Processor, memory and what runs on it."));
}

} // namespace trainyard::ui

#include "moc_cluster_page.cpp"
