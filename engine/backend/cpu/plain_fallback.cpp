// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The reference kernel in fp32 for kinds without a kernel of their own: right, but on one thread.
// Blocked operands go through plain copies that the kernel keeps for itself.
#include "engine/backend/cpu/kernels.h"

#include "engine/backend/cpu/loops.h"
#include "engine/backend/kernel_request.h"
#include "engine/backend/reference/kernels.h"
#include "engine/base/check.h"

#include <vector>

namespace trainyard::engine::cpu {

namespace {

class PlainFallback : public Kernel {
public:
    explicit PlainFallback(const KernelRequest& request) : m_rows(request.rows) {
        TRAINYARD_CHECK_MSG(request.kind != graph::OperationKind::MaxPool,
                            "positions of maxima are kept by layout");
        const bool backward = request.direction == Direction::Backward;
        KernelRequest plain = request;
        for (Operand& input : plain.inputs)
            makePlain(input, m_before);
        for (Operand& output : plain.outputs)
            makePlain(output, backward ? m_before : m_after);
        for (Operand& gradient : plain.outputGradients)
            makePlain(gradient, m_before);
        plain.addToInputGradient.resize(plain.inputGradients.size());
        for (std::size_t i = 0; i < plain.inputGradients.size(); ++i)
            if (makePlain(plain.inputGradients[i], m_after)) {
                m_after.back().add = plain.addToInputGradient[i]; // when it is brought back
                plain.addToInputGradient[i] = false;
            }
        m_kernel = reference::makeKernel<float>(plain, m_workspace);
    }

    void run(const StepContext& context) override {
        for (const Copy& copy : m_before)
            blockedToPlain(copy.blocked, copy.plain, m_rows, copy.shape, false);
        m_kernel->run(context);
        for (const Copy& copy : m_after)
            plainToBlocked(copy.plain, copy.blocked, m_rows, copy.shape, copy.add);
    }

private:
    struct Copy {
        float* blocked = nullptr;
        float* plain = nullptr;
        Shape shape;
        bool add = false;
    };

    /// Puts a plain copy in the place of a blocked operand and says who has to copy it; false where
    /// there is nothing to copy.
    bool makePlain(Operand& operand, std::vector<Copy>& copies) {
        const bool blocked = operand.layout == Layout::Blocked16;
        operand.layout = Layout::Plain;
        if (!blocked || !operand.data)
            return false;
        m_memory.emplace_back(static_cast<std::size_t>(m_rows * elementCount(operand.shape)));
        copies.push_back({dataOf<float>(operand), m_memory.back().data(), operand.shape, false});
        operand.data = m_memory.back().data();
        return true;
    }

    std::int64_t m_rows;
    Workspace m_workspace;
    std::vector<std::vector<float>> m_memory;
    std::vector<Copy> m_before, m_after;
    std::unique_ptr<Kernel> m_kernel;
};

} // namespace

std::unique_ptr<Kernel> makePlainFallback(const KernelRequest& request) {
    return std::make_unique<PlainFallback>(request);
}

} // namespace trainyard::engine::cpu
