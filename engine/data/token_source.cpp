// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/data/token_source.h"

#include "engine/base/number_text.h"
#include "engine/data/format_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace trainyard::engine {

namespace {

constexpr std::size_t kTokensInMemory = std::size_t{64} << 20; ///< bytes

class StoredTokens final : public TokenSource {
public:
    StoredTokens(std::shared_ptr<const ByteSource> bytes, std::int64_t begin, TokenWidth width)
        : m_bytes(std::move(bytes)), m_begin(begin), m_width(static_cast<std::int64_t>(width)) {}

    std::int64_t count() const override { return (m_bytes->size() - m_begin) / m_width; }

    void read(std::int64_t first, std::span<std::int32_t> tokens) const override {
        const auto width = static_cast<std::size_t>(m_width);
        // The narrow tokens lie in the rear of the target and are widened from its front.
        auto* const target = reinterpret_cast<std::uint8_t*>(tokens.data());
        std::uint8_t* from = target + tokens.size() * (sizeof(std::int32_t) - width);
        m_bytes->read(m_begin + first * m_width, std::span(from, tokens.size() * width));
        for (std::int32_t& token : tokens) {
            std::uint32_t value = 0;
            for (std::size_t byte = 0; byte < width; ++byte)
                value |= std::uint32_t{from[byte]} << (8 * byte);
            from += width;
            token = static_cast<std::int32_t>(value);
        }
    }

private:
    std::shared_ptr<const ByteSource> m_bytes;
    std::int64_t m_begin = 0;
    std::int64_t m_width = 1;
};

class CharacterTokens final : public TokenSource {
public:
    CharacterTokens(const TextSource& text, CharacterIndex index,
                    std::shared_ptr<const Tokenizer> tokenizer)
        : m_bytes(text.bytes), m_index(std::move(index)), m_tokenizer(std::move(tokenizer)) {}

    std::int64_t count() const override { return m_index.characters; }

    void read(std::int64_t first, std::span<std::int32_t> tokens) const override {
        const std::int64_t end = first + static_cast<std::int64_t>(tokens.size());
        const std::int64_t begin = offsetBefore(first);
        std::string text(static_cast<std::size_t>(offsetBehind(end) - begin), '\0');
        m_bytes->read(begin, std::span<char>(text));
        std::size_t position = 0;
        for (std::int64_t skip = first % kCharacterStride; skip > 0; --skip)
            next(text, position);
        for (std::int32_t& token : tokens)
            token = m_tokenizer->tokenOf(next(text, position));
    }

private:
    std::int64_t offsetBefore(std::int64_t character) const {
        return m_index.offsets[static_cast<std::size_t>(character / kCharacterStride)];
    }
    std::int64_t offsetBehind(std::int64_t character) const {
        const auto block = (character + kCharacterStride - 1) / kCharacterStride;
        return m_index
            .offsets[std::min(static_cast<std::size_t>(block), m_index.offsets.size() - 1)];
    }
    char32_t next(const std::string& text, std::size_t& position) const {
        const char32_t character =
            position < text.size() ? decodeCharacter(text, position) : kNoCharacter;
        if (character == kNoCharacter || m_tokenizer->tokenOf(character) < 0)
            throw std::runtime_error("The file \"" + m_bytes->path() +
                                     "\" has been changed since it was opened.");
        return character;
    }

    std::shared_ptr<const ByteSource> m_bytes;
    CharacterIndex m_index;
    std::shared_ptr<const Tokenizer> m_tokenizer;
};

/// Takes tokens one after the other; memory first, a file when they become many.
class TokenStore {
public:
    explicit TokenStore(TokenWidth width) : m_width(width) {}
    ~TokenStore() {
        if (m_descriptor >= 0)
            ::close(m_descriptor);
    }
    TokenStore(const TokenStore&) = delete;
    TokenStore& operator=(const TokenStore&) = delete;

    Result<void> append(std::span<const std::int32_t> tokens) {
        for (const std::int32_t token : tokens)
            for (int byte = 0; byte < static_cast<int>(m_width); ++byte)
                m_bytes += static_cast<char>(static_cast<std::uint32_t>(token) >> (8 * byte));
        return m_bytes.size() > kTokensInMemory ? spill() : Result<void>();
    }

