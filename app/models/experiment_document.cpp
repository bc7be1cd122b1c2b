// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/models/experiment_document.h"

#include "app/models/experiment_fields.h"
#include "app/models/experiment_file.h"
#include "app/models/experiment_path.h"
#include "engine/plan/bucket_size.h"
#include "engine/spec/experiment_json.h"

#include <QFileInfo>

namespace trainyard::app {

using spec::Experiment;

ExperimentDocument::ExperimentDocument(QObject* parent) : QObject(parent) {}

ExperimentDocument::~ExperimentDocument() = default;

Experiment ExperimentDocument::resolvedExperiment() const {
    Experiment resolved = experiment();
    if (!m_file.isEmpty())
        spec::resolvePaths(resolved, QFileInfo(m_file).absolutePath().toStdString());
    return resolved;
}

// --- files ---

Result<void> ExperimentDocument::open(const QString& file) {
    Result<QByteArray> text = readFile(file);
    if (!text)
        return text.error();
    Result<Experiment> experiment = experimentFromText(*text, file);
    if (!experiment)
        return experiment.error();
    m_open = true;
    start(std::move(*experiment), QFileInfo(file).absoluteFilePath(), *text);
    return {};
}

Result<void> ExperimentDocument::openText(const QByteArray& json) {
    Result<Experiment> experiment = experimentFromText(json, tr("The experiment"));
    if (!experiment)
        return experiment.error();
    openExperiment(std::move(*experiment));
    return {};
}

void ExperimentDocument::openExperiment(Experiment experiment) {
    m_open = true;
    start(std::move(experiment), {}, {});
}

Result<void> ExperimentDocument::save(Overwrite overwrite) {
    return write(m_file, overwrite);
}

Result<void> ExperimentDocument::saveAs(const QString& file) {
    const QString absolute = QFileInfo(file).absoluteFilePath();
    // Relative paths are taken from the folder of the file: they must not point elsewhere now.
    Experiment moved = resolvedExperiment();
    if (!m_file.isEmpty() && QFileInfo(absolute).path() != QFileInfo(m_file).path() &&
        moved != experiment()) {
        m_history.push(std::move(moved), tr("Save in another folder"), {});
        refresh();
    }
    return write(absolute, Overwrite::Yes);
}

bool ExperimentDocument::fileChangedMeanwhile() const {
    if (m_file.isEmpty() || !QFileInfo::exists(m_file))
        return false;
    const Result<QByteArray> text = readFile(m_file);
    return !text || *text != m_fileText;
}

Result<void> ExperimentDocument::write(const QString& file, Overwrite overwrite) {
    if (overwrite == Overwrite::No && fileChangedMeanwhile())
        return Error(
            {"%1 has been changed by something else since it was opened.", {file.toStdString()}},
            {}, {"Save under another name, or write over it."});
    const QByteArray text = QByteArray::fromStdString(spec::toJson(experiment()));
    if (Result<void> written = writeFile(file, text); !written)
        return written;
    m_fileText = text;
    m_savedText = text;
    finishStep();
    if (file != m_file) {
        m_file = file;
        emit filePathChanged(m_file);
    }
    tellModified();
    return {};
}

void ExperimentDocument::close() {
    m_open = false;
    start({}, {}, {});
}

void ExperimentDocument::start(Experiment experiment, const QString& file, QByteArray fileText) {
    const bool otherFile = file != m_file;
    m_file = file;
    m_fileText = std::move(fileText);
    m_savedText = QByteArray::fromStdString(spec::toJson(experiment));
    m_history.start(std::move(experiment));
    m_lastValid.reset();
    m_asked.reset();
    refresh(Refresh::Opened);
    if (otherFile)
        emit filePathChanged(m_file);
}

// --- edits ---

std::optional<spec::Value> ExperimentDocument::value(std::string_view path) const {
    return valueAt(experiment(), path);
}

void ExperimentDocument::setValue(const std::string& path,
                                  const std::optional<spec::Value>& value) {
    edit(
        tr("Change %1").arg(fieldLabel(experiment(), path)),
        [&](Experiment& changed) { setValueAt(changed, path, value); }, path);
}

void ExperimentDocument::edit(const QString& what, const std::function<void(Experiment&)>& change,
                              const std::string& mergeKey) {
    Experiment next = experiment();
    change(next);
    if (next == experiment())
        return;
    m_history.push(std::move(next), what, mergeKey);
    refresh();
}

void ExperimentDocument::finishStep() {
    m_history.finishStep();
}

void ExperimentDocument::apply(const Cure& cure) {
    finishStep();
    edit(cure.label, cure.apply);
}

void ExperimentDocument::undo() {
    if (!m_history.canUndo())
        return;
    m_history.undo();
    refresh();
}

void ExperimentDocument::redo() {
    if (!m_history.canRedo())
        return;
    m_history.redo();
    refresh();
}

void ExperimentDocument::refresh(Refresh reason) {
    const DataQuestion question = questionNow();
    const bool otherData =
        !m_asked || m_asked->data != question.data || m_asked->seed != question.seed;
    if (otherData)
        forgetData();
    analyseNow();
    const bool ask = otherData || mustLookAgain();
    if (reason == Refresh::Opened)
        emit opened();
    emit changed();
    emit problemsChanged();
    emit pricesChanged();
    emit undoChanged();
    tellModified();
    if (ask)
        tellData(true);
}

void ExperimentDocument::tellModified() {
    // By what would be saved: values that are written out or left to their default are the same.
    const bool modified =
        m_open && QByteArray::fromStdString(spec::toJson(experiment())) != m_savedText;
    if (modified == m_modified)
        return;
    m_modified = modified;
    emit modifiedChanged(modified);
}

// --- what is known ---

std::vector<Cure> ExperimentDocument::cures(const Error& problem) const {
    return curesOf(problem, experiment(), m_analysis, dataFacts());
}

void ExperimentDocument::analyseNow() {
    if (!m_open) {
        m_analysis = {};
        m_prices = {};
        return;
    }
    m_analysis = analyse(experiment(), dataFacts(), m_machine);
    if (m_analysis.prices) {
        m_lastValid = m_analysis.prices;
        m_prices = {ShownPrices::Basis::Current, *m_analysis.prices};
    } else if (const auto other = priceable(experiment(), m_analysis, dataFacts(), m_machine)) {
        m_prices = {ShownPrices::Basis::AsIfCured, *analyse(*other, dataFacts(), m_machine).prices};
    } else {
        m_prices =
            m_lastValid ? ShownPrices{ShownPrices::Basis::LastValid, *m_lastValid} : ShownPrices{};
    }
}

std::int64_t ExperimentDocument::modelClasses() const {
    const auto& layers = m_analysis.layers;
    const bool whole = !layers.empty() && layers.size() == experiment().model.layers.size();
    const bool scores = whole && takesLabels(experiment().model.loss) &&
                        !layers.back().output.empty() && layers.back().output.size() <= 2;
    return scores ? layers.back().output.back() : 0;
}

DataQuestion ExperimentDocument::questionNow() const {
    const spec::DataSpec data = resolvedExperiment().data;
    const bool split = data.validation.empty() && data.validationFraction > 0;
    return {data, split ? experiment().training.seed : 0, modelClasses()};
}

void ExperimentDocument::forgetData() {
    m_facts.reset();
    m_dataError.reset();
    m_dataState = DataState::Unknown;
}

/// Labels that were too large for one model may be right for another.
bool ExperimentDocument::mustLookAgain() const {
    return m_facts && !m_facts->problems.empty() && m_asked->modelClasses != modelClasses();
}

void ExperimentDocument::tellData(bool ask) {
    if (ask) {
        m_asked = questionNow();
        const bool complete = m_open && missingFiles(m_asked->data).empty();
        m_dataState = complete ? DataState::Looking : DataState::Unknown;
    }
    emit dataChanged();
    if (ask && m_dataState == DataState::Looking)
        emit inspectionWanted(*m_asked);
}

void ExperimentDocument::inspectAgain() {
    m_asked.reset();
    refresh();
}

void ExperimentDocument::setDataFacts(const DataQuestion& question, DataFacts facts) {
    if (m_asked != question)
        return;
    m_dataState = DataState::Known;
    m_facts = std::move(facts);
    m_dataError.reset();
    analyseNow();
    tellData(false);
    emit problemsChanged();
    emit pricesChanged();
}

void ExperimentDocument::setDataError(const DataQuestion& question, Error error) {
    if (m_asked != question)
        return;
    m_dataState = DataState::Failed;
    m_dataError = std::move(error);
    tellData(false);
}

void ExperimentDocument::setMachine(const plan::MachineFacts& machine) {
    m_machine = machine;
    analyseNow();
    emit problemsChanged();
    emit pricesChanged();
}

void ExperimentDocument::setCalibration(const plan::Calibration& calibration) {
    plan::MachineFacts machine = m_machine;
    plan::setBucketBytes(machine, calibration);
    if (machine.bucketBytes != m_machine.bucketBytes ||
        machine.networkBucketBytes != m_machine.networkBucketBytes)
        setMachine(machine);
}

} // namespace trainyard::app

#include "moc_experiment_document.cpp"
