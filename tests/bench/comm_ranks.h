// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranks of a communication benchmark: processes that take the same measurements at once.
#pragma once

#include "engine/comm/communicator.h"

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace trainyard::bench {

/// "16 KiB", "4 MiB"
std::string sizeText(std::size_t bytes);

/// The value, or an exception with the error.
template <class Value>
Value must(Result<Value> result) {
    if (!result)
        throw std::runtime_error(result.error().sentence());
    return std::move(*result);
}
void must(const Result<void>& result);

/// Seconds of one `once`. All ranks run it equally often: rank 0 decides how often and tells.
double secondsOf(engine::Communicator& group, const std::function<void()>& once);

double quantile(std::vector<double> values, double at);

/// Memory that processes forked later share, zeroed, never given back.
void* sharedMemory(std::size_t bytes);

/// Forks `count` processes that run `body(rank)`; an exception when one fails.
void runRanks(int count, const std::function<void(int rank)>& body);

/// A temporary folder with these inside; goes with everything.
class RankFolder {
public:
    explicit RankFolder(const std::vector<std::string>& names);
    ~RankFolder();
    RankFolder(const RankFolder&) = delete;
    RankFolder& operator=(const RankFolder&) = delete;
    const std::string& path() const { return m_path; }

private:
    std::string m_path;
};

} // namespace trainyard::bench
