// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Learning byte pairs. Counts of pairs are kept up to date while pieces change, so that each merge
// costs only the pieces in which its pair occurs.
#include "engine/data/tokenizer.h"

#include <algorithm>
#include <queue>

namespace trainyard::engine {

namespace {

using Token = Tokenizer::Token;
using Pair = std::pair<Token, Token>;

struct PairHash {
    std::size_t operator()(const Pair& pair) const {
        const auto both = std::uint64_t{static_cast<std::uint32_t>(pair.first)} << 32 |
                          static_cast<std::uint32_t>(pair.second);
        return static_cast<std::size_t>((both ^ both >> 29) * 0x9E3779B97F4A7C15u);
    }
};

struct Piece {
    std::vector<Token> tokens;
    std::int64_t count = 0;
};

struct Candidate {
    std::int64_t count = 0;
    Pair pair;
    bool operator<(const Candidate& other) const {
        return count != other.count ? count < other.count : other.pair < pair;
    }
};

class Merger {
public:
    explicit Merger(std::vector<Piece> pieces) : m_pieces(std::move(pieces)) {
        for (std::size_t i = 0; i < m_pieces.size(); ++i)
            count(i, +1);
        for (const auto& [pair, places] : m_pairs)
            m_queue.push({places.count, pair});
    }

    /// The most frequent pair, or one with a count below 2 when there is none.
    Candidate takeBest() {
        while (!m_queue.empty()) {
            const Candidate best = m_queue.top();
            m_queue.pop();
            // Counts change after an entry is queued; only the entry with the right one counts.
            const auto found = m_pairs.find(best.pair);
            if (found != m_pairs.end() && found->second.count == best.count)
                return best;
        }
        return {};
    }

    void merge(const Pair& pair, Token merged) {
        std::vector<std::size_t> places = std::move(m_pairs[pair].pieces);
        std::ranges::sort(places);
        const auto repeated = std::ranges::unique(places);
        places.erase(repeated.begin(), repeated.end());
        m_changed.clear();
        for (const std::size_t place : places) {
            count(place, -1);
            replace(m_pieces[place].tokens, pair, merged);
            count(place, +1);
        }
        m_pairs.erase(pair);
        std::ranges::sort(m_changed);
        const auto same = std::ranges::unique(m_changed);
        m_changed.erase(same.begin(), same.end());
        for (const Pair& changed : m_changed)
            if (const auto found = m_pairs.find(changed);
                found != m_pairs.end() && found->second.count > 0)
                m_queue.push({found->second.count, changed});
    }

private:
    struct Places {
        std::int64_t count = 0;
        std::vector<std::size_t> pieces; ///< where it occurs or did once; may repeat
    };

    void count(std::size_t place, std::int64_t sign) {
        const Piece& piece = m_pieces[place];
        for (std::size_t i = 0; i + 1 < piece.tokens.size(); ++i) {
            const Pair pair{piece.tokens[i], piece.tokens[i + 1]};
            Places& places = m_pairs[pair];
            places.count += sign * piece.count;
            if (sign > 0 && (places.pieces.empty() || places.pieces.back() != place))
                places.pieces.push_back(place);
            m_changed.push_back(pair);
        }
    }

    static void replace(std::vector<Token>& tokens, const Pair& pair, Token merged) {
        std::size_t to = 0;
        for (std::size_t from = 0; from < tokens.size(); ++from) {
            const bool here = from + 1 < tokens.size() && tokens[from] == pair.first &&
                              tokens[from + 1] == pair.second;
            tokens[to++] = here ? merged : tokens[from];
            from += here ? 1 : 0;
        }
        tokens.resize(to);
    }

    std::vector<Piece> m_pieces;
    std::unordered_map<Pair, Places, PairHash> m_pairs;
    std::priority_queue<Candidate> m_queue;
    std::vector<Pair> m_changed;
};

} // namespace

void PairTrainer::add(std::string_view text) {
    for (std::size_t position = 0; position < text.size();) {
        const std::size_t end = pieceEnd(text, position);
        ++m_pieces[std::string(text.substr(position, end - position))];
        position = end;
    }
}

Tokenizer PairTrainer::train(std::int64_t vocabulary) const {
    // In order of their bytes: the order of a hash table is the library's affair.
    std::vector<std::pair<std::string, std::int64_t>> sorted(m_pieces.begin(), m_pieces.end());
    std::ranges::sort(sorted);
    std::vector<Piece> pieces;
    for (const auto& [text, count] : sorted) {
        Piece piece{.tokens = {}, .count = count};
        for (const char sign : text)
            piece.tokens.push_back(static_cast<std::uint8_t>(sign));
        pieces.push_back(std::move(piece));
    }
    Merger merger(std::move(pieces));
    Tokenizer::Merges merges;
    for (Token next = 256; next < vocabulary; ++next) {
        const Candidate best = merger.takeBest();
        if (best.count < 2)
            break;
        merger.merge(best.pair, next);
        merges.push_back(best.pair);
    }
    return Tokenizer::pairs(std::move(merges));
}

} // namespace trainyard::engine
