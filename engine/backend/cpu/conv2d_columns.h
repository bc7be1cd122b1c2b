// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Convolutions as one product over columns: for each output position the inputs under its window
// side by side (Chellapilla, Puri and Simard, "High performance convolutional neural networks for
// document processing", 2006). For pictures in bf16 with channels last, where the products of the
// library run at several times the speed of its convolutions with many channels on small planes.
#pragma once

#include "engine/backend/cpu/form.h"
#include "engine/backend/kernel_request.h"

#include <cstdint>
#include <vector>

namespace trainyard::engine::cpu {

enum class ConvolutionPart : std::uint8_t { Output, InputGradient, ParameterGradients };

/// Every way of computing the part over columns; none for other types, layouts, groups and
/// dilations, for few channels, where the columns would be large, and for input gradients with
/// strides.
std::vector<Form> columnForms(ConvolutionPart part, const KernelRequest& request,
                              const dnnl::engine& engine);

} // namespace trainyard::engine::cpu
