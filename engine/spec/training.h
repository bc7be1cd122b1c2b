// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What follows from the choice of an optimizer and its settings and must be the same for the plan,
// the ranks and the studio. Pure functions of valid settings.
#pragma once

#include "engine/spec/experiment.h"

namespace trainyard::spec {

/// Buffers of the parameters' size that the optimizer keeps: 0, 1 or 2.
int optimizerSlots(const Choice& optimizer);

/// The optimizer's rate is multiplied by this: batch / learning_rate_batch, 1 where that is not
/// given (Goyal et al., "Accurate, large minibatch SGD", 2017, section 2.1).
double learningRateFactor(const TrainingSpec& training);

} // namespace trainyard::spec
