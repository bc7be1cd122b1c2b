// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Batch norm: Ioffe and Szegedy, "Batch normalization", 2015. Channels are taken in groups that lie
// side by side in memory: 16 of a blocked picture or of a table's columns, one of a plain picture.
// Threads share groups and each sum runs over the rows in order, so results do not depend on them.
// Sums of a row are in fp32 lanes, over rows in fp64, of values less a pivot (the channel's first
// value), so that a large mean costs no digits.
#include "engine/backend/cpu/kernels.h"

#include "engine/backend/cpu/batch_norm_loops.h"
#include "engine/backend/kernel_request.h"
#include "engine/base/parallel.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace trainyard::engine::cpu {

namespace {

constexpr std::int64_t kElementsAtOnce = 1 << 17; ///< of rows that stay in the cache

struct Groups {
    std::int64_t first, last;
};

struct GroupSums {
    Sums a{}, b{};
};

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
        m_rowsAtOnce = layout == Layout::ChannelsLast
                           ? std::max<std::int64_t>(kElementsAtOnce / m_walk.rowStride, 1)
                           : std::max<std::int64_t>(request.rows, 1);
        m_sums.resize(static_cast<std::size_t>(m_groups));
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
    GroupSums& sumsOf(std::int64_t group) { return m_sums[static_cast<std::size_t>(group)]; }
    double localCount() const { return static_cast<double>(m_request.rows * m_plane); }

    /// f(groups) for consecutive groups, spread over the threads.
    template <class Function>
    void forEachPart(const Function& f) const {
        const bool small = m_request.rows * m_plane * m_channels < 1 << 14;
        parallelFor(m_groups, small ? m_groups + 1 : 0, 1,
                    [&](std::int64_t first, std::int64_t last) {
                        f(Groups{first, last});
                    });
    }

    /// f(group, walk, first element), a few rows of all groups before the next ones: where channels
    /// lie last, groups share the lines of the cache.
    template <class Function>
    void walk(Groups groups, const Function& f) const {
        for (std::int64_t row = 0; row < m_request.rows; row += m_rowsAtOnce)
            for (std::int64_t group = groups.first; group < groups.last; ++group) {
                Walk part = walkOf(group);
                part.rows = std::min(m_rowsAtOnce, m_request.rows - row);
                f(group, part, firstElement(group) + row * part.rowStride);
            }
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
    std::int64_t m_rowsAtOnce = 1;
    std::vector<GroupSums> m_sums;
};

template <class T>
class BatchNormForward : public BatchNorm<T> {
public:
    explicit BatchNormForward(const KernelRequest& request)
        : BatchNorm<T>(request), m_numbers(m_sums.size()) {}

    void run(const StepContext&) override {
        const bool training = m_request.direction == Direction::Forward;
        if (m_request.phase == plan::Phase::Collect)
            m_request.statistics[2 * m_channels] = localCount();
        forEachPart([&](Groups groups) {
            if (training && m_request.phase != plan::Phase::Apply)
                collect(groups);
            else if (training)
                takeStatistics(groups);
            if (m_request.phase != plan::Phase::Collect)
                apply(groups, training);
        });
    }

private:
    using Base = BatchNorm<T>;
    using Base::channelsOf;
    using Base::firstElement;
    using Base::forEachPart;
    using Base::lanesOf;
    using Base::localCount;
    using Base::m_channels;
    using Base::m_epsilon;
    using Base::m_inverse;
    using Base::m_mean;
    using Base::m_request;
    using Base::m_sums;
    using Base::m_walk;
    using Base::m_x;
    using Base::planar;
    using Base::sumsOf;
    using Base::walk;

    void collect(Groups groups) {
        for (std::int64_t group = groups.first; group < groups.last; ++group) {
            sumsOf(group) = {};
            const T* x = m_x + firstElement(group);
            std::transform(x, x + (planar() ? 1 : channelsOf(group)), partOf(group).pivot.begin(),
                           [](T value) { return load(value); });
        }
        walk(groups, [this](std::int64_t group, const Walk& part, std::int64_t at) {
            GroupSums& sums = sumsOf(group);
            addMoments(m_x + at, part, partOf(group).pivot, sums.a, sums.b);
        });
        for (std::int64_t group = groups.first; group < groups.last; ++group)
            putStatistics(group);
    }

    void putStatistics(std::int64_t group) {
        const auto& [a, b] = sumsOf(group);
        const double n = localCount();
        for (std::int64_t i = 0; i < channelsOf(group); ++i) {
            const auto l = static_cast<std::size_t>(i);
            const std::int64_t channel = group * m_walk.lanes + i;
            const double p = static_cast<double>(partOf(group).pivot[l]);
            if (m_request.phase == plan::Phase::Collect) {
                m_request.statistics[channel] = a[l] + n * p;
                m_request.statistics[m_channels + channel] = b[l] + 2 * p * a[l] + n * p * p;
            } else {
                save(channel, p + a[l] / n, b[l] / n - a[l] / n * (a[l] / n));
            }
        }
    }

    void takeStatistics(Groups groups) {
        const double n = m_request.statistics[2 * m_channels];
        const std::int64_t last = std::min(groups.last * m_walk.lanes, m_channels);
        for (std::int64_t channel = groups.first * m_walk.lanes; channel < last; ++channel) {
            const double mean = m_request.statistics[channel] / n;
            save(channel, mean, m_request.statistics[m_channels + channel] / n - mean * mean);
        }
    }

