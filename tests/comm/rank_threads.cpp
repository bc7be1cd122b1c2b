// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/comm/rank_threads.h"

#include <csignal>
#include <exception>
#include <thread>

namespace trainyard::test {

namespace {

std::string runRank(const MeetingPlace& place, int rank, const RankBody& body,
                    std::chrono::milliseconds deadline) {
    try {
        const auto world = place.join(rank, deadline);
        return world ? body(**world) : world.error().sentence();
    } catch (const std::exception& failure) {
        return std::string("exception: ") + failure.what();
    }
}

} // namespace

std::vector<std::string> runOnThreads(const MeetingPlace& place, const RankBody& body,
                                      std::chrono::milliseconds deadline) {
    // The test framework's handler would end the test when a rank sends to one that is gone; Gloo
    // leaves handlers of others alone.
    ::signal(SIGPIPE, SIG_IGN);
    std::vector<std::string> texts(static_cast<std::size_t>(place.worldSize()));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < place.worldSize(); ++rank)
        threads.emplace_back([&, rank] {
            texts[static_cast<std::size_t>(rank)] = runRank(place, rank, body, deadline);
        });
    for (std::thread& thread : threads)
        thread.join();
    return texts;
}

std::vector<std::string> runOnProcesses(const MeetingPlace& place, const RankBody& body,
                                        std::chrono::milliseconds deadline) {
    RankProcesses ranks(place.worldSize(),
                        [&](int rank) { return runRank(place, rank, body, deadline); });
    std::vector<std::string> texts;
    for (const RankEnd& end : ranks.wait(std::chrono::seconds(100)))
        texts.push_back(end.signal == 0 ? end.text : "signal " + std::to_string(end.signal));
    return texts;
}

std::string sentenceOf(const Result<void>& result) {
    return result ? "fine" : result.error().sentence();
}

} // namespace trainyard::test
