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
    };
}

} // namespace trainyard::spec
