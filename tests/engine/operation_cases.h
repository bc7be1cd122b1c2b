// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The rows of the op_table test: every operation with the attributes, sizes and layouts that
// matter. A new operation kind needs rows here; the test fails without them.
#pragma once

#include "tests/engine/operation_bench.h"

#include <vector>

namespace trainyard::test {

const std::vector<OperationCase>& operationCases();

} // namespace trainyard::test
