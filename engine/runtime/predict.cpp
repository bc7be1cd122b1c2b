// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/predict.h"

#include "engine/base/json.h"
#include "engine/base/number_text.h"
#include "engine/runtime/predict_input.h"
#include "engine/runtime/predict_text.h"
#include "engine/runtime/predictor.h"
#include "engine/runtime/problems_json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <new>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <utility>

namespace trainyard::engine {

namespace {

using Json = nlohmann::ordered_json;

/// More rows at once are hardly faster and take more memory.
constexpr std::int64_t kMostRows = 128;

struct Request {
    std::string weights;
    InputRequest input;
    std::vector<std::int64_t> samples;
    std::size_t top = 5;
    ContinuationRequest text;
    bool stream = false;
};

using Say = std::function<void(const std::string& line)>;

Result<Request> requestFrom(std::string_view text) {
    try {
        const Json json = parsedJson(text);
        Request request;
        json.at("weights").get_to(request.weights);
        request.input.words = json.value("inputs", std::vector<std::string>());
        request.input.labels = json.value("labels", std::string());
        request.input.validation = json.value("validation", false);
        request.samples = json.value("samples", std::vector<std::int64_t>());
        request.top = json.value("top", request.top);
        request.stream = json.value("stream", false);
        request.text.tokens = json.value("tokens", request.text.tokens);
        Sampling& sampling = request.text.sampling;
        sampling.temperature = json.value("temperature", sampling.temperature);
        sampling.topK = json.value("top_k", sampling.topK);
        sampling.seed = json.value("seed", sampling.seed);
        return request;
    } catch (const Json::exception& error) {
        return Error(Message("The request cannot be read: %1.", {error.what()}), {},
                     Message("Ask with the trainyard of the same version."));
    }
}

enum class Output { Classes, Probabilities, Numbers };

Output outputOf(const graph::Graph& graph) {
    switch (graph.loss().kind) {
    case graph::OperationKind::SoftmaxCrossEntropy:
        return Output::Classes;
    case graph::OperationKind::BinaryCrossEntropy:
        return Output::Probabilities;
    default:
        return Output::Numbers;
    }
}

const char* nameOf(Output output) {
    return output == Output::Classes         ? "classes"
           : output == Output::Probabilities ? "probabilities"
                                             : "numbers";
}

std::vector<double> softmax(std::vector<double> scores) {
    const double largest = std::ranges::max(scores);
    for (double& score : scores)
        score = std::exp(score - largest);
    const double sum = std::accumulate(scores.begin(), scores.end(), 0.0);
    for (double& score : scores)
        score /= sum;
    return scores;
}

/// The classes with the largest probabilities, largest first; of equals the first class.
std::vector<std::size_t> largest(const std::vector<double>& values, std::size_t count) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    count = std::min(count, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count),
                      order.end(), [&](std::size_t a, std::size_t b) {
                          return values[a] != values[b] ? values[a] > values[b] : a < b;
                      });
    order.resize(count);
    return order;
}

