// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/data/tokenizer.h"

#include "engine/base/json.h"
#include "engine/base/number_text.h"
#include "engine/data/text_encoding.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>

namespace trainyard::engine {

namespace {

constexpr std::int64_t kByteTokens = 256;
constexpr std::size_t kLongestPiece = 16;
/// What a space and so many characters of UTF-8 take at most.
constexpr std::size_t kMostPieceBytes = 1 + 4 * kLongestPiece;
/// Of all tokens of a file together; each may be twice as long as the one before.
constexpr std::size_t kMostTokenBytes = std::size_t{64} << 20;
constexpr const char* kTokenizerFormat = "trainyard.tokenizer/1";

enum class SignKind { Blank, Letter, Digit, Other };

/// Bytes of longer code points count as letters.
SignKind signKindOf(char sign) {
    const auto byte = static_cast<std::uint8_t>(sign);
    if (byte == ' ' || (byte >= '\t' && byte <= '\r'))
        return SignKind::Blank;
    if (byte >= '0' && byte <= '9')
        return SignKind::Digit;
    const bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
    return letter || byte >= 0x80 ? SignKind::Letter : SignKind::Other;
}

bool continuesCharacter(char sign) {
    return (static_cast<std::uint8_t>(sign) & 0xC0) == 0x80;
}

std::uint64_t pairKey(Tokenizer::Token first, Tokenizer::Token second) {
    return std::uint64_t{static_cast<std::uint32_t>(first)} << 32 |
           static_cast<std::uint32_t>(second);
}

bool isUtf8(std::string_view text) {
    for (std::size_t position = 0; position < text.size();)
        if (decodeCharacter(text, position) == kNoCharacter)
            return false;
    return true;
}

std::string shown(std::string_view bytes) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    const bool readable = isUtf8(bytes);
    std::string text = readable ? "" : "0x";
    for (const char sign : bytes) {
        const auto byte = static_cast<std::uint8_t>(sign);
        if (!readable)
            text.append({kDigits[byte >> 4], kDigits[byte & 0xF]});
        else if (sign == '\n')
            text += "\\n";
        else if (sign == '\t')
            text += "\\t";
        else if (sign == '\r')
            text += "\\r";
        else if (byte < 0x20 || byte == 0x7F)
            text.append({'\\', 'x', kDigits[byte >> 4], kDigits[byte & 0xF]});
        else
            text += sign;
    }
    return text;
}

Error notTokenizer() {
    return {Message("This is no tokenizer that this version can read."), "tokenizer"};
}

} // namespace

std::size_t pieceEnd(std::string_view text, std::size_t position) {
    std::size_t end = position;
    const auto kindAt = [text](std::size_t at) {
        return signKindOf(text[at]);
    };
    if (text[end] == ' ' && end + 1 < text.size() && kindAt(end + 1) != SignKind::Blank)
        ++end;
    const SignKind kind = kindAt(end);
    for (std::size_t characters = 0; end < text.size(); ++end) {
        // Of bytes that are no UTF-8 a piece could else be as long as the text.
        if (continuesCharacter(text[end]) && end - position < kMostPieceBytes)
            continue;
        if (kindAt(end) != kind || characters++ == kLongestPiece)
            break;
    }
    // The last of several blanks belongs to the word behind it.
    const bool wordFollows = end < text.size() && kindAt(end) != SignKind::Blank;
    if (kind == SignKind::Blank && wordFollows && end - position > 1 && text[end - 1] == ' ')
        --end;
    return end;
}

Tokenizer Tokenizer::bytes() {
    return {};
}

Tokenizer Tokenizer::characters(std::vector<char32_t> characters) {
    TRAINYARD_CHECK(!characters.empty());
    Tokenizer tokenizer;
    tokenizer.m_kind = Kind::Characters;
    tokenizer.m_tokenOfCharacter.assign(std::size_t{characters.back()} + 1, -1);
    for (std::size_t i = 0; i < characters.size(); ++i) {
        TRAINYARD_CHECK(i == 0 || characters[i - 1] < characters[i]);
        tokenizer.m_tokenOfCharacter[characters[i]] = static_cast<Token>(i);
    }
    tokenizer.m_characters = std::move(characters);
    return tokenizer;
}

Tokenizer Tokenizer::pairs(Merges merges) {
    Tokenizer tokenizer;
    tokenizer.m_kind = Kind::Pairs;
    for (std::int64_t byte = 0; byte < kByteTokens; ++byte)
        tokenizer.m_bytesOfToken.emplace_back(1, static_cast<char>(byte));
    for (const auto& [first, second] : merges) {
        const auto token = static_cast<Token>(tokenizer.m_bytesOfToken.size());
        TRAINYARD_CHECK(first >= 0 && first < token && second >= 0 && second < token);
        tokenizer.m_tokenOfPair.emplace(pairKey(first, second), token);
        tokenizer.m_bytesOfToken.push_back(
            tokenizer.m_bytesOfToken[static_cast<std::size_t>(first)] +
            tokenizer.m_bytesOfToken[static_cast<std::size_t>(second)]);
    }
    tokenizer.m_merges = std::move(merges);
    return tokenizer;
}

std::int64_t Tokenizer::vocabulary() const {
    return m_kind == Kind::Characters ? static_cast<std::int64_t>(m_characters.size())
                                      : kByteTokens + static_cast<std::int64_t>(m_merges.size());
}

Tokenizer::Token Tokenizer::tokenOf(char32_t character) const {
    return character < m_tokenOfCharacter.size() ? m_tokenOfCharacter[character] : -1;
}

