// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What is told of a batch or a validation, made of the sums of its loss: accuracy where there are
// labels, errors where there are numbers, perplexity of sequences.
#pragma once

#include "engine/base/message.h"
#include "engine/graph/graph.h"
#include "engine/runtime/executor.h"
#include "engine/spec/event.h"

#include <vector>

namespace trainyard::engine {

/// True where predictions are right or wrong: labels, and yes or no.
bool hasAccuracy(const graph::Graph& graph);

/// "train_loss" and, where it has one, "train_accuracy".
std::vector<spec::NamedValue> trainingMetrics(const graph::Graph& graph, const BatchSums& sums);

/// "val_loss"; of labels "val_accuracy", "val_top5" (more than five classes), "val_perplexity"
/// (sequences); of numbers "val_mae" and "val_r2" (1 - squared error / squared deviation of the
/// targets from their mean; left out where that is 0).
std::vector<spec::NamedValue> validationMetrics(const graph::Graph& graph, const BatchSums& sums);

/// The same for people: "loss 0.2731, accuracy 0.9012". As a message with its numbers as arguments
/// from %2 on; %1 is the step.
Message validationSentence(const graph::Graph& graph, std::int64_t step, const BatchSums& sums,
                           bool best);

} // namespace trainyard::engine
