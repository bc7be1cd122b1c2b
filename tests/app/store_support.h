// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Journals made from a seed, and the whole content of a run as text, for the tests of the store.
#pragma once

#include "app/store/run_store.h"
#include "engine/spec/event.h"

#include <QString>

#include <cstdint>
#include <string>
#include <vector>

namespace trainyard::test {

/// Builds the journal of one node frame by frame, with offsets and sequences as a supervisor writes
/// them.
class JournalBuilder {
public:
    explicit JournalBuilder(std::int64_t startNs = 1'790'000'000'000'000'000) : m_timeNs(startNs) {}

    JournalBuilder& add(const spec::Event& event, std::int64_t afterNs = 1'000'000);
    /// A frame whose payload is taken as it is.
    JournalBuilder& addRaw(std::uint8_t type, const std::string& payload);
    JournalBuilder& metrics(std::int64_t step, std::vector<spec::NamedValue> values,
                            std::int64_t afterNs = 1'000'000);

    const std::vector<app::JournalFrame>& frames() const { return m_frames; }
    /// Frames from index `begin` on, up to `end`.
    std::vector<app::JournalFrame> slice(std::size_t begin, std::size_t end) const;

private:
    std::vector<app::JournalFrame> m_frames;
    std::int64_t m_timeNs;
    std::uint64_t m_offset = 0;
};

/// A run of `steps` steps as the engine would tell it, with special values, logs and device samples
/// strewn in; every third seed goes back to an earlier step once.
JournalBuilder syntheticJournal(unsigned seed, std::int64_t steps);

app::NewRun newRun(const QString& name, const QString& uid = {});

/// Everything the store knows of the run, but for its number. Equal texts are equal runs, bit for
/// bit.
std::string contentOf(app::StoreReader& reader, app::RunId run);

/// The first line in which two contents differ; empty when they are equal.
QString firstDifference(const std::string& a, const std::string& b);

/// "ok" for both files, or what is broken.
QString integrityOf(const QString& folder);

} // namespace trainyard::test
