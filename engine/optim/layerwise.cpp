// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Optimizers whose step is as long as the parameter tensor it moves:
//   lars  You, Gitman, Ginsburg, "Large batch training of convolutional networks", 2017, algorithm
//   1:
//         the rate of a tensor is rate * trust * |w| / (|g| + decay * |w|).
//   lamb  You et al., "Large batch optimization for deep learning: training BERT in 76 minutes",
//         ICLR 2020, algorithm 2 with phi(z) = z: a step of Adam with decay, as long as |w| * rate.
// Tensors without weight decay (biases, norms) keep the plain rate, and so does a tensor while it
// or its gradient is zero, as in the authors' own code. Norms are sums over pieces of a fixed size,
// added in order: no thread changes a bit.
#include "engine/base/check.h"
#include "engine/optim/optimizer_parts.h"
#include "engine/optim/update_loops.h"

#include <cmath>

namespace trainyard::engine {

namespace {

/// Elements. A multiple of the lanes of a sum and of a cache line.
constexpr std::int64_t kPiece = 1 << 14;

struct Piece {
    std::size_t range;
    std::int64_t first, count;
    double weights = 0, step = 0; ///< sums of squares
};

/// The trained ranges cut into pieces that threads can take. The memory is kept between updates.
class Pieces {
public:
    void cut(const std::vector<ParameterRange>& ranges) {
        m_pieces.clear();
        m_weights.assign(ranges.size(), 0);
        m_step.assign(ranges.size(), 0);
        for (std::size_t i = 0; i < ranges.size(); ++i) {
            if (!ranges[i].trained)
                continue;
            const auto end = static_cast<std::int64_t>(ranges[i].first + ranges[i].count);
            for (auto at = static_cast<std::int64_t>(ranges[i].first); at < end; at += kPiece)
                m_pieces.push_back({i, at, std::min(kPiece, end - at)});
        }
    }

    template <class Function>
    void forEach(std::size_t elements, const Function& f) {
        const auto count = static_cast<std::int64_t>(m_pieces.size());
        const bool small = static_cast<std::int64_t>(elements) < kGrain;
        parallelFor(count, small ? count + 1 : 0, 1, [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t i = first; i < last; ++i)
                f(m_pieces[static_cast<std::size_t>(i)]);
        });
    }

    void addUp() {
        for (const Piece& piece : m_pieces) {
            m_weights[piece.range] += piece.weights;
            m_step[piece.range] += piece.step;
        }
    }

    double weightNorm(std::size_t range) const { return std::sqrt(m_weights[range]); }
    double stepNorm(std::size_t range) const { return std::sqrt(m_step[range]); }

private:
    std::vector<Piece> m_pieces;
    std::vector<double> m_weights, m_step; ///< by range
};

class Lars : public Optimizer {
public:
    explicit Lars(const LarsSettings& settings) : m_settings(settings) {}

    int slotCount() const override { return m_settings.momentum > 0 ? 1 : 0; }

    void update(const UpdateContext& context, DType type, std::size_t elements,
                const std::vector<ParameterRange>& ranges, void* parameters, const void* gradients,
                const std::vector<void*>& state) override {
        TRAINYARD_CHECK_EQ(static_cast<int>(state.size()), slotCount());
        if (type == DType::Fp64)
            apply(context, elements, ranges, typed<double>(parameters, gradients, state));
        else
            apply(context, elements, ranges, typed<float>(parameters, gradients, state));
    }

private:
    template <class T>
    void apply(const UpdateContext& context, std::size_t elements,
               const std::vector<ParameterRange>& ranges, const Buffers<T>& buffers) {
        m_pieces.cut(ranges);
        m_pieces.forEach(elements, [&](Piece& piece) {
            if (!ranges[piece.range].decays)
                return;
            piece.weights = sumOfSquares(buffers.parameters + piece.first, piece.count);
            piece.step = sumOfSquares(buffers.gradients + piece.first, piece.count);
        });
        m_pieces.addUp();
        m_pieces.forEach(elements, [&](const Piece& piece) {
            const bool decays = ranges[piece.range].decays;
            const double rate = context.learningRate * (decays ? share(context, piece.range) : 1);
            const SgdStep<T> step{.learningRate = static_cast<T>(rate),
                                  .momentum = static_cast<T>(m_settings.momentum),
                                  .weightDecay =
                                      static_cast<T>(decays ? m_settings.weightDecay : 0),
                                  .gradientScale = static_cast<T>(context.gradientScale)};
            updatePiece(context, buffers.parameters, piece.first, piece.count,
                        [&](std::int64_t first, std::int64_t count) {
                            T* p = buffers.parameters + first;
                            const T* g = buffers.gradients + first;
                            if (slotCount() == 0)
                                sgdUpdate(step, count, p, g);
                            else
                                larsUpdate(step, count, p, g, buffers.state[0] + first);
                        });
        });
    }

