// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Where Trainyard keeps things on the user's machine, by the XDG base directory rules.
// Rule: nothing here creates a folder; whoever writes into one does.
#pragma once

#include <QString>

namespace trainyard::app {

/// $XDG_DATA_HOME/trainyard, usually ~/.local/share/trainyard: the run store.
QString defaultStoreFolder();

/// $XDG_CONFIG_HOME/trainyard, usually ~/.config/trainyard: the settings.
QString configFolder();

/// $XDG_CACHE_HOME/trainyard, usually ~/.cache/trainyard: what can be made again.
QString cacheFolder();

} // namespace trainyard::app
