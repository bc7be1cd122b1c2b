// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A group of one: memory is ordinary memory and every collective is done before it begins.
#include "engine/comm/communicator.h"
#include "engine/comm/groups.h"
#include "engine/comm/private_memory.h"

#include <set>

namespace trainyard::engine {

namespace {

class SingleCommunicator final : public Communicator {
public:
    int rank() const override { return 0; }
    int worldSize() const override { return 1; }
    Result<std::span<std::byte>> allocateReducible(std::size_t bytes) override {
        return m_memory.allocate(bytes);
    }
    Result<void> allReduceSum(void*, std::size_t, DType, std::uint32_t) override { return {}; }
    Result<void> broadcast(void*, std::size_t, int, std::uint32_t) override { return {}; }
    Result<void> barrier(std::uint32_t) override { return {}; }
    Result<std::unique_ptr<Communicator>> split(const std::vector<std::vector<int>>& groups,
                                                std::string name) override {
        splitCall(groups, name, m_options, m_groupNames);
        return makeSingleCommunicator();
    }
    Result<void> openChannels(std::span<const Channel> channels) override {
        openingCall(channels, m_options); // refuses any channel
        return {};
    }
    Result<void> send(const void*, std::size_t, int to, std::uint32_t) override { refuse(to); }
    Result<void> receive(void*, std::size_t, int from, std::uint32_t) override { refuse(from); }
    double secondsInside() const override { return 0; }

private:
    [[noreturn]] static void refuse(int peer) {
        throwBrokenInvariant(__FILE__, __LINE__, "a group of one has no channels",
                             std::to_string(peer));
    }

    const CommunicatorOptions m_options;
    PrivateMemory m_memory;
    std::set<std::string> m_groupNames;
};

} // namespace

std::unique_ptr<Communicator> makeSingleCommunicator() {
    return std::make_unique<SingleCommunicator>();
}

} // namespace trainyard::engine
