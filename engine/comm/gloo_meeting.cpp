// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/gloo_meeting.h"

#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace trainyard::engine {

namespace {

using Clock = GlooRendezvous::Clock;
using std::chrono::milliseconds;

/// So often the ranks try to connect before they take it for a fault of the network.
constexpr int kAttempts = 4;
/// For each connection, and for the first words of a peer that is connected. Who is late because
/// another rank is comes in time at the next attempt.
constexpr milliseconds kConnectTime{3000};
/// No other message has it, see GlooLink.
constexpr std::uint64_t kGreetingSlot = ~std::uint64_t{0};

/// Carries an Error through Gloo's code.
class StoreFailure : public std::runtime_error {
public:
    explicit StoreFailure(Error error)
        : std::runtime_error(error.sentence()), m_error(std::move(error)) {}
    const Error& error() const { return m_error; }

private:
    Error m_error;
};

/// Gloo's key-value store on the files of the rendezvous, with its deadline and its sentences.
class RendezvousStore final : public gloo::rendezvous::Store {
public:
    /// `suffix`: of the keys of this attempt.
    RendezvousStore(const GlooRendezvous& rendezvous, Clock::time_point end, std::string suffix,
                    std::vector<std::string>& published)
        : m_rendezvous(rendezvous), m_end(end), m_suffix(std::move(suffix)),
          m_published(published) {}

    void set(const std::string& key, const std::vector<char>& data) override {
        if (const Result<void> published = m_rendezvous.publish(key + m_suffix, data); !published)
            throw StoreFailure(published.error());
        m_published.push_back(key + m_suffix);
    }
    std::vector<char> get(const std::string& key) override {
        Result<std::vector<char>> value = m_rendezvous.await(key + m_suffix, m_end);
        if (!value)
            throw StoreFailure(value.error());
        return std::move(*value);
    }
    void wait(const std::vector<std::string>& keys) override {
        for (const std::string& key : keys)
            get(key);
    }
    void wait(const std::vector<std::string>& keys, const milliseconds&) override { wait(keys); }

private:
    const GlooRendezvous& m_rendezvous;
    const Clock::time_point m_end;
    const std::string m_suffix;
    std::vector<std::string>& m_published;
};

/// What a rank says first on each connection. Gloo takes whoever connects to the port at which it
/// awaits a peer for that peer.
struct Greeting {
    std::uint64_t group = 0;
    std::int32_t attempt = 0;
    std::int32_t from = 0;
    std::int32_t to = 0;
    std::int32_t padding = 0;
    bool operator==(const Greeting&) const = default;
};

/// The attempts of a group to connect. A stranger on one of the ports spoils an attempt, no run.
struct Meeting {
    const CommunicatorOptions& options;
    const std::string& folder;
    const GlooRendezvous& rendezvous;
    std::shared_ptr<gloo::transport::Device> device;
    const Clock::time_point end;
    std::vector<std::string> published; ///< keys of all attempts

    milliseconds left() const {
        const auto time = std::chrono::duration_cast<milliseconds>(end - Clock::now());
        return std::max(milliseconds(1), time);
    }

    /// Empty: all peers are connected and have greeted; else why not. Throws StoreFailure.
    std::string connect(int attempt, std::shared_ptr<gloo::rendezvous::Context>& context) {
        context = std::make_shared<gloo::rendezvous::Context>(options.rank, options.worldSize);
        context->setTimeout(std::min(kConnectTime, left()));
        RendezvousStore store(rendezvous, end, suffixOf(attempt), published);
        try {
            context->connectFullMesh(store, device);
            return greetAll(attempt, *context);
        } catch (const StoreFailure&) {
            throw;
        } catch (const std::bad_alloc&) { // this rank's own matter: the others find it gone
            throw;
        } catch (const std::exception& failure) {
            return "rank " + name(options.rank) + " from " + device->str() + ": " + failure.what();
        }
    }

