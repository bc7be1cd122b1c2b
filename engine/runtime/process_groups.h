// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// ProcessGroups: the communicators that a rank's program uses, one for each axis of the mesh.
#pragma once

#include "engine/base/result.h"
#include "engine/comm/communicator.h"
#include "engine/plan/plan.h"

#include <map>
#include <memory>
#include <vector>

namespace trainyard::engine {

class ProcessGroups {
public:
    /// Collective over all ranks of `world`, which must outlive the groups.
    static Result<std::unique_ptr<ProcessGroups>> make(const plan::Plan& plan, int rank,
                                                       Communicator& world);

    Communicator& world() { return m_world; }
    Communicator& data() { return m_data ? *m_data : m_world; }
    Communicator& tensor() { return *m_tensor; }
    /// Messages between pipeline ranks: values go one way, their gradients the other, so that
    /// neither waits behind the other.
    Communicator& values() { return *m_values; }
    Communicator& gradients() { return *m_gradients; }
    /// Pipeline ranks that have the parameter, too.
    Communicator& sharing(graph::ParameterId parameter) { return *m_sharing.at(parameter); }
    double secondsInside() const;

private:
    explicit ProcessGroups(Communicator& world) : m_world(world) {}
    Result<void> split(const plan::Plan& plan);
    Result<void> openChannels(const plan::Plan& plan, int rank);
    Result<void> splitSharing(const plan::Plan& plan);

    Communicator& m_world;
    std::unique_ptr<Communicator> m_data; ///< null: the world
    std::unique_ptr<Communicator> m_tensor;
    std::unique_ptr<Communicator> m_values;
    std::unique_ptr<Communicator> m_gradients;
    std::map<graph::ParameterId, std::unique_ptr<Communicator>> m_sharing;
};

} // namespace trainyard::engine
