// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/agent/journal.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace trainyard::engine {
namespace {

/// Room for the last words: a Failure and a StateChanged need well under 2 KiB.
constexpr std::size_t kReserveBytes = 64 * 1024;
/// Of what could not be written, at most this much is written later out of the reserve.
constexpr std::size_t kLeftOverBytes = 16 * 1024;
constexpr std::int64_t kLastWordsNs = 5'000'000'000;

void pause(long milliseconds) {
    const timespec time{0, milliseconds * 1'000'000};
    ::nanosleep(&time, nullptr);
}

} // namespace

std::optional<spec::RunState> finalStateOf(const spec::Frame& frame) {
    if (frame.type != static_cast<std::uint8_t>(spec::EventType::StateChanged))
        return std::nullopt;
    const Result<spec::Event> event = spec::decode(spec::EventType::StateChanged, frame.payload);
    if (!event)
        return std::nullopt;
    const spec::RunState state = std::get<spec::StateChanged>(event.value()).state;
    return spec::isFinal(state) ? std::optional(state) : std::nullopt;
}

Result<JournalContent> scanJournal(const std::string& path, std::uint64_t offset) {
    const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.isOpen())
        return fileError("read", path, errno);
    JournalContent content;
    content.startsFrameAtOffset = offset == 0;
    spec::FrameReader reader;
    std::string buffer(1 << 20, '\0');
    for (;;) {
        const ssize_t count = ::read(file.fd(), buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return fileError("read", path, errno);
        if (count == 0)
            return content;
        reader.append(std::string_view(buffer).substr(0, static_cast<std::size_t>(count)));
        for (;;) {
            const Result<std::optional<spec::Frame>> next = reader.next();
            if (!next)
                return content;
            if (!next.value())
                break;
            ++content.frames;
            content.wholeBytes = reader.consumed();
            content.lastSequence = next.value()->sequence;
            content.finalState = finalStateOf(*next.value());
            content.startsFrameAtOffset |= content.wholeBytes == offset;
        }
    }
}

Result<JournalWriter> JournalWriter::open(const std::string& path, const std::string& reservePath) {
    JournalWriter writer;
    writer.m_path = path;
    writer.m_reservePath = reservePath;
    writer.m_file = FileHandle(
        ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!writer.m_file.isOpen())
        return fileError("write", path, errno);
    const Result<JournalContent> content = scanJournal(path);
    if (!content)
        return content.error();
    writer.m_committedBytes = content->wholeBytes;
    writer.m_sequence = content->lastSequence;
    if (::ftruncate(writer.m_file.fd(), static_cast<off_t>(writer.m_committedBytes)) != 0)
        return fileError("write", path, errno);
    if (const Result<void> reserved = writer.reserveRoom(); !reserved)
        return reserved.error();
    return writer;
}

Result<void> JournalWriter::reserveRoom() {
    const FileHandle file(
        ::open(m_reservePath.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!file.isOpen())
        return fileError("write", m_reservePath, errno);
    if (::fallocate(file.fd(), 0, 0, kReserveBytes) == 0)
        return {};
    // File systems that can not set blocks aside get real bytes.
    if (errno == EOPNOTSUPP && writeAll(file.fd(), std::string(kReserveBytes, '\0')) &&
        ::fdatasync(file.fd()) == 0)
        return {};
    const int error = errno;
    ::unlink(m_reservePath.c_str());
    return fileError("write", m_path, error);
}

void JournalWriter::append(std::uint8_t type, std::string payload, std::int64_t timeNs) {
    if (m_failed)
        return;
    m_waiting.bytes += spec::encodeFrame({++m_sequence, timeNs, type, std::move(payload)});
    m_waiting.ends.push_back(m_waiting.bytes.size());
}

void JournalWriter::append(const spec::Event& event, std::int64_t timeNs) {
    append(static_cast<std::uint8_t>(spec::typeOf(event)), spec::encode(event), timeNs);
}

void JournalWriter::keepWholeFrames(std::size_t written) {
    // Readers may already have taken the whole frames of a partial write: those stay.
    std::size_t whole = 0;
    std::size_t frames = 0;
    while (frames < m_waiting.ends.size() && m_waiting.ends[frames] <= written)
        whole = m_waiting.ends[frames++];
    m_committedBytes += whole;
    m_waiting.bytes.erase(0, whole);
    m_waiting.ends.erase(m_waiting.ends.begin(),
                         m_waiting.ends.begin() + static_cast<std::ptrdiff_t>(frames));
    for (std::size_t& end : m_waiting.ends)
        end -= whole;
}

Result<void> JournalWriter::writeWaiting() {
    std::size_t written = 0;
    int error = 0;
    while (written < m_waiting.bytes.size()) {
        const ssize_t count = ::write(m_file.fd(), m_waiting.bytes.data() + written,
                                      m_waiting.bytes.size() - written);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0) {
            error = errno;
            break;
        }
        written += static_cast<std::size_t>(count);
    }
    m_dirty |= written > 0;
    const bool torn = written < m_waiting.bytes.size();
    keepWholeFrames(written);
    if (!torn)
        return {};
    if (::ftruncate(m_file.fd(), static_cast<off_t>(m_committedBytes)) != 0)
        error = errno;
    return fileError("write", m_path, error);
}

Result<void> JournalWriter::flush() {
    if (m_failed || m_waiting.bytes.empty())
        return {};
    const Result<void> written = writeWaiting();
    if (written)
        return {};
    m_failed = true;
    while (m_waiting.bytes.size() > kLeftOverBytes) {
        m_waiting.ends.pop_back();
        m_waiting.bytes.resize(m_waiting.ends.empty() ? 0 : m_waiting.ends.back());
        --m_sequence;
    }
    return written;
}

Result<void> JournalWriter::sync(std::int64_t nowNs, std::int64_t everyNs) {
    if (const Result<void> flushed = flush(); !flushed)
        return flushed;
    if (m_failed || !m_dirty || nowNs - m_lastSyncNs < everyNs)
        return {};
    m_lastSyncNs = nowNs;
    m_dirty = false;
    if (::fdatasync(m_file.fd()) == 0)
        return {};
    m_failed = true;
    return fileError("write", m_path, errno);
}

Result<void> JournalWriter::finish(const std::vector<spec::Event>& lastEvents,
                                   std::int64_t timeNs) {
    m_failed = false;
    for (const spec::Event& event : lastEvents)
        append(event, timeNs);
    ::unlink(m_reservePath.c_str());
    const std::int64_t giveUpNs = monotonicNs() + kLastWordsNs;
    Result<void> written = writeWaiting();
    while (!written && monotonicNs() < giveUpNs) {
        pause(50);
        written = writeWaiting();
    }
    if (written && ::fdatasync(m_file.fd()) != 0)
        return fileError("write", m_path, errno);
    return written;
}

} // namespace trainyard::engine
