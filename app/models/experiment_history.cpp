// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/models/experiment_history.h"

#include <utility>

namespace trainyard::app {

namespace {

constexpr std::size_t kMaxSteps = 500;

} // namespace

void ExperimentHistory::start(spec::Experiment experiment) {
    m_steps.clear();
    m_steps.push_back({std::move(experiment), {}, {}});
    m_position = 0;
}

void ExperimentHistory::push(spec::Experiment experiment, const QString& what,
                             const std::string& mergeKey) {
    m_steps.resize(m_position + 1);
    if (m_position > 0 && !mergeKey.empty() && m_steps.back().mergeKey == mergeKey) {
        m_steps.back().experiment = std::move(experiment);
        return;
    }
    m_steps.push_back({std::move(experiment), what, mergeKey});
    if (m_steps.size() > kMaxSteps)
        m_steps.erase(m_steps.begin());
    m_position = m_steps.size() - 1;
}

void ExperimentHistory::finishStep() {
    m_steps[m_position].mergeKey.clear();
}

QString ExperimentHistory::undoText() const {
    return canUndo() ? m_steps[m_position].what : QString();
}

QString ExperimentHistory::redoText() const {
    return canRedo() ? m_steps[m_position + 1].what : QString();
}

void ExperimentHistory::undo() {
    finishStep();
    if (canUndo())
        --m_position;
}

void ExperimentHistory::redo() {
    finishStep();
    if (canRedo())
        ++m_position;
}

} // namespace trainyard::app
