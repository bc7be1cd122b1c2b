// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// check and plan: what can be said of an experiment without running it.
#pragma once

#include "app/cli/command.h"
#include "app/run/experiment_check.h"
#include "engine/program/price.h"

namespace trainyard::app {

class CheckCommand : public Command {
    Q_OBJECT
public:
    enum class Tell { Verdict, Plan, PlanAsJson };
    CheckCommand(Arguments arguments, Tell tell, Console& console)
        : Command(console), m_arguments(std::move(arguments)), m_tell(tell) {}

    static CommandInfo checkInfo();
    static CommandInfo planInfo();
    void start() override;

private:
    void onChecked(const Result<CheckedExperiment>& checked);
    void priceThePlan();
    void measure();
    void onCalibrated(const Result<plan::Calibration>& calibration);
    void planAgain(const plan::Calibration& calibration);
    /// With what is known of its price.
    void tellPlan();

    const Arguments m_arguments;
    const Tell m_tell;
    std::unique_ptr<LocalLauncher> m_launcher;
    spec::Experiment m_experiment;
    CheckedExperiment m_checked;
    std::optional<plan::Price> m_price;
    QString m_noPrice; ///< why there is none, as a sentence
};

/// "valid: 421,642 parameters, 60,000 training and 10,000 validation samples, 2,345 steps"
QString verdictText(const plan::Plan& plan);
/// A table with a column for each kind of bytes and a row for each rank.
/// `overNetwork`: ranks do not exchange in shared memory.
QString planText(const plan::Plan& plan, bool overNetwork);
/// What each rank does in the time of a step, and the step.
QString priceText(const plan::Plan& plan, const plan::Price& price);

} // namespace trainyard::app