    Result<std::shared_ptr<const TokenSource>> finish(const std::string& path) {
        if (m_descriptor < 0)
            return storedTokens(ByteSource::ofMemory(std::move(m_bytes), path), 0, m_width);
        if (const Result<void> spilt = spill(); !spilt)
            return spilt.error();
        return storedTokens(
            ByteSource::ofDescriptor(std::exchange(m_descriptor, -1), m_written, path), 0, m_width);
    }

private:
    Result<void> spill() {
        const char* chosen = std::getenv("TMPDIR");
        const std::string folder = chosen && *chosen ? chosen : "/var/tmp";
        if (m_descriptor < 0)
            m_descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        for (std::size_t done = 0; m_descriptor >= 0 && done < m_bytes.size();) {
            const ssize_t put = ::write(m_descriptor, m_bytes.data() + done, m_bytes.size() - done);
            if (put < 0 && errno == EINTR)
                continue;
            if (put < 0)
                return cannotWrite(folder);
            done += static_cast<std::size_t>(put);
        }
        if (m_descriptor < 0)
            return cannotWrite(folder);
        m_written += static_cast<std::int64_t>(m_bytes.size());
        m_bytes.clear();
        return {};
    }

    static Error cannotWrite(const std::string& folder) {
        return {Message("The tokens of the text cannot be written to the folder \"%1\": %2.",
                        {folder, std::generic_category().message(errno)}),
                "data.train",
                Message("Make room there, or name another folder in the variable TMPDIR.")};
    }

    const TokenWidth m_width;
    std::string m_bytes;
    std::int64_t m_written = 0;
    int m_descriptor = -1;
};

} // namespace

std::shared_ptr<const TokenSource> storedTokens(std::shared_ptr<const ByteSource> bytes,
                                                std::int64_t begin, TokenWidth width) {
    return std::make_shared<StoredTokens>(std::move(bytes), begin, width);
}

std::shared_ptr<const TokenSource> characterTokens(const TextSource& text, CharacterIndex index,
                                                   std::shared_ptr<const Tokenizer> tokenizer) {
    return std::make_shared<CharacterTokens>(text, std::move(index), std::move(tokenizer));
}

Result<CharacterIndex> indexCharacters(const TextSource& text, const std::string& where) {
    CharacterIndex index;
    index.seen.resize(kCharacterEnd);
    ByteStream stream(*text.bytes, text.begin);
    std::string piece;
    std::int64_t pieceOffset = text.begin;
    while (stream.appendTo(piece)) {
        const std::size_t whole = piece.size() - (stream.atEnd() ? 0 : unfinishedBytes(piece));
        for (std::size_t position = 0; position < whole;) {
            const std::int64_t offset = pieceOffset + static_cast<std::int64_t>(position);
            if (index.characters++ % kCharacterStride == 0)
                index.offsets.push_back(offset);
            const char32_t character = decodeCharacter(piece, position);
            if (character == kNoCharacter)
                return notUtf8(text, where, offset);
            index.seen[character] = true;
        }
        pieceOffset += static_cast<std::int64_t>(whole);
        piece.erase(0, whole);
    }
    index.offsets.push_back(text.bytes->size());
    return index;
}

Result<std::shared_ptr<const TokenSource>>
pairTokens(const TextSource& text, const std::string& where, const Tokenizer& tokenizer) {
    constexpr std::int64_t kTwoBytes = 65536;
    /// Words come again and again; their number is bounded so that memory is.
    constexpr std::size_t kMostRemembered = 1 << 16;
    TokenStore store(tokenizer.vocabulary() <= kTwoBytes ? TokenWidth::Two : TokenWidth::Four);
    std::unordered_map<std::string, std::vector<std::int32_t>> remembered;
    ByteStream stream(*text.bytes, text.begin);
    std::string piece;
    std::int64_t pieceOffset = text.begin;
    while (stream.appendTo(piece)) {
        std::size_t position = 0;
        while (position < piece.size()) {
            const std::size_t end = pieceEnd(piece, position);
            if (end == piece.size() && !stream.atEnd())
                break;
            std::string word = piece.substr(position, end - position);
            auto known = remembered.find(word);
            if (known == remembered.end()) {
                if (remembered.size() >= kMostRemembered)
                    remembered.clear();
                for (std::size_t at = 0; at < word.size();)
                    if (decodeCharacter(word, at) == kNoCharacter)
                        return notUtf8(text, where,
                                       pieceOffset + static_cast<std::int64_t>(position + at));
                std::vector<std::int32_t> tokens;
                tokenizer.encodePiece(word, tokens);
                known = remembered.emplace(std::move(word), std::move(tokens)).first;
            }
            if (const Result<void> stored = store.append(known->second); !stored)
                return stored.error();
            position = end;
        }
        pieceOffset += static_cast<std::int64_t>(position);
        piece.erase(0, position);
    }
    return store.finish(text.bytes->path());
}

