// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Files of weights, and rows of tables for them.
#include "engine/checkpoint/safetensors.h"
#include "engine/runtime/number_list.h"
#include "engine/runtime/predict_table.h"
#include "engine/runtime/weights_file.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/targets.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace trainyard::test {

namespace {

constexpr const char* kExperiment =
    R"({"format": "trainyard.experiment/1", "name": "fuzz",
        "data": {"format": "csv", "train": {"table": "a"}},
        "model": {"input": {"shape": [3]},
                  "layers": [{"id": "out", "type": "linear", "out_features": 2}]},
        "training": {"batch": 4, "epochs": 1}})";

/// A file without tensors: the length of the header, then the header.
std::string fileOf(const engine::SafetensorsMetadata& metadata) {
    using nlohmann::json;
    const std::string header =
        json{{"__metadata__", metadata}}.dump(-1, ' ', false, json::error_handler_t::replace);
    std::string file;
    for (unsigned shift = 0; shift < 64; shift += 8)
        file += static_cast<char>(header.size() >> shift & 0xFF);
    return file + header;
}

} // namespace

void fuzzSafetensors(FuzzBytes bytes) {
    using engine::SafetensorsFile;
    const MemoryFile file(textOf(bytes));
    Result<SafetensorsFile> opened = SafetensorsFile::open(file.path());
    if (!opened)
        return;
    std::uint64_t inAll = 0;
    for (const engine::SavedTensor& tensor : opened->tensors()) {
        inAll += tensor.bytes;
        std::vector<std::byte> data(tensor.bytes);
        TRAINYARD_CHECK(opened->read(tensor, data).ok());
        TRAINYARD_CHECK(tensor.elements() >= 0);
    }
    TRAINYARD_CHECK(inAll <= bytes.size());
}

/// The first three lines are "data", "step" and "tokenizer" of the metadata.
void fuzzWeights(FuzzBytes bytes) {
    std::string_view rest = textOf(bytes);
    const auto line = [&rest] {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        std::string text(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        return text;
    };
    engine::SafetensorsMetadata metadata = {{"format", "trainyard.weights/1"},
                                            {"experiment", kExperiment}};
    for (const char* key : {"data", "step", "tokenizer"})
        metadata[key] = line();
    const MemoryFile file(fileOf(metadata));
    const Result<engine::SavedWeights> weights = engine::SavedWeights::open(file.path());
    if (!weights)
        return;
    const MemoryFile table(rest);
    if (const auto rows = engine::rowsFromFile(*weights, table.path()))
        TRAINYARD_CHECK(rows->rows > 0);
    std::vector<std::string> words;
    while (!rest.empty())
        words.push_back(line());
    const auto rows = engine::rowsFromWords(*weights, words);
    if (rows)
        TRAINYARD_CHECK_EQ(static_cast<std::size_t>(rows->rows), words.size());
    for (const std::string& word : words)
        engine::numbersIn(word);
}

} // namespace trainyard::test
