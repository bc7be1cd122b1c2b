// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A sentence for a person: an English format with %1, %2 ... and the values that go in.
// The two parts stay apart until the text is shown, so that the studio can translate the format.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

struct Message {
    std::string format;
    std::vector<std::string> arguments;

    Message() = default;
    Message(std::string format_, std::vector<std::string> arguments_ = {});

    /// The English sentence. A %n without an argument stays as it is; inserted values are never
    /// looked through for further %n.
    std::string text() const;
    bool empty() const { return format.empty(); }
    bool operator==(const Message&) const = default;
};

/// Replaces %1 ... %99 in `format`. The studio calls it with the translated format.
std::string fillIn(std::string_view format, const std::vector<std::string>& arguments);

/// `text` as it can stand in a sentence: at most about `bytes` long ("…" where it was cut, never
/// within a character), control characters shown as "?".
std::string excerpt(std::string_view text, std::size_t bytes = 80);

} // namespace trainyard
