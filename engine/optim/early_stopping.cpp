// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/optim/early_stopping.h"

#include <cmath>

namespace trainyard::engine {

bool EarlyStopping::add(std::int64_t epoch, double value) {
    m_lastEpoch = epoch;
    const double gain = looksAtAccuracy() ? value - m_bestValue : m_bestValue - value;
    const bool better = std::isfinite(value) && (m_bestEpoch == 0 || gain > m_settings.minDelta);
    if (better) {
        m_bestEpoch = epoch;
        m_bestValue = value;
    }
    return better;
}

} // namespace trainyard::engine
