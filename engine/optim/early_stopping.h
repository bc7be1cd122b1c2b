// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// EarlyStopping: when a run no longer gets better (Prechelt, "Early stopping - but when?", 1998).
// Counts epochs, not calls; equal is not better; the last epoch run is the best one plus
// `patience`.
#pragma once

#include "engine/spec/experiment.h"

#include <cstdint>

namespace trainyard::engine {

class EarlyStopping {
public:
    explicit EarlyStopping(const spec::EarlyStopping& settings) : m_settings(settings) {}

    /// The value after an epoch (first is 1). True when it is the best so far.
    bool add(std::int64_t epoch, double value);
    /// True after `patience` epochs without a better value.
    bool isOver() const { return m_lastEpoch - m_bestEpoch >= m_settings.patience; }

    bool looksAtAccuracy() const { return m_settings.metric == "validation_accuracy"; }
    std::int64_t bestEpoch() const { return m_bestEpoch; } ///< 0: none yet
    double bestValue() const { return m_bestValue; }

private:
    spec::EarlyStopping m_settings;
    std::int64_t m_lastEpoch = 0;
    std::int64_t m_bestEpoch = 0;
    double m_bestValue = 0;
};

} // namespace trainyard::engine
