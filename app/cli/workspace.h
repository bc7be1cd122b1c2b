// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The run store and the machine behind it, as --store names them, for the commands that need both.
#pragma once

#include "app/cli/arguments.h"
#include "app/run/run_follower.h"

#include <memory>

namespace trainyard::app {

struct Workspace {
    std::unique_ptr<RunStore> store;
    std::unique_ptr<LocalLauncher> launcher;
    std::unique_ptr<RunFollower> follower;
};

OptionInfo storeOption();
/// --store, else $TRAINYARD_STORE, else the user's own; absolute.
QString storeFolderOf(const Arguments& arguments);

enum class IfMissing { Make, Refuse };
Result<Workspace> openWorkspace(const QString& storeFolder, IfMissing ifMissing);

/// The run that a person means by "#12", "12", its id, or its name where only one has it.
Result<RunRecord> findRun(StoreReader& reader, const QString& word);
/// "#12"
QString numberOf(const RunRecord& run);

} // namespace trainyard::app
