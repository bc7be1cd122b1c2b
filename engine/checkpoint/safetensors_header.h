// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The header of a safetensors file: from text to tensors and back. Internal to engine/checkpoint.
#pragma once

#include "engine/checkpoint/safetensors.h"

#include <string>
#include <string_view>
#include <vector>

namespace trainyard::engine {

/// The length of the header comes first.
inline constexpr std::uint64_t kLengthBytes = 8;
/// What other readers refuse, too.
inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

/// The header with its length before it, filled up so that the tensors begin at a multiple of 8.
std::string safetensorsHeader(const std::vector<TensorToSave>& tensors,
                              const SafetensorsMetadata& metadata);

/// `dataBytes`: what the file has behind the header. `path` is for the sentences.
Result<SafetensorsHeader> parseSafetensorsHeader(std::string_view text, std::uint64_t dataBytes,
                                                 const std::string& path);

} // namespace trainyard::engine
