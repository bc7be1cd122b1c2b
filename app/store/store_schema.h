// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The tables of the store's two files, as a list of steps from the empty file to today's layout.
// Rules: a step that was released is never edited, a change is a new step at the end; a step reads
// and writes its own file only, because the two files are not committed together.
#pragma once

#include "app/store/sqlite.h"

#include <cstdint>
#include <span>

namespace trainyard::app {

/// The layout of one file.
struct Layout {
    std::int32_t applicationId = 0;
    std::span<const char* const> steps; ///< step i makes version i + 1 out of version i

    std::int64_t newest() const { return static_cast<std::int64_t>(steps.size()); }
};

/// The catalog's version from which on it has confusion tables: one that can only be viewed may be
/// older.
inline constexpr std::int64_t kConfusionVersion = 2;

const Layout& catalogLayout();
const Layout& pointsLayout();

// Of the main file of a connection:
std::int64_t readVersion(Connection& connection);
/// True when the file holds tables of something else.
bool isForeign(Connection& connection, const Layout& layout);
/// Runs the missing steps; inside a transaction.
void migrate(Connection& connection, const Layout& layout);

} // namespace trainyard::app
