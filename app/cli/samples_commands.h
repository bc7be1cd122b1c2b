// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// samples list and samples write: the experiments that come with Trainyard.
#pragma once

#include "app/cli/command.h"

namespace trainyard::app {

class SamplesListCommand : public Command {
    Q_OBJECT
public:
    using Command::Command;
    static CommandInfo info();
    void start() override;
};

class SamplesWriteCommand : public Command {
    Q_OBJECT
public:
    SamplesWriteCommand(Arguments arguments, Console& console)
        : Command(console), m_arguments(std::move(arguments)) {}
    static CommandInfo info();
    void start() override;

private:
    const Arguments m_arguments;
};

} // namespace trainyard::app
