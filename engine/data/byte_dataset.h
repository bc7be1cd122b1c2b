// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Samples of unsigned bytes in memory, with one label each. A data set is a view of shared samples:
// all of them or chosen rows, so that a split costs no second copy of the pictures.
#pragma once

#include "engine/data/format_reader.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace trainyard::engine {

/// Immutable after loading; shared by the views and read by any thread.
struct ByteSamples {
    Shape sampleShape;
    std::int64_t channels = 1;
    std::int64_t count = 0;
    std::unique_ptr<std::uint8_t[]> pixels; ///< {count, sampleShape...}, row-major
    std::vector<std::uint8_t> labels;
    std::vector<std::string> classNames; ///< empty: classes are numbers
    std::vector<Message> notes;
    std::int64_t bytesPerSample() const { return elementCount(sampleShape); }
};

using SharedBytes = std::shared_ptr<const ByteSamples>;

/// Value that comes out for a stored byte x: (x - shift) * scale, per channel.
struct Normalization {
    std::vector<double> shift;
    std::vector<double> scale;
};

/// Normalize: "standard" (mean 0, deviation 1 over the samples `statistics` describes; a channel
/// that never varies becomes 0), "unit" ([0, 1]) or "none" (0 to 255).
Normalization makeNormalization(const std::string& normalize, const DatasetInfo& statistics);

/// `rows`: sample numbers; empty: all samples.
DatasetInfo describeSamples(const ByteSamples& samples, std::span<const std::int64_t> rows);

class ByteDataset final : public Dataset {
public:
    /// `rows` empty: all samples.
    ByteDataset(SharedBytes samples, std::vector<std::int64_t> rows, DatasetInfo info,
                const Normalization& normalization);

    const DatasetInfo& info() const override { return m_info; }
    void gather(std::span<const std::int64_t> samples, const BatchMemory& memory) const override;

private:
    template <class Real>
    void gatherAs(std::span<const std::int64_t> samples, Real* inputs, std::int32_t* labels) const;

    SharedBytes m_samples;
    std::vector<std::int64_t> m_rows;
    DatasetInfo m_info;
    Normalization m_normalization;
};

/// The rest of opening once the samples are in memory: the split and the data sets. `training`
/// null: a problem has been added; `validation` null: none, or one has been added.
void openBytes(const DataRequest& request, const SharedBytes& training,
               const SharedBytes& validation, DataOutcome& outcome);

} // namespace trainyard::engine
