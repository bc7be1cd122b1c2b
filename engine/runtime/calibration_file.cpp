// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/runtime/calibration_file.h"

#include "engine/backend/cpu/form_chooser.h"
#include "engine/checkpoint/atomic_file.h"

#include <fstream>
#include <iterator>
#include <span>
#include <string>

namespace trainyard::engine {

namespace {

/// A calibration has some tens of kilobytes.
constexpr std::uintmax_t kMostBytes = 16u << 20;

} // namespace

std::filesystem::path defaultCalibrationFile() {
    const std::filesystem::path choices = cpu::defaultChoicesFile();
    return choices.empty() ? choices : choices.parent_path() / "calibration.json";
}

std::optional<plan::Calibration> readCalibration(const std::filesystem::path& file,
                                                 const plan::CalibrationKey& key) {
    std::error_code failed;
    if (file.empty() || !std::filesystem::is_regular_file(file, failed) ||
        std::filesystem::file_size(file, failed) > kMostBytes)
        return std::nullopt;
    std::ifstream in(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    Result<plan::Calibration> read = plan::calibrationFromJson(text);
    if (!in || !read || !(read->key == key))
        return std::nullopt;
    return std::move(*read);
}

Result<void> writeCalibration(const std::filesystem::path& file,
                              const plan::Calibration& calibration) {
    if (file.empty())
        return Error({"There is no home folder to keep the calibration in."});
    std::error_code ignored;
    std::filesystem::create_directories(file.parent_path(), ignored);
    Result<AtomicFile> opened = AtomicFile::create(file.string());
    if (!opened)
        return opened.error();
    const std::string text = plan::toJson(calibration) + "\n";
    if (Result<void> written = opened->write(std::as_bytes(std::span(text))); !written)
        return written;
    return opened->commit();
}

} // namespace trainyard::engine
