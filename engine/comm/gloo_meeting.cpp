// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/gloo_meeting.h"

#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace trainyard::engine {

namespace {

using Clock = GlooRendezvous::Clock;
using std::chrono::milliseconds;

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
    RendezvousStore(const GlooRendezvous& rendezvous, Clock::time_point end)
        : m_rendezvous(rendezvous), m_end(end) {}

    void set(const std::string& key, const std::vector<char>& data) override {
        if (const Result<void> published = m_rendezvous.publish(key, data); !published)
            throw StoreFailure(published.error());
        m_published.push_back(key);
    }
    std::vector<char> get(const std::string& key) override {
        Result<std::vector<char>> value = m_rendezvous.await(key, m_end);
        if (!value)
            throw StoreFailure(value.error());
        return std::move(*value);
    }
    void wait(const std::vector<std::string>& keys) override {
        for (const std::string& key : keys)
            get(key);
    }
    void wait(const std::vector<std::string>& keys, const milliseconds&) override { wait(keys); }

    const std::vector<std::string>& published() const { return m_published; }

private:
    const GlooRendezvous& m_rendezvous;
    const Clock::time_point m_end;
    std::vector<std::string> m_published;
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
    auto context = std::make_shared<gloo::rendezvous::Context>(options.rank, options.worldSize);
    const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
    context->setTimeout(std::max(milliseconds(1), left));
    RendezvousStore store(*rendezvous, end);
    try {
        context->connectFullMesh(store, device);
    } catch (const StoreFailure& failure) {
        rendezvous->leaveNote(failure.error().sentence());
        return failure.error();
    } catch (const std::bad_alloc&) { // this rank's own matter: the others find it gone
        throw;
    } catch (const std::exception& failure) {
        const Error error(
            Message("Rank %1 cannot connect to the other ranks from %2: %3",
                    {std::to_string(options.nameOf(options.rank)), device->str(), failure.what()}));
        rendezvous->leaveNote(error.sentence());
        return error;
    }
    const std::vector<std::string> published = store.published();
    return GlooMeeting{std::move(*rendezvous), std::move(context), published};
}

} // namespace trainyard::engine