    double share(const UpdateContext& context, std::size_t range) const {
        const double weights = m_pieces.weightNorm(range);
        const double gradients = context.gradientScale * m_pieces.stepNorm(range);
        if (!(weights > 0 && gradients > 0))
            return 1;
        return m_settings.trust * weights / (gradients + m_settings.weightDecay * weights);
    }

    LarsSettings m_settings;
    Pieces m_pieces;
};

class Lamb : public Optimizer {
public:
    explicit Lamb(const LambSettings& settings) : m_settings(settings) {}

    int slotCount() const override { return 2; }

    void update(const UpdateContext& context, DType type, std::size_t elements,
                const std::vector<ParameterRange>& ranges, void* parameters, const void* gradients,
                const std::vector<void*>& state) override {
        TRAINYARD_CHECK_EQ(static_cast<int>(state.size()), slotCount());
        TRAINYARD_CHECK_MSG(context.update >= 1, describePair(context.update, 1));
        if (type == DType::Fp64)
            apply(context, elements, ranges, typed<double>(parameters, gradients, state));
        else
            apply(context, elements, ranges, typed<float>(parameters, gradients, state));
    }

private:
    template <class T>
    LambStep<T> stepOf(const UpdateContext& context, bool decays) const {
        const LambSettings& s = m_settings;
        const double t = static_cast<double>(context.update);
        return {.correction1 = static_cast<T>(1 / (1 - std::pow(s.beta1, t))),
                .inverseRoot = static_cast<T>(1 / std::sqrt(1 - std::pow(s.beta2, t))),
                .beta1 = static_cast<T>(s.beta1),
                .oneMinusBeta1 = static_cast<T>(1 - s.beta1),
                .beta2 = static_cast<T>(s.beta2),
                .oneMinusBeta2 = static_cast<T>(1 - s.beta2),
                .epsilon = static_cast<T>(s.epsilon),
                .weightDecay = static_cast<T>(decays ? s.weightDecay : 0),
                .gradientScale = static_cast<T>(context.gradientScale)};
    }

    template <class T>
    void apply(const UpdateContext& context, std::size_t elements,
               const std::vector<ParameterRange>& ranges, const Buffers<T>& buffers) {
        const LambStep<T> decayed = stepOf<T>(context, true);
        const LambStep<T> plain = stepOf<T>(context, false);
        m_pieces.cut(ranges);
        m_pieces.forEach(elements, [&](Piece& piece) {
            const T* p = buffers.parameters + piece.first;
            piece.weights = sumOfSquares(p, piece.count);
            piece.step =
                lambMoments(ranges[piece.range].decays ? decayed : plain, piece.count, p,
                            buffers.gradients + piece.first, buffers.state[0] + piece.first,
                            buffers.state[1] + piece.first);
        });
        m_pieces.addUp();
        m_pieces.forEach(elements, [&](const Piece& piece) {
            const bool decays = ranges[piece.range].decays;
            const double weights = m_pieces.weightNorm(piece.range);
            const double length = m_pieces.stepNorm(piece.range);
            const double ratio = decays && weights > 0 && length > 0 ? weights / length : 1;
            const auto rate = static_cast<T>(context.learningRate * ratio);
            updatePiece(context, buffers.parameters, piece.first, piece.count,
                        [&](std::int64_t first, std::int64_t count) {
                            lambApply(decays ? decayed : plain, rate, count,
                                      buffers.parameters + first, buffers.state[0] + first,
                                      buffers.state[1] + first);
                        });
        });
    }

    LambSettings m_settings;
    Pieces m_pieces;
};

} // namespace

std::unique_ptr<Optimizer> makeLars(const LarsSettings& settings) {
    return std::make_unique<Lars>(settings);
}

std::unique_ptr<Optimizer> makeLamb(const LambSettings& settings) {
    return std::make_unique<Lamb>(settings);
}

} // namespace trainyard::engine
