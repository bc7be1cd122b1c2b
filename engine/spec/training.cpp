// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/spec/training.h"

#include "engine/base/check.h"
#include "engine/spec/catalogue.h"

namespace trainyard::spec {

std::string_view name(Precision precision) {
    switch (precision) {
    case Precision::Fp64:
        return "fp64";
    case Precision::Fp32:
        return "fp32";
    case Precision::Bf16:
        return "bf16";
    }
    return "?";
}

std::optional<Precision> precisionOf(std::string_view text) {
    for (const Precision precision : {Precision::Fp64, Precision::Fp32, Precision::Bf16})
        if (name(precision) == text)
            return precision;
    return std::nullopt;
}

int optimizerSlots(const Choice& optimizer) {
    const TypeInfo* type = findType(Kind::Optimizer, optimizer.type);
    TRAINYARD_CHECK_MSG(type != nullptr, optimizer.type);
    if (type->type == "sgd" || type->type == "lars")
        return realOf(*type, optimizer.values, "momentum") > 0 ? 1 : 0;
    return type->type == "lion" ? 1 : 2;
}

double learningRateFactor(const TrainingSpec& training) {
    if (!training.learningRateBatch)
        return 1;
    return static_cast<double>(training.batch) / static_cast<double>(*training.learningRateBatch);
}

} // namespace trainyard::spec
