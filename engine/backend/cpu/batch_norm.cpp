// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Batch norm: Ioffe and Szegedy, "Batch normalization", 2015. Channels are taken in groups that lie
// side by side in memory: 16 of a blocked picture or of a table's columns, one of a plain picture.
// Threads share groups and each sum runs over the rows in order, so results do not depend on them.
// Sums of a row are in fp32 lanes, over rows in fp64, of values less a pivot (the channel's first
// value), so that a large mean costs no digits.
#include "engine/backend/cpu/kernels.h"

#include "engine/backend/cpu/loops.h"
#include "engine/backend/kernel_request.h"
#include "engine/base/multiversion.h"
#include "engine/base/parallel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace trainyard::engine::cpu {

namespace {

constexpr std::int64_t kLanes = 16;
using Lanes = std::array<float, kLanes>;
using Sums = std::array<double, kLanes>;

/// Element (row, i, lane) of a group is `row * rowStride + i * step + lane` behind its first.
struct Walk {
    std::int64_t rows, rowStride, count, step;
    std::int64_t lanes; ///< channels

    /// `count` elements of one channel lie side by side.
    bool plane() const { return lanes == 1 && step == 1; }
};

/// Positions that are summed up side by side, so that additions do not wait for each other.
constexpr std::int64_t kStreams = 4;

/// The sums of `kStreams` streams, in order.
[[gnu::always_inline]] inline void addStreams(const std::array<Lanes, kStreams>& streams,
                                              Sums& sums) {
    for (const Lanes& stream : streams)
        for (std::size_t l = 0; l < kLanes; ++l)
            sums[l] += static_cast<double>(stream[l]);
}

/// addMoments where all 16 lanes are channels.
template <class T>
[[gnu::always_inline]] inline void addWideMomentsLoop(const T* __restrict x, const Walk& w,
                                                      const Lanes& pivot, Sums& a, Sums& b) {
    for (std::int64_t row = 0; row < w.rows; ++row) {
        const T* at = x + row * w.rowStride;
        std::array<Lanes, kStreams> sum{}, square{};
        for (std::int64_t i = 0; i < w.count; i += kStreams) {
            const std::int64_t streams = w.count - i < kStreams ? w.count - i : kStreams;
            for (std::int64_t s = 0; s < streams; ++s)
                for (std::size_t l = 0; l < kLanes; ++l) {
                    const auto stream = static_cast<std::size_t>(s);
                    const float v =
                        load(at[(i + s) * w.step + static_cast<std::int64_t>(l)]) - pivot[l];
                    sum[stream][l] += v;
                    square[stream][l] += v * v;
                }
        }
        addStreams(sum, a);
        addStreams(square, b);
    }
}

TRAINYARD_MULTIVERSION
void addWideMoments(const float* __restrict x, const Walk& w, const Lanes& pivot, Sums& a,
                    Sums& b) {
    addWideMomentsLoop(x, w, pivot, a, b);
}

TRAINYARD_MULTIVERSION
void addWideMoments(const Bf16* __restrict x, const Walk& w, const Lanes& pivot, Sums& a, Sums& b) {
    addWideMomentsLoop(x, w, pivot, a, b);
}

/// addGradients where all 16 lanes are channels.
template <class T>
[[gnu::always_inline]] inline void
addWideGradientsLoop(const T* __restrict x, const T* __restrict dy, const Walk& w,
                     const Lanes& mean, const Lanes& inverse, Sums& a, Sums& b) {
    for (std::int64_t row = 0; row < w.rows; ++row) {
        const std::int64_t at = row * w.rowStride;
        std::array<Lanes, kStreams> sum{}, product{};
        for (std::int64_t i = 0; i < w.count; i += kStreams) {
            const std::int64_t streams = w.count - i < kStreams ? w.count - i : kStreams;
            for (std::int64_t s = 0; s < streams; ++s)
                for (std::size_t l = 0; l < kLanes; ++l) {
                    const auto stream = static_cast<std::size_t>(s);
                    const std::int64_t k = at + (i + s) * w.step + static_cast<std::int64_t>(l);
                    sum[stream][l] += load(dy[k]);
                    product[stream][l] += load(dy[k]) * ((load(x[k]) - mean[l]) * inverse[l]);
                }
        }
        addStreams(sum, a);
        addStreams(product, b);
    }
}

TRAINYARD_MULTIVERSION
void addWideGradients(const float* __restrict x, const float* __restrict dy, const Walk& w,
                      const Lanes& mean, const Lanes& inverse, Sums& a, Sums& b) {
    addWideGradientsLoop(x, dy, w, mean, inverse, a, b);
}

TRAINYARD_MULTIVERSION
void addWideGradients(const Bf16* __restrict x, const Bf16* __restrict dy, const Walk& w,
                      const Lanes& mean, const Lanes& inverse, Sums& a, Sums& b) {
    addWideGradientsLoop(x, dy, w, mean, inverse, a, b);
}

/// a += sum of (x - pivot), b += sum of its squares.
template <class T>
[[gnu::always_inline]] inline void addMomentsLoop(const T* __restrict x, const Walk& w,
                                                  const Lanes& pivot, Sums& a, Sums& b) {
    for (std::int64_t row = 0; row < w.rows; ++row) {
        const T* at = x + row * w.rowStride;
        Lanes sum{}, square{};
        for (std::int64_t i = 0; i < w.count; ++i)
            for (std::int64_t l = 0; l < w.lanes; ++l) {
                const auto lane = static_cast<std::size_t>(l);
                const float v = load(at[i * w.step + l]) - pivot[lane];
                sum[lane] += v;
                square[lane] += v * v;
            }
        for (std::size_t l = 0; l < kLanes; ++l) {
            a[l] += static_cast<double>(sum[l]);
            b[l] += static_cast<double>(square[l]);
        }
    }
}

TRAINYARD_MULTIVERSION
void addMoments(const float* __restrict x, const Walk& w, const Lanes& pivot, Sums& a, Sums& b) {
    addMomentsLoop(x, w, pivot, a, b);
}

TRAINYARD_MULTIVERSION
void addMoments(const Bf16* __restrict x, const Walk& w, const Lanes& pivot, Sums& a, Sums& b) {
    addMomentsLoop(x, w, pivot, a, b);
}

/// As addMoments, for `count` values of one channel side by side; sums in lanes of positions.
template <class T>
[[gnu::always_inline]] inline void addPlaneMomentsLoop(const T* __restrict x, const Walk& w,
                                                       float pivot, double& a, double& b) {
    for (std::int64_t row = 0; row < w.rows; ++row) {
        const T* at = x + row * w.rowStride;
        Lanes sum{}, square{};
        std::int64_t i = 0;
        for (; i + kLanes <= w.count; i += kLanes)
            for (std::size_t l = 0; l < kLanes; ++l) {
                const float v = load(at[i + static_cast<std::int64_t>(l)]) - pivot;
                sum[l] += v;
                square[l] += v * v;
            }
        for (; i < w.count; ++i) {
            sum[0] += load(at[i]) - pivot;
            square[0] += (load(at[i]) - pivot) * (load(at[i]) - pivot);
        }
        for (std::size_t l = 0; l < kLanes; ++l) {
            a += static_cast<double>(sum[l]);
            b += static_cast<double>(square[l]);
        }
    }
}

TRAINYARD_MULTIVERSION
void addPlaneMoments(const float* __restrict x, const Walk& w, float pivot, double& a, double& b) {
    addPlaneMomentsLoop(x, w, pivot, a, b);
}

TRAINYARD_MULTIVERSION
void addPlaneMoments(const Bf16* __restrict x, const Walk& w, float pivot, double& a, double& b) {
    addPlaneMomentsLoop(x, w, pivot, a, b);
}

/// a += sum of dy, b += sum of dy * (x - mean) * inverse.
template <class T>
[[gnu::always_inline]] inline void addGradientsLoop(const T* __restrict x, const T* __restrict dy,
                                                    const Walk& w, const Lanes& mean,
                                                    const Lanes& inverse, Sums& a, Sums& b) {
    for (std::int64_t row = 0; row < w.rows; ++row) {
        const std::int64_t at = row * w.rowStride;
        Lanes sum{}, product{};
        for (std::int64_t i = 0; i < w.count; ++i)
            for (std::int64_t l = 0; l < w.lanes; ++l) {
                const auto lane = static_cast<std::size_t>(l);
                const std::int64_t k = at + i * w.step + l;
                sum[lane] += load(dy[k]);
                product[lane] += load(dy[k]) * ((load(x[k]) - mean[lane]) * inverse[lane]);
            }
        for (std::size_t l = 0; l < kLanes; ++l) {
            a[l] += static_cast<double>(sum[l]);
            b[l] += static_cast<double>(product[l]);
        }
    }
}

TRAINYARD_MULTIVERSION
void addGradients(const float* __restrict x, const float* __restrict dy, const Walk& w,
                  const Lanes& mean, const Lanes& inverse, Sums& a, Sums& b) {
    addGradientsLoop(x, dy, w, mean, inverse, a, b);
}

TRAINYARD_MULTIVERSION
void addGradients(const Bf16* __restrict x, const Bf16* __restrict dy, const Walk& w,
                  const Lanes& mean, const Lanes& inverse, Sums& a, Sums& b) {
    addGradientsLoop(x, dy, w, mean, inverse, a, b);
}

template <class T>
[[gnu::always_inline]] inline void
addPlaneGradientsLoop(const T* __restrict x, const T* __restrict dy, const Walk& w, float mean,
                      float inverse, double& a, double& b) {
    for (std::int64_t row = 0; row < w.rows; ++row) {
        const std::int64_t at = row * w.rowStride;
        Lanes sum{}, product{};
        std::int64_t i = 0;
        for (; i + kLanes <= w.count; i += kLanes)
            for (std::size_t l = 0; l < kLanes; ++l) {
                const std::int64_t k = at + i + static_cast<std::int64_t>(l);
                sum[l] += load(dy[k]);
                product[l] += load(dy[k]) * ((load(x[k]) - mean) * inverse);
            }
        for (; i < w.count; ++i) {
            sum[0] += load(dy[at + i]);
            product[0] += load(dy[at + i]) * ((load(x[at + i]) - mean) * inverse);
        }
        for (std::size_t l = 0; l < kLanes; ++l) {
            a += static_cast<double>(sum[l]);
            b += static_cast<double>(product[l]);
        }
    }
}

TRAINYARD_MULTIVERSION
void addPlaneGradients(const float* __restrict x, const float* __restrict dy, const Walk& w,
                       float mean, float inverse, double& a, double& b) {
    addPlaneGradientsLoop(x, dy, w, mean, inverse, a, b);
}

TRAINYARD_MULTIVERSION
void addPlaneGradients(const Bf16* __restrict x, const Bf16* __restrict dy, const Walk& w,
                       float mean, float inverse, double& a, double& b) {
    addPlaneGradientsLoop(x, dy, w, mean, inverse, a, b);
}

/// y = (x - mean) * scale + shift
template <class T>
[[gnu::always_inline]] inline void normalizeLoop(const T* __restrict x, T* __restrict y,
                                                 const Walk& w, const Lanes& mean,
                                                 const Lanes& scale, const Lanes& shift) {
    for (std::int64_t row = 0; row < w.rows; ++row) {
        const T* from = x + row * w.rowStride;
        T* to = y + row * w.rowStride;
        if (w.plane())
            for (std::int64_t i = 0; i < w.count; ++i)
                store(to[i], (load(from[i]) - mean[0]) * scale[0] + shift[0]);
        else if (w.lanes == kLanes)
            for (std::int64_t i = 0; i < w.count; ++i)
                for (std::size_t l = 0; l < kLanes; ++l) {
                    const std::int64_t k = i * w.step + static_cast<std::int64_t>(l);
                    store(to[k], (load(from[k]) - mean[l]) * scale[l] + shift[l]);
                }
        else
            for (std::int64_t i = 0; i < w.count; ++i)
                for (std::int64_t l = 0; l < w.lanes; ++l) {
                    const auto lane = static_cast<std::size_t>(l);
                    const std::int64_t k = i * w.step + l;
                    store(to[k], (load(from[k]) - mean[lane]) * scale[lane] + shift[lane]);
                }
    }
}

TRAINYARD_MULTIVERSION
void normalize(const float* __restrict x, float* __restrict y, const Walk& w, const Lanes& mean,
               const Lanes& scale, const Lanes& shift) {
    normalizeLoop(x, y, w, mean, scale, shift);
}

TRAINYARD_MULTIVERSION
void normalize(const Bf16* __restrict x, Bf16* __restrict y, const Walk& w, const Lanes& mean,
               const Lanes& scale, const Lanes& shift) {
    normalizeLoop(x, y, w, mean, scale, shift);
}

/// dx = a * dy + b * (x - mean) + c, for each lane.
struct InputGradient {
    Lanes mean{}, a{}, b{}, c{};
};

template <class T>
[[gnu::always_inline]] inline void
writeInputGradientLoop(const T* __restrict x, const T* __restrict dy, T* __restrict dx,
                       const Walk& w, const InputGradient& g, bool add) {
    const auto put = [&](std::int64_t k, std::size_t l) {
        const float value = (load(dy[k]) * g.a[l] + (load(x[k]) - g.mean[l]) * g.b[l]) + g.c[l];
        store(dx[k], add ? load(dx[k]) + value : value);
    };
    for (std::int64_t row = 0; row < w.rows; ++row) {
        const std::int64_t at = row * w.rowStride;
        if (w.plane())
            for (std::int64_t i = 0; i < w.count; ++i)
                put(at + i, 0);
        else if (w.lanes == kLanes)
            for (std::int64_t i = 0; i < w.count; ++i)
                for (std::size_t l = 0; l < kLanes; ++l)
                    put(at + i * w.step + static_cast<std::int64_t>(l), l);
        else
            for (std::int64_t i = 0; i < w.count; ++i)
                for (std::int64_t l = 0; l < w.lanes; ++l)
                    put(at + i * w.step + l, static_cast<std::size_t>(l));
    }
}

TRAINYARD_MULTIVERSION
void writeInputGradient(const float* __restrict x, const float* __restrict dy, float* __restrict dx,
                        const Walk& w, const InputGradient& g, bool add) {
    writeInputGradientLoop(x, dy, dx, w, g, add);
}

TRAINYARD_MULTIVERSION
void writeInputGradient(const Bf16* __restrict x, const Bf16* __restrict dy, Bf16* __restrict dx,
                        const Walk& w, const InputGradient& g, bool add) {
    writeInputGradientLoop(x, dy, dx, w, g, add);
}

/// What forward and backward share: how channels lie, and where their numbers are.
template <class T>
class BatchNorm : public Kernel {
public:
    explicit BatchNorm(const KernelRequest& request)
        : m_request(request),
          m_epsilon(std::get<graph::NormAttributes>(request.attributes).epsilon),
          m_channels(request.inputs[0].shape[0]),
          m_plane(elementCount(request.inputs[0].shape) / m_channels),
          m_x(dataOf<T>(request.inputs[0])), m_mean(static_cast<float*>(request.saved)),
          m_inverse(m_mean ? m_mean + m_channels : nullptr) {
        const Layout layout = request.inputs[0].layout;
        const bool blocked = layout == Layout::Blocked16;
        const bool columns =
            layout == Layout::ChannelsLast || (layout == Layout::Plain && m_plane == 1);
        m_walk = {.rows = request.rows,
                  .rowStride = storedElements(request.inputs[0], 1),
                  .count = m_plane,
                  .step = blocked   ? kLanes
                          : columns ? m_channels
                                    : 1,
                  .lanes = blocked || columns ? kLanes : 1};
        m_groups = (m_channels + m_walk.lanes - 1) / m_walk.lanes;
    }

protected:
    bool planar() const { return m_walk.lanes == 1; }
    std::int64_t firstElement(std::int64_t group) const {
        const bool blocked = m_request.inputs[0].layout == Layout::Blocked16;
        return group * (planar() ? m_plane : blocked ? m_plane * kLanes : kLanes);
    }
    /// The last group of a table may have fewer columns; a blocked picture is padded with zeros.
    Walk walkOf(std::int64_t group) const {
        Walk walk = m_walk;
        if (!planar() && m_request.inputs[0].layout != Layout::Blocked16)
            walk.lanes = std::min(kLanes, m_channels - group * kLanes);
        return walk;
    }
    std::int64_t channelsOf(std::int64_t group) const {
        return std::min(m_walk.lanes, m_channels - group * m_walk.lanes);
    }
    double localCount() const { return static_cast<double>(m_request.rows * m_plane); }

