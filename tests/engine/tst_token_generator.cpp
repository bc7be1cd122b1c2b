// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Going on with a sequence: what is drawn follows the probabilities and depends on seed and
// position only; a model whose weights say "the next number" counts.
#include "engine/runtime/predict_text.h"

#include <QTemporaryDir>
#include <QTest>

#include <array>
#include <cmath>
#include <set>

using namespace trainyard;
using namespace trainyard::engine;

namespace {

constexpr std::int64_t kVocabulary = 7;
constexpr std::int64_t kContext = 4;

/// Looks up a vector of zeros and a one, and gives the next token the score 2, all others 0.
spec::Experiment countingModel() {
    spec::Experiment experiment;
    experiment.data.train = {{"images", "/nowhere/images"}, {"labels", "/nowhere/labels"}};
    experiment.model.inputShape = {kContext};
    experiment.model.layers = {
        {"words", "embedding", {}, {{"vocabulary", kVocabulary}, {"features", kVocabulary}}},
        {"next", "linear", {}, {{"out_features", kVocabulary}}}};
    return experiment;
}

} // namespace

class TestTokenGenerator : public QObject {
    Q_OBJECT

private slots:
    void drawsFollowTheProbabilities_data() {
        QTest::addColumn<double>("temperature");
        QTest::addColumn<int>("topK");
        QTest::newRow("as they are") << 1.0 << 0;
        QTest::newRow("cold") << 0.5 << 0;
        QTest::newRow("hot, the best three") << 2.0 << 3;
        QTest::newRow("more than there are") << 1.0 << 99;
    }

    void drawsFollowTheProbabilities() {
        QFETCH(double, temperature);
        QFETCH(int, topK);
        const std::array<double, 5> scores = {0.3, -1.0, 1.2, 0.3, -0.2};
        std::array<double, 5> expected{};
        double sum = 0;
        for (std::size_t i = 0; i < 5; ++i) {
            const bool in = topK == 0 || topK > 5 || i == 0 || i == 2 || i == 3;
            sum += expected[i] = in ? std::exp(scores[i] / temperature) : 0;
        }
        constexpr int kDraws = 20'000;
        std::array<int, 5> drawn{};
        for (int i = 0; i < kDraws; ++i)
            ++drawn[static_cast<std::size_t>(drawToken(scores, {temperature, topK, 3}, i))];
        for (std::size_t i = 0; i < 5; ++i) {
            const double share = expected[i] / sum;
            // Five standard deviations of a binomial: once in two million.
            const double bound = 5 * std::sqrt(share * (1 - share) * kDraws);
            QVERIFY2(std::abs(drawn[i] - share * kDraws) <= bound,
                     qPrintable(QStringLiteral("%1: %2 of %3").arg(i).arg(drawn[i]).arg(share)));
        }
    }

    void sameQuestionSameAnswer() {
        const std::array<double, 4> scores = {0, 0, 0, 0};
        std::set<std::vector<std::int32_t>> answers;
        for (const std::uint64_t seed : {1ULL, 2ULL, 1ULL << 40, 1ULL}) {
            std::vector<std::int32_t> tokens;
            for (std::int64_t i = 0; i < 64; ++i)
                tokens.push_back(drawToken(scores, {1, 0, seed}, i));
            answers.insert(tokens);
        }
        QCOMPARE(answers.size(), 3U);
    }

    void coldestIsTheBest() {
        const std::array<double, 4> scores = {1, 5, 5, 4.999};
        for (std::int64_t i = 0; i < 100; ++i) {
            QCOMPARE(drawToken(scores, {0, 0, 9}, i), 1);
            QCOMPARE(drawToken(scores, {1, 1, 9}, i), 1);
            QCOMPARE(drawToken(scores, {1e-6, 2, 9}, i) / 3, 0); // 1 or 2
        }
        const std::array<double, 2> far = {-1e6, 1e6}; // no overflow, no 0 / 0
        QCOMPARE(drawToken(far, {0.1, 0, 1}, 0), 1);
    }

    void aModelThatCounts() {
        const std::unique_ptr<Predictor> model = counting();
        QVERIFY(model);
        QVERIFY(checkGoesOn(model->graph()).ok());
        const std::array<std::int32_t, 2> prompt = {3, 4};
        const auto answer = goOn(*model, prompt, 9, kVocabulary, {.temperature = 0});
        QVERIFY(answer.ok());
        QCOMPARE(*answer, (std::vector<std::int32_t>{5, 6, 0, 1, 2, 3, 4, 5, 6}));
        // The data has fewer tokens than the model: the others are never drawn.
        const auto fewer = goOn(*model, prompt, 200, 6, {.temperature = 3, .seed = 5});
        QVERIFY(fewer.ok());
        QVERIFY(std::ranges::all_of(*fewer, [](std::int32_t token) { return token < 6; }));
        QVERIFY(goOn(*model, prompt, 0, kVocabulary, {})->empty());
    }

