// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What a person is told when a rank gets no memory: whose, how much it asked for, what there is,
// what helps.
#pragma once

#include "engine/base/result.h"

#include <exception>

namespace trainyard::engine {

/// Of bad_alloc, and of threads that the system does not begin, for which it has the same reasons;
/// else the exception's own words.
Error errorOf(const std::exception& failure, int rank);

} // namespace trainyard::engine
