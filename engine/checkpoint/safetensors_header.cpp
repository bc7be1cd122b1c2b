// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/checkpoint/safetensors_header.h"

#include "engine/base/json.h"
#include "engine/base/number_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <utility>

namespace trainyard::engine {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kMetadata = "__metadata__";

/// All element types of the format that take whole bytes.
constexpr std::pair<std::string_view, std::uint64_t> kTypes[] = {
    {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"F8_E8M0", 1},
    {"U16", 2},  {"I16", 2}, {"F16", 2}, {"BF16", 2},    {"U32", 4},     {"I32", 4},
    {"F32", 4},  {"U64", 8}, {"I64", 8}, {"F64", 8}};

std::string_view typeName(DType type) {
    switch (type) {
    case DType::Fp64:
        return "F64";
    case DType::Fp32:
        return "F32";
    case DType::Int32:
        return "I32";
    case DType::Bf16:
        return "BF16";
    case DType::Fp16:
        return "F16";
    }
    TRAINYARD_CHECK(false);
    return {};
}

std::optional<std::uint64_t> bytesOfType(std::string_view type) {
    for (const auto& [name, bytes] : kTypes)
        if (name == type)
            return bytes;
    return std::nullopt;
}

std::string grouped64(std::uint64_t value) {
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    return value <= most ? grouped(static_cast<std::int64_t>(value)) : std::to_string(value);
}

/// Parses strictly: no key twice, no deeper nesting than the format has. The parser of the library
/// keeps the last of two equal keys, other readers the first.
class StrictParser {
public:
    std::optional<Json> parse(std::string_view text) {
        const Json::parser_callback_t look = [this](int depth, Json::parse_event_t event,
                                                    Json& value) {
            return keep(depth, event, value);
        };
        Json json = Json::parse(text.begin(), text.end(), look, false);
        if (json.is_discarded() && m_problem.empty())
            m_problem = Message("it is not JSON");
        if (!m_problem.empty())
            return std::nullopt;
        return json;
    }
    const Message& problem() const { return m_problem; }

private:
    bool keep(int depth, Json::parse_event_t event, const Json& value) {
        constexpr int kDeepest = 3; // {"name": {"shape": [...]}}
        if (!m_problem.empty())
            return false;
        if (depth > kDeepest) {
            m_problem = Message("it is nested deeper than the format allows");
            return false;
        }
        const auto level = static_cast<std::size_t>(depth);
        if (event == Json::parse_event_t::object_start)
            m_keys[level].clear();
        // A key has the depth of its object and one.
        if (event == Json::parse_event_t::key &&
            !m_keys[level - 1].insert(value.get<std::string>()).second)
            m_problem =
                Message("the key \"%1\" is there twice", {excerpt(value.get<std::string>())});
        return m_problem.empty();
    }

    std::array<std::set<std::string>, 5> m_keys;
    Message m_problem;
};

class HeaderReader {
public:
    HeaderReader(std::uint64_t dataBytes, const std::string& path)
        : m_dataBytes(dataBytes), m_path(path) {}

    Result<SafetensorsHeader> read(std::string_view text) {
        StrictParser parser;
        const std::optional<Json> json = parser.parse(text);
        if (!json)
            return broken(
                {"The header of %1 cannot be read: %2.", {m_path, parser.problem().text()}});
        if (!json->is_object())
            return broken({"The header of %1 is no JSON object.", {m_path}});
        for (const auto& [name, value] : json->items()) {
            Result<void> taken = name == kMetadata ? takeMetadata(value) : takeTensor(name, value);
            if (!taken)
                return taken.error();
        }
        return checkPlaces();
    }

private:
    static Error broken(Message what) {
        return Error(std::move(what), {},
                     Message("The file is damaged or was not written as safetensors: get it again "
                             "from where it comes from."));
    }
    Error tensorProblem(const std::string& name, const std::string& what) const {
        return broken({"The tensor \"%1\" in %2 %3.", {excerpt(name), m_path, what}});
    }

    Result<void> takeMetadata(const Json& value) {
        const bool texts = value.is_object() && std::ranges::all_of(value, [](const Json& entry) {
                               return entry.is_string();
                           });
        if (!texts)
            return broken({"The metadata of %1 is no object of texts.", {m_path}});
        for (const auto& [key, text] : value.items())
            m_header.metadata[key] = text.get<std::string>();
        return {};
    }

    Result<void> takeTensor(const std::string& name, const Json& value) {
        if (!value.is_object() || !value.contains("dtype") || !value.contains("shape") ||
            !value.contains("data_offsets") || value.size() != 3)
            return tensorProblem(name, "must have dtype, shape and data_offsets, and nothing else");
        SavedTensor tensor;
        tensor.name = name;
        const Json& type = value["dtype"];
        const std::optional<std::uint64_t> elementBytes =
            type.is_string() ? bytesOfType(type.get_ref<const std::string&>()) : std::nullopt;
        if (!elementBytes)
            return tensorProblem(name, "has the element type " + excerpt(type.dump()) +
                                           ", which is not known");
        tensor.type = type.get<std::string>();
        const std::optional<std::uint64_t> needed =
            takeShape(value["shape"], *elementBytes, tensor);
        if (!needed)
            return tensorProblem(name, "has the shape " + excerpt(value["shape"].dump()) +
                                           "; a shape is a list of whole numbers whose product is "
                                           "a number of bytes that a file can have");
        return takeOffsets(value["data_offsets"], *needed, tensor);
    }

