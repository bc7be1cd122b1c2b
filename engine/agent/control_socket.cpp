// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/agent/control_socket.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace trainyard::engine {
namespace {

constexpr std::string_view kStop = "stop ";
constexpr std::string_view kTrace = "trace";
constexpr std::string_view kTraceAnswer = "traced\n";
constexpr std::size_t kRequestBytes = 64;
constexpr std::size_t kMaxClients = 32;

/// The socket's address by way of an open descriptor of the folder it lies in.
sockaddr_un addressIn(const FileHandle& folder) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path =
        "/proc/self/fd/" + std::to_string(folder.fd()) + "/" + kControlSocketName;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    return address;
}

FileHandle openFolder(const RunFolder& folder) {
    return FileHandle(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

const sockaddr* generic(const sockaddr_un& address) {
    return reinterpret_cast<const sockaddr*>(&address);
}

std::optional<double> stopRequest(std::string_view line) {
    double seconds = 0;
    if (line.substr(0, kStop.size()) != kStop)
        return std::nullopt;
    line.remove_prefix(kStop.size());
    const auto parsed = std::from_chars(line.data(), line.data() + line.size(), seconds);
    if (parsed.ec != std::errc() || !(seconds >= 0 && seconds <= 86400))
        return std::nullopt;
    return seconds;
}

} // namespace

Result<ControlServer> ControlServer::listen(const RunFolder& folder) {
    ControlServer server;
    server.m_folder = folder;
    const std::string path = folder.path() + "/" + kControlSocketName;
    const FileHandle directory = openFolder(folder);
    ::unlink(path.c_str()); // of a supervisor that was killed
    server.m_file = FileHandle(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const sockaddr_un address = addressIn(directory);
    if (!directory.isOpen() || !server.m_file.isOpen() ||
        ::bind(server.m_file.fd(), generic(address), sizeof address) != 0 ||
        ::listen(server.m_file.fd(), 8) != 0)
        return fileError("listen on", path, errno);
    return server;
}

void ControlServer::addTo(std::vector<pollfd>& waitFor) const {
    if (m_file.isOpen())
        waitFor.push_back({m_file.fd(), POLLIN, 0});
    for (const Client& client : m_clients)
        waitFor.push_back({client.file.fd(), POLLIN, 0});
}

void ControlServer::acceptClients() {
    while (m_file.isOpen() && m_clients.size() < kMaxClients) {
        FileHandle file(::accept4(m_file.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!file.isOpen())
            return;
        m_clients.push_back({std::move(file), {}, false, false});
    }
}

std::vector<double> ControlServer::takeStopRequests() {
    acceptClients();
    std::vector<double> requests;
    const auto isDone = [&](Client& client) {
        char buffer[kRequestBytes];
        const ssize_t count = ::read(client.file.fd(), buffer, sizeof buffer);
        if (count < 0)
            return errno != EAGAIN && errno != EINTR;
        if (count == 0) // gone; the stop it asked for stays asked for
            return true;
        client.received.append(buffer, static_cast<std::size_t>(count));
        const std::size_t end = client.received.find('\n');
        if (end == std::string::npos)
            return client.received.size() > kRequestBytes;
        const std::string line = client.received.substr(0, end);
        const std::optional<double> grace = stopRequest(line);
        if (grace)
            requests.push_back(*grace);
        client.waitsForEnd = grace.has_value();
        client.waitsForTrace = line == kTrace;
        client.received.clear();
        return !client.waitsForEnd && !client.waitsForTrace;
    };
    std::erase_if(m_clients, isDone);
    return requests;
}

bool ControlServer::wantsTrace() const {
    return std::ranges::any_of(m_clients, &Client::waitsForTrace);
}

void ControlServer::answerTrace() {
    for (const Client& client : m_clients)
        if (client.waitsForTrace)
            (void)::send(client.file.fd(), kTraceAnswer.data(), kTraceAnswer.size(),
                         MSG_NOSIGNAL | MSG_DONTWAIT);
    std::erase_if(m_clients, [](const Client& client) { return client.waitsForTrace; });
}

void ControlServer::close(const std::string& answer) {
    ::unlink((m_folder.path() + "/" + kControlSocketName).c_str());
    acceptClients(); // those who came too late to be asked still want to know
    for (const Client& client : m_clients)
        (void)::send(client.file.fd(), answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    m_clients.clear();
    m_file.close();
}

namespace {

/// Sends a line and waits for the line that comes back.
std::optional<std::string> ask(const RunFolder& folder, const std::string& request,
                               double timeoutSeconds) {
    const FileHandle directory = openFolder(folder);
    const FileHandle file(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = addressIn(directory);
    if (!directory.isOpen() || !file.isOpen() ||
        ::connect(file.fd(), generic(address), sizeof address) != 0)
        return std::nullopt;
    if (::send(file.fd(), request.data(), request.size(), MSG_NOSIGNAL) < 0)
        return std::nullopt;

    const std::int64_t deadlineNs = monotonicNs() + static_cast<std::int64_t>(timeoutSeconds * 1e9);
    std::string answer;
    while (answer.find('\n') == std::string::npos) {
        const std::int64_t leftMs = (deadlineNs - monotonicNs()) / 1'000'000;
        pollfd wait{file.fd(), POLLIN, 0};
        if (leftMs <= 0 ||
            ::poll(&wait, 1, static_cast<int>(std::min<std::int64_t>(leftMs, 1000))) < 0)
            return std::nullopt;
        if (wait.revents == 0)
            continue;
        char buffer[512];
        const ssize_t count = ::read(file.fd(), buffer, sizeof buffer);
        if (count <= 0)
            return std::nullopt;
        answer.append(buffer, static_cast<std::size_t>(count));
    }
    answer.resize(answer.find('\n'));
    return answer;
}

} // namespace

std::optional<std::string> askToStop(const RunFolder& folder, double graceSeconds,
                                     double timeoutSeconds) {
    char number[32];
    const auto end = std::to_chars(number, number + sizeof number, graceSeconds);
    return ask(folder, std::string(kStop) + std::string(number, end.ptr) + "\n", timeoutSeconds);
}

bool askForTrace(const RunFolder& folder, double timeoutSeconds) {
    return ask(folder, std::string(kTrace) + "\n", timeoutSeconds).has_value();
}

} // namespace trainyard::engine
