// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The kernels of the CPU backend, in fp32 and, where they ask for the type, in bf16. Requests have
// passed checkRequest() and have rows, except for the two makers that say so. Kernels keep a
// reference to the context.
#pragma once

#include "engine/backend/cpu/context.h"

#include <memory>

namespace trainyard::engine::cpu {

std::unique_ptr<Kernel> makeLinear(const KernelRequest& request, Context& context);
std::unique_ptr<Kernel> makeConv2d(const KernelRequest& request, Context& context);
std::unique_ptr<Kernel> makeMaxPool(const KernelRequest& request);
/// Channels last.
std::unique_ptr<Kernel> makeHalfMaxPool(const KernelRequest& request);
/// A reshape of pictures between the plain layout and channels last.
std::unique_ptr<Kernel> makeHalfTurn(const KernelRequest& request);
std::unique_ptr<Kernel> makeRelu(const KernelRequest& request);
std::unique_ptr<Kernel> makeReshape(const KernelRequest& request);
std::unique_ptr<Kernel> makeDropout(const KernelRequest& request);
std::unique_ptr<Kernel> makeGlobalPool(const KernelRequest& request);
std::unique_ptr<Kernel> makeBatchNorm(const KernelRequest& request);
std::unique_ptr<Kernel> makeRowNorm(const KernelRequest& request);
std::unique_ptr<Kernel> makeEmbedding(const KernelRequest& request);
std::unique_ptr<Kernel> makePositionEmbedding(const KernelRequest& request);
std::unique_ptr<Kernel> makeAttention(const KernelRequest& request, Context& context);
std::unique_ptr<Kernel> makeHalfAttention(const KernelRequest& request, Context& context);
/// gelu, silu, tanh, sigmoid.
std::unique_ptr<Kernel> makeActivation(const KernelRequest& request);
/// All inputs lie in the output's layout.
std::unique_ptr<Kernel> makeAdd(const KernelRequest& request);
bool sameLayouts(const KernelRequest& request);
std::unique_ptr<Kernel> makeSoftmaxCrossEntropy(const KernelRequest& request, Context& context);
/// Its form for scores that are a slice of all classes'.
std::unique_ptr<Kernel> makeSliceCrossEntropy(const KernelRequest& request);

/// The reference kernel for what has none of its own here.
std::unique_ptr<Kernel> makePlainFallback(const KernelRequest& request);

/// Rows 0: zeroes the parameter gradients that are not added to, and statistics to be summed up.
std::unique_ptr<Kernel> makeZeroRows(const KernelRequest& request);
/// Nothing is wanted.
std::unique_ptr<Kernel> makeNothing();

/// Runs forms one after the other.
class FormKernel : public Kernel {
public:
    FormKernel(Context& context, std::vector<std::unique_ptr<Form>> forms)
        : m_context(context), m_forms(std::move(forms)) {}
    void run(const StepContext&) override {
        for (const std::unique_ptr<Form>& form : m_forms)
            form->run(m_context.stream, m_context.workspace.data());
    }

private:
    Context& m_context;
    std::vector<std::unique_ptr<Form>> m_forms;
};

} // namespace trainyard::engine::cpu
