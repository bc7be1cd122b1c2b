// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Sources of the formulas:
//   sgd    Sutskever, Martens, Dahl, Hinton, "On the importance of initialization and momentum in
//   deep
//          learning", ICML 2013, in the form of torch.optim.SGD (the velocity carries no learning
//          rate).
//   adam   Kingma, Ba, "Adam: a method for stochastic optimization", ICLR 2015, algorithm 1; weight
//          decay is added to the gradient.
//   adamw  Loshchilov, Hutter, "Decoupled weight decay regularization", ICLR 2019, algorithm 2.
//   lion   Chen et al., "Symbolic discovery of optimization algorithms", NeurIPS 2023, algorithm 2.
//   lars, lamb  are in layerwise.cpp.
// Every update is element by element and compiled without fused multiply-adds, so it gives the same
// bits for any number of threads and on any x86-64 machine: ranks on unlike hosts stay equal.
#include "engine/optim/optimizer.h"

#include "engine/base/check.h"
#include "engine/optim/optimizer_parts.h"
#include "engine/optim/update_loops.h"
#include "engine/spec/catalogue.h"

#include <cmath>

namespace trainyard::engine {

namespace {

class Sgd : public Optimizer {
public:
    Sgd(double momentum, bool nesterov, double weightDecay)
        : m_momentum(momentum), m_nesterov(nesterov), m_weightDecay(weightDecay) {}

    int slotCount() const override { return m_momentum > 0 ? 1 : 0; }

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
               const std::vector<ParameterRange>& ranges, const Buffers<T>& buffers) const {
        forEachPiece(elements, ranges, [&](std::int64_t at, std::int64_t count, bool decays) {
            const SgdStep<T> step{.learningRate = static_cast<T>(context.learningRate),
                                  .momentum = static_cast<T>(m_momentum),
                                  .weightDecay = static_cast<T>(decays ? m_weightDecay : 0),
                                  .gradientScale = static_cast<T>(context.gradientScale)};
            updatePiece(
                context, buffers.parameters, at, count,
                [&](std::int64_t first, std::int64_t part) { apply(step, first, part, buffers); });
        });
    }

    template <class T>
    void apply(const SgdStep<T>& step, std::int64_t first, std::int64_t count,
               const Buffers<T>& buffers) const {
        T* p = buffers.parameters + first;
        const T* g = buffers.gradients + first;
        if (slotCount() == 0)
            sgdUpdate(step, count, p, g);
        else if (m_nesterov)
            nesterovUpdate(step, count, p, g, buffers.state[0] + first);
        else
            momentumUpdate(step, count, p, g, buffers.state[0] + first);
    }

    double m_momentum;
    bool m_nesterov;
    double m_weightDecay;
};

class Adam : public Optimizer {
public:
    struct Settings {
        double beta1, beta2, epsilon, weightDecay;
        bool decoupled; ///< AdamW
    };
    explicit Adam(const Settings& settings) : m_settings(settings) {}

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
    void apply(const UpdateContext& context, std::size_t elements,
               const std::vector<ParameterRange>& ranges, const Buffers<T>& buffers) const {
        const Settings& s = m_settings;
        const double t = static_cast<double>(context.update);
        const double correction1 = 1 - std::pow(s.beta1, t);
        const double correction2 = 1 - std::pow(s.beta2, t);
        forEachPiece(elements, ranges, [&](std::int64_t at, std::int64_t count, bool decays) {
            const double decay = decays ? s.weightDecay : 0;
            const AdamStep<T> step{
                .stepSize = static_cast<T>(context.learningRate / correction1),
                .inverseRoot = static_cast<T>(1 / std::sqrt(correction2)),
                .beta1 = static_cast<T>(s.beta1),
                .oneMinusBeta1 = static_cast<T>(1 - s.beta1),
                .beta2 = static_cast<T>(s.beta2),
                .oneMinusBeta2 = static_cast<T>(1 - s.beta2),
                .epsilon = static_cast<T>(s.epsilon),
                .coupledDecay = static_cast<T>(s.decoupled ? 0 : decay),
                .keep = static_cast<T>(s.decoupled ? 1 - context.learningRate * decay : 1),
                .gradientScale = static_cast<T>(context.gradientScale)};
            updatePiece(
                context, buffers.parameters, at, count, [&](std::int64_t first, std::int64_t part) {
                    adamUpdate(step, part, buffers.parameters + first, buffers.gradients + first,
                               buffers.state[0] + first, buffers.state[1] + first);
                });
        });
    }

