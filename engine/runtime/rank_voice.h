// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// RankVoice: how a rank tells what happens to it, and how it ends when that is bad.
#pragma once

#include "engine/base/result.h"
#include "engine/runtime/rank_environment.h"
#include "engine/spec/event.h"
#include "engine/spec/experiment.h"

#include <cstdint>
#include <string>

namespace trainyard::engine {

/// Thrown to leave a rank with an exit code, after the event that says why was sent.
struct SessionEnd {
    RankExit exit;
};

/// Where something was noticed; what is not known is taken from the status page.
struct NoticedAt {
    std::int64_t step = -1;
    std::int64_t instruction = -1;
    std::string layer;
};

class RankVoice {
public:
    RankVoice(const spec::Experiment& experiment, RankEnvironment& environment)
        : m_experiment(experiment), m_environment(environment) {}

    const spec::Experiment& experiment() const { return m_experiment; }
    const RankEnvironment& environment() const { return m_environment; }
    bool isFirst() const { return m_environment.rank == 0; }
    RankStatus* status() const {
        return m_environment.status ? &m_environment.status->rank(m_environment.rank) : nullptr;
    }

    void send(const spec::Event& event) const { m_environment.events.send(event); }
    void log(spec::LogLevel level, Message text) const;
    void setPhase(RankPhase phase) const;

    [[noreturn]] void fail(const Error& error, RankExit exit = RankExit::Failed,
                           const NoticedAt& place = {}) const;
    /// Of several the first ends this rank, the others are told.
    void failOn(const Problems& problems) const;
    /// What ranks do together fails because of another rank, of which the supervisor knows; or it
    /// is this one's own doing (Error::isOwn).
    [[noreturn]] void losePeer(const Error& error) const;
    void check(const Result<void>& result) const;
    /// The value.
    template <class T>
    T check(Result<T> result) const {
        if (!result)
            losePeer(result.error());
        return std::move(*result);
    }

private:
    std::string device() const;

    const spec::Experiment& m_experiment;
    RankEnvironment& m_environment;
};

} // namespace trainyard::engine
