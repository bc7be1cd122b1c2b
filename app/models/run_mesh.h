// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The mesh that a run was started on, from its frozen experiment.
#pragma once

#include "app/store/store_reader.h"
#include "engine/plan/mesh.h"

namespace trainyard::app {

/// One rank where the experiment cannot be read.
plan::Mesh meshOf(StoreReader& store, RunId run);

} // namespace trainyard::app
