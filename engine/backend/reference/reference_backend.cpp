// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The reference backend: picks the kernel by kind and type. Everything is plain, on one thread.
#include "engine/backend/kernel_request.h"
#include "engine/backend/reference/kernels.h"
#include "engine/backend/widened_kernel.h"
#include "engine/base/check.h"

namespace trainyard::engine {

using graph::OperationKind;

namespace reference {

template <class T>
std::unique_ptr<Kernel> makeKernel(const KernelRequest& request, Workspace& workspace) {
    switch (request.kind) {
    case OperationKind::Linear:
        return makeLinear<T>(request);
    case OperationKind::Conv2d:
        return makeConv2d<T>(request, workspace);
    case OperationKind::MaxPool:
        return makeMaxPool<T>(request);
    case OperationKind::AveragePool:
        return makeAveragePool<T>(request);
    case OperationKind::GlobalAveragePool:
        return makeGlobalAveragePool<T>(request);
    case OperationKind::BatchNorm:
        return makeBatchNorm<T>(request);
    case OperationKind::LayerNorm:
        return makeLayerNorm<T>(request);
    case OperationKind::RmsNorm:
        return makeRmsNorm<T>(request);
    case OperationKind::Embedding:
        return makeEmbedding<T>(request);
    case OperationKind::PositionEmbedding:
        return makePositionEmbedding<T>(request);
    case OperationKind::Attention:
        return makeAttention<T>(request);
    case OperationKind::Relu:
        return makeRelu<T>(request);
    case OperationKind::Gelu:
        return makeGelu<T>(request);
    case OperationKind::Silu:
        return makeSilu<T>(request);
    case OperationKind::Tanh:
        return makeTanh<T>(request);
    case OperationKind::Sigmoid:
        return makeSigmoid<T>(request);
    case OperationKind::Softmax:
        return makeSoftmax<T>(request);
    case OperationKind::Dropout:
        return makeDropout<T>(request);
    case OperationKind::Add:
        return makeAdd<T>(request);
    case OperationKind::Multiply:
        return makeMultiply<T>(request);
    case OperationKind::Concat:
        return makeConcat<T>(request);
    case OperationKind::Reshape:
        return makeReshape<T>(request);
    case OperationKind::SoftmaxCrossEntropy:
        return makeSoftmaxCrossEntropy<T>(request);
    case OperationKind::BinaryCrossEntropy:
        return makeBinaryCrossEntropy<T>(request);
    case OperationKind::MeanSquaredError:
        return makeMeanSquaredError<T>(request);
    case OperationKind::MeanAbsoluteError:
        return makeMeanAbsoluteError<T>(request);
    case OperationKind::Huber:
        return makeHuber<T>(request);
    }
    TRAINYARD_CHECK_MSG(false, "unknown kind of operation");
    return nullptr;
}

template std::unique_ptr<Kernel> makeKernel<double>(const KernelRequest&, Workspace&);
template std::unique_ptr<Kernel> makeKernel<float>(const KernelRequest&, Workspace&);

} // namespace reference

namespace {

void checkPlain(const std::vector<Operand>& operands) {
    for (const Operand& operand : operands)
        TRAINYARD_CHECK_MSG(operand.layout == Layout::Plain,
                            "the reference backend knows only the plain layout");
}

class ReferenceBackend : public Backend {
public:
    std::string name() const override { return "reference"; }
    bool supports(DType type) const override { return type != DType::Int32; }
    Layout preferredLayout(std::int64_t) const override { return Layout::Plain; }

    std::unique_ptr<Kernel> compile(const KernelRequest& request) override {
        TRAINYARD_CHECK_MSG(supports(request.type), "the reference backend computes floats");
        checkRequest(request);
        checkPlain(request.inputs);
        checkPlain(request.outputs);
        if (request.type == DType::Bf16)
            return makeWidened(request, [this](const KernelRequest& wide) {
                return reference::makeKernel<float>(wide, m_workspace);
            });
        return request.type == DType::Fp64 ? reference::makeKernel<double>(request, m_workspace)
                                           : reference::makeKernel<float>(request, m_workspace);
    }

    std::size_t workspaceBytes() const override { return m_workspace.bytes(); }

private:
    Workspace m_workspace;
};

} // namespace

std::unique_ptr<Backend> makeReferenceBackend() {
    return std::make_unique<ReferenceBackend>();
}

} // namespace trainyard::engine