    /// f(group) for all groups, spread over the threads.
    template <class Function>
    void forEachGroup(const Function& f) const {
        const bool small = m_request.rows * m_plane * m_channels < 1 << 14;
        parallelFor(m_groups, small ? m_groups + 1 : 0, 1,
                    [&](std::int64_t first, std::int64_t last) {
                        for (std::int64_t group = first; group < last; ++group)
                            f(group);
                    });
    }

    /// Values of a group's channels; `missing` for those that only fill the block.
    Lanes lanesOf(const float* values, std::int64_t group, float missing = 0) const {
        Lanes lanes;
        lanes.fill(missing);
        std::copy_n(values + group * m_walk.lanes, channelsOf(group), lanes.begin());
        return lanes;
    }

    KernelRequest m_request;
    double m_epsilon;
    std::int64_t m_channels, m_plane;
    const T* m_x;
    float* m_mean;
    float* m_inverse;
    Walk m_walk{};
    std::int64_t m_groups = 0;
};

template <class T>
class BatchNormForward : public BatchNorm<T> {
public:
    using BatchNorm<T>::BatchNorm;

    void run(const StepContext&) override {
        const bool training = m_request.direction == Direction::Forward;
        if (m_request.phase == plan::Phase::Collect)
            m_request.statistics[2 * m_channels] = localCount();
        forEachGroup([&](std::int64_t group) {
            if (training && m_request.phase != plan::Phase::Apply)
                collect(group);
            else if (training)
                takeStatistics(group);
            if (m_request.phase != plan::Phase::Collect)
                apply(group, training);
        });
    }

private:
    using Base = BatchNorm<T>;
    using Base::channelsOf;
    using Base::firstElement;
    using Base::forEachGroup;
    using Base::lanesOf;
    using Base::localCount;
    using Base::m_channels;
    using Base::m_epsilon;
    using Base::m_inverse;
    using Base::m_mean;
    using Base::m_request;
    using Base::m_walk;
    using Base::m_x;
    using Base::planar;
    using Base::walkOf;

