// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Answers the document's questions about its data files by asking the worker of this machine.
#pragma once

#include "app/models/experiment_document.h"
#include "app/run/local_launcher.h"

namespace trainyard::app {

class DataInspector : public QObject {
    Q_OBJECT
public:
    DataInspector(ExperimentDocument& document, const LocalLauncher& launcher,
                  QObject* parent = nullptr);

private:
    void ask(const DataQuestion& question);
    void answer(const DataQuestion& question, const Result<Inspection>& inspection);

    ExperimentDocument& m_document;
    const LocalLauncher& m_launcher;
};

/// What the worker has found.
DataFacts factsOf(const Inspection& inspection);

/// An experiment that stands for the question alone: whatever else is unfinished in the document
/// must not keep the worker from looking at the data.
QByteArray questionText(const DataQuestion& question);

} // namespace trainyard::app
