// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Experiments, settings, events, journals, output of ranks, numbers.
#include "engine/agent/flight_trace.h"
#include "engine/agent/journal.h"
#include "engine/agent/log_lines.h"
#include "engine/base/number_text.h"
#include "engine/data/table_format.h"
#include "engine/graph/graph.h"
#include "engine/plan/plan.h"
#include "engine/spec/experiment_json.h"
#include "engine/spec/frame.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/targets.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace trainyard::test {

namespace {

constexpr std::string_view kExperiment = R"({"format": "trainyard.experiment/1", "name": "fuzz",
"data": {"format": "idx", "train": {"images": "a", "labels": "b"}},
"model": {"input": {"shape": [1, 8, 8]},
          "layers": [{"id": "conv1", "type": "conv2d", "out_channels": 4, "kernel": 3},
                     {"id": "flat", "type": "flatten"},
                     {"id": "out", "type": "linear", "out_features": 3}]},
"training": {"batch": 4, "epochs": 1}})";

/// A valid experiment says the same after it was written; graph and plan of it can be made.
void checkExperiment(const spec::ParsedExperiment& parsed) {
    for (const Error& problem : parsed.problems)
        TRAINYARD_CHECK(!problem.sentence().empty() && problem.sentence().size() < 4096);
    if (!parsed.problems.empty())
        return;
    const std::string written = spec::toJson(parsed.experiment);
    const spec::ParsedExperiment again = spec::parseExperiment(written);
    TRAINYARD_CHECK_MSG(again.problems.empty(), again.problems.front().sentence());
    TRAINYARD_CHECK(spec::toJson(again.experiment) == written);
    graph::buildGraph(parsed.experiment.model, {.classes = 3});
    plan::makePlan(parsed.experiment, {100, 10, parsed.experiment.model.inputShape, 3}, {true});
}

bool isUtf8Text(std::string_view text) {
    for (std::size_t position = 0; position < text.size();)
        if (engine::decodeCharacter(text, position) == engine::kNoCharacter)
            return false;
    return true;
}

} // namespace

void fuzzExperiment(FuzzBytes bytes) {
    checkExperiment(spec::parseExperiment(textOf(bytes)));
}

void fuzzSettings(FuzzBytes bytes) {
    std::string_view rest = textOf(bytes);
    const auto line = [&rest] {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        std::string text(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        return text;
    };
    std::vector<std::pair<std::string, std::string>> settings;
    while (!rest.empty() && settings.size() < 16) {
        std::string path = line();
        settings.emplace_back(std::move(path), line());
    }
    checkExperiment(spec::parseExperiment(kExperiment, settings));
}

void fuzzEvent(FuzzBytes bytes) {
    if (bytes.empty())
        return;
    const std::string_view text = textOf(bytes);
    const auto type = static_cast<spec::EventType>(text[0]);
    const Result<spec::Event> event = spec::decode(type, text.substr(1));
    if (!event)
        return;
    TRAINYARD_CHECK(spec::typeOf(*event) == type);
    // Bytes after the known fields are ignored, so what was written may be shorter.
    const std::string written = spec::encode(*event);
    TRAINYARD_CHECK(text.substr(1).starts_with(written));
    if (const auto* failure = std::get_if<spec::Failure>(&*event))
        failure->sentence();
}

void fuzzFrames(FuzzBytes bytes) {
    const std::string_view text = textOf(bytes);
    spec::FrameReader whole;
    whole.append(text);
    spec::FrameReader pieces;
    std::uint64_t frames = 0;
    std::size_t given = 0;
    for (;;) {
        const auto frame = whole.next();
        if (!frame || !*frame)
            break;
        ++frames;
        TRAINYARD_CHECK(text.substr(0, whole.consumed()).ends_with(spec::encodeFrame(**frame)));
        if (const auto event =
                spec::decode(static_cast<spec::EventType>((*frame)->type), (*frame)->payload))
            spec::encode(*event);
    }
    std::uint64_t framesOfPieces = 0;
    for (bool good = true; good && given < text.size(); given += 7) {
        pieces.append(text.substr(given, 7));
        for (auto frame = pieces.next(); good = frame.ok(), good && *frame; frame = pieces.next())
            ++framesOfPieces;
    }
    TRAINYARD_CHECK_EQ(frames, framesOfPieces);
    const MemoryFile file(text);
    const auto journal = engine::scanJournal(file.path(), 25);
    TRAINYARD_CHECK(journal.ok());
    TRAINYARD_CHECK(journal->frames <= frames && journal->wholeBytes <= text.size());
}

void fuzzLogLines(FuzzBytes bytes) {
    const std::string_view text = textOf(bytes);
    const auto check = [](std::string_view line) {
        TRAINYARD_CHECK(isUtf8Text(line));
        for (const char sign : line)
            TRAINYARD_CHECK(static_cast<unsigned char>(sign) >= 0x20 && sign != 0x7f);
    };
    check(engine::cleanText(text));
    engine::LineSplitter splitter;
    for (std::size_t at = 0; at < text.size(); at += 5)
        for (const std::string& line : splitter.take(text.substr(at, 5)))
            check(line);
    for (const std::string& line : splitter.finish())
        check(line);
}

void fuzzTrace(FuzzBytes bytes) {
    constexpr std::uint8_t kRankFrame = 2;
    const std::string file =
        engine::encodeTrace({"run", "host", {}}) +
        spec::encodeFrame({2, 0, kRankFrame,
                           std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())});
    if (const Result<engine::RunTrace> trace = engine::decodeTrace(file))
        TRAINYARD_CHECK(nlohmann::json::accept(engine::chromeTrace(*trace)));
}

void fuzzNumbers(FuzzBytes bytes) {
    const std::string_view text = textOf(bytes);
    if (const auto number = parseReal(text)) {
        const auto again = parseReal(shortest(*number));
        TRAINYARD_CHECK(again && (std::isnan(*number) ? std::isnan(*again) : *again == *number));
        rounded(*number, 4);
    }
    if (const auto number = parseInteger(text)) {
        std::string digits = grouped(*number);
        std::erase(digits, ',');
        TRAINYARD_CHECK(parseInteger(digits) == number);
    }
    for (const bool comma : {false, true}) {
        const engine::Cell cell = engine::readCell({text, false}, comma);
        TRAINYARD_CHECK(cell.kind != engine::CellKind::Number || std::isfinite(cell.number));
    }
    engine::isCommaNumber(text);
}

} // namespace trainyard::test