    void collect(std::int64_t group) {
        const Walk walk = walkOf(group);
        const T* x = m_x + firstElement(group);
        Lanes pivot{};
        std::transform(x, x + (planar() ? 1 : channelsOf(group)), pivot.begin(),
                       [](T value) { return load(value); });
        Sums a{}, b{};
        if (planar())
            addPlaneMoments(x, walk, pivot[0], a[0], b[0]);
        else if (walk.lanes == kLanes)
            addWideMoments(x, walk, pivot, a, b);
        else
            addMoments(x, walk, pivot, a, b);
        const double n = localCount();
        for (std::int64_t i = 0; i < channelsOf(group); ++i) {
            const auto l = static_cast<std::size_t>(i);
            const std::int64_t channel = group * m_walk.lanes + i;
            const double p = static_cast<double>(pivot[l]);
            if (m_request.phase == plan::Phase::Collect) {
                m_request.statistics[channel] = a[l] + n * p;
                m_request.statistics[m_channels + channel] = b[l] + 2 * p * a[l] + n * p * p;
            } else {
                save(channel, p + a[l] / n, b[l] / n - a[l] / n * (a[l] / n));
            }
        }
    }

    void takeStatistics(std::int64_t group) {
        const double n = m_request.statistics[2 * m_channels];
        for (std::int64_t i = 0; i < channelsOf(group); ++i) {
            const std::int64_t channel = group * m_walk.lanes + i;
            const double mean = m_request.statistics[channel] / n;
            save(channel, mean, m_request.statistics[m_channels + channel] / n - mean * mean);
        }
    }

