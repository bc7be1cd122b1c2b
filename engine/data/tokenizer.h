// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Tokenizer: text to numbers and back. Characters (each code point of the training text has a
// number), bytes (0 to 255), or byte pairs: bytes, and sequences that were often seen together
// (Sennrich, Haddow, Birch, "Neural machine translation of rare words with subword units", ACL
// 2016). Immutable; encoding the same text gives the same tokens on every machine.
#pragma once

#include "engine/base/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace trainyard::engine {

/// Where the piece of text that begins at `position` ends. Pairs are merged within pieces only: a
/// word with the space before it, digits, other signs, blanks; at most 16 characters. A piece that
/// reaches the end of `text` might be longer if the text went on.
std::size_t pieceEnd(std::string_view text, std::size_t position);

class Tokenizer {
public:
    enum class Kind { Characters, Bytes, Pairs };
    using Token = std::int32_t;
    /// Two tokens that become one: the first of them token 256, the next 257 ...
    using Merges = std::vector<std::pair<Token, Token>>;

    static Tokenizer bytes();
    /// Sorted, each once.
    static Tokenizer characters(std::vector<char32_t> characters);
    static Tokenizer pairs(Merges merges);

    Kind kind() const { return m_kind; }
    /// Tokens are below it.
    std::int64_t vocabulary() const;
    /// An error names a character that the vocabulary does not have.
    Result<std::vector<Token>> encode(std::string_view utf8) const;
    /// Bytes; they may end within a character. Tokens outside the vocabulary are left out.
    std::string decode(std::span<const Token> tokens) const;
    /// For people: "a", "\n", "0xD0".
    std::string textOf(Token token) const;
    std::vector<std::string> allTexts() const;

    /// "trainyard.tokenizer/1"
    std::string toJson() const;
    static Result<Tokenizer> fromJson(std::string_view json);

    /// Below 0: not in the vocabulary.
    Token tokenOf(char32_t character) const;
    /// Kind::Pairs: appends the tokens of one piece of text.
    void encodePiece(std::string_view piece, std::vector<Token>& tokens) const;

private:
    Tokenizer() = default;

    Kind m_kind = Kind::Bytes;
    std::vector<char32_t> m_characters;
    std::vector<Token> m_tokenOfCharacter; ///< by code point, up to the largest; -1: none
    Merges m_merges;
    std::unordered_map<std::uint64_t, Token> m_tokenOfPair;
    std::vector<std::string> m_bytesOfToken; ///< of Kind::Pairs
};

/// Counts the pieces of a text, then finds the pairs that occur most often in them.
class PairTrainer {
public:
    /// The whole text, in one or more parts that end between pieces.
    void add(std::string_view text);
    /// Stops early where no pair occurs twice. The more frequent pair first; of equals, the one
    /// with the smaller tokens.
    Tokenizer train(std::int64_t vocabulary) const;

private:
    std::unordered_map<std::string, std::int64_t> m_pieces;
};

} // namespace trainyard::engine
