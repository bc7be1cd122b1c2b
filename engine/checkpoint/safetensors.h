// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Safetensors, the file format of weights that other tools read, too: the length of the header (8
// bytes, little-endian), the header (JSON, filled up with spaces to a multiple of 8), the tensors
// (little-endian, row-major, one after the other without gaps).
//   {"__metadata__": {"key": "text"}, "conv1.weight": {"dtype": "F32", "shape": [16, 1, 3, 3],
//    "data_offsets": [0, 576]}}
// Rules: reading believes nothing that it has not held against the size of the file, and takes no
// memory before; writing replaces a file as a whole or leaves it as it was.
#pragma once

#include "engine/base/result.h"
#include "engine/base/tensor_type.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace trainyard::engine {

using SafetensorsMetadata = std::map<std::string, std::string>;

struct TensorToSave {
    std::string name;
    DType type = DType::Fp32; ///< written as F32, F64, I32 or BF16
    Shape shape;
    const std::byte* data = nullptr; ///< elementCount(shape) elements
};

/// In the order given. Names must differ.
Result<void> writeSafetensors(const std::string& path, const std::vector<TensorToSave>& tensors,
                              const SafetensorsMetadata& metadata);

struct SavedTensor {
    std::string name;
    std::string type; ///< as in the file: "F32", "BF16" ...
    Shape shape;
    std::uint64_t offset = 0; ///< of its first byte in the file
    std::uint64_t bytes = 0;

    std::int64_t elements() const { return elementCount(shape); }
};

/// What a header says, checked.
struct SafetensorsHeader {
    std::vector<SavedTensor> tensors; ///< as they lie in the file
    SafetensorsMetadata metadata;
};

class SafetensorsFile {
public:
    /// Reads and checks the header; every tensor is known to lie in the file.
    static Result<SafetensorsFile> open(const std::string& path);
    SafetensorsFile(SafetensorsFile&& other) noexcept;
    SafetensorsFile& operator=(SafetensorsFile&&) = delete;
    ~SafetensorsFile();

    const std::string& path() const { return m_path; }
    const std::vector<SavedTensor>& tensors() const { return m_header.tensors; }
    const SafetensorsMetadata& metadata() const { return m_header.metadata; }
    /// Null: there is none of this name.
    const SavedTensor* find(const std::string& name) const;

    /// The bytes of a tensor of this file as they are; `target` has room for exactly them.
    Result<void> read(const SavedTensor& tensor, std::span<std::byte> target) const;

private:
    SafetensorsFile(std::string path, int fd) : m_path(std::move(path)), m_fd(fd) {}

    std::string m_path;
    int m_fd = -1;
    SafetensorsHeader m_header;
};

} // namespace trainyard::engine
