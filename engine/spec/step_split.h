// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the time of a rank's steps goes: values of a DeviceSample (event.h), in seconds a step, the
// mean over the steps that have ended since the sample before. Left out where none has.
#pragma once

#include <array>

namespace trainyard::spec::metric {

/// All of the step. What the parts do not cover is bookkeeping between instructions.
inline constexpr const char* kStepTime = "step_time";
/// Waiting for samples, and bringing them in.
inline constexpr const char* kStepData = "step_data";
inline constexpr const char* kStepForward = "step_forward";
/// With what is computed again for it.
inline constexpr const char* kStepBackward = "step_backward";
/// Collectives and sends while nothing is computed: what communication costs.
inline constexpr const char* kStepExposed = "step_exposed";
inline constexpr const char* kStepOptimizer = "step_optimizer";
/// A pipeline's rank waits for the values or gradients of another one.
inline constexpr const char* kStepBubble = "step_bubble";
/// All collectives and sends, also those that hide behind computing. Not a part of its own.
inline constexpr const char* kStepCommunication = "step_communication";

/// Parts that together make up a step, in the order they are shown.
inline constexpr std::array kStepParts = {kStepData,    kStepForward,   kStepBackward,
                                          kStepExposed, kStepOptimizer, kStepBubble};

} // namespace trainyard::spec::metric
