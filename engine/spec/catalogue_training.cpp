// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Catalogue entries of optimizers and learning-rate schedules.
#include "engine/spec/catalogue_fields.h"

namespace trainyard::spec {

std::vector<TypeInfo> optimizerEntries() {
    const auto rate = [](double standard) {
        return aboveZero(real("learning_rate", "Learning rate", standard, 0, kInfinity,
                              "How far each update moves the weights."));
    };
    const auto decay = [](double standard) {
        return real("weight_decay", "Weight decay", standard, 0, kInfinity,
                    "Pulls weights towards zero; biases are left alone.");
    };
    const FieldInfo beta1 = belowOne(real("beta1", "Beta 1", 0.9, 0, 1));
    const FieldInfo beta2 = belowOne(real("beta2", "Beta 2", 0.999, 0, 1));
    const FieldInfo epsilon = aboveZero(real("epsilon", "Epsilon", 1e-8, 0, 1));
    return {
        {Kind::Optimizer,
         "sgd",
         "SGD",
         "",
         "",
         "Gradient descent with momentum.",
         {rate(0.01), belowOne(real("momentum", "Momentum", 0, 0, 1)),
          toggle("nesterov", "Nesterov", false), decay(0)}},
        {Kind::Optimizer,
         "adam",
         "Adam",
         "",
         "",
         "Scales each weight's step by its recent gradients.",
         {rate(0.001), beta1, beta2, epsilon, decay(0)}},
        {Kind::Optimizer,
         "adamw",
         "AdamW",
         "",
         "",
         "Adam with weight decay apart from the gradients.",
         {rate(0.001), beta1, beta2, epsilon, decay(0.01)}},
        {Kind::Optimizer,
         "lion",
         "Lion",
         "",
         "",
         "Steps by the sign of the momentum: half of Adam's memory, and a rate about ten times "
         "smaller.",
         {rate(0.0001), beta1, belowOne(real("beta2", "Beta 2", 0.99, 0, 1)), decay(0)}},
        {Kind::Optimizer,
         "lars",
         "LARS",
         "",
         "",
         "SGD for large batches: each layer's step follows the size of its weights.",
         {rate(1), belowOne(real("momentum", "Momentum", 0.9, 0, 1)),
          aboveZero(real("trust_coefficient", "Trust", 0.001, 0, kInfinity,
                         "How far a step may move a layer's weights, as a share of their size.")),
          decay(0.0001)}},
        {Kind::Optimizer,
         "lamb",
         "LAMB",
         "",
         "",
         "Adam for large batches: each layer's step follows the size of its weights.",
         {rate(0.001), beta1, beta2, aboveZero(real("epsilon", "Epsilon", 1e-6, 0, 1)),
          decay(0.01)}},
    };
}

std::vector<TypeInfo> scheduleEntries() {
    const FieldInfo warmup = integer("warmup_steps", "Warm-up steps", 0, 0, 1e12,
                                     "The rate rises evenly to its full value over these steps.");
    return {
        {Kind::Schedule, "constant", "Constant", "", "", "The same rate all the way.", {warmup}},
        {Kind::Schedule,
         "cosine",
         "Cosine",
         "",
         "",
         "Falls along half a cosine wave.",
         {warmup, real("min_factor", "Final share", 0, 0, 1)}},
        {Kind::Schedule,
         "linear",
         "Linear",
         "",
         "",
         "Falls evenly.",
         {warmup, real("min_factor", "Final share", 0, 0, 1)}},
        {Kind::Schedule,
         "step",
         "Step",
         "",
         "",
         "Falls by a factor every so many steps.",
         {warmup, integer("every_updates", "Every steps", 1000, 1, 1e12),
          aboveZero(real("factor", "Factor", 0.1, 0, 1))}},
        {Kind::Schedule,
         "one_cycle",
         "One cycle",
         "",
         "",
         "Rises to the full rate and falls far below where it began.",
         {belowOne(real("rise_share", "Share of the rise", 0.3, 0, 1,
                        "This share of all steps leads up to the full rate.")),
          real("start_divisor", "Start divisor", 25, 1, 1e12,
               "The first step has the full rate divided by this."),
          real("end_divisor", "End divisor", 1e4, 1, 1e12,
               "The last step has the first step's rate divided by this."),
          choice("shape", "Shape", {"cosine", "linear"})}},
        {Kind::Schedule,
         "wsd",
         "Warm-up, stable, decay",
         "",
         "",
         "The full rate until the last part of the run, then a fast fall.",
         {warmup,
          aboveZero(real("decay_share", "Share of the decay", 0.2, 0, 1,
                         "The rate falls over this share of all steps, at the end.")),
          real("min_factor", "Final share", 0, 0, 1),
          choice("shape", "Shape", {"linear", "one_minus_sqrt"})}},
    };
}

} // namespace trainyard::spec
