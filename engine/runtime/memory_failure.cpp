// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/memory_failure.h"

#include "engine/base/number_text.h"
#include "engine/base/out_of_memory.h"
#include "engine/runtime/machine.h"

#include <string>
#include <system_error>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

namespace trainyard::engine {

namespace {

constexpr rlim_t kMiB = 1 << 20;

bool isLackOf(const std::system_error& failure) {
    return failure.code() == std::errc::resource_unavailable_try_again ||
           failure.code() == std::errc::not_enough_memory;
}

/// `what` begins with "Rank %1 (process %2)"; what there is and what helps is added.
Error lack(std::string what, std::vector<std::string> arguments, int rank) {
    arguments.insert(arguments.begin(), {std::to_string(rank), std::to_string(::getpid())});
    arguments.push_back(describeFreeMemory());
    what += ": %" + std::to_string(arguments.size()) + " are free";
    rlimit limit{};
    // Free memory is no help to a process that may not take it.
    if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        arguments.push_back(grouped(static_cast<std::int64_t>(limit.rlim_cur / kMiB)));
        what += ", but the process may have no more than %" + std::to_string(arguments.size()) +
                " MiB (ulimit -v)";
    }
    return Error(Message(what + '.', std::move(arguments)), {},
                 Message("Use a smaller batch or more micro-batches, a smaller model, ZeRO, "
                         "recomputation or fewer ranks on this machine."))
        .own();
}

} // namespace

Error errorOf(const std::exception& failure, int rank) {
    if (const auto* known = dynamic_cast<const OutOfMemory*>(&failure))
        return lack("Rank %1 (process %2) got no memory when it asked for %3 bytes",
                    {grouped(static_cast<std::int64_t>(known->bytes()))}, rank);
    if (dynamic_cast<const std::bad_alloc*>(&failure))
        return lack("Rank %1 (process %2) got no memory", {}, rank);
    if (const auto* system = dynamic_cast<const std::system_error*>(&failure);
        system && isLackOf(*system))
        return lack("Rank %1 (process %2) got no memory for a thread", {}, rank);
    return Message("%1", {failure.what()});
}

} // namespace trainyard::engine
