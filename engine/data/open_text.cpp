// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Data of the format "text": windows of a text, in which each position is to predict the next
// token.
#include "engine/base/number_text.h"
#include "engine/data/format_reader.h"
#include "engine/data/token_source.h"

#include <optional>
#include <utility>

namespace trainyard::engine {

namespace {

using SharedTokens = std::shared_ptr<const TokenSource>;

/// Pairs are learned from the begin of the text; more of it changes them little and costs time.
constexpr std::int64_t kMostLearnedFrom = std::int64_t{16} << 20;

class TextOpener {
public:
    TextOpener(const DataRequest& request, DataOutcome& outcome)
        : m_request(request), m_outcome(outcome) {}

    void open() {
        std::optional<TextSource> training = source(m_request.training());
        std::optional<TextSource> validation;
        if (m_request.hasValidationFiles())
            validation = source(m_request.validation());
        if (!training || !m_outcome.problems.empty())
            return;
        m_info.notes = training->notes;
        SharedTokens validationTokens;
        const SharedTokens tokens = tokensOf(*training, validation, validationTokens);
        if (!tokens || !m_outcome.problems.empty())
            return;
        m_info.tokenizer = m_tokenizer;
        m_info.vocabulary = m_tokenizer->vocabulary();
        m_info.classes = m_info.vocabulary;
        m_info.classNames = m_tokenizer->allTexts();
        openWindows(m_request, tokens, validationTokens, "text", m_info, m_outcome);
    }

private:
    std::optional<TextSource> source(const Part& part) {
        const std::string file = part.file("text");
        if (file.empty())
            return std::nullopt;
        // Bytes are what they are.
        const bool bytes = m_request.text("vocabulary") == "bytes";
        Result<TextSource> text =
            openTextSource(file, part.at("text"), bytes ? "UTF-8" : m_request.text("encoding"));
        if (!text) {
            m_outcome.problems.push_back(text.error());
            return std::nullopt;
        }
        if (text->size() == 0) { // but for the mark at its begin
            m_outcome.problems.push_back(Error(Message("The file \"%1\" holds no text.", {file}),
                                               part.at("text"), Message("Choose another file.")));
            return std::nullopt;
        }
        return std::move(*text);
    }

    SharedTokens tokensOf(const TextSource& training, const std::optional<TextSource>& validation,
                          SharedTokens& validationTokens) {
        const std::string vocabulary = m_request.text("vocabulary");
        if (vocabulary == "characters")
            return characters(training, validation, validationTokens);
        if (vocabulary == "bpe")
            return pairs(training, validation, validationTokens);
        m_tokenizer = std::make_shared<const Tokenizer>(Tokenizer::bytes());
        m_info.notes.push_back(Message("%1 bytes.", {grouped(training.size())}));
        if (validation)
            validationTokens = storedTokens(validation->bytes, validation->begin, TokenWidth::Byte);
        return storedTokens(training.bytes, training.begin, TokenWidth::Byte);
    }

    SharedTokens characters(const TextSource& training, const std::optional<TextSource>& validation,
                            SharedTokens& validationTokens) {
        Result<CharacterIndex> index = indexCharacters(training, m_request.training().at("text"));
        Result<CharacterIndex> validationIndex =
            validation ? indexCharacters(*validation, m_request.validation().at("text"))
                       : Result<CharacterIndex>(CharacterIndex());
        for (const auto* each : {&index, &validationIndex})
            if (!*each)
                m_outcome.problems.push_back(each->error());
        if (!m_outcome.problems.empty())
            return nullptr;
        std::vector<char32_t> all;
        std::int64_t onlyInValidation = 0;
        for (char32_t character = 0; character < kCharacterEnd; ++character) {
            const bool inTraining = index->seen[character];
            const bool inValidation = validation && validationIndex->seen[character];
            if (inTraining || inValidation)
                all.push_back(character);
            onlyInValidation += inValidation && !inTraining ? 1 : 0;
        }
        m_info.notes.push_back(
            Message("%1 characters, %2 of them different.",
                    {grouped(index->characters), grouped(static_cast<std::int64_t>(all.size()))}));
        if (onlyInValidation > 0)
            m_info.notes.push_back(
                Message("%1 characters occur in the validation text only: the model cannot learn "
                        "them.",
                        {grouped(onlyInValidation)}));
        m_tokenizer = std::make_shared<const Tokenizer>(Tokenizer::characters(std::move(all)));
        if (validation)
            validationTokens =
                characterTokens(*validation, std::move(*validationIndex), m_tokenizer);
        return characterTokens(training, std::move(*index), m_tokenizer);
    }

    SharedTokens pairs(const TextSource& training, const std::optional<TextSource>& validation,
                       SharedTokens& validationTokens) {
        learnPairs(training);
        SharedTokens tokens = encoded(training, m_request.training());
        if (validation)
            validationTokens = encoded(*validation, m_request.validation());
        if (tokens)
            m_info.notes.push_back(Message("%1 bytes are %2 tokens.",
                                           {grouped(training.size()), grouped(tokens->count())}));
        return tokens;
    }

    /// From the training part only, which is the begin of the text.
    void learnPairs(const TextSource& training) {
        std::int64_t bytes = training.size();
        if (m_request.splits())
            bytes -= static_cast<std::int64_t>(static_cast<double>(bytes) *
                                               m_request.data.validationFraction);
        if (bytes > kMostLearnedFrom) {
            bytes = kMostLearnedFrom;
            m_info.notes.push_back(
                Message("The vocabulary was learned from the first %1 bytes.", {grouped(bytes)}));
        }
        std::string text(static_cast<std::size_t>(bytes), '\0');
        training.bytes->read(training.begin, std::span<char>(text));
        text.resize(text.size() - unfinishedBytes(text));
        PairTrainer trainer;
        trainer.add(text);
        const std::int64_t wanted = m_request.integer("vocabulary_size");
        m_tokenizer = std::make_shared<const Tokenizer>(trainer.train(wanted));
        if (m_tokenizer->vocabulary() < wanted)
            m_info.notes.push_back(Message("The text gives a vocabulary of only %1: no other pair "
                                           "occurs twice.",
                                           {grouped(m_tokenizer->vocabulary())}));
    }

    SharedTokens encoded(const TextSource& text, const Part& part) {
        Result<SharedTokens> tokens = pairTokens(text, part.at("text"), *m_tokenizer);
        if (tokens)
            return std::move(*tokens);
        m_outcome.problems.push_back(tokens.error());
        return nullptr;
    }

    const DataRequest& m_request;
    DataOutcome& m_outcome;
    std::shared_ptr<const Tokenizer> m_tokenizer;
    DatasetInfo m_info;
};

} // namespace

void openText(const DataRequest& request, DataOutcome& outcome) {
    TextOpener(request, outcome).open();
}

} // namespace trainyard::engine
