// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A group of one: memory is ordinary memory and every collective is done before it begins.
#include "engine/comm/communicator.h"
#include "engine/comm/private_memory.h"

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
    double secondsInside() const override { return 0; }

private:
    PrivateMemory m_memory;
};

} // namespace

std::unique_ptr<Communicator> makeSingleCommunicator() {
    return std::make_unique<SingleCommunicator>();
}

} // namespace trainyard::engine
