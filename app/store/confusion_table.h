// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Labels against predictions of one validation, and what follows from the counts: how much of a
// class was found (recall), how much of what was taken for it is it (precision).
// Rule: a table is whole; what is not square or counts below zero is none.
#pragma once

#include "engine/spec/event.h"

#include <QString>

#include <optional>

namespace trainyard::app {

/// Which validation of a run.
enum class Validation { Newest, Best };

class ConfusionTable {
public:
    static std::optional<ConfusionTable> from(spec::Confusion confusion);

    int classes() const { return m_classes; }
    std::int64_t step() const { return m_confusion.step; }
    double epoch() const { return m_confusion.epoch; }
    bool isBest() const { return m_confusion.best; }
    bool hasNames() const { return !m_confusion.classNames.empty(); }
    /// The name, or the number where classes have none.
    QString name(int index) const;

    std::int64_t count(int label, int prediction) const;
    /// Samples of this class.
    std::int64_t labelled(int label) const;
    /// Samples taken for this class.
    std::int64_t predicted(int prediction) const;
    std::int64_t total() const;
    std::int64_t correct() const;

    /// Of the samples of a class, the share that was found; none where it has no samples.
    std::optional<double> recall(int label) const;
    /// Of what was taken for a class, the share that is it; none where nothing was.
    std::optional<double> precision(int prediction) const;
    /// Share of the label's samples that were taken for `prediction`.
    std::optional<double> share(int label, int prediction) const;

private:
    ConfusionTable(spec::Confusion confusion, int classes);

    spec::Confusion m_confusion;
    int m_classes;
};

} // namespace trainyard::app
