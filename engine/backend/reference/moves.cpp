// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// reshape: the same elements in the same order.
// dropout: y = keep ? x / (1 - p) : 0 while training, y = x otherwise; dx likewise.
// Both may run in place: element i is read before it is written, and no other is read after.
#include "engine/backend/reference/kernels.h"

#include "engine/backend/dropout_mask.h"
#include "engine/backend/kernel_request.h"

namespace trainyard::engine::reference {

namespace {

/// Reshape in the plain layout, and dropout outside training.
template <class T>
class Copy : public Kernel {
public:
    explicit Copy(const KernelRequest& request)
        : m_request(request), m_count(storedElements(request.inputs[0], request.rows)) {}

    void run(const StepContext&) override {
        if (m_request.direction != Direction::Backward)
            copy(m_request.inputs[0], m_request.outputs[0], false);
        else if (wantsInputGradient(m_request))
            copy(m_request.outputGradients[0], m_request.inputGradients[0],
                 addsToInputGradient(m_request));
    }

private:
    void copy(const Operand& from, const Operand& to, bool add) {
        const T* source = dataOf<T>(from);
        write(dataOf<T>(to), m_count, add, [&](std::int64_t i) { return source[i]; });
    }

    KernelRequest m_request;
    std::int64_t m_count;
};

template <class T>
class Dropout : public Kernel {
public:
    explicit Dropout(const KernelRequest& request)
        : m_request(request), m_elements(elementCount(request.inputs[0].shape)) {
        const auto& a = std::get<graph::DropoutAttributes>(request.attributes);
        m_stream = a.stream;
        m_threshold = dropoutThreshold(a.probability);
        m_scale = static_cast<T>(1.0 / (1.0 - a.probability));
        m_run = a.run > 0 ? a.run : m_elements;
        m_stride = a.run > 0 ? a.stride : m_elements;
        m_offset = a.offset;
    }

    void run(const StepContext& context) override {
        if (m_request.direction == Direction::Forward)
            apply(context, m_request.inputs[0], m_request.outputs[0], false);
        else if (wantsInputGradient(m_request))
            apply(context, m_request.outputGradients[0], m_request.inputGradients[0],
                  addsToInputGradient(m_request));
    }

private:
    void apply(const StepContext& context, const Operand& from, const Operand& to, bool add) {
        const std::int64_t groups = dropoutGroups(m_elements / m_run * m_stride);
        for (std::int64_t row = 0; row < m_request.rows; ++row) {
            const T* source = dataOf<T>(from) + row * m_elements;
            Philox4 words{};
            std::int64_t drawn = -1; // the group of `words`
            write(dataOf<T>(to) + row * m_elements, m_elements, add, [&](std::int64_t i) {
                const std::int64_t element = i / m_run * m_stride + m_offset + i % m_run;
                if (element / kDropoutGroup != drawn) {
                    drawn = element / kDropoutGroup;
                    words = dropoutWords(context.seed, m_stream, context.step,
                                         context.firstRow + row, groups, drawn);
                }
                const std::uint32_t word = words[static_cast<std::size_t>(element % kDropoutGroup)];
                return dropoutKeeps(word, m_threshold) ? source[i] * m_scale : T{0};
            });
        }
    }

    KernelRequest m_request;
    std::int64_t m_elements;
    /// Where the elements lie in the whole row: DropoutAttributes.
    std::int64_t m_run = 0, m_stride = 0, m_offset = 0;
    std::uint32_t m_stream = 0;
    std::uint32_t m_threshold = 0;
    T m_scale = 1;
};

} // namespace

template <class T>
std::unique_ptr<Kernel> makeReshape(const KernelRequest& request) {
    return std::make_unique<Copy<T>>(request);
}

template <class T>
std::unique_ptr<Kernel> makeDropout(const KernelRequest& request) {
    if (request.direction == Direction::Inference)
        return std::make_unique<Copy<T>>(request);
    return std::make_unique<Dropout<T>>(request);
}

template std::unique_ptr<Kernel> makeReshape<double>(const KernelRequest&);
template std::unique_ptr<Kernel> makeReshape<float>(const KernelRequest&);
template std::unique_ptr<Kernel> makeDropout<double>(const KernelRequest&);
template std::unique_ptr<Kernel> makeDropout<float>(const KernelRequest&);

} // namespace trainyard::engine::reference
