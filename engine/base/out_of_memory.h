// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// OutOfMemory: a bad_alloc that knows how much was asked for, so that a person can be told.
#pragma once

#include <cstddef>
#include <new>

namespace trainyard {

class OutOfMemory : public std::bad_alloc {
public:
    explicit OutOfMemory(std::size_t bytes) : m_bytes(bytes) {}
    std::size_t bytes() const { return m_bytes; }
    const char* what() const noexcept override { return "out of memory"; }

private:
    std::size_t m_bytes;
};

} // namespace trainyard
