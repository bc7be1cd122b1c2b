// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Data of the format "tokens": a text that another program has turned into numbers, each of two or
// four bytes, little-endian, without a header.
#include "engine/base/number_text.h"
#include "engine/data/format_reader.h"
#include "engine/data/token_source.h"

#include <optional>
#include <utility>

namespace trainyard::engine {

namespace {

struct TokenFile {
    std::shared_ptr<const TokenSource> tokens;
    std::int64_t largest = 0;
    std::int64_t largestAt = 0;
    bool oddAllZero = true; ///< each second token is 0
};

/// Looks at each token once, in large pieces.
void survey(TokenFile& file) {
    constexpr std::int64_t kPiece = 1 << 18;
    const std::int64_t count = file.tokens->count();
    std::vector<std::int32_t> piece;
    for (std::int64_t first = 0; first < count; first += kPiece) {
        piece.resize(static_cast<std::size_t>(std::min(kPiece, count - first)));
        file.tokens->read(first, piece);
        for (std::size_t i = 0; i < piece.size(); ++i) {
            // Four bytes may hold more than Int32 does; those come out negative.
            const std::int64_t token = static_cast<std::uint32_t>(piece[i]);
            if (token > file.largest) {
                file.largest = token;
                file.largestAt = first + static_cast<std::int64_t>(i);
            }
            file.oddAllZero = file.oddAllZero && (i % 2 == 0 || token == 0);
        }
    }
}

std::optional<TokenFile> readTokens(const DataRequest& request, const Part& part,
                                    Problems& problems) {
    const std::string path = part.file("tokens");
    const std::string where = part.at("tokens");
    if (path.empty())
        return std::nullopt;
    Result<std::shared_ptr<const ByteSource>> bytes = ByteSource::open(path, where);
    if (!bytes) {
        problems.push_back(bytes.error());
        return std::nullopt;
    }
    const std::string type = request.text("type");
    const TokenWidth width = type == "uint16" ? TokenWidth::Two : TokenWidth::Four;
    if ((*bytes)->size() % static_cast<std::int64_t>(width) != 0) {
        problems.push_back(Error(Message("\"%1\" is cut short or not of the type %2: its %3 bytes "
                                         "are no whole number of tokens.",
                                         {path, type, grouped((*bytes)->size())}),
                                 where, Message("Choose the type it was written with.")));
        return std::nullopt;
    }
    TokenFile file{.tokens = storedTokens(std::move(*bytes), 0, width)};
    survey(file);
    constexpr std::int64_t kLargestToken = std::int64_t{1} << 24;
    if (file.largest >= kLargestToken) {
        problems.push_back(Error(Message("Token %1 of \"%2\" is %3, which no vocabulary has.",
                                         {grouped(file.largestAt), path, grouped(file.largest)}),
                                 where, Message("Choose the type it was written with.")));
        return std::nullopt;
    }
    if (width == TokenWidth::Two && file.oddAllZero && file.tokens->count() > 2 &&
        file.largest > 0) {
        problems.push_back(Error(Message("Each second token of \"%1\" is 0: it seems to be of the "
                                         "type uint32.",
                                         {path}),
                                 where, Message("Set data.type to uint32.")));
        return std::nullopt;
    }
    return file;
}

} // namespace

void openTokens(const DataRequest& request, DataOutcome& outcome) {
    const std::optional<TokenFile> training =
        readTokens(request, request.training(), outcome.problems);
    std::optional<TokenFile> validation;
    if (request.hasValidationFiles())
        validation = readTokens(request, request.validation(), outcome.problems);
    if (!training || !outcome.problems.empty())
        return;
    DatasetInfo info;
    const std::int64_t given = request.integer("vocabulary_size");
    const auto check = [&](const TokenFile& file, const Part& part) {
        if (given > 0 && file.largest >= given)
            outcome.problems.push_back(
                Error(Message("Token %1 of \"%2\" is %3, but the vocabulary has %4 (0-%5).",
                              {grouped(file.largestAt), part.file("tokens"), grouped(file.largest),
                               grouped(given), grouped(given - 1)}),
                      part.at("tokens"),
                      Message("Raise data.vocabulary_size to %1, or to 0, which "
                              "means the largest token of the data.",
                              {std::to_string(file.largest + 1)})));
        info.vocabulary = std::max(info.vocabulary, file.largest + 1);
    };
    check(*training, request.training());
    if (validation)
        check(*validation, request.validation());
    info.vocabulary = given > 0 ? given : info.vocabulary;
    info.classes = info.vocabulary;
    info.notes.push_back(Message("%1 tokens, the largest is %2.",
                                 {grouped(training->tokens->count()), grouped(training->largest)}));
    openWindows(request, training->tokens, validation ? validation->tokens : nullptr, "tokens",
                info, outcome);
}

} // namespace trainyard::engine