    void fromWordsToTokens() {
        QVERIFY(counting());
        const Result<SavedWeights> weights = SavedWeights::open(path());
        const auto ask = [&](const ContinuationRequest& request) {
            const auto answer = continuation(*weights, request, 1);
            return answer ? answer->tokens : std::vector<std::int32_t>{};
        };
        QCOMPARE(ask({"1, 2", 3, {.temperature = 0}}), (std::vector<std::int32_t>{3, 4, 5}));
        QCOMPARE(ask({"2", 50, {.seed = 4}}), ask({"2", 50, {.seed = 4}}));
        QVERIFY(ask({"2", 50, {.seed = 4}}) != ask({"2", 50, {.seed = 5}}));
        QCOMPARE(ask({"2", 50, {.topK = 1, .seed = 4}}), ask({"2", 50, {.temperature = 0}}));
        const auto refusal = [&](const ContinuationRequest& request) {
            return QString::fromStdString(continuation(*weights, request, 1).error().sentence());
        };
        QCOMPARE(refusal({"once upon", 3, {}}),
                 QStringLiteral("\"once upon\" is no list of tokens. Give whole numbers with "
                                "commas between them."));
        QCOMPARE(refusal({"1,7", 3, {}}), QStringLiteral("There is no token 7. Tokens are whole "
                                                         "numbers from 0 to 6."));
        QCOMPARE(refusal({"1.5", 3, {}}), QStringLiteral("There is no token 1.5. Tokens are whole "
                                                         "numbers from 0 to 6."));
        QCOMPARE(refusal({"1", 0, {}}),
                 QStringLiteral("0 tokens cannot be made. Ask for 1 to 1,000,000."));
        QVERIFY(refusal({"1", 1, {.temperature = -1}})
                    .startsWith(QStringLiteral("The temperature is -1. ")));
        QVERIFY(refusal({"1", 1, {.topK = -3}}).startsWith(QStringLiteral("Top-k is -3. ")));
    }

    void modelsThatCannotGoOn() {
        spec::Experiment sees = countingModel();
        sees.model.layers.insert(
            sees.model.layers.begin() + 1,
            {"mix", "attention", {}, {{"heads", std::int64_t{1}}, {"causal", false}}});
        const auto graphOf = [](const spec::Experiment& experiment) {
            graph::BuiltGraph built = graph::buildGraph(experiment.model, {});
            for (const Error& problem : built.problems)
                qWarning("%s", problem.sentence().c_str());
            TRAINYARD_CHECK(built.problems.empty());
            return std::move(built.graph);
        };
        const Result<void> refused = checkGoesOn(graphOf(sees));
        QVERIFY(!refused.ok());
        QCOMPARE(refused.error().sentence(),
                 std::string("The attention of \"mix\" sees the text that follows, so the model "
                             "cannot go on with a text. Train it with causal attention."));
        spec::Experiment pictures;
        pictures.model.inputShape = {4};
        pictures.model.layers = {{"out", "linear", {}, {{"out_features", std::int64_t{3}}}}};
        QVERIFY(!checkGoesOn(graphOf(pictures)).ok());
    }

private:
    std::string path() const {
        return m_folder.filePath(QStringLiteral("counting.safetensors")).toStdString();
    }

    std::unique_ptr<Predictor> counting() {
        const spec::Experiment experiment = countingModel();
        DatasetInfo data;
        data.sampleShape = {kContext};
        data.targetShape = {kContext};
        data.vocabulary = kVocabulary;
        data.classes = kVocabulary;
        data.samples = 8;
        const plan::PlanOutcome planned = plan::makePlan(experiment, countsOf(data, nullptr), {});
        if (!planned.problems.empty()) {
            qWarning("%s", planned.problems.front().sentence().c_str());
            return nullptr;
        }
        const plan::Plan& plan = planned.plan;
        std::vector<float> all;
        for (const graph::ParameterInfo& info : plan.graph.parameters) {
            const std::size_t first = all.size();
            all.resize(first + static_cast<std::size_t>(elementCount(info.shape)));
            float* values = all.data() + first;
            for (std::size_t token = 0; token < kVocabulary; ++token) {
                if (info.name == "words.weight") // {token, feature}
                    values[token * kVocabulary + token] = 1;
                if (info.name == "next.weight") // {next token, feature}
                    values[(token + 1) % kVocabulary * kVocabulary + token] = 2;
            }
        }
        const auto bytes = std::as_bytes(std::span(all));
        if (!saveWeights(path(), experiment, plan, bytes, data, 1))
            return nullptr;
        const Result<SavedWeights> weights = SavedWeights::open(path());
        if (!weights)
            return nullptr;
        auto predictor = Predictor::make(*weights, 1, 1);
        return predictor ? std::move(*predictor) : nullptr;
    }

    QTemporaryDir m_folder;
};

QTEST_GUILESS_MAIN(TestTokenGenerator)
#include "tst_token_generator.moc"