void Tokenizer::encodePiece(std::string_view piece, std::vector<Token>& tokens) const {
    const std::size_t begin = tokens.size();
    for (const char sign : piece)
        tokens.push_back(static_cast<std::uint8_t>(sign));
    // The pair that was learned first is merged first; pieces are short.
    for (;;) {
        Token best = std::numeric_limits<Token>::max();
        std::size_t place = 0;
        for (std::size_t i = begin; i + 1 < tokens.size(); ++i) {
            const auto merged = m_tokenOfPair.find(pairKey(tokens[i], tokens[i + 1]));
            if (merged != m_tokenOfPair.end() && merged->second < best) {
                best = merged->second;
                place = i;
            }
        }
        if (best == std::numeric_limits<Token>::max())
            return;
        tokens[place] = best;
        tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(place) + 1);
    }
}

Result<std::vector<Tokenizer::Token>> Tokenizer::encode(std::string_view utf8) const {
    std::vector<Token> tokens;
    if (m_kind == Kind::Bytes) {
        for (const char sign : utf8)
            tokens.push_back(static_cast<std::uint8_t>(sign));
        return tokens;
    }
    for (std::size_t position = 0; position < utf8.size();) {
        if (m_kind == Kind::Pairs) {
            const std::size_t end = pieceEnd(utf8, position);
            encodePiece(utf8.substr(position, end - position), tokens);
            position = end;
            continue;
        }
        const std::size_t begin = position;
        const char32_t character = decodeCharacter(utf8, position);
        if (character == kNoCharacter)
            return Error(Message("The text is not UTF-8: the bytes at %1 are no character.",
                                 {grouped(static_cast<std::int64_t>(begin))}));
        const Token token = tokenOf(character);
        if (token < 0)
            return Error(Message("The character \"%1\" does not occur in the text that was trained "
                                 "on.",
                                 {shown(utf8.substr(begin, position - begin))}),
                         {}, Message("Leave it out, or write it differently."));
        tokens.push_back(token);
    }
    return tokens;
}

std::string Tokenizer::decode(std::span<const Token> tokens) const {
    std::string text;
    for (const Token token : tokens) {
        if (token < 0 || token >= vocabulary())
            continue;
        const auto index = static_cast<std::size_t>(token);
        if (m_kind == Kind::Characters)
            appendCharacter(text, m_characters[index]);
        else if (m_kind == Kind::Bytes)
            text += static_cast<char>(static_cast<std::uint8_t>(token));
        else
            text += m_bytesOfToken[index];
    }
    return text;
}

std::string Tokenizer::textOf(Token token) const {
    return shown(decode({&token, 1}));
}

std::vector<std::string> Tokenizer::allTexts() const {
    std::vector<std::string> texts;
    for (Token token = 0; token < vocabulary(); ++token)
        texts.push_back(textOf(token));
    return texts;
}

std::string Tokenizer::toJson() const {
    nlohmann::ordered_json json = {{"format", kTokenizerFormat}};
    if (m_kind == Kind::Bytes) {
        json["kind"] = "bytes";
    } else if (m_kind == Kind::Characters) {
        json["kind"] = "characters";
        std::string text;
        for (const char32_t character : m_characters)
            appendCharacter(text, character);
        json["characters"] = text;
    } else {
        json["kind"] = "bpe";
        json["merges"] = nlohmann::ordered_json::array();
        for (const auto& [first, second] : m_merges)
            json["merges"].push_back({first, second});
    }
    return jsonText(json);
}

Result<Tokenizer> Tokenizer::fromJson(std::string_view text) {
    const auto json = jsonOrDiscarded(text);
    if (!json.is_object() || json.value("format", nlohmann::ordered_json()) != kTokenizerFormat)
        return notTokenizer();
    const auto kind = json.value("kind", nlohmann::ordered_json());
    if (kind == "bytes")
        return bytes();
    if (kind == "characters" && json.contains("characters") && json["characters"].is_string()) {
        const auto all = json["characters"].get<std::string>();
        std::vector<char32_t> list;
        for (std::size_t position = 0; position < all.size();) {
            list.push_back(decodeCharacter(all, position));
            if (list.back() == kNoCharacter || (list.size() > 1 && list.end()[-2] >= list.back()))
                return notTokenizer();
        }
        if (list.empty())
            return notTokenizer();
        return characters(std::move(list));
    }
    if (kind != "bpe" || !json.contains("merges") || !json["merges"].is_array())
        return notTokenizer();
    Merges merges;
    std::vector<std::size_t> lengths(kByteTokens, 1);
    std::size_t bytesOfAll = 0;
    for (const auto& pair : json["merges"]) {
        const auto limit = kByteTokens + static_cast<std::int64_t>(merges.size());
        const auto isToken = [limit](const nlohmann::ordered_json& item) {
            return item.is_number_integer() && item.get<std::int64_t>() >= 0 &&
                   item.get<std::int64_t>() < limit;
        };
        if (!pair.is_array() || pair.size() != 2 || !isToken(pair[0]) || !isToken(pair[1]))
            return notTokenizer();
        merges.emplace_back(pair[0].get<Token>(), pair[1].get<Token>());
        lengths.push_back(lengths[pair[0].get<std::size_t>()] +
                          lengths[pair[1].get<std::size_t>()]);
        bytesOfAll += lengths.back();
        if (bytesOfAll > kMostTokenBytes)
            return notTokenizer();
    }
    return pairs(std::move(merges));
}

} // namespace trainyard::engine
