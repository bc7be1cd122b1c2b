// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The reference kernels: the meaning of each operation, in fp64 and fp32, one thread, plain layout.
// They are the oracle for every other backend, so they are written to be read, not to be fast.
// T is double or float. Requests have passed checkRequest().
#pragma once

#include "engine/backend/backend.h"
#include "engine/backend/workspace.h"

#include <cstdint>
#include <memory>

namespace trainyard::engine::reference {

template <class T>
std::unique_ptr<Kernel> makeLinear(const KernelRequest& request);
template <class T>
std::unique_ptr<Kernel> makeConv2d(const KernelRequest& request, Workspace& workspace);
template <class T>
std::unique_ptr<Kernel> makeMaxPool(const KernelRequest& request);
template <class T>
std::unique_ptr<Kernel> makeAveragePool(const KernelRequest& request);
template <class T>
std::unique_ptr<Kernel> makeGlobalAveragePool(const KernelRequest& request);
template <class T>
std::unique_ptr<Kernel> makeBatchNorm(const KernelRequest& request);
template <class T>
std::unique_ptr<Kernel> makeLayerNorm(const KernelRequest& request);
template <class T>
std::unique_ptr<Kernel> makeRmsNorm(const KernelRequest& request);
template <class T>
std::unique_ptr<Kernel> makeEmbedding(const KernelRequest& request);
template <class T>
std::unique_ptr<Kernel> makePositionEmbedding(const KernelRequest& request);
template <class T>
std::unique_ptr<Kernel> makeAttention(const KernelRequest& request);
template <class T>
std::unique_ptr<Kernel> makeRelu(const KernelRequest& request);
template <class T>
std::unique_ptr<Kernel> makeGelu(const KernelRequest& request);
template <class T>
std::unique_ptr<Kernel> makeSilu(const KernelRequest& request);
template <class T>
std::unique_ptr<Kernel> makeTanh(const KernelRequest& request);
template <class T>
std::unique_ptr<Kernel> makeSigmoid(const KernelRequest& request);
template <class T>
std::unique_ptr<Kernel> makeSoftmax(const KernelRequest& request);
template <class T>
std::unique_ptr<Kernel> makeDropout(const KernelRequest& request);
template <class T>
std::unique_ptr<Kernel> makeAdd(const KernelRequest& request);
template <class T>
std::unique_ptr<Kernel> makeMultiply(const KernelRequest& request);
template <class T>
std::unique_ptr<Kernel> makeConcat(const KernelRequest& request);
template <class T>
std::unique_ptr<Kernel> makeReshape(const KernelRequest& request);
template <class T>
std::unique_ptr<Kernel> makeSoftmaxCrossEntropy(const KernelRequest& request);
/// Its form for scores that are a slice of all classes'.
template <class T>
std::unique_ptr<Kernel> makeSliceCrossEntropy(const KernelRequest& request);
template <class T>
std::unique_ptr<Kernel> makeBinaryCrossEntropy(const KernelRequest& request);
template <class T>
std::unique_ptr<Kernel> makeMeanSquaredError(const KernelRequest& request);
template <class T>
std::unique_ptr<Kernel> makeMeanAbsoluteError(const KernelRequest& request);
template <class T>
std::unique_ptr<Kernel> makeHuber(const KernelRequest& request);

/// The kernel of the request's kind.
template <class T>
std::unique_ptr<Kernel> makeKernel(const KernelRequest& request, Workspace& workspace);

/// The gradients of a linear or convolution that someone wants; null where nobody does.
template <class T>
struct ParameterGradients {
    T* weight = nullptr;
    T* bias = nullptr;
};

template <class T>
ParameterGradients<T> parameterGradients(const KernelRequest& request);

/// Zeroes `count` elements unless they are to be added to.
template <class T>
void startGradient(T* gradient, std::int64_t count, bool add);

/// to[i] = f(i), or added to it.
template <class T, class Function>
void write(T* to, std::int64_t count, bool add, const Function& f) {
    for (std::int64_t i = 0; i < count; ++i)
        to[i] = add ? to[i] + f(i) : f(i);
}

} // namespace trainyard::engine::reference
