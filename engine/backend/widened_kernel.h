// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A kernel over values in bf16 that is one in fp32 between two conversions: what an operation on
// bf16 means, and how backends compute what they have no kernel of their own for.
#pragma once

#include "engine/backend/backend.h"

#include <functional>
#include <memory>

namespace trainyard::engine {

using MakeKernel = std::function<std::unique_ptr<Kernel>(const KernelRequest&)>;

/// `request` is of type Bf16. `make` gets the same in fp32, over plain copies of the values that
/// the kernel keeps for itself. What forward saves must be read by a backward made here, too.
std::unique_ptr<Kernel> makeWidened(const KernelRequest& request, const MakeKernel& make);

} // namespace trainyard::engine
