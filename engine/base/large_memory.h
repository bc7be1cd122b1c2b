// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Memory for the arenas and the scratch of a run. Blocks of 2 MiB and more ask for huge pages: in
// 4 KiB pages a core that walks through megabytes waits for address translation more than for
// memory, in a virtual machine two or three times as long as for the bytes themselves.
#pragma once

#include <cstddef>
#include <memory>

namespace trainyard {

struct FreeLargeMemory {
    void operator()(std::byte* memory) const;
};
using LargeMemory = std::unique_ptr<std::byte, FreeLargeMemory>;

inline constexpr std::size_t kLargePage = std::size_t{2} << 20;

/// Not cleared; 64-byte aligned, blocks of kLargePage and more at such a page. Null: there is none.
LargeMemory takeLargeMemory(std::size_t bytes);

} // namespace trainyard
