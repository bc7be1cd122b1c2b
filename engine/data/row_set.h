// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A set of row numbers with its i-th member, a bit for each row: a share of ten million rows takes
// little more than a megabyte.
#pragma once

#include "engine/base/check.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace trainyard::engine {

class RowSet {
public:
    /// Rows are below `rows`.
    explicit RowSet(std::int64_t rows = 0)
        : m_words(static_cast<std::size_t>((rows + kWordBits - 1) / kWordBits)) {}

    /// After the last add() and before the first at() comes finish().
    void add(std::int64_t row) { word(row) |= bit(row); }
    void finish() {
        m_before.clear();
        m_count = 0;
        for (std::size_t i = 0; i < m_words.size(); ++i) {
            if (i % kWordsPerBlock == 0)
                m_before.push_back(m_count);
            m_count += std::popcount(m_words[i]);
        }
    }

    std::int64_t count() const { return m_count; }
    bool contains(std::int64_t row) const {
        return (m_words[static_cast<std::size_t>(row / kWordBits)] & bit(row)) != 0;
    }

    /// The `index`-th row in ascending order.
    std::int64_t at(std::int64_t index) const {
        TRAINYARD_CHECK_MSG(index >= 0 && index < m_count, describePair(index, m_count));
        const auto block =
            static_cast<std::size_t>(std::ranges::upper_bound(m_before, index) - m_before.begin()) -
            1;
        std::int64_t left = index - m_before[block];
        std::size_t place = block * kWordsPerBlock;
        while (left >= std::popcount(m_words[place]))
            left -= std::popcount(m_words[place++]);
        std::uint64_t rest = m_words[place];
        for (; left > 0; --left)
            rest &= rest - 1;
        return static_cast<std::int64_t>(place) * kWordBits + std::countr_zero(rest);
    }

private:
    static constexpr std::int64_t kWordBits = 64;
    static constexpr std::size_t kWordsPerBlock = 8;

    std::uint64_t& word(std::int64_t row) {
        return m_words[static_cast<std::size_t>(row / kWordBits)];
    }
    static std::uint64_t bit(std::int64_t row) { return std::uint64_t{1} << (row % kWordBits); }

    std::vector<std::uint64_t> m_words;
    std::vector<std::int64_t> m_before; ///< members in front of each block of words
    std::int64_t m_count = 0;
};

} // namespace trainyard::engine
