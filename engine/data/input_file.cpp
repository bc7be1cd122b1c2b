// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/data/input_file.h"

#include "engine/base/number_text.h"
#include "engine/base/out_of_memory.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

namespace trainyard::engine {

namespace {

constexpr unsigned kStreamBuffer = 256 * 1024;
/// zlib reads at most this at once through an unsigned count.
constexpr std::size_t kLargestRead = 1 << 30;
/// Deflate cannot pack more than 1032 bytes into one.
constexpr std::int64_t kLargestDeflateRatio = 1032;

/// Data sets that Debian packages, by the folder the package puts them in.
struct PackagedData {
    std::string_view folder;
    const char* package;
};
constexpr std::array<PackagedData, 1> kPackagedData = {
    {{"/usr/share/datasets/fashion-mnist/", "dataset-fashion-mnist"}}};

std::string systemText(int code) {
    return std::generic_category().message(code);
}

Error missingFile(const std::string& path, const std::string& where) {
    for (const PackagedData& data : kPackagedData)
        if (path.starts_with(data.folder))
            return {Message("There is no file \"%1\".", {path}), where,
                    Message("It comes with the Debian package %1: sudo apt install %1",
                            {data.package})};
    return {Message("There is no file \"%1\".", {path}), where,
            Message("Check the path, or choose another file.")};
}

Error cannotOpen(int code, const std::string& path, const std::string& where) {
    if (code == ENOENT || code == ENOTDIR)
        return missingFile(path, where);
    if (code == EACCES || code == EPERM)
        return {Message("No permission to read the file \"%1\".", {path}), where,
                Message("Make it and its folders readable for the user who trains.")};
    return {Message("The file \"%1\" cannot be opened: %2.", {path, systemText(code)}), where};
}

} // namespace

void InputFile::CloseStream::operator()(void* stream) const {
    gzclose_r(static_cast<gzFile>(stream));
}

Result<InputFile> InputFile::open(const std::string& path, const std::string& where) {
    if (path.empty())
        return Error(Message("No file is chosen."), where);
    // Looked at before it is opened: opening a pipe would wait for a writer.
    struct stat status = {};
    if (::stat(path.c_str(), &status) != 0)
        return cannotOpen(errno, path, where);
    if (S_ISDIR(status.st_mode))
        return Error(Message("\"%1\" is a folder, but one file is needed.", {path}), where,
                     Message("Choose the file inside it."));
    if (!S_ISREG(status.st_mode))
        return Error(Message("\"%1\" is not an ordinary file.", {path}), where);
    if (status.st_size == 0)
        return Error(Message("The file \"%1\" is empty.", {path}), where,
                     Message("It may not have been downloaded completely: fetch it again."));

    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return cannotOpen(errno, path, where);
    std::array<unsigned char, 2> start = {};
    const ssize_t got = ::pread(descriptor, start.data(), start.size(), 0);
    const int readError = errno;
    const gzFile stream = got < 0 ? nullptr : gzdopen(descriptor, "rb");
    if (!stream) {
        ::close(descriptor);
        return Error(Message("The file \"%1\" cannot be read: %2.",
                             {path, systemText(got < 0 ? readError : ENOMEM)}),
                     where);
    }
    gzbuffer(stream, kStreamBuffer);

    InputFile file;
    file.m_path = path;
    file.m_where = where;
    file.m_stream.reset(stream);
    file.m_bytesOnDisk = status.st_size;
    file.m_compressed = got == 2 && start[0] == 0x1F && start[1] == 0x8B;
    return file;
}

Result<std::size_t> InputFile::read(std::span<std::uint8_t> target) {
    const auto stream = static_cast<gzFile>(m_stream.get());
    std::size_t filled = 0;
    while (filled < target.size()) {
        const std::size_t wanted = std::min(target.size() - filled, kLargestRead);
        const int got = gzread(stream, target.data() + filled, static_cast<unsigned>(wanted));
        const int systemError = errno;
        int code = Z_OK;
        const char* text = gzerror(stream, &code);
        // A cut stream first hands out what it has; the error stands beside it.
        if (got < 0 || code == Z_BUF_ERROR) {
            if (code == Z_BUF_ERROR)
                return Error(
                    Message("The gzip file \"%1\" is truncated: it ends in the middle, after "
                            "%2 bytes on disk.",
                            {m_path, grouped(m_bytesOnDisk)}),
                    m_where, Message("Fetch it again."));
            if (code == Z_ERRNO)
                return Error(Message("The file \"%1\" cannot be read: %2.",
                                     {m_path, systemText(systemError)}),
                             m_where);
            if (code == Z_MEM_ERROR)
                throw OutOfMemory(kStreamBuffer);
            return Error(Message("The gzip file \"%1\" is damaged: %2.", {m_path, text}), m_where,
                         Message("Fetch it again."));
        }
        if (got == 0)
            break;
        filled += static_cast<std::size_t>(got);
    }
    return filled;
}

std::int64_t InputFile::largestContent() const {
    return m_compressed ? m_bytesOnDisk * kLargestDeflateRatio : m_bytesOnDisk;
}

} // namespace trainyard::engine
