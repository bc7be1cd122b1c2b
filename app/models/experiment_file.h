// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Experiment files: read without losing anything, written all or not at all.
#pragma once

#include "engine/base/result.h"
#include "engine/spec/experiment.h"

#include <QByteArray>
#include <QString>

namespace trainyard::app {

/// Refuses text with keys or values that could not be kept: saving would lose them. Values that are
/// kept but wrong are no reason to refuse.
Result<spec::Experiment> experimentFromText(const QByteArray& json, const QString& fileName);

Result<QByteArray> readFile(const QString& file);
/// The old file stays as it was if anything goes wrong.
Result<void> writeFile(const QString& file, const QByteArray& text);

} // namespace trainyard::app