    void save(std::int64_t channel, double mean, double variance) {
        m_mean[channel] = static_cast<float>(mean);
        m_inverse[channel] = static_cast<float>(1 / std::sqrt(std::max(variance, 0.0) + m_epsilon));
    }

    void apply(Groups groups, bool training) {
        for (std::int64_t group = groups.first; group < groups.last; ++group)
            prepare(group, training);
        walk(groups, [this](std::int64_t group, const Walk& part, std::int64_t at) {
            const GroupNumbers& g = partOf(group);
            normalize(m_x + at, dataOf<T>(m_request.outputs[0]) + at, part, g.mean, g.scale,
                      g.shift);
        });
    }

    void prepare(std::int64_t group, bool training) {
        const auto* weight = dataOf<float>(m_request.parameters[0]);
        const auto* bias = dataOf<float>(m_request.parameters[1]);
        GroupNumbers& g = partOf(group);
        for (std::int64_t i = 0; i < channelsOf(group); ++i) {
            const auto l = static_cast<std::size_t>(i);
            const std::int64_t channel = group * m_walk.lanes + i;
            g.mean[l] =
                training ? m_mean[channel] : dataOf<float>(m_request.parameters[2])[channel];
            const float inverse = training ? m_inverse[channel] : runningInverse(channel);
            g.scale[l] = weight[channel] * inverse;
            g.shift[l] = bias[channel];
        }
    }

    float runningInverse(std::int64_t channel) const {
        const double variance =
            static_cast<double>(dataOf<float>(m_request.parameters[3])[channel]);
        return static_cast<float>(1 / std::sqrt(variance + m_epsilon));
    }

    struct GroupNumbers {
        Lanes pivot{}, mean{}, scale{}, shift{};
    };
    GroupNumbers& partOf(std::int64_t group) { return m_numbers[static_cast<std::size_t>(group)]; }

    std::vector<GroupNumbers> m_numbers;
};

template <class T>
class BatchNormBackward : public BatchNorm<T> {
public:
    explicit BatchNormBackward(const KernelRequest& request)
        : BatchNorm<T>(request), m_dy(dataOf<T>(request.outputGradients[0])),
          m_numbers(m_sums.size()) {}

    void run(const StepContext& context) override {
        if (m_request.phase == plan::Phase::Collect)
            m_request.statistics[2 * m_channels] = localCount();
        forEachPart([&](Groups groups) {
            if (m_request.phase != plan::Phase::Apply)
                collect(groups);
            if (m_request.phase == plan::Phase::Collect)
                return;
            double n = localCount();
            if (m_request.phase == plan::Phase::Apply)
                n = takeStatistics(groups);
            if (wantsInputGradient(m_request))
                apply(groups, n);
            for (std::int64_t group = groups.first; group < groups.last; ++group)
                writeRunning(group, n, context);
        });
    }

private:
    using Base = BatchNorm<T>;
    using Base::channelsOf;
    using Base::firstElement;
    using Base::forEachPart;
    using Base::lanesOf;
    using Base::localCount;
    using Base::m_channels;
    using Base::m_epsilon;
    using Base::m_inverse;
    using Base::m_mean;
    using Base::m_request;
    using Base::m_sums;
    using Base::m_walk;
    using Base::m_x;
    using Base::planar;
    using Base::sumsOf;
    using Base::walk;

    /// Sums of this rank's rows; those are its gradients of weight and bias.
    void collect(Groups groups) {
        for (std::int64_t group = groups.first; group < groups.last; ++group)
            sumsOf(group) = {};
        walk(groups, [this](std::int64_t group, const Walk& part, std::int64_t at) {
            GroupSums& sums = sumsOf(group);
            addGradients(m_x + at, m_dy + at, part, lanesOf(m_mean, group),
                         lanesOf(m_inverse, group), sums.a, sums.b);
        });
        for (std::int64_t group = groups.first; group < groups.last; ++group)
            putSums(group);
    }

    void putSums(std::int64_t group) {
        const auto& [a, b] = sumsOf(group);
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

    double takeStatistics(Groups groups) {
        for (std::int64_t group = groups.first; group < groups.last; ++group) {
            const double* from = m_request.statistics + group * m_walk.lanes;
            std::copy_n(from, channelsOf(group), sumsOf(group).a.begin());
            std::copy_n(from + m_channels, channelsOf(group), sumsOf(group).b.begin());
        }
        return m_request.statistics[2 * m_channels];
    }

    void apply(Groups groups, double n) {
        for (std::int64_t group = groups.first; group < groups.last; ++group)
            prepare(group, n);
        walk(groups, [this](std::int64_t group, const Walk& part, std::int64_t at) {
            writeInputGradient(m_x + at, m_dy + at, dataOf<T>(m_request.inputGradients[0]) + at,
                               part, m_numbers[static_cast<std::size_t>(group)],
                               addsToInputGradient(m_request));
        });
    }

    void prepare(std::int64_t group, double n) {
        const auto& [a, b] = sumsOf(group);
        InputGradient& g = m_numbers[static_cast<std::size_t>(group)];
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
    std::vector<InputGradient> m_numbers;
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
