// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Arrays of NumPy: one in an .npy file, several in an .npz (a ZIP archive of them). Numbers of any
// width, sign and byte order become doubles when they are read. Elements that are Python objects
// are refused: reading them would run what the file says.
#pragma once

#include "engine/base/tensor_type.h"
#include "engine/data/byte_source.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace trainyard::engine {

class NpyArray {
public:
    const std::string& name() const { return m_name; } ///< in an archive; else empty
    const Shape& shape() const { return m_shape; }
    std::int64_t count() const { return elementCount(m_shape); }
    bool bytes() const { return m_kind == 'u' && m_width == 1; }
    bool whole() const { return m_kind != 'f'; }
    /// "float32"
    std::string type() const;

    /// Elements from `first` on in row-major order. Thread-safe; throws as Dataset::gather().
    void read(std::int64_t first, std::span<double> values) const;

    /// `source` has the array at [begin, end). `path` and `where`: for errors.
    static Result<NpyArray> open(std::shared_ptr<const ByteSource> source, std::int64_t begin,
                                 std::int64_t end, const std::string& where);

private:
    friend Result<std::vector<NpyArray>> openArrays(const std::string& path,
                                                    const std::string& where);
    Result<void> readHeader(const std::string& header, const std::string& where);
    void reorder();

    std::shared_ptr<const ByteSource> m_source;
    std::string m_name;
    std::int64_t m_begin = 0; ///< of the elements
    Shape m_shape;
    char m_kind = 'f'; ///< 'f', 'i', 'u'; 'b' is read as 'u'
    std::size_t m_width = 4;
    bool m_bigEndian = false;
    bool m_columnMajor = false;
};

/// One of an .npy file, all of an .npz file; what it is, its first bytes say.
Result<std::vector<NpyArray>> openArrays(const std::string& path, const std::string& where);

/// Entries of a ZIP archive.
struct ZipEntry {
    std::string name;
    std::shared_ptr<const ByteSource> source; ///< the archive, or what was unpacked
    std::int64_t begin = 0;
    std::int64_t end = 0;
};
Result<std::vector<ZipEntry>> readZip(const std::shared_ptr<const ByteSource>& archive,
                                      const std::string& where);

} // namespace trainyard::engine
