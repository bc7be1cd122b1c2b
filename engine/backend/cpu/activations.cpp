// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// gelu, silu, tanh and sigmoid. Memory is walked as it lies; the padding of blocked pictures is set
// back to zero where the function of zero is not zero (sigmoid).
#include "engine/backend/cpu/kernels.h"

#include "engine/backend/cpu/fast_math.h"
#include "engine/backend/cpu/loops.h"
#include "engine/backend/kernel_request.h"
#include "engine/base/multiversion.h"
#include "engine/base/parallel.h"

#include <algorithm>
#include <array>

namespace trainyard::engine::cpu {

namespace {

// Hendrycks and Gimpel, "Gaussian error linear units", 2016: x / 2 (1 + tanh(c (x + b x³))).
constexpr float kTanhScale = 0.79788456080286536F; ///< sqrt(2 / pi)
constexpr float kTanhCubic = 0.044715F;

struct GeluErf {
    [[gnu::always_inline]] static float value(float x) { return x * normalAt(x).below; }
    [[gnu::always_inline]] static float slope(float x) {
        const Normal normal = normalAt(x);
        return normal.below + x * normal.density;
    }
};

struct GeluTanh {
    // tanh(u) = 2 logistic(2u) - 1, so gelu = x logistic(2u).
    [[gnu::always_inline]] static float inner(float x) {
        return 2 * kTanhScale * (x + kTanhCubic * (x * x * x));
    }
    [[gnu::always_inline]] static float value(float x) { return x * logistic(inner(x)); }
    [[gnu::always_inline]] static float slope(float x) {
        const float s = logistic(inner(x));
        const float innerSlope = 2 * kTanhScale * (1 + 3 * kTanhCubic * (x * x));
        return s + x * (s * (1 - s) * innerSlope);
    }
};

struct SiluFunction {
    [[gnu::always_inline]] static float value(float x) { return x * logistic(x); }
    [[gnu::always_inline]] static float slope(float x) {
        const float s = logistic(x);
        return s + x * (s * (1 - s));
    }
};

// The slopes of these two come from the output y.
struct TanhFunction {
    [[gnu::always_inline]] static float value(float x) { return hyperbolicTangent(x); }
    [[gnu::always_inline]] static float slope(float y) { return 1 - y * y; }
};

struct SigmoidFunction {
    [[gnu::always_inline]] static float value(float x) { return logistic(x); }
    [[gnu::always_inline]] static float slope(float y) { return y * (1 - y); }
};

template <class F>
[[gnu::always_inline]] inline void valuesLoop(const float* x, float* y, std::int64_t count) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i)
        y[i] = F::value(x[i]);
}

/// dx = dy * slope(at), or += it. dx may be dy.
template <class F>
[[gnu::always_inline]] inline void slopesLoop(const float* at, const float* dy, float* dx,
                                              std::int64_t count, bool add) {
    if (add) {
#pragma GCC ivdep
        for (std::int64_t i = 0; i < count; ++i)
            dx[i] += dy[i] * F::slope(at[i]);
    } else {
#pragma GCC ivdep
        for (std::int64_t i = 0; i < count; ++i)
            dx[i] = dy[i] * F::slope(at[i]);
    }
}

/// Numbers in bf16 are widened in pieces that stay in the cache: loops over both types at once are
/// not vectorised.
constexpr std::int64_t kPiece = 512;
using Piece = std::array<float, kPiece>;

template <class F>
[[gnu::always_inline]] inline void valuesLoop(const Bf16* x, Bf16* y, std::int64_t count) {
    Piece piece;
    for (std::int64_t first = 0; first < count; first += kPiece) {
        const std::int64_t part = std::min(kPiece, count - first);
        widen(x + first, piece.data(), part);
        valuesLoop<F>(piece.data(), piece.data(), part);
        narrow(piece.data(), y + first, part);
    }
}

template <class F>
[[gnu::always_inline]] inline void slopesLoop(const Bf16* at, const Bf16* dy, Bf16* dx,
                                              std::int64_t count, bool add) {
    Piece places, gradients, sums;
    for (std::int64_t first = 0; first < count; first += kPiece) {
        const std::int64_t part = std::min(kPiece, count - first);
        widen(at + first, places.data(), part);
        widen(dy + first, gradients.data(), part);
        if (add)
            widen(dx + first, sums.data(), part);
        slopesLoop<F>(places.data(), gradients.data(), sums.data(), part, add);
        narrow(sums.data(), dx + first, part);
    }
}

