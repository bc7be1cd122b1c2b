// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Experiments that come with Trainyard, for a first run and as a pattern for one's own files.
// Rule: a sample is valid as it is and lies in resources/samples exactly as the studio would save
// it.
#pragma once

#include <QByteArray>
#include <QString>

#include <vector>

namespace trainyard::app {

struct Sample {
    QString name;        ///< "fashion-cnn", also the name of its experiment
    QString title;       ///< for people, in their language
    QString description; ///< one sentence, in their language
    QByteArray json;     ///< the experiment file
};

/// In the order in which they are offered; the first is the simplest.
std::vector<Sample> samples();

} // namespace trainyard::app