    /// Bytes of the tensor; empty when they cannot be.
    static std::optional<std::uint64_t> takeShape(const Json& value, std::uint64_t elementBytes,
                                                  SavedTensor& tensor) {
        constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
        if (!value.is_array())
            return std::nullopt;
        std::uint64_t bytes = elementBytes;
        bool empty = false;
        for (const Json& item : value) {
            if (!item.is_number_unsigned())
                return std::nullopt;
            const auto extent = item.get<std::uint64_t>();
            if (extent > most)
                return std::nullopt;
            tensor.shape.push_back(static_cast<std::int64_t>(extent));
            empty = empty || extent == 0;
            if (extent > 0 && bytes > most / extent)
                return std::nullopt;
            bytes *= std::max<std::uint64_t>(extent, 1);
        }
        return empty ? 0 : bytes;
    }

    Result<void> takeOffsets(const Json& value, std::uint64_t needed, SavedTensor tensor) {
        const bool pair = value.is_array() && value.size() == 2 && value[0].is_number_unsigned() &&
                          value[1].is_number_unsigned();
        if (!pair)
            return tensorProblem(tensor.name, "has the offsets " + excerpt(value.dump()) +
                                                  "; they must be two whole numbers");
        const auto first = value[0].get<std::uint64_t>();
        const auto end = value[1].get<std::uint64_t>();
        if (first > end || end > m_dataBytes)
            return tensorProblem(tensor.name, "lies at the bytes " + std::to_string(first) +
                                                  " to " + std::to_string(end) +
                                                  " of the data, but the file has " +
                                                  grouped64(m_dataBytes) + " bytes of data");
        if (end - first != needed)
            return tensorProblem(tensor.name,
                                 "needs " + grouped64(needed) + " bytes for " +
                                     (tensor.shape.empty() ? "a number" : describe(tensor.shape)) +
                                     " of " + tensor.type + ", but has " + grouped64(end - first));
        tensor.offset = first;
        tensor.bytes = needed;
        m_header.tensors.push_back(std::move(tensor));
        return {};
    }

    /// One after the other, from the first byte to the last: what lies in a gap or under two names
    /// could say different things to different readers.
    Result<SafetensorsHeader> checkPlaces() {
        std::ranges::stable_sort(m_header.tensors, [](const SavedTensor& a, const SavedTensor& b) {
            return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
        });
        std::uint64_t next = 0;
        for (const SavedTensor& tensor : m_header.tensors) {
            if (tensor.offset < next)
                return tensorProblem(tensor.name, "overlaps another one");
            if (tensor.offset > next)
                return tensorProblem(tensor.name, "has a gap of " +
                                                      grouped64(tensor.offset - next) +
                                                      " bytes before it");
            next = tensor.offset + tensor.bytes;
        }
        if (next != m_dataBytes)
            return broken({"%1 has %2 bytes of data, but its tensors take %3.",
                           {m_path, grouped64(m_dataBytes), grouped64(next)}});
        return std::move(m_header);
    }

    const std::uint64_t m_dataBytes;
    const std::string& m_path;
    SafetensorsHeader m_header;
};

} // namespace

std::string safetensorsHeader(const std::vector<TensorToSave>& tensors,
                              const SafetensorsMetadata& metadata) {
    Json json = Json::object();
    if (!metadata.empty())
        json[kMetadata] = metadata;
    std::uint64_t next = 0;
    for (const TensorToSave& tensor : tensors) {
        TRAINYARD_CHECK_MSG(!json.contains(tensor.name), tensor.name);
        const std::uint64_t bytes =
            static_cast<std::uint64_t>(elementCount(tensor.shape)) * bytesOf(tensor.type);
        json[tensor.name] = {{"dtype", typeName(tensor.type)},
                             {"shape", tensor.shape},
                             {"data_offsets", {next, next + bytes}}};
        next += bytes;
    }
    std::string text = jsonText(json);
    text.resize((text.size() + 7) / 8 * 8, ' ');
    std::string header;
    for (std::uint64_t i = 0; i < kLengthBytes; ++i)
        header += static_cast<char>(text.size() >> (8 * i) & 0xff);
    return header + text;
}

Result<SafetensorsHeader> parseSafetensorsHeader(std::string_view text, std::uint64_t dataBytes,
                                                 const std::string& path) {
    return HeaderReader(dataBytes, path).read(text);
}

} // namespace trainyard::engine