    void save(std::int64_t channel, double mean, double variance) {
        m_mean[channel] = static_cast<float>(mean);
        m_inverse[channel] = static_cast<float>(1 / std::sqrt(std::max(variance, 0.0) + m_epsilon));
    }

    void apply(std::int64_t group, bool training) {
        const auto* weight = dataOf<float>(m_request.parameters[0]);
        const auto* bias = dataOf<float>(m_request.parameters[1]);
        Lanes mean{}, scale{}, shift{};
        for (std::int64_t i = 0; i < channelsOf(group); ++i) {
            const auto l = static_cast<std::size_t>(i);
            const std::int64_t channel = group * m_walk.lanes + i;
            mean[l] = training ? m_mean[channel] : dataOf<float>(m_request.parameters[2])[channel];
            const float inverse = training ? m_inverse[channel] : runningInverse(channel);
            scale[l] = weight[channel] * inverse;
            shift[l] = bias[channel];
        }
        normalize(m_x + firstElement(group), dataOf<T>(m_request.outputs[0]) + firstElement(group),
                  walkOf(group), mean, scale, shift);
    }

    float runningInverse(std::int64_t channel) const {
        const double variance =
            static_cast<double>(dataOf<float>(m_request.parameters[3])[channel]);
        return static_cast<float>(1 / std::sqrt(variance + m_epsilon));
    }
};

template <class T>
class BatchNormBackward : public BatchNorm<T> {
public:
    explicit BatchNormBackward(const KernelRequest& request)
        : BatchNorm<T>(request), m_dy(dataOf<T>(request.outputGradients[0])) {}

