// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/monitor/run_header.h"

#include "app/base/format.h"
#include "app/run/run_quality.h"
#include "ui/run_state.h"
#include "ui/widgets/figure_cell.h"
#include "ui/widgets/format.h"
#include "ui/widgets/progress_strip.h"

#include <QDateTime>
#include <QHBoxLayout>
#include <QVBoxLayout>

namespace trainyard::ui {

RunHeader::RunHeader(const Theme& theme, QWidget* parent)
    : QWidget(parent), m_step(new FigureCell(theme, tr("Step"))),
      m_loss(new FigureCell(theme, tr("Loss"))), m_speed(new FigureCell(theme, tr("Speed"))),
      m_elapsed(new FigureCell(theme, tr("Elapsed"))), m_left(new FigureCell(theme, tr("Left"))),
      m_devices(new FigureCell(theme, tr("Devices"))), m_strip(new ProgressStrip(theme)) {
    auto* cells = new QHBoxLayout;
    cells->setContentsMargins(0, 0, 0, 0);
    cells->setSpacing(0);
    for (FigureCell* cell : {m_step, m_loss, m_speed, m_elapsed, m_left, m_devices})
        cells->addWidget(cell);
    m_devices->setSeparator(false);
    cells->addStretch(1);
    m_step->setObjectName(QStringLiteral("stepFigure"));
    m_loss->setObjectName(QStringLiteral("lossFigure"));
    m_strip->setObjectName(QStringLiteral("progressStrip"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addLayout(cells);
    layout->addWidget(m_strip);
    clear();
}

void RunHeader::clear() {
    for (FigureCell* cell : {m_step, m_loss, m_speed, m_elapsed, m_left, m_devices}) {
        cell->setFigure({});
        cell->setDetail({});
    }
    m_strip->setFraction(-1);
}

void RunHeader::setFigures(const RunFigures& figures) {
    const app::RunProgress& progress = figures.progress;
    const bool over = app::isFinal(figures.record.status);
    m_step->setFigure(formatCount(progress.step), progress.steps > 0
                                                      ? tr("of %1").arg(formatCount(progress.steps))
                                                      : QString());
    const double fraction = progress.steps > 0 ? static_cast<double>(progress.step) /
                                                     static_cast<double>(progress.steps)
                                               : -1;
    m_step->setDetail(progress.steps > 0
                          ? tr("epoch %1, %2 % done")
                                .arg(formatFixed(progress.epoch, 2), formatFixed(fraction * 100, 0))
                          : tr("waits for the first step"));
    m_loss->setFigure(progress.trainLoss ? formatSignificant(*progress.trainLoss, 4) : QString());
    QString validation = tr("not validated yet");
    if (progress.validationLoss)
        validation = tr("validation %1").arg(formatSignificant(*progress.validationLoss, 4));
    if (const auto quality = app::qualityOf(progress.validated)) {
        const QString metric = QString::fromStdString(quality->first);
        validation = tr("%1, %2 %3")
                         .arg(validation, app::metricText(metric),
                              app::metricValueText(metric, quality->second));
    }
    m_loss->setDetail(validation);
    setSpeed(figures);
    setTimes(figures);
    m_devices->setFigure(formatCount(figures.record.worldSize),
                         QStringLiteral("× ") + figures.device);
    m_devices->setDetail(figures.record.host);
    m_devices->setTags(meshTagsOf(figures.mesh));
    m_strip->setFraction(fraction);
    m_strip->setSegments(static_cast<double>(progress.epochs));
    m_strip->setState(over ? stateOf(figures.record.status) : State::Running);
}

void RunHeader::setSpeed(const RunFigures& figures) {
    const app::RunProgress& progress = figures.progress;
    if (!progress.samplesPerSecond) {
        m_speed->setFigure({});
        m_speed->setDetail({});
        return;
    }
    m_speed->setFigure(formatCount(static_cast<qint64>(*progress.samplesPerSecond)),
                       tr("samples/s"));
    if (progress.trainSamples == 0 || progress.stepsPerEpoch == 0)
        return;
    const double batch =
        static_cast<double>(progress.trainSamples) / static_cast<double>(progress.stepsPerEpoch);
    m_speed->setDetail(tr("step %1").arg(app::formatDuration(batch / *progress.samplesPerSecond)));
}

void RunHeader::setTimes(const RunFigures& figures) {
    const app::RunRecord& record = figures.record;
    const bool over = app::isFinal(record.status);
    m_elapsed->setFigure(formatClock(record.seconds));
    m_elapsed->setDetail(record.startedUtcUs
                             ? tr("since %1").arg(app::formatTimeOfDay(*record.startedUtcUs))
                             : QString());
    if (over) {
        m_left->setFigure(QStringLiteral("–"));
        m_left->setDetail(record.endedUtcUs
                              ? tr("ended %1").arg(app::formatDateTime(*record.endedUtcUs))
                              : QString());
        return;
    }
    const auto& left = figures.progress.secondsLeft;
    m_left->setFigure(left ? formatDuration(*left) : QString());
    m_left->setDetail(
        left ? tr("until %1, with validation")
                   .arg(app::formatTimeOfDay(QDateTime::currentMSecsSinceEpoch() * 1000 +
                                             static_cast<qint64>(*left * 1e6)))
             : tr("not known yet"));
}

} // namespace trainyard::ui

#include "moc_run_header.cpp"
