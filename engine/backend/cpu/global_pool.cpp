// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The mean of each channel of a picture.
#include "engine/backend/cpu/kernels.h"

#include "engine/backend/cpu/loops.h"
#include "engine/backend/kernel_request.h"
#include "engine/base/parallel.h"

#include <algorithm>
#include <array>
#include <vector>

namespace trainyard::engine::cpu {

namespace {

constexpr std::int64_t kBlock = 16;

class GlobalPool : public Kernel {
public:
    explicit GlobalPool(const KernelRequest& request)
        : m_request(request), m_channels(request.inputs[0].shape[0]),
          m_plane(request.inputs[0].shape[1] * request.inputs[0].shape[2]),
          m_stored(storedElements(request.inputs[0], 1)),
          m_lanes(request.inputs[0].layout == Layout::Blocked16 ? kBlock : 1) {}

    void run(const StepContext&) override {
        const bool backward = m_request.direction == Direction::Backward;
        const std::int64_t groups = (m_channels + m_lanes - 1) / m_lanes;
        const std::int64_t parts = m_request.rows * groups;
        parallelFor(parts, parts * m_plane * m_lanes < kGrain ? parts + 1 : 0, 1,
                    [&](std::int64_t first, std::int64_t last) {
                        for (std::int64_t part = first; part < last; ++part)
                            (this->*(backward ? &GlobalPool::spread : &GlobalPool::average))(
                                part / groups, part % groups);
                    });
    }

private:
    std::int64_t channelsOf(std::int64_t group) const {
        return std::min(m_lanes, m_channels - group * m_lanes);
    }

    void average(std::int64_t row, std::int64_t group) {
        const float* x =
            dataOf<float>(m_request.inputs[0]) + row * m_stored + group * m_plane * m_lanes;
        std::array<double, kBlock> sums{};
        for (std::int64_t i = 0; i < m_plane; ++i)
            for (std::int64_t l = 0; l < m_lanes; ++l)
                sums[static_cast<std::size_t>(l)] += static_cast<double>(x[i * m_lanes + l]);
        float* y = dataOf<float>(m_request.outputs[0]) + row * m_channels + group * m_lanes;
        for (std::int64_t l = 0; l < channelsOf(group); ++l)
            y[l] = static_cast<float>(sums[static_cast<std::size_t>(l)] /
                                      static_cast<double>(m_plane));
    }

    void spread(std::int64_t row, std::int64_t group) {
        const float* dy =
            dataOf<float>(m_request.outputGradients[0]) + row * m_channels + group * m_lanes;
        std::array<float, kBlock> share{}; // zero where a channel only fills the block
        for (std::int64_t l = 0; l < channelsOf(group); ++l)
            share[static_cast<std::size_t>(l)] = dy[l] / static_cast<float>(m_plane);
        float* dx =
            dataOf<float>(m_request.inputGradients[0]) + row * m_stored + group * m_plane * m_lanes;
        const bool add = addsToInputGradient(m_request);
        for (std::int64_t i = 0; i < m_plane; ++i)
            for (std::int64_t l = 0; l < m_lanes; ++l) {
                float& to = dx[i * m_lanes + l];
                const float value = share[static_cast<std::size_t>(l)];
                to = add ? to + value : value;
            }
    }

    KernelRequest m_request;
    std::int64_t m_channels, m_plane, m_stored, m_lanes;
};

/// Channels last, in bf16.
class HalfGlobalPool : public Kernel {
public:
    explicit HalfGlobalPool(const KernelRequest& request)
        : m_request(request), m_channels(request.inputs[0].shape[0]),
          m_plane(request.inputs[0].shape[1] * request.inputs[0].shape[2]),
          m_sums(static_cast<std::size_t>(request.rows * m_channels)) {}

    void run(const StepContext&) override {
        const bool backward = m_request.direction == Direction::Backward;
        const std::int64_t rows = m_request.rows;
        parallelFor(
            rows, rows * m_plane * m_channels < kGrain ? rows + 1 : 0, 1,
            [&](std::int64_t first, std::int64_t last) {
                for (std::int64_t row = first; row < last; ++row)
                    (this->*(backward ? &HalfGlobalPool::spread : &HalfGlobalPool::average))(row);
            });
    }

private:
    void average(std::int64_t row) {
        const Bf16* x = dataOf<Bf16>(m_request.inputs[0]) + row * m_plane * m_channels;
        Bf16* y = dataOf<Bf16>(m_request.outputs[0]) + row * m_channels;
        float* sums = m_sums.data() + row * m_channels;
        std::fill_n(sums, m_channels, 0.0F);
        for (std::int64_t i = 0; i < m_plane; ++i)
            for (std::int64_t c = 0; c < m_channels; ++c)
                sums[c] += widened(x[i * m_channels + c]);
        for (std::int64_t c = 0; c < m_channels; ++c)
            y[c] = narrowed(sums[c] / static_cast<float>(m_plane));
    }

    void spread(std::int64_t row) {
        const Bf16* dy = dataOf<Bf16>(m_request.outputGradients[0]) + row * m_channels;
        Bf16* dx = dataOf<Bf16>(m_request.inputGradients[0]) + row * m_plane * m_channels;
        const bool add = addsToInputGradient(m_request);
        for (std::int64_t i = 0; i < m_plane; ++i)
            for (std::int64_t c = 0; c < m_channels; ++c) {
                Bf16& to = dx[i * m_channels + c];
                const float value = widened(dy[c]) / static_cast<float>(m_plane);
                to = narrowed(add ? widened(to) + value : value);
            }
    }

    KernelRequest m_request;
    std::int64_t m_channels, m_plane;
    std::vector<float> m_sums;
};

} // namespace

std::unique_ptr<Kernel> makeGlobalPool(const KernelRequest& request) {
    if (request.type == DType::Bf16)
        return std::make_unique<HalfGlobalPool>(request);
    return std::make_unique<GlobalPool>(request);
}

} // namespace trainyard::engine::cpu
