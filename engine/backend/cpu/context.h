// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Context: what the kernels of one CPU backend share, and how a kernel picks its form.
#pragma once

#include "engine/backend/backend.h"
#include "engine/backend/cpu/form.h"
#include "engine/backend/cpu/form_chooser.h"
#include "engine/backend/workspace.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace trainyard::engine::cpu {

struct Context {
    dnnl::engine engine{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream{engine};
    Workspace workspace;
    std::unique_ptr<FormChooser> chooser;
};

/// All forms that can compute the request, the safest guess first; at least one.
using FormBuilder = std::function<std::vector<Form>(const KernelRequest&)>;

/// Builds the form that the chooser wants, with room for it in the workspace. Timing runs on memory
/// of its own, so the request's memory is not touched. `key` tells apart what differs in speed.
std::unique_ptr<Form> pickForm(Context& context, const std::string& key,
                               const KernelRequest& request, const FormBuilder& build);

} // namespace trainyard::engine::cpu