    std::string greetAll(int attempt, gloo::rendezvous::Context& context) const {
        const auto ranks = static_cast<std::size_t>(options.worldSize);
        const std::uint64_t group = groupHash();
        std::vector<Greeting> sent(ranks);
        std::vector<Greeting> received(ranks);
        std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>> sends(ranks);
        std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>> receives(ranks);
        const auto forEachPeer = [&](const auto& act) {
            for (int peer = 0; peer < options.worldSize; ++peer)
                if (peer != options.rank)
                    act(peer, static_cast<std::size_t>(peer));
        };
        forEachPeer([&](int peer, std::size_t at) {
            sent[at] = {group, attempt, options.rank, peer, 0};
            sends[at] = context.createUnboundBuffer(&sent[at], sizeof(Greeting));
            receives[at] = context.createUnboundBuffer(&received[at], sizeof(Greeting));
            receives[at]->recv(peer, kGreetingSlot);
            sends[at]->send(peer, kGreetingSlot);
        });
        std::string strangers;
        forEachPeer([&](int peer, std::size_t at) {
            receives[at]->waitRecv(std::min(kConnectTime, left()));
            sends[at]->waitSend(std::min(kConnectTime, left()));
            if (received[at] != Greeting{group, attempt, peer, options.rank, 0})
                strangers = "at the port for rank " + name(peer) + " another program answers";
        });
        return strangers;
    }

    /// Tells the others how it went; empty: it went well for all, else what one of them has said.
    Result<std::string> agree(int attempt, const std::string& own) {
        const auto key = [&](int rank) {
            return std::to_string(rank) + "-met" + suffixOf(attempt);
        };
        const Result<void> told =
            rendezvous.publish(key(options.rank), std::vector<char>(own.begin(), own.end()));
        if (!told)
            return told.error();
        published.push_back(key(options.rank));
        std::string anybodys;
        for (int rank = 0; rank < options.worldSize; ++rank) {
            const Result<std::vector<char>> said = rendezvous.await(key(rank), end);
            if (!said)
                return said.error();
            if (anybodys.empty())
                anybodys.assign(said->begin(), said->end());
        }
        return anybodys;
    }

    /// Of these processes and this group of theirs: hosts may know the folder by different paths.
    std::uint64_t groupHash() const {
        std::string text = folder.substr(folder.find_last_of('/') + 1);
        for (int rank = 0; rank < options.worldSize; ++rank) {
            const RankCard& card = rendezvous.card(rank);
            text += ' ' + card.boot + ' ' + std::to_string(card.process.pid) + ' ' +
                    std::to_string(card.process.startTime);
        }
        return std::hash<std::string>()(text);
    }

    std::string name(int rank) const { return std::to_string(options.nameOf(rank)); }
    static std::string suffixOf(int attempt) { return "." + std::to_string(attempt); }
};

} // namespace

Result<std::shared_ptr<gloo::transport::Device>> listenOn(const std::string& address) {
    try {
        return gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr(address.c_str()));
    } catch (const std::system_error&) { // of its thread
        throw;
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception& failure) {
        return Error(Message("This machine cannot listen on the address \"%1\": %2",
                             {address, failure.what()}),
                     {}, Message("Choose an address of one of its network interfaces."))
            .own();
    }
}

Result<GlooMeeting> GlooMeeting::hold(const CommunicatorOptions& options, const std::string& folder,
                                      const std::string& worldFolder,
                                      std::shared_ptr<gloo::transport::Device> device) {
    const Clock::time_point end = Clock::now() + options.deadline;
    Result<GlooRendezvous> rendezvous = GlooRendezvous::meet(options, folder, worldFolder, end);
    if (!rendezvous)
        return rendezvous.error();
    const auto giveUp = [&](const Error& error) {
        rendezvous->leaveNote(error.sentence());
        return error;
    };
    Meeting meeting{options, folder, *rendezvous, std::move(device), end, {}};
    try {
        for (int attempt = 0;; ++attempt) {
            std::shared_ptr<gloo::rendezvous::Context> context;
            const std::string own = meeting.connect(attempt, context);
            const Result<std::string> anybodys = meeting.agree(attempt, own);
            if (!anybodys)
                return giveUp(anybodys.error());
            if (anybodys->empty())
                return GlooMeeting{std::move(*rendezvous), std::move(context),
                                   std::move(meeting.published)};
            if (attempt + 1 == kAttempts)
                return giveUp(Message("The ranks cannot connect to each other: %1.", {*anybodys}));
        }
    } catch (const StoreFailure& failure) {
        return giveUp(failure.error());
    }
}

} // namespace trainyard::engine
