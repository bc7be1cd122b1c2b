// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A rank of many without the others: collectives are done at once and leave this rank's bytes as
// they are, what is sent is lost, what is received is zero. For running a rank's program alone, to
// see how long its own work takes.
#pragma once

#include "engine/comm/communicator.h"

namespace trainyard::engine {

/// Memory is this process's own; groups split off are silent, too.
std::unique_ptr<Communicator> makeSilentCommunicator(int rank, int worldSize);

} // namespace trainyard::engine
