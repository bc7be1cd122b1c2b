// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What a run says, once at its start, of shares and cuts that follow from measured speeds. A line
// of its log, which readers find again by its words.
#pragma once

#include "engine/base/result.h"
#include "engine/plan/plan.h"

namespace trainyard::plan {

/// `equal`: the plan that was made before the speeds were known.
Message balanceSentence(const Plan& equal, const Plan& balanced);

/// The message is one that balanceSentence() makes.
bool isBalanceSentence(const Message& message);

} // namespace trainyard::plan
