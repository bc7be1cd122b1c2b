// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Which pictures lie in blocks of 16 channels (the form in which convolutions are fastest on a
// CPU).
#pragma once

#include "engine/graph/graph.h"

namespace trainyard::plan {

/// The output of a convolution with at least 16 channels is blocked; operations that keep or window
/// a picture pass the layout of their input on; everything else stays plain.
void assignLayouts(graph::Graph& graph);

} // namespace trainyard::plan
