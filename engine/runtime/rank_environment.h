// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What a rank is given by whoever starts it.
#pragma once

#include "engine/runtime/event_sink.h"
#include "engine/runtime/flight_record.h"
#include "engine/runtime/rank_protocol.h"

#include <chrono>
#include <cstddef>
#include <string>

namespace trainyard::engine {

struct RankEnvironment {
    std::string runFolder;
    int rank = 0;
    int worldSize = 1;
    int threads = 1;
    /// What MachineFacts says of buckets, found out by who starts the run and the same for all its
    /// ranks; 0: nothing.
    std::size_t bucketBytes = 0;
    /// Mapped page; null outside a supervisor.
    StatusPage* status = nullptr;
    /// What this rank does is recorded there; null: nowhere.
    FlightRecord* record = nullptr;
    /// memfd for collectives in shared memory; -1: none.
    int segmentFd = -1;
    /// Longest wait for the other ranks in one collective.
    std::chrono::milliseconds deadline{60000};
    EventSink& events;
};

} // namespace trainyard::engine
