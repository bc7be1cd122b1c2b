// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Where a rank's events go.
#pragma once

#include "engine/spec/event.h"

namespace trainyard::engine {

/// Used by the rank's main thread only.
class EventSink {
public:
    virtual ~EventSink() = default;
    virtual void send(const spec::Event& event) = 0;
};

/// Writes whole frames (sequence 0) to a pipe. A reader that is gone is no error: the supervisor's
/// death ends the rank by other means.
class PipeEventSink final : public EventSink {
public:
    explicit PipeEventSink(int fd) : m_fd(fd) {}
    void send(const spec::Event& event) override;

private:
    int m_fd;
};

} // namespace trainyard::engine
