// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The CPU backend: fp32 and bf16, oneDNN for products and convolutions, own loops for the rest. Its
// threads are the OpenMP team of the thread that makes and uses it: oneDNN and the own loops share
// that one team.
#include "engine/backend/cpu/cpu_backend.h"

#include "engine/backend/cpu/kernels.h"
#include "engine/backend/kernel_request.h"
#include "engine/backend/widened_kernel.h"
#include "engine/base/check.h"

#include <omp.h>

#include <thread>

namespace trainyard::engine {

namespace {

using graph::OperationKind;

class CpuBackend : public Backend {
public:
    CpuBackend(int threads, std::unique_ptr<cpu::FormChooser> chooser)
        : m_owner(std::this_thread::get_id()) {
        TRAINYARD_CHECK_MSG(threads >= 1, describePair(threads, 1));
        omp_set_num_threads(threads);
        m_context.chooser = std::move(chooser);
    }

    std::string name() const override { return "cpu"; }
    bool supports(DType type) const override { return cpuBackendSupports(type); }

    /// Blocks of 16 are what AVX-512 convolutions read; older processors gain nothing from them.
    Layout preferredLayout(std::int64_t channels) const override {
        const bool wide = (static_cast<int>(dnnl::get_effective_cpu_isa()) &
                           static_cast<int>(dnnl::cpu_isa::avx512_core)) ==
                          static_cast<int>(dnnl::cpu_isa::avx512_core);
        return wide && channels >= 16 ? Layout::Blocked16 : Layout::Plain;
    }

    std::unique_ptr<Kernel> compile(const KernelRequest& request) override {
        TRAINYARD_CHECK_MSG(std::this_thread::get_id() == m_owner,
                            "a backend is used by the thread that made it");
        TRAINYARD_CHECK_MSG(supports(request.type),
                            "the CPU backend computes in fp32, and in bf16 with AMX");
        checkRequest(request);
        if (request.rows == 0)
            return cpu::makeZeroRows(request);
        const bool backward = request.direction == Direction::Backward;
        if (backward && !wantsAnyGradient(request))
            return cpu::makeNothing();
        return request.type == DType::Bf16 && !hasHalfKernel(request) ? makeWidenedFallback(request)
                                                                      : make(request);
    }

    std::size_t workspaceBytes() const override { return m_context.workspace.bytes(); }

private:
    /// Kinds with a kernel for bf16 in the layouts of the request.
    static bool hasHalfKernel(const KernelRequest& request) {
        const bool last = request.inputs.front().layout == Layout::ChannelsLast;
        switch (request.kind) {
        case OperationKind::Linear:
        case OperationKind::Conv2d:
        case OperationKind::Relu:
        case OperationKind::Gelu:
        case OperationKind::Silu:
        case OperationKind::Tanh:
        case OperationKind::Sigmoid:
        case OperationKind::BatchNorm:
        case OperationKind::LayerNorm:
        case OperationKind::RmsNorm:
        case OperationKind::Embedding:
        case OperationKind::PositionEmbedding:
        case OperationKind::Attention:
        case OperationKind::Reshape:
        case OperationKind::SoftmaxCrossEntropy:
            return true;
        case OperationKind::MaxPool:
        case OperationKind::GlobalAveragePool:
            return last;
        case OperationKind::Add:
            return cpu::sameLayouts(request);
        case OperationKind::Dropout:
            return request.direction == Direction::Inference;
        default:
            return false;
        }
    }

    /// Of a dropout whose values are a part of the whole's: its random words lie apart.
    static bool isSlice(const KernelRequest& request) {
        return std::get<graph::DropoutAttributes>(request.attributes).run > 0;
    }

    static std::unique_ptr<Kernel> makeWidenedFallback(const KernelRequest& request) {
        return makeWidened(request, [](const KernelRequest& wide) {
            // Without a layout to convert, our own kernels in fp32 do as well, on all threads.
            return wide.kind == OperationKind::Dropout && !isSlice(wide) ? cpu::makeDropout(wide)
                   : wide.kind == OperationKind::MaxPool                 ? cpu::makeMaxPool(wide)
                                                         : cpu::makePlainFallback(wide);
        });
    }

    std::unique_ptr<Kernel> make(const KernelRequest& request) {
        switch (request.kind) {
        case OperationKind::Linear:
            return cpu::makeLinear(request, m_context);
        case OperationKind::Conv2d:
            return cpu::makeConv2d(request, m_context);
        case OperationKind::MaxPool:
            return request.type == DType::Bf16 ? cpu::makeHalfMaxPool(request)
                                               : cpu::makeMaxPool(request);
        case OperationKind::Relu:
            return cpu::makeRelu(request);
        case OperationKind::Reshape:
            return request.type == DType::Bf16 && !cpu::sameLayouts(request)
                       ? cpu::makeHalfTurn(request)
                       : cpu::makeReshape(request);
        case OperationKind::Dropout:
            return isSlice(request) ? cpu::makePlainFallback(request) : cpu::makeDropout(request);
        case OperationKind::SoftmaxCrossEntropy:
            return cpu::makeSoftmaxCrossEntropy(request, m_context);
        case OperationKind::GlobalAveragePool:
            return cpu::makeGlobalPool(request);
        case OperationKind::BatchNorm:
            return cpu::makeBatchNorm(request);
        case OperationKind::LayerNorm:
        case OperationKind::RmsNorm:
            return cpu::makeRowNorm(request);
        case OperationKind::Embedding:
            return cpu::makeEmbedding(request);
        case OperationKind::PositionEmbedding:
            return cpu::makePositionEmbedding(request);
        case OperationKind::Attention:
            return request.type == DType::Bf16 ? cpu::makeHalfAttention(request, m_context)
                                               : cpu::makeAttention(request, m_context);
        case OperationKind::Gelu:
        case OperationKind::Silu:
        case OperationKind::Tanh:
        case OperationKind::Sigmoid:
            return cpu::makeActivation(request);
        case OperationKind::Add:
            if (cpu::sameLayouts(request))
                return cpu::makeAdd(request);
            return cpu::makePlainFallback(request);
        default:
            return cpu::makePlainFallback(request);
        }
    }

    std::thread::id m_owner;
    cpu::Context m_context;
};

} // namespace

bool cpuBackendSupports(DType type) {
    // Values of dnnl::cpu_isa are sets of bits.
    constexpr auto kAmx = static_cast<int>(dnnl::cpu_isa::avx512_core_amx);
    const int isa = static_cast<int>(dnnl::get_effective_cpu_isa());
    return type == DType::Fp32 || (type == DType::Bf16 && (isa & kAmx) == kAmx);
}

std::unique_ptr<Backend> makeCpuBackend(int threads, std::unique_ptr<cpu::FormChooser> chooser) {
    return std::make_unique<CpuBackend>(threads, std::move(chooser));
}

std::unique_ptr<Backend> makeCpuBackend(int threads) {
    return makeCpuBackend(threads, std::make_unique<cpu::RememberingChooser>(
                                       cpu::defaultChoicesFile(), cpu::describeMachine()));
}

} // namespace trainyard::engine
