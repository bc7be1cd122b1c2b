// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// WaitObserver: what the ranks of a host tell those of other hosts while they wait for each other,
// so that a rank elsewhere that waits for one of them blames whom all wait for. Internal to
// engine/comm.
#pragma once

#include "engine/comm/collective_call.h"

#include <algorithm>
#include <chrono>

namespace trainyard::engine {

/// A wait of this length is told.
inline std::chrono::milliseconds longWait(std::chrono::milliseconds deadline) {
    return std::min(std::chrono::milliseconds(1000), deadline / 8);
}

class WaitObserver {
public:
    virtual ~WaitObserver() = default;
    /// For long already.
    virtual void waitsFor(const Fault& missing) const = 0;
    /// That one has come.
    virtual void waitIsOver() const = 0;
    /// Who keeps the missing rank waiting, or that one itself.
    virtual Fault behind(const Fault& missing) const = 0;
};

} // namespace trainyard::engine
