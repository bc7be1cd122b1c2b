// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/widened_kernel.h"

#include "engine/backend/kernel_request.h"
#include "engine/base/bfloat16.h"
#include "engine/base/check.h"
#include "engine/base/parallel.h"

#include <cstddef>
#include <vector>

namespace trainyard::engine {

namespace {

/// One value in both forms.
class Copy {
public:
    Copy(void* memory, std::int64_t rowCount, const Shape& of, Layout lies)
        : m_narrow(static_cast<Bf16*>(memory)),
          m_wide(static_cast<std::size_t>(rowCount * elementCount(of))), m_rows(rowCount),
          m_shape(of), m_layout(lies) {}

    float* data() { return m_wide.data(); }

    void widenAll() {
        if (m_layout == Layout::Plain)
            forParts([this](std::int64_t first, std::int64_t count) {
                widen(m_narrow + first, m_wide.data() + first, count);
            });
        else
            forEach([](Bf16 from, float& to) { to = widened(from); });
    }

    void narrowAll() {
        if (m_layout == Layout::Plain)
            forParts([this](std::int64_t first, std::int64_t count) {
                narrow(m_wide.data() + first, m_narrow + first, count);
            });
        else
            forEach([](Bf16& to, float from) { to = narrowed(from); });
    }

private:
    template <class Function>
    void forParts(const Function& f) const {
        constexpr std::int64_t kGrain = 1 << 15, kLine = 32;
        parallelFor(static_cast<std::int64_t>(m_wide.size()), kGrain, kLine,
                    [&](std::int64_t first, std::int64_t last) { f(first, last - first); });
    }

    /// f(bf16, fp32) for all elements of pictures whose channels are last; the fp32 ones are
    /// row-major.
    template <class Function>
    void forEach(const Function& f) {
        const std::int64_t elements = elementCount(m_shape);
        const std::int64_t channels = m_shape[0], plane = elements / channels;
        std::size_t at = 0;
        for (std::int64_t row = 0; row < m_rows; ++row)
            for (std::int64_t c = 0; c < channels; ++c)
                for (std::int64_t i = 0; i < plane; ++i)
                    f(m_narrow[row * elements + i * channels + c], m_wide[at++]);
    }

    Bf16* m_narrow;
    std::vector<float> m_wide;
    std::int64_t m_rows;
    Shape m_shape;
    Layout m_layout;
};

class WidenedKernel : public Kernel {
public:
    WidenedKernel(const KernelRequest& request, const MakeKernel& make) {
        KernelRequest wide = request;
        wide.type = exactType(request.type);
        const bool backward = request.direction == Direction::Backward;
        for (Operand& input : wide.inputs)
            if (request.kind != graph::OperationKind::Embedding)
                replace(input, request.rows, true, false);
        for (Operand& output : wide.outputs)
            replace(output, request.rows, backward, !backward);
        for (Operand& gradient : wide.outputGradients)
            replace(gradient, request.rows, true, false);
        for (std::size_t i = 0; i < wide.inputGradients.size(); ++i)
            replace(wide.inputGradients[i], request.rows, addsToInputGradient(request, i), true);
        for (std::size_t i = 0; i < wide.parameters.size(); ++i)
            if (graph::readsRounded(request.kind, i))
                replace(wide.parameters[i], 1, true, false);
        if (request.kind == graph::OperationKind::Attention && request.saved)
            replaceSaved(wide, request, backward);
        m_kernel = make(wide);
    }

    void run(const StepContext& context) override {
        for (Copy* copy : m_before)
            copy->widenAll();
        m_kernel->run(context);
        for (Copy* copy : m_after)
            copy->narrowAll();
    }

private:
    void replace(Operand& operand, std::int64_t rows, bool read, bool written) {
        TRAINYARD_CHECK(operand.layout != Layout::Blocked16);
        if (operand.data)
            operand.data =
                add(std::make_unique<Copy>(operand.data, rows, operand.shape, operand.layout), read,
                    written);
        operand.layout = Layout::Plain;
    }

    /// The probabilities of attention.
    void replaceSaved(KernelRequest& wide, const KernelRequest& request, bool backward) {
        const std::int64_t heads = std::get<graph::AttentionAttributes>(request.attributes).heads;
        const std::int64_t positions = request.inputs[0].shape[0];
        wide.saved = add(std::make_unique<Copy>(request.saved, request.rows,
                                                Shape{heads, positions, positions}, Layout::Plain),
                         backward, !backward);
    }

    float* add(std::unique_ptr<Copy> copy, bool read, bool written) {
        m_copies.push_back(std::move(copy));
        if (read)
            m_before.push_back(m_copies.back().get());
        if (written)
            m_after.push_back(m_copies.back().get());
        return m_copies.back()->data();
    }

    std::vector<std::unique_ptr<Copy>> m_copies;
    std::vector<Copy*> m_before, m_after;
    std::unique_ptr<Kernel> m_kernel;
};

} // namespace

std::unique_ptr<Kernel> makeWidened(const KernelRequest& request, const MakeKernel& make) {
    TRAINYARD_CHECK(request.type == DType::Bf16);
    return std::make_unique<WidenedKernel>(request, make);
}

} // namespace trainyard::engine
