// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// How pictures lie: in blocks of 16 channels, in which fp32 convolutions are fastest on a CPU, or
// channels last, which the matrix units read in bf16.
#pragma once

#include "engine/graph/graph.h"

namespace trainyard::plan {

/// `pictures`: the layout of a convolution's output, for blocks from 16 channels on; operations
/// that keep or window a picture pass the layout of their input on; everything else stays plain.
void assignLayouts(graph::Graph& graph, Layout pictures);

} // namespace trainyard::plan
