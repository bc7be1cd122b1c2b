// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Experiments that come with Trainyard, for a first run and as a pattern for one's own files.
// Rule: a sample is valid as it is and lies in resources/samples exactly as the studio would save
// it. Small data comes with the program and is put into the user's data folder when a sample is
// used; "@samples@" in the resource stands for that folder.
#pragma once

#include "engine/base/result.h"

#include <QByteArray>
#include <QString>
#include <QStringList>

#include <vector>

namespace trainyard::app {

struct Sample {
    QString name;        ///< "fashion-cnn", also the name of its experiment
    QString title;       ///< for people, in their language
    QString description; ///< one sentence, in their language
    QByteArray json;     ///< the experiment file
    QStringList data;    ///< files that the program brings along, below sampleDataFolder()
};

/// Where the data of samples lies once it has been placed.
QString sampleDataFolder();
/// Puts the data of a sample there, unless it is there already. Errors: no room, no permission.
Result<void> placeData(const Sample& sample);

/// In the order in which they are offered; the first is the simplest.
std::vector<Sample> samples();

} // namespace trainyard::app
