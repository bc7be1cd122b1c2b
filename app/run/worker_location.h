// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Where trainyard-worker lies: beside the running program, as built and as unpacked, or where a
// package puts programs that nobody starts by hand.
// Rule: PATH is not searched, so that studio and worker are always of one version.
#pragma once

#include "engine/base/result.h"

#include <QString>
#include <QStringList>

namespace trainyard::app {

/// The folders in which the worker is looked for, first ones first.
QStringList workerFolders(const QString& programFolder);

/// The worker's full path. $TRAINYARD_WORKER names another one, for packagers and tests.
Result<QString> findWorker();
Result<QString> findWorker(const QStringList& folders);

} // namespace trainyard::app
