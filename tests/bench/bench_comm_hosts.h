// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The part of the communication benchmark with several hosts.
#pragma once

#include "tests/bench/bench.h"

#include <vector>

namespace trainyard::bench {

std::vector<Row> benchHosts();

} // namespace trainyard::bench
