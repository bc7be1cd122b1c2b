// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/spec/training.h"

#include "engine/base/check.h"
#include "engine/spec/catalogue.h"

namespace trainyard::spec {

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
