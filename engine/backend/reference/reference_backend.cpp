// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The reference backend: picks the kernel by kind and type. Everything is plain, on one thread.
#include "engine/backend/kernel_request.h"
#include "engine/backend/reference/kernels.h"
#include "engine/base/check.h"

namespace trainyard::engine {

namespace {

using graph::OperationKind;

void checkPlain(const std::vector<Operand>& operands) {
    for (const Operand& operand : operands)
        TRAINYARD_CHECK_MSG(operand.layout == Layout::Plain,
                            "the reference backend knows only the plain layout");
}

class ReferenceBackend : public Backend {
public:
    std::string name() const override { return "reference"; }
    bool supports(DType type) const override { return type == DType::Fp64 || type == DType::Fp32; }
    Layout preferredLayout(std::int64_t) const override { return Layout::Plain; }

    std::unique_ptr<Kernel> compile(const KernelRequest& request) override {
        TRAINYARD_CHECK_MSG(supports(request.type), "the reference backend computes floats");
        checkRequest(request);
        checkPlain(request.inputs);
        checkPlain(request.outputs);
        return request.type == DType::Fp64 ? make<double>(request) : make<float>(request);
    }

    std::size_t workspaceBytes() const override { return m_workspace.bytes(); }

private:
    template <class T>
    std::unique_ptr<Kernel> make(const KernelRequest& request) {
        switch (request.kind) {
        case OperationKind::Linear:
            return reference::makeLinear<T>(request);
        case OperationKind::Conv2d:
            return reference::makeConv2d<T>(request, m_workspace);
        case OperationKind::MaxPool:
            return reference::makeMaxPool<T>(request);
        case OperationKind::Relu:
            return reference::makeRelu<T>(request);
        case OperationKind::Reshape:
            return reference::makeReshape<T>(request);
        case OperationKind::Dropout:
            return reference::makeDropout<T>(request);
        case OperationKind::SoftmaxCrossEntropy:
            return reference::makeSoftmaxCrossEntropy<T>(request);
        default:
            break;
        }
        TRAINYARD_CHECK_MSG(false, "unknown kind of operation");
        return nullptr;
    }

    Workspace m_workspace;
};

} // namespace

std::unique_ptr<Backend> makeReferenceBackend() {
    return std::make_unique<ReferenceBackend>();
}

} // namespace trainyard::engine
