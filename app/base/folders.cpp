// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// QStandardPaths knows the XDG variables; the application's name is appended here, so that every
// executable of Trainyard finds the same folders whatever it calls itself.
#include "app/base/folders.h"

#include <QStandardPaths>

namespace trainyard::app {

namespace {

QString below(QStandardPaths::StandardLocation location) {
    return QStandardPaths::writableLocation(location) + QStringLiteral("/trainyard");
}

} // namespace

QString defaultStoreFolder() {
    return below(QStandardPaths::GenericDataLocation);
}

QString configFolder() {
    return below(QStandardPaths::GenericConfigLocation);
}

QString cacheFolder() {
    return below(QStandardPaths::GenericCacheLocation);
}

} // namespace trainyard::app
