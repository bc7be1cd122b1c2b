// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// predict: what the model of a run makes of new inputs, or of those it was validated on.
#pragma once

#include "app/cli/runs_commands.h"

#include <QJsonObject>

namespace trainyard::app {

class PredictCommand : public RunsCommand {
    Q_OBJECT
public:
    using RunsCommand::RunsCommand;
    static CommandInfo info();

protected:
    void work() override;

private:
    /// Without the weights.
    Result<QJsonObject> request() const;
    void onAnswer(const Result<QJsonObject>& answer);
};

/// The worker's answer for people: a table, and how many predictions were right where that is
/// known.
QString predictionText(const QJsonObject& answer);

} // namespace trainyard::app
