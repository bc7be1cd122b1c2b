// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The experiment that is being edited: its file, its history, and what is known of it. Each edit is
// undoable and is analysed at once, so problems, shapes and prices always belong to what is shown.
// What the data files hold is asked of the owner (inspectionWanted) and comes back later
// (setDataFacts); an answer for other files than the current ones is dropped.
#pragma once

#include "app/models/cures.h"
#include "app/models/experiment_analysis.h"
#include "app/models/experiment_history.h"
#include "engine/plan/calibration.h"

#include <QObject>
#include <QString>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace trainyard::app {

/// What must be looked into to know the data.
struct DataQuestion {
    spec::DataSpec data;           ///< paths are absolute
    std::uint64_t seed = 0;        ///< of the split; 0 when nothing is split
    std::int64_t modelClasses = 0; ///< labels must be below it; 0: not known
    bool operator==(const DataQuestion&) const = default;
};

/// The price of what is shown, or the nearest that can be given while it has problems.
struct ShownPrices {
    enum class Basis {
        Unknown,   ///< there has been none yet
        Current,   ///< of the experiment as it is
        AsIfCured, ///< after the first cures of its problems
        LastValid  ///< of the last valid one
    };
    Basis basis = Basis::Unknown;
    Prices prices;
};

class ExperimentDocument : public QObject {
    Q_OBJECT
public:
    enum class DataState { Unknown, Looking, Known, Failed };
    enum class Overwrite { No, Yes };

    explicit ExperimentDocument(QObject* parent = nullptr);
    ~ExperimentDocument() override;

    /// False until something is opened: there is nothing to edit.
    bool isOpen() const { return m_open; }
    const spec::Experiment& experiment() const { return m_history.current(); }
    /// With absolute paths, for a run.
    spec::Experiment resolvedExperiment() const;
    QString name() const { return QString::fromStdString(experiment().name); }
    /// Empty while it has never been saved.
    const QString& filePath() const { return m_file; }
    bool isModified() const { return m_modified; }

    /// Opens the file, or says why not and changes nothing. A file with wrong values opens, its
    /// problems are shown; one with parts that would be lost when it is saved does not.
    Result<void> open(const QString& file);
    /// A new experiment without a file. The same rules hold for its text.
    Result<void> openText(const QByteArray& json);
    void openExperiment(spec::Experiment experiment);
    /// Refuses to write over what somebody else has changed in the file since, unless told to.
    Result<void> save(Overwrite overwrite = Overwrite::No);
    Result<void> saveAs(const QString& file);
    void close();
    /// True after save() was refused because the file has changed meanwhile.
    bool fileChangedMeanwhile() const;

    std::optional<spec::Value> value(std::string_view path) const;
    /// Edits of the same path one after the other are one step to undo.
    void setValue(const std::string& path, const std::optional<spec::Value>& value);
    /// `what` names the step: "Move conv1". Nothing happens if `change` changes nothing.
    void edit(const QString& what, const std::function<void(spec::Experiment&)>& change,
              const std::string& mergeKey = {});
    /// The next edit is a step of its own.
    void finishStep();
    void apply(const Cure& cure);

    const ExperimentHistory& history() const { return m_history; }
    void undo();
    void redo();

    const ExperimentAnalysis& analysis() const { return m_analysis; }
    const Problems& problems() const { return m_analysis.problems; }
    std::vector<Cure> cures(const Error& problem) const;
    const ShownPrices& prices() const { return m_prices; }

    DataState dataState() const { return m_dataState; }
    /// Null while they are not known.
    const DataFacts* dataFacts() const { return m_facts ? &*m_facts : nullptr; }
    /// Why the data could not be looked into at all (not: what is wrong with it).
    const std::optional<Error>& dataError() const { return m_dataError; }
    /// The question that facts and error belong to.
    DataQuestion dataQuestion() const { return m_asked.value_or(DataQuestion()); }
    void setDataFacts(const DataQuestion& question, DataFacts facts);
    void setDataError(const DataQuestion& question, Error error);
    /// Looks again, for files that have changed.
    void inspectAgain();
    void setMachine(const plan::MachineFacts& machine);
    /// Of the same machine, measured since.
    void setCalibration(const plan::Calibration& calibration);

signals:
    /// Another experiment than before, or none.
    void opened();
    void changed();
    void problemsChanged();
    void pricesChanged();
    void modifiedChanged(bool modified);
    void filePathChanged(const QString& file);
    void undoChanged();
    void dataChanged();
    /// Answer with setDataFacts() or setDataError().
    void inspectionWanted(const trainyard::app::DataQuestion& question);

private:
    void start(spec::Experiment experiment, const QString& file, QByteArray fileText);
    /// Everything that follows from the experiment, then the signals.
    enum class Refresh { Edited, Opened };
    void refresh(Refresh reason = Refresh::Edited);
    DataQuestion questionNow() const;
    std::int64_t modelClasses() const;
    bool mustLookAgain() const;
    void forgetData();
    void tellData(bool ask);
    void analyseNow();
    void tellModified();
    Result<void> write(const QString& file, Overwrite overwrite);

    bool m_open = false;
    QString m_file;
    QByteArray m_fileText; ///< as last read or written
    ExperimentHistory m_history;
    QByteArray m_savedText; ///< the state that counts as unmodified
    bool m_modified = false;

    ExperimentAnalysis m_analysis;
    plan::MachineFacts m_machine;
    ShownPrices m_prices;
    std::optional<Prices> m_lastValid;

    DataState m_dataState = DataState::Unknown;
    std::optional<DataQuestion> m_asked;
    std::optional<DataFacts> m_facts;
    std::optional<Error> m_dataError;
};

} // namespace trainyard::app
