// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Asking the model of a run about something new: what it takes, the question to the worker, and its
// answer as values. One question at a time; a new one, or cancel(), ends the one before.
#pragma once

#include "app/run/local_launcher.h"
#include "app/store/run_record.h"
#include "engine/spec/experiment.h"

#include <QJsonObject>
#include <QObject>

#include <memory>
#include <optional>
#include <vector>

namespace trainyard::app {

/// What a model is asked with.
enum class PredictionInput { Pictures, Rows, Text, Tokens };
PredictionInput predictionInputOf(const spec::Experiment& experiment);

/// True where the run has ended with weights that are still there.
bool canPredict(const LocalLauncher& launcher, const RunRecord& run);

struct ClassShare {
    int index = 0;
    double probability = 0;
};

struct PredictedSample {
    qint64 sample = 0;
    QString input;               ///< file of a picture; may be empty
    std::optional<int> label;    ///< where the right answer is known
    std::vector<ClassShare> top; ///< the most likely one first
    std::vector<double> values;  ///< where the model gives numbers
    std::vector<double> targets; ///< where the right ones are known
};

struct Prediction {
    bool classes = false; ///< samples have `top`, else `values`
    std::vector<QString> classNames;
    std::vector<PredictedSample> samples;
    std::optional<double> accuracy;
    std::optional<double> meanAbsoluteError;
    QString text; ///< of a model of sequences: what it went on with

    /// "9 Ankle boot", or the number alone.
    QString className(int index) const;
};
Prediction predictionFromJson(const QJsonObject& answer);

struct TextSampling {
    int tokens = 200;
    double temperature = 1;
    int topK = 0;
    qint64 seed = 1;
};

class PredictionJob : public QObject {
    Q_OBJECT
public:
    enum class State { Idle, Running, Done, Failed };

    explicit PredictionJob(const LocalLauncher& launcher, QObject* parent = nullptr);

    /// Files of pictures, files of rows, or rows of values.
    void askAbout(const RunRecord& run, const QStringList& inputs);
    void goOnWith(const RunRecord& run, const QString& prompt, const TextSampling& sampling);
    /// Ends the worker; nothing of its answer is kept.
    void cancel();

    State state() const { return m_state; }
    const Prediction& prediction() const { return m_prediction; }
    const std::optional<Error>& error() const { return m_error; }
    /// Of a text that is being made.
    const QString& textSoFar() const { return m_textSoFar; }

signals:
    void changed();
    void grown(const QString& piece);

private:
    void ask(const RunRecord& run, QJsonObject request);
    void take(const Result<QJsonObject>& answer);
    void setState(State state);

    const LocalLauncher& m_launcher;
    State m_state = State::Idle;
    /// Goes to end the question: what the worker says is for it.
    std::unique_ptr<QObject> m_question;
    Prediction m_prediction;
    QString m_textSoFar;
    std::optional<Error> m_error;
};

} // namespace trainyard::app
