// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Pictures in bf16 with their channels last: max pool (rules as in fp32: the first of equals wins,
// a NaN wins over everything else), and the way between this layout and the plain one.
#include "engine/backend/cpu/kernels.h"

#include "engine/backend/cpu/loops.h"
#include "engine/backend/kernel_request.h"
#include "engine/backend/window.h"
#include "engine/base/multiversion.h"
#include "engine/base/parallel.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace trainyard::engine::cpu {

namespace {

/// One tap for all channels: best = the larger of it and x, at = where that was.
TRAINYARD_MULTIVERSION
void tapChannels(const float* __restrict x, std::int32_t position, std::int64_t channels,
                 float* __restrict best, std::int32_t* __restrict at) {
    for (std::int64_t c = 0; c < channels; ++c) {
        const bool won = (x[c] > best[c]) | ((x[c] != x[c]) & (best[c] == best[c]));
        best[c] = won ? x[c] : best[c];
        at[c] = won ? position : at[c];
    }
}

/// Adds dy to dx where the winner was at `position`.
TRAINYARD_MULTIVERSION
void giveBack(const Bf16* __restrict dy, const std::int32_t* __restrict at, std::int32_t position,
              std::int64_t channels, Bf16* __restrict dx) {
    for (std::int64_t c = 0; c < channels; ++c) {
        const float share = at[c] == position ? widened(dy[c]) : 0.0F;
        dx[c] = narrowed(widened(dx[c]) + share);
    }
}

class HalfMaxPool : public Kernel {
public:
    explicit HalfMaxPool(const KernelRequest& request)
        : m_window(windowOf(std::get<graph::PoolAttributes>(request.attributes),
                            request.inputs[0].shape, request.outputs[0].shape)),
          m_rows(request.rows), m_channels(request.inputs[0].shape[0]),
          m_backward(request.direction == Direction::Backward), m_add(addsToInputGradient(request)),
          m_buffers(static_cast<std::size_t>(teamSize() * 2 * m_channels)),
          m_places(static_cast<std::size_t>(teamSize() * m_channels)) {
        m_in = dataOf<Bf16>(m_backward ? request.inputGradients[0] : request.inputs[0]);
        m_out = dataOf<Bf16>(m_backward ? request.outputGradients[0] : request.outputs[0]);
        if (request.direction != Direction::Inference)
            m_positions = static_cast<std::int32_t*>(request.saved);
    }

    void run(const StepContext&) override {
        const std::int64_t work = m_rows * m_window.inPlane() * m_channels;
        parallelFor(m_rows, work < kGrain ? m_rows + 1 : 0, 1,
                    [this](std::int64_t first, std::int64_t last) {
                        for (std::int64_t row = first; row < last; ++row)
                            m_backward ? spread(row) : pool(row);
                    });
    }

private:
    template <class Function>
    void forEachOutput(const Function& f) const {
        const Window& w = m_window;
        for (std::int64_t oh = 0, o = 0; oh < w.outHeight; ++oh) {
            const Span rows =
                covered(oh, w.strideHeight, w.paddingHeight, w.kernelHeight, w.inHeight);
            for (std::int64_t ow = 0; ow < w.outWidth; ++ow, ++o)
                f(o, rows, covered(ow, w.strideWidth, w.paddingWidth, w.kernelWidth, w.inWidth));
        }
    }

    void pool(std::int64_t row) {
        const Bf16* x = m_in + row * m_window.inPlane() * m_channels;
        const std::int64_t out = row * m_window.outPlane();
        float* best = m_buffers.data() + omp_get_thread_num() * 2 * m_channels;
        float* tap = best + m_channels;
        std::int32_t* own = m_places.data() + omp_get_thread_num() * m_channels;
        forEachOutput([&](std::int64_t o, Span rows, Span columns) {
            std::int32_t* at = m_positions ? m_positions + (out + o) * m_channels : own;
            std::fill_n(best, m_channels, -std::numeric_limits<float>::infinity());
            std::fill_n(at, m_channels,
                        static_cast<std::int32_t>(rows.first * m_window.inWidth + columns.first));
            for (std::int64_t ih = rows.first; ih < rows.last; ++ih)
                for (std::int64_t iw = columns.first; iw < columns.last; ++iw) {
                    const std::int64_t i = ih * m_window.inWidth + iw;
                    widen(x + i * m_channels, tap, m_channels);
                    tapChannels(tap, static_cast<std::int32_t>(i), m_channels, best, at);
                }
            narrow(best, m_out + (out + o) * m_channels, m_channels);
        });
    }

