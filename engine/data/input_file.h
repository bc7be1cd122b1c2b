// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A file of data, read from front to end. Whether it is gzip is decided by its first bytes, never
// by its name, so a renamed or unpacked file still loads.
#pragma once

#include "engine/base/result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace trainyard::engine {

class InputFile {
public:
    /// Errors name the file and say why: missing (and what to install, where that is known), a
    /// folder, not readable, empty. `where` is the path in the experiment that named the file.
    static Result<InputFile> open(const std::string& path, const std::string& where);

    /// Fills `target` from the front; fewer bytes only at the end of the file. A gzip stream that
    /// is cut or damaged is an error.
    Result<std::size_t> read(std::span<std::uint8_t> target);

    bool compressed() const { return m_compressed; }
    std::int64_t bytesOnDisk() const { return m_bytesOnDisk; }
    /// No content of this file can be longer than this, whatever its header says.
    std::int64_t largestContent() const;

private:
    struct CloseStream {
        void operator()(void* stream) const;
    };

    InputFile() = default;

    std::string m_path;
    std::string m_where;
    std::unique_ptr<void, CloseStream> m_stream; ///< zlib's gzFile
    std::int64_t m_bytesOnDisk = 0;
    bool m_compressed = false;
};

} // namespace trainyard::engine
