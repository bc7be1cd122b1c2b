// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/graph/build_loss.h"

#include "engine/base/check.h"
#include "engine/spec/catalogue.h"

namespace trainyard::graph {

namespace {

constexpr const char* kWhere = "model.loss";

/// One score per class, for a sample or for each position of a sequence.
bool fitsLabels(const Shape& scores, const DataFit& data, Problems& problems) {
    if (scores.size() > 2)
        problems.push_back({{"The loss needs one score per class; it gets %1.", {describe(scores)}},
                            kWhere,
                            {"End the model with flatten and linear layers."}});
    else if (data.numbers > 0)
        problems.push_back({{"This loss compares scores with classes, but the data has numbers to "
                             "predict."},
                            kWhere,
                            {"Choose the mean squared error."}});
    else if (data.classes > scores.back())
        problems.push_back({{"The model ends in %1 scores, but the data has %2 classes.",
                             {std::to_string(scores.back()), std::to_string(data.classes)}},
                            kWhere,
                            {"Give the last layer %1 outputs.", {std::to_string(data.classes)}}});
    else
        return true;
    return false;
}

/// As many numbers as the data has to predict.
bool fitsNumbers(const Shape& scores, const DataFit& data, Problems& problems) {
    if (scores.size() != 1)
        problems.push_back({{"The loss needs a vector of numbers; it gets %1.", {describe(scores)}},
                            kWhere,
                            {"End the model with flatten and linear layers."}});
    else if (data.classes > 0)
        problems.push_back({{"This loss compares numbers, but the data has classes."},
                            kWhere,
                            {"Choose cross-entropy."}});
    else if (data.numbers > 0 && data.numbers != scores[0])
        problems.push_back({{"The model ends in %1 numbers, but the data has %2 to predict.",
                             {std::to_string(scores[0]), std::to_string(data.numbers)}},
                            kWhere,
                            {"Give the last layer %1 outputs.", {std::to_string(data.numbers)}}});
    else
        return true;
    return false;
}

OperationKind kindOf(const std::string& loss) {
    if (loss == "cross_entropy")
        return OperationKind::SoftmaxCrossEntropy;
    if (loss == "binary_cross_entropy")
        return OperationKind::BinaryCrossEntropy;
    if (loss == "mse")
        return OperationKind::MeanSquaredError;
    if (loss == "mae")
        return OperationKind::MeanAbsoluteError;
    TRAINYARD_CHECK_MSG(loss == "huber", loss);
    return OperationKind::Huber;
}

} // namespace

std::optional<LossOperation> lossOf(const spec::Choice& loss, const Shape& scores,
                                    const DataFit& data, Problems& problems) {
    const spec::TypeInfo* type = spec::findType(spec::Kind::Loss, loss.type);
    TRAINYARD_CHECK_MSG(type != nullptr, loss.type);
    const OperationKind kind = kindOf(loss.type);
    const bool labels = kind == OperationKind::SoftmaxCrossEntropy;
    if (!(labels ? fitsLabels : fitsNumbers)(scores, data, problems))
        return std::nullopt;
    if (labels)
        return LossOperation{
            kind, CrossEntropyAttributes{spec::realOf(*type, loss.values, "label_smoothing"),
                                         spec::integerOf(*type, loss.values, "ignored_label")}};
    if (kind == OperationKind::Huber)
        return LossOperation{kind, HuberAttributes{spec::realOf(*type, loss.values, "delta")}};
    return LossOperation{kind, {}};
}

} // namespace trainyard::graph
