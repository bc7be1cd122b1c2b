// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// How the state of a run looks.
#pragma once

#include "app/store/run_record.h"
#include "ui/theme/tokens.h"

namespace trainyard::ui {

/// Crashed and diverged are failed with a word of their own (app::statusText).
State stateOf(app::RunStatus status);

} // namespace trainyard::ui