    Settings m_settings;
};

class Lion : public Optimizer {
public:
    Lion(double beta1, double beta2, double weightDecay)
        : m_beta1(beta1), m_beta2(beta2), m_weightDecay(weightDecay) {}

    int slotCount() const override { return 1; }

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
               const std::vector<ParameterRange>& ranges, const Buffers<T>& buffers) const {
        forEachPiece(elements, ranges, [&](std::int64_t at, std::int64_t count, bool decays) {
            const double decay = decays ? m_weightDecay : 0;
            const LionStep<T> step{.learningRate = static_cast<T>(context.learningRate),
                                   .beta1 = static_cast<T>(m_beta1),
                                   .oneMinusBeta1 = static_cast<T>(1 - m_beta1),
                                   .beta2 = static_cast<T>(m_beta2),
                                   .oneMinusBeta2 = static_cast<T>(1 - m_beta2),
                                   .keep = static_cast<T>(1 - context.learningRate * decay),
                                   .gradientScale = static_cast<T>(context.gradientScale)};
            updatePiece(context, buffers.parameters, at, count,
                        [&](std::int64_t first, std::int64_t part) {
                            lionUpdate(step, part, buffers.parameters + first,
                                       buffers.gradients + first, buffers.state[0] + first);
                        });
        });
    }

    double m_beta1, m_beta2, m_weightDecay;
};

} // namespace

Result<std::unique_ptr<Optimizer>> makeOptimizer(const spec::Choice& optimizer) {
    const spec::TypeInfo* type = spec::findType(spec::Kind::Optimizer, optimizer.type);
    if (!type)
        return Error(
            Message("There is no optimizer \"%1\".", {optimizer.type}), "training.optimizer.type",
            Message("Known types: %1.", {spec::listed(spec::typeNames(spec::Kind::Optimizer))}));
    const auto real = [&](std::string_view field) {
        return spec::realOf(*type, optimizer.values, field);
    };
    if (type->type == "sgd") {
        const bool nesterov = spec::switchOf(*type, optimizer.values, "nesterov");
        if (nesterov && real("momentum") <= 0)
            return Error(Message("Nesterov looks ahead along the momentum, but momentum is 0."),
                         "training.optimizer.nesterov",
                         Message("Set momentum above 0, for example 0.9, or switch Nesterov off."));
        return std::unique_ptr<Optimizer>(
            std::make_unique<Sgd>(real("momentum"), nesterov, real("weight_decay")));
    }
    if (type->type == "lion")
        return std::unique_ptr<Optimizer>(
            std::make_unique<Lion>(real("beta1"), real("beta2"), real("weight_decay")));
    if (type->type == "lars")
        return makeLars({.momentum = real("momentum"),
                         .trust = real("trust_coefficient"),
                         .weightDecay = real("weight_decay")});
    if (type->type == "lamb")
        return makeLamb({.beta1 = real("beta1"),
                         .beta2 = real("beta2"),
                         .epsilon = real("epsilon"),
                         .weightDecay = real("weight_decay")});
    TRAINYARD_CHECK_MSG(type->type == "adam" || type->type == "adamw", type->type);
    return std::unique_ptr<Optimizer>(
        std::make_unique<Adam>(Adam::Settings{.beta1 = real("beta1"),
                                              .beta2 = real("beta2"),
                                              .epsilon = real("epsilon"),
                                              .weightDecay = real("weight_decay"),
                                              .decoupled = type->type == "adamw"}));
}

} // namespace trainyard::engine
