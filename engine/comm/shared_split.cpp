// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/shared_split.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace trainyard::engine {

namespace {

/// Open until the end of the block.
class Descriptor {
public:
    Descriptor() = default;
    ~Descriptor() {
        if (m_number >= 0)
            ::close(m_number);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    /// The number of an open file, or -1; then the system's code is kept.
    void take(int number) {
        m_number = number;
        m_code = number < 0 ? errno : 0;
    }
    int number() const { return m_number; }
    int code() const { return m_code; }

private:
    int m_number = -1;
    int m_code = 0;
};

/// What a rank tells the others in its staging memory.
struct Telling {
    std::int64_t pid = 0;
    std::int32_t descriptor = -1;
    std::int32_t code = 0; ///< of the system, 0 for success
};

/// What each rank tells, in rank order, goes to `read(rank, telling)`.
template <class Read>
Result<void> tellEverybody(SharedSegment& segment, const CommunicatorOptions& options,
                           const Telling& mine, const CollectiveCall& call, bool compare,
                           SharedSegment::Clock::time_point end, Read read) {
    std::memcpy(segment.stagingOfNextPhase(options.rank), &mine, sizeof(mine));
    if (Result<void> all = segment.barrier(call, compare, end); !all)
        return all;
    for (int rank = 0; rank < options.worldSize; ++rank) {
        Telling telling;
        std::memcpy(&telling, segment.stagingOfThisPhase(rank), sizeof(telling));
        read(rank, telling);
    }
    return {};
}

} // namespace

Result<std::unique_ptr<SharedSegment>> splitSegment(const std::shared_ptr<SharedSegment>& parent,
                                                    const CommunicatorOptions& options,
                                                    const Groups& groups, const GroupPlace& place,
                                                    const CollectiveCall& call,
                                                    SharedSegment::Clock::time_point end) {
    const int maker = place.isAlone() ? -1 : groups[static_cast<std::size_t>(place.group)].front();
    Descriptor memory;
    if (maker == options.rank)
        memory.take(::memfd_create("trainyard-group", MFD_CLOEXEC));
    Telling mine{::getpid(), memory.number(), memory.code()};
    Telling made;
    Result<void> told =
        tellEverybody(*parent, options, mine, call, true, end, [&](int rank, const Telling& from) {
            if (rank == maker)
                made = from;
        });
    if (!told)
        return told.error();
    if (maker >= 0 && maker != options.rank && made.code == 0) {
        const std::string path =
            "/proc/" + std::to_string(made.pid) + "/fd/" + std::to_string(made.descriptor);
        memory.take(::open(path.c_str(), O_RDWR | O_CLOEXEC));
        mine.code = memory.code();
    }
    // Behind this all have opened what they need, so that the makers may close it.
    Result<void> failed;
    told =
        tellEverybody(*parent, options, mine, call, false, end, [&](int rank, const Telling& from) {
            if (from.code != 0 && failed)
                failed = Error(Message("Rank %1 has no shared memory for its group: %2.",
                                       {std::to_string(options.nameOf(rank)),
                                        std::generic_category().message(from.code)}));
        });
    if (!told)
        return told.error();
    if (!failed)
        return failed.error();
    if (place.isAlone())
        return std::unique_ptr<SharedSegment>();
    return SharedSegment::join(place.options, memory.number(), parent);
}

} // namespace trainyard::engine
