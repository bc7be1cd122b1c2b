// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Result<T>: a value, or an Error that a user caused or can cure. What only a bug can cause goes
// through TRAINYARD_CHECK (check.h) instead.
#pragma once

#include "engine/base/check.h"
#include "engine/base/message.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace trainyard {

/// One thing that is wrong: what was found and expected, where, and what to do about it.
struct Error {
    Message what;
    /// Where: a path in the experiment ("model.layers[2].out_channels"), empty elsewhere.
    std::string where;
    Message cure;
    /// What ranks do together failed because of this process alone, and not of another one.
    bool isOwn = false;

    Error() = default;
    Error(Message what_, std::string where_ = {}, Message cure_ = {})
        : what(std::move(what_)), where(std::move(where_)), cure(std::move(cure_)) {}

    /// The same, as the doing of this process.
    Error own() && {
        isOwn = true;
        return std::move(*this);
    }
    /// "where: what cure" in English, for logs and the command line.
    std::string sentence() const;
    bool operator==(const Error&) const = default;
};

using Problems = std::vector<Error>;

template <class T>
class [[nodiscard]] Result {
public:
    Result(T value) : m_state(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : m_state(std::in_place_index<1>, std::move(error)) {}

    bool ok() const { return m_state.index() == 0; }
    explicit operator bool() const { return ok(); }

    T& value() & {
        TRAINYARD_CHECK_MSG(ok(), error().sentence());
        return *std::get_if<0>(&m_state);
    }
    const T& value() const& {
        TRAINYARD_CHECK_MSG(ok(), error().sentence());
        return *std::get_if<0>(&m_state);
    }
    T&& value() && {
        TRAINYARD_CHECK_MSG(ok(), error().sentence());
        return std::move(*std::get_if<0>(&m_state));
    }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T&& operator*() && { return std::move(*this).value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

    const Error& error() const {
        TRAINYARD_CHECK(!ok());
        return *std::get_if<1>(&m_state);
    }

private:
    std::variant<T, Error> m_state;
};

template <>
class [[nodiscard]] Result<void> {
public:
    Result() = default;
    Result(Error error) : m_error(std::move(error)) {}

    bool ok() const { return !m_error; }
    explicit operator bool() const { return ok(); }
    const Error& error() const {
        TRAINYARD_CHECK(m_error.has_value());
        return *m_error;
    }

private:
    std::optional<Error> m_error;
};

} // namespace trainyard
