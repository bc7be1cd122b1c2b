// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The CPU backend with a chooser of forms from outside; makeCpuBackend(threads) of backend.h
// remembers choices in the user's cache folder.
#pragma once

#include "engine/backend/backend.h"
#include "engine/backend/cpu/form_chooser.h"

#include <memory>

namespace trainyard::engine {

std::unique_ptr<Backend> makeCpuBackend(int threads, std::unique_ptr<cpu::FormChooser> chooser);

} // namespace trainyard::engine
