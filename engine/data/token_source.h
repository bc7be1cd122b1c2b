// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Tokens that are read at any place, from whatever lies on disk, and the data set that cuts them
// into windows. Nothing is kept in memory but a place for every thousandth character, so the
// length of a text does not matter.
#pragma once

#include "engine/data/byte_source.h"
#include "engine/data/dataset.h"
#include "engine/data/text_encoding.h"
#include "engine/data/tokenizer.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace trainyard::engine {

class TokenSource {
public:
    virtual ~TokenSource() = default;
    virtual std::int64_t count() const = 0;
    /// Tokens from `first` on, all of which are there. Thread-safe; throws as Dataset::gather().
    virtual void read(std::int64_t first, std::span<std::int32_t> tokens) const = 0;
};

enum class TokenWidth { Byte = 1, Two = 2, Four = 4 };

/// Whole numbers without sign, little-endian, one after the other from `begin` on.
std::shared_ptr<const TokenSource> storedTokens(std::shared_ptr<const ByteSource> bytes,
                                                std::int64_t begin, TokenWidth width);

/// Where the characters of a text in UTF-8 lie.
struct CharacterIndex {
    std::int64_t characters = 0;
    std::vector<std::int64_t> offsets; ///< byte offset of each kCharacterStride-th, and of the end
    std::vector<bool> seen;            ///< by code point
};
inline constexpr std::int64_t kCharacterStride = 1024;

Result<CharacterIndex> indexCharacters(const TextSource& text, const std::string& where);
std::shared_ptr<const TokenSource> characterTokens(const TextSource& text, CharacterIndex index,
                                                   std::shared_ptr<const Tokenizer> tokenizer);

/// Tokens of byte pairs are found once; where they are many, they go to a file without a name in
/// the system's folder for temporary files.
Result<std::shared_ptr<const TokenSource>>
pairTokens(const TextSource& text, const std::string& where, const Tokenizer& tokenizer);

/// How a source of tokens becomes samples: window i has tokens [i * context, (i + 1) * context],
/// the last of which is only a target.
class WindowDataset final : public Dataset {
public:
    /// `info`: all but samples and shapes, which are filled in.
    WindowDataset(std::shared_ptr<const TokenSource> tokens, std::int64_t context,
                  std::int64_t firstWindow, std::int64_t windows, DatasetInfo info);

    static std::int64_t windowsOf(std::int64_t tokens, std::int64_t context) {
        return tokens > 0 ? (tokens - 1) / context : 0;
    }
    const DatasetInfo& info() const override { return m_info; }
    void gather(std::span<const std::int64_t> samples, const BatchMemory& memory) const override;

private:
    std::shared_ptr<const TokenSource> m_tokens;
    const std::int64_t m_context;
    const std::int64_t m_firstWindow;
    DatasetInfo m_info;
};

struct DataRequest;

/// The rest of opening once the tokens are there: windows, and the split, which keeps the end of
/// the text for validation. `validation` may be null.
void openWindows(const DataRequest& request, const std::shared_ptr<const TokenSource>& training,
                 const std::shared_ptr<const TokenSource>& validation, const std::string& role,
                 const DatasetInfo& info, DataOutcome& outcome);

} // namespace trainyard::engine