    void run(const StepContext& context) override {
        if (m_request.phase == plan::Phase::Collect)
            m_request.statistics[2 * m_channels] = localCount();
        forEachGroup([&](std::int64_t group) {
            Sums a{}, b{};
            if (m_request.phase != plan::Phase::Apply)
                collect(group, a, b);
            if (m_request.phase == plan::Phase::Collect)
                return;
            double n = localCount();
            if (m_request.phase == plan::Phase::Apply)
                n = takeStatistics(group, a, b);
            if (wantsInputGradient(m_request))
                apply(group, a, b, n);
            writeRunning(group, n, context);
        });
    }

private:
    using Base = BatchNorm<T>;
    using Base::channelsOf;
    using Base::firstElement;
    using Base::forEachGroup;
    using Base::lanesOf;
    using Base::localCount;
    using Base::m_channels;
    using Base::m_epsilon;
    using Base::m_inverse;
    using Base::m_mean;
    using Base::m_request;
    using Base::m_walk;
    using Base::m_x;
    using Base::planar;
    using Base::walkOf;

    /// Sums of this rank's rows; those are its gradients of weight and bias.
    void collect(std::int64_t group, Sums& a, Sums& b) {
        const std::int64_t at = firstElement(group);
        const Lanes mean = lanesOf(m_mean, group), inverse = lanesOf(m_inverse, group);
        if (planar())
            addPlaneGradients(m_x + at, m_dy + at, walkOf(group), mean[0], inverse[0], a[0], b[0]);
        else if (walkOf(group).lanes == kLanes)
            addWideGradients(m_x + at, m_dy + at, walkOf(group), mean, inverse, a, b);
        else
            addGradients(m_x + at, m_dy + at, walkOf(group), mean, inverse, a, b);
        for (std::int64_t i = 0; i < channelsOf(group); ++i) {
            const auto l = static_cast<std::size_t>(i);
            const std::int64_t channel = group * m_walk.lanes + i;
            put(0, channel, b[l]);
            put(1, channel, a[l]);
            if (m_request.phase == plan::Phase::Collect) {
                m_request.statistics[channel] = a[l];
                m_request.statistics[m_channels + channel] = b[l];
            }
        }
    }

