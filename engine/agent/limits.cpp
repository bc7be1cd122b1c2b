// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/agent/limits.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace trainyard::engine {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kWaitForOthers{60'000};
constexpr double kMostSeconds = 86'400;

milliseconds secondsIn(const char* variable, milliseconds absent) {
    const char* value = std::getenv(variable);
    const std::string_view text = value ? value : "";
    double seconds = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), seconds);
    const bool makesSense = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() &&
                            seconds >= 0.1 && seconds <= kMostSeconds;
    return makesSense ? milliseconds(static_cast<std::int64_t>(seconds * 1000)) : absent;
}

} // namespace

SupervisorTiming supervisorLimits() {
    SupervisorTiming timing;
    timing.stall = secondsIn("TRAINYARD_STALL_SECONDS", timing.stall);
    return timing;
}

milliseconds waitForOthersLimit() {
    return secondsIn("TRAINYARD_WAIT_SECONDS", kWaitForOthers);
}

} // namespace trainyard::engine
