// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/event_sink.h"

#include "engine/spec/frame.h"

#include <cerrno>
#include <chrono>
#include <unistd.h>

namespace trainyard::engine {

void PipeEventSink::send(const spec::Event& event) {
    spec::Frame frame;
    frame.timeNs = std::chrono::duration_cast<std::chrono::nanoseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
    frame.type = static_cast<std::uint8_t>(spec::typeOf(event));
    frame.payload = spec::encode(event);
    const std::string bytes = spec::encodeFrame(frame);
    std::size_t written = 0;
    while (written < bytes.size()) {
        const ssize_t count = ::write(m_fd, bytes.data() + written, bytes.size() - written);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return;
        written += static_cast<std::size_t>(count);
    }
}

} // namespace trainyard::engine