    double takeStatistics(std::int64_t group, Sums& a, Sums& b) const {
        std::copy_n(m_request.statistics + group * m_walk.lanes, channelsOf(group), a.begin());
        std::copy_n(m_request.statistics + m_channels + group * m_walk.lanes, channelsOf(group),
                    b.begin());
        return m_request.statistics[2 * m_channels];
    }

    void apply(std::int64_t group, const Sums& a, const Sums& b, double n) {
        InputGradient g;
        g.mean = lanesOf(m_mean, group);
        for (std::int64_t i = 0; i < channelsOf(group); ++i) {
            const auto l = static_cast<std::size_t>(i);
            const std::int64_t channel = group * m_walk.lanes + i;
            const double inverse = static_cast<double>(m_inverse[channel]);
            const double scale =
                static_cast<double>(dataOf<float>(m_request.parameters[0])[channel]) * inverse;
            g.a[l] = static_cast<float>(scale);
            g.b[l] = static_cast<float>(-scale * inverse * b[l] / n);
            g.c[l] = static_cast<float>(-scale * a[l] / n);
        }
        const std::int64_t at = firstElement(group);
        writeInputGradient(m_x + at, m_dy + at, dataOf<T>(m_request.inputGradients[0]) + at,
                           walkOf(group), g, addsToInputGradient(m_request));
    }

