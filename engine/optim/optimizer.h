// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Optimizers: one fused pass over flat memory per update. State lies in the optimizer arena, as
// `slots` buffers of the parameters' size. Formulas are in the implementation, with their sources.
#pragma once

#include "engine/base/bfloat16.h"
#include "engine/base/result.h"
#include "engine/base/tensor_type.h"
#include "engine/spec/experiment.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace trainyard::engine {

/// The elements of one parameter tensor.
struct ParameterRange {
    std::size_t first = 0;
    std::size_t count = 0;
    bool decays = true;
    bool trained = true; ///< false: running statistics, which no optimizer touches
    double momentum = 0; ///< of running statistics
    bool owned = true;   ///< false: another rank has the same elements, and counts them in norms
};

struct UpdateContext {
    std::int64_t update = 1; ///< applied updates including this one; first is 1
    double learningRate = 0;
    double gradientScale = 1; ///< gradients are multiplied by this first (clipping)
    /// Where given: gets the updated fp32 parameters, rounded, in the same pass.
    Bf16* rounded = nullptr;
};

class Optimizer {
public:
    virtual ~Optimizer() = default;
    /// State buffers per parameter element: spec::optimizerSlots of the choice it was made from.
    virtual int slotCount() const = 0;
    /// `state[i]` is the i-th slot. All buffers hold `elements` values of `type`.
    virtual void update(const UpdateContext& context, DType type, std::size_t elements,
                        const std::vector<ParameterRange>& ranges, void* parameters,
                        const void* gradients, const std::vector<void*>& state) = 0;
};

Result<std::unique_ptr<Optimizer>> makeOptimizer(const spec::Choice& optimizer);

/// sqrt of the sum of squares, added in fp64 in a fixed order.
double norm(DType type, const void* values, std::size_t elements);

/// running += momentum * (batch - running) for the ranges that are not trained; `gradients` holds
/// the statistics of the batch there.
void updateStatistics(DType type, const std::vector<ParameterRange>& ranges, void* parameters,
                      const void* gradients);

/// Learning rate of an applied update (first is 1) under a schedule over `totalUpdates`.
double learningRateAt(const spec::Choice& optimizer, const spec::Choice& schedule,
                      std::int64_t update, std::int64_t totalUpdates);
/// The same, scaled to the batch where the settings ask for it.
double learningRateAt(const spec::TrainingSpec& training, std::int64_t update,
                      std::int64_t totalUpdates);

/// average = d * average + (1 - d) * parameters, with d = min(decay, (1 + t) / (10 + t)) after
/// update t, so that the first weights are soon forgotten.
void averageWeights(DType type, double decay, std::int64_t update, std::size_t elements,
                    const void* parameters, void* average);

} // namespace trainyard::engine
