// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a file, read at any place by any thread, so that a file larger than memory can be
// trained on: nothing is kept but what the system caches. A gzip file is unpacked into memory,
// since it can only be read from the front.
#pragma once

#include "engine/base/result.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace trainyard::engine {

class ByteSource {
public:
    /// `where`: the path in the experiment that named the file.
    static Result<std::shared_ptr<const ByteSource>> open(const std::string& path,
                                                          const std::string& where);
    /// `path` is named in errors.
    static std::shared_ptr<const ByteSource> ofMemory(std::string bytes, std::string path);
    /// Takes an open file without a name; `path` is named in errors.
    static std::shared_ptr<const ByteSource> ofDescriptor(int descriptor, std::int64_t size,
                                                          std::string path);
    ~ByteSource();
    ByteSource(const ByteSource&) = delete;
    ByteSource& operator=(const ByteSource&) = delete;

    const std::string& path() const { return m_path; }
    std::int64_t size() const { return m_size; }
    /// All of `target`, which must lie within the file. Throws std::runtime_error with a sentence
    /// where the file has become shorter or cannot be read any more.
    void read(std::int64_t offset, std::span<std::uint8_t> target) const;
    void read(std::int64_t offset, std::span<char> target) const;
    /// The whole file at once, for small ones.
    std::string readAll() const;

private:
    ByteSource() = default;

    std::string m_path;
    std::int64_t m_size = 0;
    int m_descriptor = -1; ///< below 0: the bytes are in m_memory
    std::string m_memory;
};

/// Walks through a source in large pieces.
class ByteStream {
public:
    explicit ByteStream(const ByteSource& source, std::int64_t begin = 0)
        : m_source(source), m_offset(begin) {}

    /// Appends the next piece to `text`; false at the end.
    bool appendTo(std::string& text);
    std::int64_t offset() const { return m_offset; } ///< of what comes next
    bool atEnd() const { return m_offset >= m_source.size(); }

private:
    const ByteSource& m_source;
    std::int64_t m_offset = 0;
};

} // namespace trainyard::engine