    void spread(std::int64_t row) {
        Bf16* dx = m_in + row * m_window.inPlane() * m_channels;
        const std::int64_t out = row * m_window.outPlane();
        if (!m_add)
            std::fill_n(dx, m_window.inPlane() * m_channels, Bf16{});
        forEachOutput([&](std::int64_t o, Span rows, Span columns) {
            for (std::int64_t ih = rows.first; ih < rows.last; ++ih)
                for (std::int64_t iw = columns.first; iw < columns.last; ++iw) {
                    const std::int64_t i = ih * m_window.inWidth + iw;
                    giveBack(m_out + (out + o) * m_channels, m_positions + (out + o) * m_channels,
                             static_cast<std::int32_t>(i), m_channels, dx + i * m_channels);
                }
        });
    }

    Window m_window;
    std::int64_t m_rows, m_channels;
    bool m_backward, m_add;
    Bf16* m_in = nullptr;  ///< input; in backward its gradient
    Bf16* m_out = nullptr; ///< output; in backward its gradient
    std::int32_t* m_positions = nullptr;
    std::vector<float> m_buffers; ///< of each thread: the best and the tap of all channels
    std::vector<std::int32_t> m_places;
};

/// {channels, plane} of each row from one of the two layouts into the other.
class Turn : public Kernel {
public:
    Turn(const Operand& from, const Operand& to, const Shape& picture, std::int64_t rows, bool add)
        : m_from(dataOf<Bf16>(from)), m_to(dataOf<Bf16>(to)), m_rows(rows), m_add(add) {
        TRAINYARD_CHECK(from.layout != to.layout && m_from != m_to);
        const std::int64_t channels = picture[0], plane = picture[1] * picture[2];
        const bool last = from.layout == Layout::ChannelsLast;
        m_lines = last ? channels : plane; // of the result
        m_length = last ? plane : channels;
    }

    void run(const StepContext&) override {
        const std::int64_t elements = m_lines * m_length;
        parallelFor(m_rows, m_rows * elements < kGrain ? m_rows + 1 : 0, 1,
                    [&](std::int64_t first, std::int64_t last) {
                        for (std::int64_t row = first; row < last; ++row)
                            turn(m_from + row * elements, m_to + row * elements);
                    });
    }

private:
    void turn(const Bf16* from, Bf16* to) const {
        for (std::int64_t line = 0; line < m_lines; ++line)
            for (std::int64_t i = 0; i < m_length; ++i) {
                Bf16& target = to[line * m_length + i];
                const Bf16 value = from[i * m_lines + line];
                target = m_add ? narrowed(widened(target) + widened(value)) : value;
            }
    }

    const Bf16* m_from;
    Bf16* m_to;
    std::int64_t m_rows, m_lines = 0, m_length = 0;
    bool m_add;
};

} // namespace

std::unique_ptr<Kernel> makeHalfMaxPool(const KernelRequest& request) {
    return std::make_unique<HalfMaxPool>(request);
}

std::unique_ptr<Kernel> makeHalfTurn(const KernelRequest& request) {
    if (request.direction != Direction::Backward)
        return std::make_unique<Turn>(request.inputs[0], request.outputs[0],
                                      request.inputs[0].shape, request.rows, false);
    return std::make_unique<Turn>(request.outputGradients[0], request.inputGradients[0],
                                  request.inputs[0].shape, request.rows,
                                  addsToInputGradient(request));
}

} // namespace trainyard::engine::cpu