    /// This rank's share of the batch's mean and unbiased variance.
    void writeRunning(std::int64_t group, double n, const StepContext& context) {
        const double share =
            static_cast<double>(m_request.rows) / static_cast<double>(context.globalRows);
        const double unbiased = n > 1 ? n / (n - 1) : 1;
        for (std::int64_t i = 0; i < channelsOf(group); ++i) {
            const std::int64_t channel = group * m_walk.lanes + i;
            const double inverse = static_cast<double>(m_inverse[channel]);
            const double variance = std::max(1 / (inverse * inverse) - m_epsilon, 0.0);
            put(2, channel, share * static_cast<double>(m_mean[channel]));
            put(3, channel, share * variance * unbiased);
        }
    }

    void put(std::size_t parameter, std::int64_t channel, double value) {
        if (!wantsParameterGradient(m_request, parameter))
            return;
        float& to = dataOf<float>(m_request.parameterGradients[parameter])[channel];
        to = addsToParameterGradient(m_request, parameter) ? to + static_cast<float>(value)
                                                           : static_cast<float>(value);
    }

    const T* m_dy;
};

template <class T>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
    if (request.direction == Direction::Backward)
        return std::make_unique<BatchNormBackward<T>>(request);
    return std::make_unique<BatchNormForward<T>>(request);
}

} // namespace

std::unique_ptr<Kernel> makeBatchNorm(const KernelRequest& request) {
    return request.type == DType::Bf16 ? make<Bf16>(request) : make<float>(request);
}

} // namespace trainyard::engine::cpu