int threadsHere() {
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

class Prediction {
public:
    Prediction(const SavedWeights& weights, const PredictInput& input, const Request& request)
        : m_weights(weights), m_input(input), m_request(request), m_samples(request.samples) {}

    Result<Json> run() {
        if (Result<void> chosen = chooseSamples(); !chosen)
            return chosen.error();
        const auto count = static_cast<std::int64_t>(m_samples.size());
        auto predictor = Predictor::make(m_weights, std::min(count, kMostRows), threadsHere());
        if (!predictor)
            return predictor.error();
        m_predictor = std::move(*predictor);
        m_output = outputOf(m_predictor->graph());
        if (m_output == Output::Classes && !m_predictor->graph().targetShape().empty())
            return Error(Message("This model predicts a class for each position of a sequence."),
                         {}, Message("Give it the begin of a sequence to go on with."));
        for (std::size_t first = 0; first < m_samples.size(); first += batchRows())
            if (Result<void> added = addBatch(first); !added)
                return added.error();
        return answer();
    }

private:
    std::size_t batchRows() const { return static_cast<std::size_t>(m_predictor->rows()); }

    Result<void> chooseSamples() {
        const std::int64_t count = m_input.samples->info().samples;
        if (m_samples.empty()) {
            m_samples.resize(static_cast<std::size_t>(count));
            std::iota(m_samples.begin(), m_samples.end(), std::int64_t{0});
        }
        for (const std::int64_t sample : m_samples)
            if (sample < 0 || sample >= count)
                return Error(Message("There is no sample %1: the input has %2, counted from 0.",
                                     {std::to_string(sample), grouped(count)}),
                             {}, Message("Choose one from 0 to %1.", {std::to_string(count - 1)}));
        return {};
    }

    Result<void> addBatch(std::size_t first) {
        const std::size_t count = std::min(batchRows(), m_samples.size() - first);
        const std::span<const std::int64_t> samples(m_samples.data() + first, count);
        m_predictor->run(
            [&](const BatchMemory& memory) { m_input.samples->gather(samples, memory); });
        for (std::size_t row = 0; row < count; ++row)
            if (Result<void> added = addRow(samples[row], static_cast<std::int64_t>(row)); !added)
                return added;
        return {};
    }

    Result<void> addRow(std::int64_t sample, std::int64_t row) {
        const std::vector<double> scores = m_predictor->scores(row);
        if (!std::ranges::all_of(scores, [](double score) { return std::isfinite(score); }))
            return Error(Message("For sample %1 the model computes numbers that are not finite.",
                                 {grouped(sample)}),
                         {},
                         Message("Look whether the sample has numbers far from those that the "
                                 "model was trained on."));
        Json entry = {{"sample", sample}};
        if (!m_input.names.empty())
            entry["input"] = m_input.names[static_cast<std::size_t>(sample)];
        if (m_output == Output::Classes)
            addClasses(scores, row, entry);
        else
            addNumbers(scores, row, entry);
        m_predictions.push_back(std::move(entry));
        return {};
    }

    void addClasses(const std::vector<double>& scores, std::int64_t row, Json& entry) {
        if (m_input.hasTargets) {
            const std::int32_t label = m_predictor->labels()[static_cast<std::size_t>(row)];
            entry["label"] = label;
            if (label >= 0)
                ++m_counted;
            if (std::cmp_equal(largest(scores, 1).front(), label))
                ++m_correct;
        }
        const std::vector<double> probabilities = softmax(scores);
        Json top = Json::array();
        for (const std::size_t index : largest(probabilities, m_request.top))
            top.push_back({{"class", index}, {"probability", probabilities[index]}});
        entry["top"] = std::move(top);
    }

    void addNumbers(std::vector<double> values, std::int64_t row, Json& entry) {
        if (m_output == Output::Probabilities)
            for (double& value : values)
                value = 1 / (1 + std::exp(-value));
        if (m_input.hasTargets) {
            const std::vector<double> targets = m_predictor->numbers(row);
            entry["targets"] = targets;
            for (std::size_t i = 0; i < targets.size(); ++i) {
                ++m_counted;
                m_absoluteError += std::abs(values[i] - targets[i]);
                m_correct += (values[i] > 0.5) == (targets[i] > 0.5);
            }
        }
        entry["values"] = std::move(values);
    }

    Json answer() {
        const DatasetInfo& data = m_weights.data();
        Json json = {{"step", m_weights.step()},
                     {"output", nameOf(m_output)},
                     {"classes", m_predictor->graph().classes()},
                     {"class_names", data.classNames},
                     {"samples", m_samples.size()}};
        if (m_counted > 0 && m_output != Output::Numbers)
            json["accuracy"] = static_cast<double>(m_correct) / static_cast<double>(m_counted);
        if (m_counted > 0 && m_output == Output::Numbers)
            json["mean_absolute_error"] = m_absoluteError / static_cast<double>(m_counted);
        json["predictions"] = std::move(m_predictions);
        return json;
    }

    const SavedWeights& m_weights;
    const PredictInput& m_input;
    const Request& m_request;
    std::vector<std::int64_t> m_samples;
    std::unique_ptr<Predictor> m_predictor;
    Output m_output = Output::Classes;
    Json m_predictions = Json::array();
    std::int64_t m_counted = 0; ///< answers that are known to be right or wrong
    std::int64_t m_correct = 0;
    double m_absoluteError = 0;
};

std::string lineOf(const Json& json) {
    return jsonText(json);
}

Result<Json> continuationFor(const SavedWeights& weights, const Request& request, const Say& say) {
    if (request.input.words.size() != 1)
        return Error(Message("There are %1 inputs to go on with.",
                             {std::to_string(request.input.words.size())}),
                     {}, Message("Give one, in quotes if it has spaces."));
    ContinuationRequest text = request.text;
    text.prompt = request.input.words.front();
    TextGrown grown;
    if (request.stream && say)
        grown = [&say](const std::string& piece) {
            say(lineOf({{"grown", piece}}));
        };
    Result<Continuation> made = continuation(weights, text, threadsHere(), grown);
    if (!made)
        return made.error();
    Json json = {{"step", weights.step()}, {"output", "tokens"}};
    if (weights.data().tokenizer)
        json["text"] = std::move(made->text);
    json["tokens"] = std::move(made->tokens);
    return json;
}

Result<Json> predictionFor(std::string_view requestJson, const Say& say) {
    try {
        const Result<Request> request = requestFrom(requestJson);
        if (!request)
            return request.error();
        const Result<SavedWeights> weights = SavedWeights::open(request->weights);
        if (!weights)
            return weights.error();
        if (weights->data().vocabulary > 0 && !request->input.validation)
            return continuationFor(*weights, *request, say);
        const Result<PredictInput> input = openInput(*weights, request->input);
        if (!input)
            return input.error();
        return Prediction(*weights, *input, *request).run();
    } catch (const std::runtime_error& error) { // a file that has become shorter since
        return Error(Message("%1", {error.what()}));
    } catch (const std::bad_alloc&) {
        return Error(Message("There is not enough memory to predict."), {},
                     Message("Choose fewer samples, or end other programs."));
    }
}

} // namespace

std::string predict(std::string_view requestJson, const Say& say) {
    Json json = {{"format", "trainyard.prediction/1"}, {"problems", Json::array()}};
    Result<Json> prediction = predictionFor(requestJson, say);
    if (prediction)
        json.update(*prediction);
    else
        json["problems"] = parsedJson(problemsAsJson({prediction.error()}));
    return lineOf(json);
}

} // namespace trainyard::engine
