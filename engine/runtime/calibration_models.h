// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The models that a calibration trains: small ones of every kind, so that each kind of kernel
// occurs in several sizes. The first is the smallest.
#pragma once

#include "engine/plan/plan.h"
#include "engine/spec/experiment.h"

#include <vector>

namespace trainyard::engine {

struct CalibrationModel {
    spec::Experiment experiment;
    plan::DataCounts counts; ///< labels
};

std::vector<CalibrationModel> calibrationModels();

} // namespace trainyard::engine
