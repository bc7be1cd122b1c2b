// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/gloo_rendezvous.h"

#include "engine/base/number_text.h"
#include "engine/runtime/rank_protocol.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <system_error>
#include <thread>

#include <unistd.h>

namespace trainyard::engine {

namespace {

namespace fs = std::filesystem;

constexpr const char* kCardFormat = "trainyard.rank-card/1";
/// No notification crosses a shared file system, so the folder is looked at again and again.
constexpr std::chrono::milliseconds kBetweenLooks{5};

std::string hostName() {
    std::array<char, 256> name = {};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data())
                                                            : std::string("unknown");
}

std::string readText(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

std::string bootIdentifier() {
    std::string id = readText("/proc/sys/kernel/random/boot_id");
    while (!id.empty() && id.back() == '\n')
        id.pop_back();
    return id;
}

/// Appears under its name complete or not at all. `mayReplace`: else an existing file is an error.
std::error_code writeAtOnce(const std::string& path, const std::string& text, bool mayReplace) {
    const std::string temporary = path + '.' + std::to_string(::getpid());
    {
        std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
        file << text;
        file.flush();
        if (!file)
            return {errno ? errno : EIO, std::generic_category()};
    }
    std::error_code code;
    if (mayReplace)
        fs::rename(temporary, path, code);
    else
        fs::create_hard_link(temporary, path, code); // unlike a rename, refuses to replace
    std::error_code ignored;
    fs::remove(temporary, ignored);
    return code;
}

std::string cardText(const RankCard& card) {
    std::string text = std::string(kCardFormat) + '\n';
    text += "world " + std::to_string(card.worldSize) + '\n';
    text += "host " + card.host + '\n';
    text += "boot " + card.boot + '\n';
    text += "pid " + std::to_string(card.process.pid) + '\n';
    text += "start " + std::to_string(card.process.startTime) + '\n';
    return text;
}

template <class Number>
Number numberOf(const std::string& text) {
    Number value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

std::optional<RankCard> parseCard(const std::string& text) {
    std::istringstream lines(text);
    std::string line;
    if (!std::getline(lines, line) || line != kCardFormat)
        return std::nullopt;
    std::map<std::string, std::string> fields;
    while (std::getline(lines, line))
        if (const std::size_t space = line.find(' '); space != std::string::npos)
            fields[line.substr(0, space)] = line.substr(space + 1);
    RankCard card;
    card.worldSize = numberOf<int>(fields["world"]);
    card.host = fields["host"];
    card.boot = fields["boot"];
    card.process.pid = numberOf<std::int64_t>(fields["pid"]);
    card.process.startTime = numberOf<std::uint64_t>(fields["start"]);
    return card;
}

} // namespace

Error GlooRendezvous::cannotMeet(const std::string& folder, const std::error_code& code) {
    return Error(
               Message("The ranks cannot meet in the folder \"%1\": %2.", {folder, code.message()}))
        .own();
}

std::string GlooRendezvous::cardPath(int rank) const {
    return m_folder + "/rank-" + std::to_string(rank) + ".card";
}

std::string GlooRendezvous::notePath(const std::string& folder, int rank) const {
    return folder + "/rank-" + std::to_string(m_options.nameOf(rank)) + ".gave-up";
}

std::string GlooRendezvous::waitPath(int rank) const {
    return m_folder + "/rank-" + std::to_string(rank) + ".waits";
}

Result<void> GlooRendezvous::leaveCard() {
    const RankCard mine{m_options.worldSize, hostName(), bootIdentifier(), ProcessIdentity::self()};
    const std::error_code code = writeAtOnce(cardPath(m_options.rank), cardText(mine), false);
    if (!code)
        return {};
    if (code == std::errc::file_exists)
        return Error(Message("There has already been a rank %1 in the folder \"%2\".",
                             {std::to_string(m_options.rank), m_folder}),
                     {}, Message("Each group needs an empty folder of its own."));
    return cannotMeet(m_folder, code);
}

std::optional<Error> GlooRendezvous::reasonToStop(Clock::time_point end, int missing) const {
    const std::string during = "the start of the group";
    for (int rank = 0; rank < m_options.worldSize; ++rank)
        if (const std::optional<std::string> note = noteOf(rank))
            return endedBy(m_options.nameOf(rank), *note);
    if (m_options.status && m_options.status->header().abort.load() != 0)
        return faultError({FaultKind::Aborted}, during, m_options.deadline);
    for (int rank = 0; rank < static_cast<int>(m_cards.size()); ++rank)
        if (m_cards.size() > static_cast<std::size_t>(m_options.rank) &&
            processState(rank) == ProcessState::Dead)
            return faultError({FaultKind::Died, m_options.nameOf(rank), card(rank).process.pid},
                              during, m_options.deadline);
    if (Clock::now() >= end)
        return faultError({FaultKind::NeverJoined, m_options.nameOf(missing)}, during,
                          m_options.deadline);
    return std::nullopt;
}

Result<GlooRendezvous> GlooRendezvous::meet(const CommunicatorOptions& options,
                                            const std::string& folder,
                                            const std::string& worldFolder, Clock::time_point end) {
    GlooRendezvous rendezvous(options, folder, worldFolder);
    if (const Result<void> left = rendezvous.leaveCard(); !left)
        return left.error();
    const auto giveUp = [&](const Error& error) {
        rendezvous.leaveNote(error.sentence());
        return error;
    };
    for (int rank = 0; rank < options.worldSize; ++rank) {
        std::optional<RankCard> card;
        while (!(card = parseCard(readText(rendezvous.cardPath(rank))))) {
            if (const auto reason = rendezvous.reasonToStop(end, rank))
                return giveUp(*reason);
            std::this_thread::sleep_for(kBetweenLooks);
        }
        if (card->worldSize != options.worldSize)
            return giveUp(Message("Rank %1 expects a group of %2 ranks, rank %3 one of %4.",
                                  {std::to_string(options.rank), std::to_string(options.worldSize),
                                   std::to_string(rank), std::to_string(card->worldSize)}));
        rendezvous.m_cards.push_back(std::move(*card));
    }
    return rendezvous;
}

bool GlooRendezvous::onThisHost(int rank) const {
    return card(rank).boot == card(m_options.rank).boot &&
           card(rank).host == card(m_options.rank).host;
}

ProcessState GlooRendezvous::processState(int rank) const {
    return onThisHost(rank) ? card(rank).process.state() : ProcessState::Running;
}

std::string GlooRendezvous::keyPath(const std::string& key) const {
    std::string name = key;
    for (char& c : name)
        if (c == '/')
            c = '-';
    return m_folder + "/connect-" + name;
}

Result<void> GlooRendezvous::publish(const std::string& key, const std::vector<char>& value) const {
    const std::error_code code =
        writeAtOnce(keyPath(key), std::string(value.begin(), value.end()), false);
    if (code)
        return cannotMeet(m_folder, code);
    return {};
}

Result<std::vector<char>> GlooRendezvous::await(const std::string& key,
                                                Clock::time_point end) const {
    for (;;) {
        std::error_code ignored;
        if (fs::exists(keyPath(key), ignored)) {
            const std::string value = readText(keyPath(key));
            return std::vector<char>(value.begin(), value.end());
        }
        // The first number in a key is the rank that publishes it ("2", "rank_2").
        const std::size_t digits = std::min(key.find_first_of("0123456789"), key.size());
        if (const auto reason = reasonToStop(end, numberOf<int>(key.substr(digits))))
            return *reason;
        std::this_thread::sleep_for(kBetweenLooks);
    }
}

void GlooRendezvous::removePublished(const std::string& key) const {
    std::error_code ignored;
    fs::remove(keyPath(key), ignored);
}

void GlooRendezvous::leaveNote(const std::string& reason) const {
    for (const std::string& folder : {m_folder, m_worldFolder})
        if (!folder.empty())
            writeAtOnce(notePath(folder, m_options.rank), reason, true);
}

std::optional<std::string> GlooRendezvous::noteOf(int rank) const {
    std::error_code ignored;
    for (const std::string& folder : {m_folder, m_worldFolder})
        if (!folder.empty() && fs::exists(notePath(folder, rank), ignored))
            return readText(notePath(folder, rank));
    return std::nullopt;
}

void GlooRendezvous::waitsFor(const Fault& missing) const {
    const std::string text = std::to_string(static_cast<std::uint32_t>(missing.kind)) + ' ' +
                             std::to_string(missing.culprit) + ' ' + std::to_string(missing.pid);
    writeAtOnce(waitPath(m_options.rank), text, true);
}

void GlooRendezvous::waitIsOver() const {
    std::error_code ignored;
    fs::remove(waitPath(m_options.rank), ignored);
}

/// Follows who waits for whom, to one that has told why it waits no more; at most once around, or
/// two that wait for each other would be followed for ever.
Fault GlooRendezvous::behind(const Fault& missing) const {
    Fault culprit = missing;
    for (int step = 0; step < m_options.worldSize; ++step) {
        int rank = 0;
        while (rank < m_options.worldSize && m_options.nameOf(rank) != culprit.culprit)
            ++rank;
        if (rank == m_options.worldSize)
            break;
        if (const std::optional<std::string> note = noteOf(rank); note && rank != m_options.rank)
            return Fault::told(culprit.culprit, card(rank).process.pid, *note);
        if (processState(rank) == ProcessState::Stopped)
            culprit.kind = FaultKind::Stopped;
        std::istringstream text(readText(waitPath(rank)));
        std::uint32_t kind = 0;
        Fault next;
        if (!(text >> kind >> next.culprit >> next.pid))
            break;
        next.kind = static_cast<FaultKind>(kind);
        culprit = next;
    }
    return culprit;
}

void GlooRendezvous::leave() const {
    waitIsOver();
    std::error_code ignored;
    fs::remove(cardPath(m_options.rank), ignored);
    if (!m_worldFolder.empty())
        fs::remove(m_folder, ignored); // while others have not left, it is not empty and stays
}

bool GlooRendezvous::hasLeft(int rank) const {
    std::error_code ignored;
    return !fs::exists(cardPath(rank), ignored);
}

} // namespace trainyard::engine