template <class T>
using Values = void (*)(const T*, T*, std::int64_t);
template <class T>
using Slopes = void (*)(const T*, const T*, T*, std::int64_t, bool);

// target_clones does not go with templates: one plain function for each.
#define TRAINYARD_ACTIVATION(name, Function, T)                                                    \
    TRAINYARD_MULTIVERSION void name##Values(const T* x, T* y, std::int64_t count) {               \
        valuesLoop<Function>(x, y, count);                                                         \
    }                                                                                              \
    TRAINYARD_MULTIVERSION void name##Slopes(const T* at, const T* dy, T* dx, std::int64_t count,  \
                                             bool add) {                                           \
        slopesLoop<Function>(at, dy, dx, count, add);                                              \
    }
#define TRAINYARD_ACTIVATIONS(T)                                                                   \
    TRAINYARD_ACTIVATION(geluErf, GeluErf, T)                                                      \
    TRAINYARD_ACTIVATION(geluTanh, GeluTanh, T)                                                    \
    TRAINYARD_ACTIVATION(silu, SiluFunction, T)                                                    \
    TRAINYARD_ACTIVATION(tanh, TanhFunction, T)                                                    \
    TRAINYARD_ACTIVATION(sigmoid, SigmoidFunction, T)

TRAINYARD_ACTIVATIONS(float)
TRAINYARD_ACTIVATIONS(Bf16)
#undef TRAINYARD_ACTIVATIONS
#undef TRAINYARD_ACTIVATION

template <class T>
struct Functions {
    Values<T> values;
    Slopes<T> slopes;
};

template <class T>
Functions<T> functionsOf(const KernelRequest& request) {
    switch (request.kind) {
    case graph::OperationKind::Gelu:
        return std::get<graph::GeluAttributes>(request.attributes).tanh
                   ? Functions<T>{geluTanhValues, geluTanhSlopes}
                   : Functions<T>{geluErfValues, geluErfSlopes};
    case graph::OperationKind::Silu:
        return {siluValues, siluSlopes};
    case graph::OperationKind::Tanh:
        return {tanhValues, tanhSlopes};
    default:
        TRAINYARD_CHECK(request.kind == graph::OperationKind::Sigmoid);
        return {sigmoidValues, sigmoidSlopes};
    }
}

template <class T>
class ActivationForward : public Kernel {
public:
    explicit ActivationForward(const KernelRequest& request)
        : m_values(functionsOf<T>(request).values), m_x(dataOf<T>(request.inputs[0])),
          m_y(dataOf<T>(request.outputs[0])), m_output(request.outputs[0]), m_rows(request.rows),
          m_count(storedElements(request.inputs[0], request.rows)) {}

    void run(const StepContext&) override {
        // A value costs about ten times what moving it does.
        parallelFor(m_count, kGrain / 8, kLine, [this](std::int64_t first, std::int64_t last) {
            m_values(m_x + first, m_y + first, last - first);
        });
        clearPadding(m_output, m_rows);
    }

private:
    Values<T> m_values;
    const T* m_x;
    T* m_y;
    Operand m_output;
    std::int64_t m_rows, m_count;
};

template <class T>
class ActivationBackward : public Kernel {
public:
    explicit ActivationBackward(const KernelRequest& request)
        : m_slopes(functionsOf<T>(request).slopes), m_dy(dataOf<T>(request.outputGradients[0])),
          m_dx(dataOf<T>(request.inputGradients[0])), m_add(addsToInputGradient(request)),
          m_count(storedElements(request.inputs[0], request.rows)) {
        const bool output = graph::traits(request.kind).readsOutput;
        m_at = dataOf<T>(output ? request.outputs[0] : request.inputs[0]);
    }

    void run(const StepContext&) override {
        parallelFor(m_count, kGrain / 8, kLine, [this](std::int64_t first, std::int64_t last) {
            m_slopes(m_at + first, m_dy + first, m_dx + first, last - first, m_add);
        });
    }

private:
    Slopes<T> m_slopes;
    const T* m_at;
    const T* m_dy;
    T* m_dx;
    bool m_add;
    std::int64_t m_count;
};

template <class T>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
    if (request.direction == Direction::Backward)
        return std::make_unique<ActivationBackward<T>>(request);
    return std::make_unique<ActivationForward<T>>(request);
}

} // namespace

std::unique_ptr<Kernel> makeActivation(const KernelRequest& request) {
    return request.type == DType::Bf16 ? make<Bf16>(request) : make<float>(request);
}

} // namespace trainyard::engine::cpu
