// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// How a run's progress reads on a terminal and in a log file.
#pragma once

#include "app/cli/console.h"
#include "app/run/run_progress.h"

namespace trainyard::app {

/// One line with a bar that fits into `columns`: what matters less is left out first.
Line progressLine(const RunProgress& progress, int columns);

/// "epoch 2/5  step 938/2345  loss 0.3121  val_loss 0.3002  val_accuracy 0.8913  ..."
QString epochLine(const RunProgress& progress);

} // namespace trainyard::app
