// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Compression: how gradients are made smaller for the way between data parallel ranks, and what
// they take then.
#pragma once

#include "engine/base/message.h"
#include "engine/base/tensor_type.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace trainyard::plan {

struct Plan;
struct Section;

enum class Compression : std::uint8_t {
    None,
    Bf16,    ///< rounded, half the bytes
    Fp16,    ///< likewise: finer, but of a smaller range
    PowerSgd ///< matrices as products of two thin ones, see low_rank.h
};
/// "none", "bf16", "fp16", "powersgd".
std::string_view name(Compression compression);
/// Of a name that validation let pass; else None.
Compression compressionOf(std::string_view name);
/// Elements are rounded one by one.
bool rounds(Compression compression);

/// What the elements of a bucket travel in: the plan's exact type where they are not rounded.
DType wireType(const Plan& plan, const Section& section, int bucket);
/// Bytes of a bucket's gradients that are added up over the ranks in a step. Of PowerSGD: after its
/// warm-up.
std::size_t wireBytes(const Plan& plan, const Section& section, int bucket);

/// Most that a rank sends in a step for gradients, compressed and not.
struct CompressionSaving {
    std::size_t sent = 0;
    std::size_t whole = 0;
    /// Of `whole`, in percent.
    double percent() const;
};
CompressionSaving compressionSaving(const Plan& plan);

/// What a person should know before choosing it: sentences with what was measured. Empty without
/// compression. `overNetwork`: ranks do not exchange in shared memory.
std::vector<Message> compressionCosts(const Plan& plan, bool overNetwork);

} // namespace trainyard::plan
