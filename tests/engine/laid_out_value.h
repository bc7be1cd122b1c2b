// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// LaidOutValue: a value in the layout that a kernel takes, between guard bytes and over memory full
// of NaN; a part of the operation bench.
#pragma once

#include "engine/backend/backend.h"
#include "engine/base/bfloat16.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace trainyard::test {

inline constexpr std::size_t kGuard = 64; ///< bytes before and behind; keeps the data aligned
inline constexpr std::byte kGuardByte{0xA5};

/// Memory of `count` elements between guards, filled with NaN (all bits set).
class GuardedBuffer {
public:
    GuardedBuffer(DType type, std::int64_t count, std::string what)
        : m_type(type), m_count(count), m_what(std::move(what)),
          m_bytes(static_cast<std::size_t>(count) * bytesOf(type)),
          m_memory(new(std::align_val_t{kGuard}) std::byte[m_bytes + 2 * kGuard]) {
        std::fill_n(m_memory.get(), m_bytes + 2 * kGuard, kGuardByte);
        spoil();
    }

    void* data() { return m_memory.get() + kGuard; }

    /// Back to NaN, as if another value had lain here in between.
    void spoil() { std::fill_n(m_memory.get() + kGuard, m_bytes, std::byte{0xFF}); }

    double at(std::int64_t i) const {
        const std::byte* from = m_memory.get() + kGuard + static_cast<std::size_t>(i) * size();
        if (m_type == DType::Fp64)
            return load<double>(from);
        if (m_type == DType::Bf16)
            return static_cast<double>(widened(load<Bf16>(from)));
        return m_type == DType::Fp32 ? static_cast<double>(load<float>(from))
                                     : static_cast<double>(load<std::int32_t>(from));
    }

    void set(std::int64_t i, double value) {
        std::byte* to = m_memory.get() + kGuard + static_cast<std::size_t>(i) * size();
        const float narrow = static_cast<float>(value);
        const auto index = static_cast<std::int32_t>(value);
        const Bf16 half = narrowed(narrow);
        if (m_type == DType::Fp64)
            std::memcpy(to, &value, sizeof value);
        else if (m_type == DType::Bf16)
            std::memcpy(to, &half, sizeof half);
        else if (m_type == DType::Fp32)
            std::memcpy(to, &narrow, sizeof narrow);
        else
            std::memcpy(to, &index, sizeof index);
    }

    void fill(double value) {
        for (std::int64_t i = 0; i < m_count; ++i)
            set(i, value);
    }

    void checkGuards() const {
        for (std::size_t i = 0; i < kGuard; ++i)
            if (m_memory[i] != kGuardByte || m_memory[kGuard + m_bytes + i] != kGuardByte)
                throw std::runtime_error(m_what + ": bytes outside were written");
    }

    const std::string& what() const { return m_what; }

private:
    template <class T>
    static T load(const std::byte* from) {
        T value;
        std::memcpy(&value, from, sizeof value);
        return value;
    }
    std::size_t size() const { return bytesOf(m_type); }

    struct Free {
        void operator()(std::byte* memory) const {
            ::operator delete[](memory, std::align_val_t{kGuard});
        }
    };
    DType m_type;
    std::int64_t m_count;
    std::string m_what;
    std::size_t m_bytes;
    std::unique_ptr<std::byte[], Free> m_memory;
};

/// Where element `i` (row-major) of a row lies in memory.
inline std::int64_t storedIndex(const Shape& shape, Layout layout, std::int64_t i) {
    if (layout == Layout::Plain)
        return i;
    const std::int64_t plane = shape[1] * shape[2];
    const std::int64_t channel = i / plane;
    if (layout == Layout::ChannelsLast)
        return i % plane * shape[0] + channel;
    return (channel / 16 * plane + i % plane) * 16 + channel % 16;
}

/// A value of `rows` rows in the layout that a kernel takes.
class LaidOutValue {
public:
    LaidOutValue(DType type, std::int64_t rows, Shape shape, Layout layout, std::string what)
        : m_rows(rows), m_shape(std::move(shape)), m_layout(layout),
          m_stored(storedElements(m_shape, layout)),
          m_buffer(type, rows * m_stored, std::move(what)) {}

    engine::Operand operand() { return {m_buffer.data(), m_shape, m_layout}; }
    /// The same memory by another name: flatten in place changes the shape.
    engine::Operand operand(const Shape& shape) { return {m_buffer.data(), shape, m_layout}; }
    engine::Operand absent() const { return {nullptr, m_shape, m_layout}; }

    const Shape& shape() const { return m_shape; }
    std::size_t count() const { return static_cast<std::size_t>(m_rows * elementCount(m_shape)); }
    void spoil() { m_buffer.spoil(); }

    void write(const std::vector<double>& values) {
        m_buffer.fill(0); // the padding
        forEach([&](std::int64_t stored, std::size_t i) { m_buffer.set(stored, values.at(i)); });
    }

    std::vector<double> read() const {
        m_buffer.checkGuards();
        std::vector<double> values(count());
        double everything = 0, inside = 0;
        forEach([&](std::int64_t stored, std::size_t i) {
            values[i] = m_buffer.at(stored);
            inside += values[i] != 0;
        });
        for (std::int64_t i = 0; i < m_rows * m_stored; ++i)
            everything += m_buffer.at(i) != 0;
        if (everything != inside)
            throw std::runtime_error(m_buffer.what() + ": the padding is not zero");
        return values;
    }

private:
    template <class Function>
    void forEach(const Function& f) const {
        const std::int64_t elements = elementCount(m_shape);
        for (std::int64_t row = 0; row < m_rows; ++row)
            for (std::int64_t i = 0; i < elements; ++i)
                f(row * m_stored + storedIndex(m_shape, m_layout, i),
                  static_cast<std::size_t>(row * elements + i));
    }

    std::int64_t m_rows;
    Shape m_shape;
    Layout m_layout;
    std::int64_t m_stored;
    GuardedBuffer m_buffer;
};

} // namespace trainyard::test
