// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// See chunk_codec.h for the layout.
#include "app/store/chunk_codec.h"

#include "engine/base/check.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace trainyard::app {

static_assert(std::endian::native == std::endian::little,
              "chunks are written as they lie in memory");

namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kHeaderBytes = 8;
constexpr std::uint64_t kLargestOffset = std::numeric_limits<std::uint32_t>::max();

enum class StepForm : std::uint8_t { Stride = 0, Offset = 1, Whole = 2 };
enum class ValueForm : std::uint8_t { Constant = 0, Single = 1, Offset = 2, Whole = 3 };

// Differences of any two int64 fit uint64 when computed modulo 2^64, so steps may be anything.
std::uint64_t distance(std::int64_t from, std::int64_t to) {
    return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
}

std::int64_t advance(std::int64_t from, std::uint64_t by) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(from) + by);
}

template <class T>
void put(std::string& out, T value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
void putAll(std::string& out, std::span<const T> values) {
    out.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

bool sameBits(double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

bool haveConstantStride(std::span<const std::int64_t> steps) {
    if (steps.size() < 2)
        return true;
    const std::uint64_t stride = distance(steps[0], steps[1]);
    for (std::size_t i = 2; i < steps.size(); ++i)
        if (distance(steps[i - 1], steps[i]) != stride)
            return false;
    return true;
}

/// Integers that a double holds exactly, less than 2^32 apart; negative zero is not one of them.
bool areNearIntegers(std::span<const double> values, std::int64_t& lowest) {
    constexpr double kExact = 9007199254740992.0; // 2^53
    double lo = values[0];
    double hi = values[0];
    for (double value : values) {
        if (!(std::abs(value) <= kExact) || value != std::trunc(value) ||
            (value == 0 && std::signbit(value)))
            return false;
        lo = std::min(lo, value);
        hi = std::max(hi, value);
    }
    lowest = static_cast<std::int64_t>(lo);
    return distance(lowest, static_cast<std::int64_t>(hi)) <= kLargestOffset;
}

bool areSingles(std::span<const double> values) {
    return std::all_of(values.begin(), values.end(), [](double value) {
        // Out of range for float is undefined behaviour, so it is looked at first.
        const bool inRange =
            !std::isfinite(value) || std::abs(value) <= std::numeric_limits<float>::max();
        return inRange && sameBits(value, static_cast<double>(static_cast<float>(value)));
    });
}

void putSteps(std::string& out, StepForm form, std::span<const std::int64_t> steps) {
    if (form == StepForm::Stride) {
        put(out, steps[0]);
        put(out, steps.size() > 1 ? distance(steps[0], steps[1]) : std::uint64_t{0});
    } else if (form == StepForm::Offset) {
        const std::int64_t lowest = *std::min_element(steps.begin(), steps.end());
        put(out, lowest);
        for (std::int64_t step : steps)
            put(out, static_cast<std::uint32_t>(distance(lowest, step)));
    } else {
        putAll(out, steps);
    }
}

void putValues(std::string& out, ValueForm form, std::span<const double> values,
               std::int64_t lowest) {
    if (form == ValueForm::Constant) {
        put(out, values[0]);
    } else if (form == ValueForm::Single) {
        for (double value : values)
            put(out, static_cast<float>(value));
    } else if (form == ValueForm::Offset) {
        put(out, lowest);
        for (double value : values)
            put(out,
                static_cast<std::uint32_t>(distance(lowest, static_cast<std::int64_t>(value))));
    } else {
        putAll(out, values);
    }
}

StepForm formOf(std::span<const std::int64_t> steps) {
    if (haveConstantStride(steps))
        return StepForm::Stride;
    const auto [lowest, highest] = std::minmax_element(steps.begin(), steps.end());
    return distance(*lowest, *highest) <= kLargestOffset ? StepForm::Offset : StepForm::Whole;
}

ValueForm formOf(std::span<const double> values, std::int64_t& lowest) {
    if (std::all_of(values.begin(), values.end(),
                    [&](double value) { return sameBits(value, values[0]); }))
        return ValueForm::Constant;
    if (areSingles(values))
        return ValueForm::Single;
    return areNearIntegers(values, lowest) ? ValueForm::Offset : ValueForm::Whole;
}

/// Takes numbers from the front of a chunk; knows when there are too few.
class Reader {
public:
    explicit Reader(std::string_view bytes) : m_bytes(bytes) {}

    template <class T>
    bool take(T& value) {
        if (m_bytes.size() < sizeof value)
            return false;
        std::memcpy(&value, m_bytes.data(), sizeof value);
        m_bytes.remove_prefix(sizeof value);
        return true;
    }
    /// The next n values of type T as bytes, or an empty view when there are fewer.
    template <class T>
    std::string_view takeBytes(std::size_t n) {
        if (m_bytes.size() / sizeof(T) < n)
            return {};
        const std::string_view bytes = m_bytes.substr(0, n * sizeof(T));
        m_bytes.remove_prefix(bytes.size());
        return bytes;
    }
    bool atEnd() const { return m_bytes.empty(); }

private:
    std::string_view m_bytes;
};

template <class T>
T load(std::string_view bytes, std::size_t index) {
    T value;
    std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof value);
    return value;
}

bool takeSteps(Reader& reader, StepForm form, std::span<std::int64_t> steps) {
    std::int64_t base = 0;
    if (form == StepForm::Whole) {
        const std::string_view bytes = reader.takeBytes<std::int64_t>(steps.size());
        if (bytes.empty())
            return false;
        std::memcpy(steps.data(), bytes.data(), bytes.size());
        return true;
    }
    if (!reader.take(base))
        return false;
    if (form == StepForm::Stride) {
        std::uint64_t stride = 0;
        if (!reader.take(stride))
            return false;
        for (std::size_t i = 0; i < steps.size(); ++i)
            steps[i] = advance(base, stride * i);
        return true;
    }
    const std::string_view bytes = reader.takeBytes<std::uint32_t>(steps.size());
    if (bytes.empty())
        return false;
    for (std::size_t i = 0; i < steps.size(); ++i)
        steps[i] = advance(base, load<std::uint32_t>(bytes, i));
    return true;
}

bool takeValues(Reader& reader, ValueForm form, std::span<double> values) {
    if (form == ValueForm::Constant) {
        double value = 0;
        if (!reader.take(value))
            return false;
        std::fill(values.begin(), values.end(), value);
        return true;
    }
    std::int64_t base = 0;
    if (form == ValueForm::Offset && !reader.take(base))
        return false;
    const std::string_view bytes = form == ValueForm::Whole
                                       ? reader.takeBytes<double>(values.size())
                                       : reader.takeBytes<std::uint32_t>(values.size());
    if (bytes.empty())
        return false;
    if (form == ValueForm::Whole)
        std::memcpy(values.data(), bytes.data(), bytes.size());
    else if (form == ValueForm::Single)
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<double>(load<float>(bytes, i));
    else
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<double>(advance(base, load<std::uint32_t>(bytes, i)));
    return true;
}

} // namespace

ChunkHead headOf(std::span<const std::int64_t> steps, std::span<const double> values) {
    TRAINYARD_CHECK_EQ(steps.size(), values.size());
    TRAINYARD_CHECK(!steps.empty());
    ChunkHead head;
    const auto [lowest, highest] = std::minmax_element(steps.begin(), steps.end());
    head.lowestStep = *lowest;
    head.highestStep = *highest;
    head.lo = head.hi = std::numeric_limits<double>::quiet_NaN();
    for (double value : values) {
        if (!std::isfinite(value)) {
            ++head.notFinite;
            continue;
        }
        if (!(head.lo <= value))
            head.lo = value;
        if (!(head.hi >= value))
            head.hi = value;
    }
    return head;
}

std::string encodeChunk(std::span<const std::int64_t> steps, std::span<const double> values) {
    TRAINYARD_CHECK_EQ(steps.size(), values.size());
    TRAINYARD_CHECK(!steps.empty());
    std::int64_t lowest = 0;
    const StepForm stepForm = formOf(steps);
    const ValueForm valueForm = formOf(values, lowest);
    std::string chunk;
    chunk.reserve(kHeaderBytes + 16 + steps.size() * 12);
    put(chunk, kVersion);
    put(chunk, stepForm);
    put(chunk, valueForm);
    put(chunk, std::uint8_t{0});
    put(chunk, static_cast<std::uint32_t>(steps.size()));
    putSteps(chunk, stepForm, steps);
    putValues(chunk, valueForm, values, lowest);
    return chunk;
}

bool decodeChunk(std::string_view chunk, Points& points) {
    // No chunk is longer than this; a larger count is damage and must not become an allocation.
    constexpr std::uint32_t kMostPoints = 1u << 20;
    Reader reader(chunk);
    std::uint8_t version = 0;
    std::uint8_t stepForm = 0;
    std::uint8_t valueForm = 0;
    std::uint8_t reserved = 0;
    std::uint32_t n = 0;
    if (!reader.take(version) || !reader.take(stepForm) || !reader.take(valueForm) ||
        !reader.take(reserved) || !reader.take(n))
        return false;
    if (version != kVersion || stepForm > 2 || valueForm > 3 || reserved != 0 || n == 0 ||
        n > kMostPoints)
        return false;
    const std::size_t before = points.size();
    points.steps.resize(before + n);
    points.values.resize(before + n);
    const bool whole =
        takeSteps(reader, StepForm{stepForm}, std::span(points.steps).subspan(before)) &&
        takeValues(reader, ValueForm{valueForm}, std::span(points.values).subspan(before)) &&
        reader.atEnd();
    if (!whole) {
        points.steps.resize(before);
        points.values.resize(before);
    }
    return whole;
}

} // namespace trainyard::app
