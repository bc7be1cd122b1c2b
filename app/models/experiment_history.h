// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Undo and redo by whole experiments: one is a few kilobytes, so keeping each state is simpler and
// safer than knowing how to take every edit back.
#pragma once

#include "engine/spec/experiment.h"

#include <QString>

#include <string>
#include <vector>

namespace trainyard::app {

class ExperimentHistory {
public:
    ExperimentHistory() { start({}); }

    /// Forgets everything; `experiment` is the state that undo ends at.
    void start(spec::Experiment experiment);
    /// A step named `what`. One with the same non-empty key as the step before becomes one with it,
    /// unless finishStep() was called in between.
    void push(spec::Experiment experiment, const QString& what, const std::string& mergeKey);
    void finishStep();

    const spec::Experiment& current() const { return m_steps[m_position].experiment; }
    bool canUndo() const { return m_position > 0; }
    bool canRedo() const { return m_position + 1 < m_steps.size(); }
    /// What the step is called that would be taken back, or made again; empty if there is none.
    QString undoText() const;
    QString redoText() const;
    void undo();
    void redo();

private:
    struct Step {
        spec::Experiment experiment; ///< after the step
        QString what;
        std::string mergeKey;
    };

    std::vector<Step> m_steps; ///< never empty; the first is the start
    std::size_t m_position = 0;
};

} // namespace trainyard::app
