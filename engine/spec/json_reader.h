// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// ObjectReader: takes the keys of one JSON object, collects what is wrong with its path, and at the
// end names the keys nobody asked for. Internal to engine/spec.
#pragma once

#include "engine/base/result.h"
#include "engine/spec/experiment.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace trainyard::spec {

using Json = nlohmann::ordered_json;

/// "a list", "the text "abc"", "the number 3" ... for sentences.
std::string kindOf(const Json& value);
/// A whole number that does not fit into int64.
bool isAboveInt64(const Json& value);

class ObjectReader {
public:
    /// `object` may be anything; if it is no object that is reported once and all reads give
    /// nothing.
    ObjectReader(const Json& object, std::string path, Problems& problems);

    /// Null when absent (which is reported if `required`).
    const Json* take(const std::string& key, bool required = false);
    bool has(const std::string& key) const;

    void text(const std::string& key, std::string& target, bool required = false);
    void integer(const std::string& key, std::int64_t& target);
    void real(const std::string& key, double& target);
    void unsignedInteger(const std::string& key, std::uint64_t& target);

    /// Reports keys that were not taken, with the nearest known one.
    void finish();

    std::string at(const std::string& key) const;
    void problem(const std::string& key, Message what, Message cure = {});

private:
    const Json* m_object = nullptr;
    std::string m_path;
    Problems& m_problems;
    std::vector<std::string> m_known;
};

} // namespace trainyard::spec