WindowDataset::WindowDataset(std::shared_ptr<const TokenSource> tokens, std::int64_t context,
                             std::int64_t firstWindow, std::int64_t windows, DatasetInfo info)
    : m_tokens(std::move(tokens)), m_context(context), m_firstWindow(firstWindow),
      m_info(std::move(info)) {
    m_info.samples = windows;
    m_info.sampleShape = {context};
    m_info.targetShape = {context};
    TRAINYARD_CHECK(firstWindow + windows <= windowsOf(m_tokens->count(), context));
}

void WindowDataset::gather(std::span<const std::int64_t> samples, const BatchMemory& memory) const {
    TRAINYARD_CHECK(memory.inputType == DType::Int32);
    const auto context = static_cast<std::size_t>(m_context);
    std::vector<std::int32_t> window(context + 1);
    auto* inputs = static_cast<std::int32_t*>(memory.inputs);
    std::int32_t* labels = memory.labels;
    for (const std::int64_t sample : samples) {
        TRAINYARD_CHECK_MSG(sample >= 0 && sample < m_info.samples,
                            describePair(sample, m_info.samples));
        m_tokens->read((m_firstWindow + sample) * m_context, window);
        // A token that the model has no row for would read foreign memory.
        for (const std::int32_t token : window)
            if (token < 0 || token >= m_info.vocabulary)
                throw std::runtime_error("The data has been changed since it was opened: token " +
                                         std::to_string(token) + " is not in the vocabulary of " +
                                         std::to_string(m_info.vocabulary) + '.');
        inputs = std::copy_n(window.begin(), context, inputs);
        labels = std::copy_n(window.begin() + 1, context, labels);
    }
}

void openWindows(const DataRequest& request, const std::shared_ptr<const TokenSource>& training,
                 const std::shared_ptr<const TokenSource>& validation, const std::string& role,
                 const DatasetInfo& info, DataOutcome& outcome) {
    const std::int64_t context = request.integer("context");
    const std::int64_t needed = request.splits() ? 2 : 1;
    const auto windowsIn = [&](const std::shared_ptr<const TokenSource>& tokens, const Part& part,
                               std::int64_t least) {
        const std::int64_t windows = WindowDataset::windowsOf(tokens->count(), context);
        if (windows < least)
            outcome.problems.push_back(
                Error(Message("\"%1\" has %2 tokens, but windows of %3 tokens need at least %4.",
                              {part.file(role), grouped(tokens->count()), grouped(context),
                               grouped(least * context + 1)}),
                      part.at(role),
                      Message("Make data.context smaller, or choose a longer "
                              "file.")));
        return windows;
    };
    const std::int64_t windows = windowsIn(training, request.training(), needed);
    const std::int64_t ownWindows = validation ? windowsIn(validation, request.validation(), 1) : 0;
    if (request.modelClasses > 0 && info.vocabulary > request.modelClasses)
        outcome.problems.push_back(
            Error(Message("The data has %1 different tokens, but the model tells only %2 apart.",
                          {grouped(info.vocabulary), grouped(request.modelClasses)}),
                  request.training().at(role),
                  Message("Raise the outputs of the last layer to %1.",
                          {std::to_string(info.vocabulary)})));
    if (!outcome.problems.empty())
        return;
    DatasetInfo rest = info;
    rest.notes.clear();
    const std::int64_t kept =
        request.splits() ? validationShare(windows, request.data.validationFraction) : 0;
    outcome.data.training =
        std::make_unique<WindowDataset>(training, context, 0, windows - kept, info);
    if (kept > 0)
        outcome.data.validation = std::make_unique<WindowDataset>(training, context, windows - kept,
                                                                  kept, std::move(rest));
    else if (validation)
        outcome.data.validation =
            std::make_unique<WindowDataset>(validation, context, 0, ownWindows, std::move(rest));
}

} // namespace trainyard::engine
