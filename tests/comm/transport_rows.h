// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Test rows for each transport between ranks.
#pragma once

#include "tests/comm/rank_processes.h"

#include <QTest>

#include <array>

Q_DECLARE_METATYPE(trainyard::test::Transport)

namespace trainyard::test {

inline constexpr std::array kTransports = {Transport::SharedMemory, Transport::Gloo,
                                           Transport::TwoHosts, Transport::ThreeHosts};

inline const char* nameOf(Transport transport) {
    constexpr std::array kNames = {"shared memory", "gloo", "two hosts", "three hosts"};
    return kNames[static_cast<std::size_t>(transport)];
}

/// One row each, in the column "transport".
inline void transports() {
    QTest::addColumn<Transport>("transport");
    for (const Transport transport : kTransports)
        QTest::addRow("%s", nameOf(transport)) << transport;
}

/// Of the row that runs.
inline Transport currentTransport() {
    QFETCH(Transport, transport);
    return transport;
}

} // namespace trainyard::test
