// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/cli/check_command.h"

#include "app/base/format.h"
#include "app/cli/experiment_file.h"
#include "app/cli/table.h"
#include "app/cli/workspace.h"
#include "app/run/worker_location.h"
#include "engine/base/number_text.h"
#include "engine/base/tensor_type.h"
#include "engine/plan/bucket_size.h"

namespace trainyard::app {

namespace {

QString number(std::int64_t value) {
    return QString::fromStdString(grouped(value));
}

QString bytes(std::size_t value) {
    return formatBytes(static_cast<double>(value), QLocale::c());
}

QString flops(double value) {
    return formatShortCount(value, QLocale::c());
}

} // namespace

CommandInfo CheckCommand::checkInfo() {
    return {
        QStringLiteral("check"),
        {QStringLiteral("FILE")},
        {setOption()},
        QStringLiteral("Say whether an experiment can run, or everything that is wrong with it."),
        QStringLiteral("Opens the data, too. One problem a line, exit code 2.")};
}

CommandInfo CheckCommand::planInfo() {
    return {
        QStringLiteral("plan"),
        {QStringLiteral("FILE")},
        {setOption(),
         {QStringLiteral("--json"), {}, QStringLiteral("the plan for programs")},
         {QStringLiteral("--no-calibration"),
          {},
          QStringLiteral("predict no times where this computer was not measured yet")},
         {QStringLiteral("--refresh-calibration"),
          {},
          QStringLiteral("measure this computer again")}},
        QStringLiteral(
            "Show what each rank will compute, hold in memory and send, and how long it takes."),
        QStringLiteral(
            "Times follow from a measurement of this computer, which is made once and takes "
            "seconds.")};
}

void CheckCommand::start() {
    const spec::ParsedExperiment parsed = loadExperiment(m_arguments);
    if (!parsed.problems.empty())
        return failInvalid(parsed.problems);
    m_experiment = parsed.experiment;
    const Result<QString> worker = findWorker();
    if (!worker.ok())
        return fail(worker.error());
    m_launcher = std::make_unique<LocalLauncher>(*worker, storeFolderOf(m_arguments));
    checkExperiment(*m_launcher, parsed.experiment, this,
                    [this](const Result<CheckedExperiment>& checked) { onChecked(checked); });
}

void CheckCommand::onChecked(const Result<CheckedExperiment>& checked) {
    if (!checked.ok())
        return fail(checked.error());
    if (!checked->problems.empty())
        return failInvalid(checked->problems);
    if (m_tell == Tell::Verdict) {
        console().print(verdictText(checked->plan));
        emit finished(kExitOk);
        return;
    }
    m_checked = *checked;
    priceThePlan();
}

void CheckCommand::priceThePlan() {
    console().setOutputIsForPrograms(m_tell == Tell::PlanAsJson);
    if (m_arguments.has(QStringLiteral("--refresh-calibration")))
        return measure();
    using Calibrate = LocalLauncher::Calibrate;
    m_launcher->calibrate(
        Calibrate::Kept, this, [this](const Result<plan::Calibration>& calibration) {
            if (!calibration.ok() && !m_arguments.has(QStringLiteral("--no-calibration")))
                measure();
            else
                onCalibrated(calibration);
        });
}

void CheckCommand::measure() {
    console().printError(
        QStringLiteral("Measuring this computer for predicted times: some seconds, once."));
    m_launcher->calibrate(
        LocalLauncher::Calibrate::Anew, this,
        [this](const Result<plan::Calibration>& calibration) { onCalibrated(calibration); });
}

void CheckCommand::onCalibrated(const Result<plan::Calibration>& calibration) {
    if (!calibration.ok()) {
        m_noPrice = QString::fromStdString(calibration.error().sentence());
        return tellPlan();
    }
    planAgain(*calibration);
    const plan::Plan& plan = m_checked.plan;
    const Result<plan::Price> price =
        plan::priceOf(m_experiment, plan, m_checked.inspection.machine, *calibration,
                      threadsPerRank(m_checked.inspection.cores, plan.worldSize, false));
    if (price.ok())
        m_price = *price;
    else
        m_noPrice = QString::fromStdString(price.error().sentence());
    tellPlan();
}

/// As a run will be planned from now on: the sizes of buckets follow from the calibration.
void CheckCommand::planAgain(const plan::Calibration& calibration) {
    plan::MachineFacts& machine = m_checked.inspection.machine;
    plan::setBucketBytes(machine, calibration);
    plan::PlanOutcome again = plan::makePlan(m_experiment, m_checked.plan.data, machine);
    if (again.problems.empty())
        m_checked.plan = std::move(again.plan);
}

void CheckCommand::tellPlan() {
    const plan::Plan& plan = m_checked.plan;
    if (m_tell == Tell::PlanAsJson)
        console().printRaw(
            QByteArray::fromStdString(plan::toJson(plan, m_price ? &*m_price : nullptr)));
    else
        console().printText(planText(plan, m_experiment.parallel.transport == "gloo") +
                            (m_price ? priceText(plan, *m_price) : QString()));
    if (!m_noPrice.isEmpty())
        console().printError(u"No predicted times: " + m_noPrice);
    emit finished(kExitOk);
}

/// Empty where the rate is used as it is given.
QString rateText(const plan::Plan& plan) {
    if (plan.learningRateFactor == 1)
        return {};
    return u"learning rate is multiplied by " +
           QString::fromStdString(rounded(plan.learningRateFactor, 6)) + u" for a batch of " +
           number(plan.batch);
}

QString verdictText(const plan::Plan& plan) {
    QString samples = number(plan.data.trainSamples) + u" training";
    if (plan.data.validationSamples > 0)
        samples += u" and " + number(plan.data.validationSamples) + u" validation";
    QString text = u"valid: " + number(plan.graph.parameterElements()) + u" parameters, " +
                   samples + u" samples, " + number(plan.steps) + u" steps";
    if (const QString rate = rateText(plan); !rate.isEmpty())
        text += u", " + rate;
    return text;
}

QString shardedText(const plan::Plan& plan) {
    if (plan.shardsParameters)
        return QStringLiteral("values, gradients and optimizer state");
    return plan.shardsGradients ? QStringLiteral("gradients and optimizer state")
                                : QStringLiteral("the optimizer state");
}

/// How the memory in the table came to be less than it could be.
QString memoryText(const plan::Plan& plan) {
    QString text;
    if (plan.microBatches > 1 && plan.mesh.pipeline == 1)
        text += u"\nEach rank computes its rows in " + number(plan.microBatches) +
                u" micro-batches and adds up their gradients.\n";
    if (plan.recompute)
        text += u"\nBlocks are computed again before their backward.\n";
    if (plan.shardsOptimizer)
        text += u"\nEach data parallel rank keeps " + shardedText(plan) +
                u" of its share of the parameters only (ZeRO " + number(plan.zero()) + u").\n";
    return text;
}

QString listed(const std::vector<std::string>& names) {
    QStringList list;
    for (const std::string& name : names)
        list << QString::fromStdString(name);
    return list.join(u", ");
}

/// How the model is cut over the ranks; empty where each has all of it.
QString cutText(const plan::Plan& plan) {
    const plan::Mesh& mesh = plan.mesh;
    QString text;
    if (plan.sections.size() > 1)
        text += u"\nThe ranks are " + number(mesh.data) + u" data parallel x " +
                number(mesh.tensor) + u" tensor parallel x " + number(mesh.pipeline) +
                u" in a pipeline.\n";
    if (mesh.pipeline > 1)
        text += u"Micro-batches a step: " + number(plan.microBatches) + u", through " +
                number(static_cast<std::int64_t>(plan.stages.size())) +
                u" stages by the schedule " + QString::fromUtf8(name(plan.schedule)) +
                u"; each rank waits " +
                QString::fromStdString(rounded(100 * bubbleShare(plan.pipelineShape()), 3)) +
                u" % of a step if stages take equally long.\nStages begin at: " +
                listed(plan.stages) + u".\n";
    if (const std::vector<std::string>& replicated = plan.sectionOf(0).replicated;
        !replicated.empty())
        text += u"Tensor parallel ranks all have these whole, because they cannot be cut: " +
                listed(replicated) + u".\n";
    if (const std::vector<std::string>& shared = plan.sectionOf(0).sharedClasses; !shared.empty())
        text += u"Tensor parallel ranks share the classes that these score, and the loss over "
                u"them: " +
                listed(shared) + u".\n";
    return text;
}

QString placeText(const plan::Coordinate& place) {
    return number(place.data) + u',' + number(place.tensor) + u',' + number(place.pipeline);
}

/// What gradients are on their way.
QString formText(const plan::Plan& plan) {
    if (plan.compression != plan::Compression::PowerSgd)
        return QStringLiteral("in ") + QString::fromUtf8(name(plan.compression));
    return u"as thin matrices (PowerSGD, rank " + number(plan.compressionRank) + u") after " +
           number(plan.compressionWarmup) + u" updates with whole ones";
}

/// What compression saves and what it costs; empty without it.
QString compressionText(const plan::Plan& plan, bool overNetwork) {
    if (plan.compression == plan::Compression::None)
        return {};
    const plan::CompressionSaving saving = plan::compressionSaving(plan);
    QString text = u"\nGradients travel " + formText(plan) + u": " + bytes(saving.sent) +
                   u" a step and rank instead of " + bytes(saving.whole) + u", " +
                   QString::fromStdString(rounded(saving.percent(), 3)) + u" % saved.\n";
    for (const Message& cost : plan::compressionCosts(plan, overNetwork))
        text += QString::fromStdString(cost.text()) + u'\n';
    return text;
}

QString planText(const plan::Plan& plan, bool overNetwork) {
    QString text = number(plan.graph.parameterElements()) + u" parameters in " +
                   QString::fromUtf8(name(plan.type)) + u"; " + number(plan.steps) + u" steps, " +
                   number(plan.stepsPerEpoch) + u" an epoch, of " + number(plan.batch) +
                   u" samples\n\n";
    Table table({{QStringLiteral("rank"), Qt::AlignRight},
                 {QStringLiteral("device")},
                 {QStringLiteral("data,tensor,stage")},
                 {QStringLiteral("rows"), Qt::AlignRight},
                 {QStringLiteral("parameters"), Qt::AlignRight},
                 {QStringLiteral("gradients"), Qt::AlignRight},
                 {QStringLiteral("optimizer"), Qt::AlignRight},
                 {QStringLiteral("activations"), Qt::AlignRight},
                 {QStringLiteral("memory"), Qt::AlignRight},
                 {QStringLiteral("sent a step"), Qt::AlignRight},
                 {QStringLiteral("FLOP a step"), Qt::AlignRight}});
    for (const plan::RankPlan& rank : plan.ranks)
        table.addRow({QString::number(rank.rank), QString::fromStdString(rank.device),
                      placeText(rank.place), number(rank.rows.count), bytes(rank.memory.parameters),
                      bytes(rank.memory.gradients), bytes(rank.memory.optimizer),
                      bytes(rank.memory.activations), bytes(rank.memory.total()),
                      bytes(rank.sentPerStep.total()), flops(rank.flopsPerStep)});
    text += table.text() + u'\n';
    if (const QString rate = rateText(plan); !rate.isEmpty())
        text += u"\nThe " + rate + u".\n";
    if (plan.awaitsSpeeds)
        text +=
            u"\nShares are equal here. When the run starts, the ranks measure how fast they are, "
            u"and those that are faster get more.\n";
    text += cutText(plan) + memoryText(plan);
    const std::vector<plan::Bucket>& buckets = plan.sectionOf(0).buckets;
    if (buckets.empty() || plan.mesh.data == 1)
        return text;
    text += compressionText(plan, overNetwork);
    if (buckets.size() == 1)
        return text + u"\nGradients are summed over the ranks in one piece.\n";
    return text + u"\nGradients are summed over the ranks in " +
           number(static_cast<std::int64_t>(buckets.size())) + u" pieces that end at " +
           bytes(plan.bucketBytes) +
           (plan.mesh.pipeline == 1 ? u", each as soon as it is finished.\n" : u".\n");
}

QString priceText(const plan::Plan& plan, const plan::Price& price) {
    const auto seconds = [](double value) {
        return QString::fromStdString(rounded(1e3 * value, 3)) + u" ms";
    };
    Table table({{QStringLiteral("rank"), Qt::AlignRight},
                 {QStringLiteral("computes"), Qt::AlignRight},
                 {QStringLiteral("communicates"), Qt::AlignRight},
                 {QStringLiteral("waits"), Qt::AlignRight}});
    for (const plan::RankPlan& rank : plan.ranks) {
        const plan::RankSeconds& of = price.ranks[static_cast<std::size_t>(rank.rank)];
        table.addRow({QString::number(rank.rank), seconds(of.compute), seconds(of.communication),
                      seconds(of.bubble)});
    }
    QString text = u"\nA step will take about " + seconds(price.stepSeconds) + u": " +
                   QString::fromStdString(rounded(price.samplesPerSecond, 3)) + u" samples/s";
    if (price.efficiency && plan.worldSize > 1)
        text += u", " + QString::fromStdString(rounded(100 * *price.efficiency, 3)) +
                u" % of what " + number(plan.worldSize) + u" ranks could do";
    return text + u" (predicted; this computer was measured " +
           QString::fromStdString(price.measuredAt) + u").\n" + table.text() + u'\n';
}

} // namespace trainyard::app

#include "moc_check_command.cpp"
