// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/cpu/batch_norm_loops.h"

#include "engine/base/multiversion.h"

namespace trainyard::engine::cpu {

namespace {

/// Positions that are summed up side by side, so that additions do not wait for each other.
constexpr std::int64_t kStreams = 4;

/// The sums of `kStreams` streams, in order.
[[gnu::always_inline]] inline void addStreams(const std::array<Lanes, kStreams>& streams,
                                              Sums& sums) {
    for (const Lanes& stream : streams)
#pragma GCC unroll 1
        for (std::size_t l = 0; l < kLanes; ++l)
            sums[l] += static_cast<double>(stream[l]);
}

/// addMoments() where all 16 lanes are channels.
template <class T>
[[gnu::always_inline]] inline void addWideMomentsLoop(const T* __restrict x, const Walk& w,
                                                      const Lanes& pivot, Sums& a, Sums& b) {
    for (std::int64_t row = 0; row < w.rows; ++row) {
        const T* at = x + row * w.rowStride;
        std::array<Lanes, kStreams> sum{}, square{};
        for (std::int64_t i = 0; i < w.count; i += kStreams) {
            const std::int64_t streams = w.count - i < kStreams ? w.count - i : kStreams;
            for (std::int64_t s = 0; s < streams; ++s)
#pragma GCC unroll 1
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

/// addGradients() where all 16 lanes are channels.
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
#pragma GCC unroll 1
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

/// addMoments() for up to 16 channels.
template <class T>
[[gnu::always_inline]] inline void addFewMomentsLoop(const T* __restrict x, const Walk& w,
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
#pragma GCC unroll 1
        for (std::size_t l = 0; l < kLanes; ++l) {
            a[l] += static_cast<double>(sum[l]);
            b[l] += static_cast<double>(square[l]);
        }
    }
}

TRAINYARD_MULTIVERSION
void addFewMoments(const float* __restrict x, const Walk& w, const Lanes& pivot, Sums& a, Sums& b) {
    addFewMomentsLoop(x, w, pivot, a, b);
}

TRAINYARD_MULTIVERSION
void addFewMoments(const Bf16* __restrict x, const Walk& w, const Lanes& pivot, Sums& a, Sums& b) {
    addFewMomentsLoop(x, w, pivot, a, b);
}

/// addMoments() for `count` values of one channel side by side; sums in lanes of positions.
template <class T>
[[gnu::always_inline]] inline void addPlaneMomentsLoop(const T* __restrict x, const Walk& w,
                                                       float pivot, double& a, double& b) {
    for (std::int64_t row = 0; row < w.rows; ++row) {
        const T* at = x + row * w.rowStride;
        Lanes sum{}, square{};
        std::int64_t i = 0;
        for (; i + kLanes <= w.count; i += kLanes)
#pragma GCC unroll 1
            for (std::size_t l = 0; l < kLanes; ++l) {
                const float v = load(at[i + static_cast<std::int64_t>(l)]) - pivot;
                sum[l] += v;
                square[l] += v * v;
            }
        for (; i < w.count; ++i) {
            sum[0] += load(at[i]) - pivot;
            square[0] += (load(at[i]) - pivot) * (load(at[i]) - pivot);
        }
#pragma GCC unroll 1
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

/// addGradients() for up to 16 channels.
template <class T>
[[gnu::always_inline]] inline void
addFewGradientsLoop(const T* __restrict x, const T* __restrict dy, const Walk& w, const Lanes& mean,
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
#pragma GCC unroll 1
        for (std::size_t l = 0; l < kLanes; ++l) {
            a[l] += static_cast<double>(sum[l]);
            b[l] += static_cast<double>(product[l]);
        }
    }
}

TRAINYARD_MULTIVERSION
void addFewGradients(const float* __restrict x, const float* __restrict dy, const Walk& w,
                     const Lanes& mean, const Lanes& inverse, Sums& a, Sums& b) {
    addFewGradientsLoop(x, dy, w, mean, inverse, a, b);
}

TRAINYARD_MULTIVERSION
void addFewGradients(const Bf16* __restrict x, const Bf16* __restrict dy, const Walk& w,
                     const Lanes& mean, const Lanes& inverse, Sums& a, Sums& b) {
    addFewGradientsLoop(x, dy, w, mean, inverse, a, b);
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
#pragma GCC unroll 1
            for (std::size_t l = 0; l < kLanes; ++l) {
                const std::int64_t k = at + i + static_cast<std::int64_t>(l);
                sum[l] += load(dy[k]);
                product[l] += load(dy[k]) * ((load(x[k]) - mean) * inverse);
            }
        for (; i < w.count; ++i) {
            sum[0] += load(dy[at + i]);
            product[0] += load(dy[at + i]) * ((load(x[at + i]) - mean) * inverse);
        }
#pragma GCC unroll 1
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

} // namespace

template <class T>
void addMoments(const T* x, const Walk& w, const Lanes& pivot, Sums& a, Sums& b) {
    if (w.plane())
        addPlaneMoments(x, w, pivot[0], a[0], b[0]);
    else if (w.lanes == kLanes)
        addWideMoments(x, w, pivot, a, b);
    else
        addFewMoments(x, w, pivot, a, b);
}
template void addMoments(const float*, const Walk&, const Lanes&, Sums&, Sums&);
template void addMoments(const Bf16*, const Walk&, const Lanes&, Sums&, Sums&);

template <class T>
void addGradients(const T* x, const T* dy, const Walk& w, const Lanes& mean, const Lanes& inverse,
                  Sums& a, Sums& b) {
    if (w.plane())
        addPlaneGradients(x, dy, w, mean[0], inverse[0], a[0], b[0]);
    else if (w.lanes == kLanes)
        addWideGradients(x, dy, w, mean, inverse, a, b);
    else
        addFewGradients(x, dy, w, mean, inverse, a, b);
}
template void addGradients(const float*, const float*, const Walk&, const Lanes&, const Lanes&,
                           Sums&, Sums&);
template void addGradients(const Bf16*, const Bf16*, const Walk&, const Lanes&, const Lanes&, Sums&,
                           Sums&);

/// y = (x - mean) * scale + shift
template <class T>
[[gnu::always_inline]] static inline void normalizeLoop(const T* __restrict x, T* __restrict y,
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
#pragma GCC unroll 1
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

template <class T>
[[gnu::always_inline]] static inline void
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
#pragma GCC unroll 1
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

} // namespace trainyard::engine::cpu
