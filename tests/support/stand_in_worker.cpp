// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Stands in for trainyard-worker where the application is tested: same verbs, same bytes, no
// training. $STAND_IN_WORKER says how it behaves, as words "verb=behaviour" between spaces; a verb
// without a word does its work at once and well. A behaviour that ends in "_once" is that of the
// first call only.
//   inspect  problem, garbage, crash, slow, silent
//   calibrate absent (nothing is kept), refused (it cannot be measured either)
//   start    refused, slow, crash, crash_before (the run is not made), living (it goes on until
//            stop), long (200,000 steps)
//   attach   noise, half, silent, dead, damaged, newer, exit
//   stop     refused, slow
// Every other run has 20 steps in 2 epochs, with a validation after each.
#include "engine/plan/calibration.h"
#include "engine/spec/event.h"
#include "engine/spec/frame.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <poll.h>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

using namespace trainyard;
namespace fs = std::filesystem;

constexpr std::int64_t kSteps = 20;
constexpr std::int64_t kManySteps = 200'000;
constexpr std::int64_t kStepsPerEpoch = 10;
constexpr std::int64_t kStepNs = 10'000'000;
constexpr std::int64_t kBeginNs = 1'790'000'000'000'000'000;

struct Request {
    std::string verb;
    std::string root;
    std::string run;
    std::string nonce;
    std::uint64_t from = 0;
    bool once = false;

    fs::path folder() const { return fs::path(root) / "runs" / run; }
    fs::path journal() const { return folder() / "journal"; }
};

Request requestOf(int argc, char** argv) {
    Request request;
    request.verb = argc > 1 ? argv[1] : "";
    for (int i = 2; i < argc; ++i) {
        const std::string word = argv[i];
        const auto next = [&] {
            return std::string(i + 1 < argc ? argv[++i] : "");
        };
        if (word == "--root")
            request.root = next();
        else if (word == "--run")
            request.run = next();
        else if (word == "--nonce")
            request.nonce = next();
        else if (word == "--from")
            request.from = std::stoull(next());
        else if (word == "--once")
            request.once = true;
    }
    return request;
}

/// True the first time it is asked for this verb; remembered beside the script.
bool isFirstCall(const std::string& verb) {
    const char* folder = std::getenv("STAND_IN_WORKER_MEMORY");
    if (!folder)
        return true;
    const fs::path mark = fs::path(folder) / ("called-" + verb);
    const bool first = !fs::exists(mark);
    std::ofstream(mark) << "x";
    return first;
}

std::string behaviourOf(const std::string& verb) {
    const char* script = std::getenv("STAND_IN_WORKER");
    std::istringstream words(script ? script : "");
    const bool first = isFirstCall(verb);
    for (std::string word; words >> word;) {
        if (word.rfind(verb + "=", 0) != 0)
            continue;
        std::string behaviour = word.substr(verb.size() + 1);
        const std::size_t once = behaviour.rfind("_once");
        if (once == std::string::npos)
            return behaviour;
        if (first)
            return behaviour.substr(0, once);
    }
    return "";
}

class JournalWriter {
public:
    explicit JournalWriter(const fs::path& path) : m_out(path, std::ios::binary | std::ios::app) {}

    void add(const spec::Event& event) {
        spec::Frame frame;
        frame.sequence = ++m_sequence;
        frame.timeNs = m_timeNs += kStepNs;
        frame.type = static_cast<std::uint8_t>(spec::typeOf(event));
        frame.payload = spec::encode(event);
        m_out << spec::encodeFrame(frame);
    }
    void flush() { m_out.flush(); }
    void setSequence(std::uint64_t sequence) { m_sequence = sequence; }

    void addMetrics(std::int64_t step, std::vector<spec::NamedValue> values) {
        add(spec::Metrics{step, static_cast<double>(step) / kStepsPerEpoch, step * 8,
                          std::move(values)});
    }

    void addBeginning(const std::string& run) {
        add(spec::Hello{spec::kProtocolVersion, "scripted", run, "here", 2});
        add(spec::RanksStarted{{{0, ::getpid(), "cpu:0", 1}, {1, ::getpid(), "cpu:1", 1}}});
        add(spec::Schedule{42, kSteps, kStepsPerEpoch, 2, 80, 16});
        add(spec::StateChanged{spec::RunState::Running, {}});
    }
    void addSteps(std::int64_t count) {
        for (std::int64_t step = 1; step <= count; ++step) {
            const double loss = 1.0 / static_cast<double>(step);
            addMetrics(step,
                       {{spec::metric::kTrainLoss, loss}, {spec::metric::kSamplesPerSecond, 800}});
            if (step % kStepsPerEpoch != 0)
                continue;
            addMetrics(step, {{spec::metric::kValidationLoss, loss * 2},
                              {spec::metric::kValidationAccuracy, 0.875}});
            // Of 16 samples 14 are right: nothing is taken for a bird.
            add(spec::Confusion{step,
                                static_cast<double>(step) / kStepsPerEpoch,
                                step == kStepsPerEpoch,
                                {"cat", "dog, wet", "bird"},
                                {8, 1, 0, 0, 6, 0, 1, 0, 0}});
        }
    }
    void addEnd(spec::RunState state, std::int64_t steps) {
        add(spec::Summary{steps,
                          static_cast<double>(steps) / kStepsPerEpoch,
                          1.5,
                          {{spec::metric::kTrainLoss, 0.05},
                           {spec::metric::kValidationLoss, 0.1},
                           {spec::metric::kValidationAccuracy, 0.875},
                           {spec::metric::kSamplesPerSecond, 800}}});
        add(spec::StateChanged{state, {}});
    }

private:
    std::ofstream m_out;
    std::uint64_t m_sequence = 0;
    std::int64_t m_timeNs = kBeginNs;
};

std::string contentOf(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void standStill(int milliseconds) {
    ::poll(nullptr, 0, milliseconds);
}

int crash() {
    std::cerr << "out of luck\n";
    std::raise(SIGKILL);
    return 1;
}

int inspect(const std::string& behaviour) {
    const std::string experiment(std::istreambuf_iterator<char>(std::cin), {});
    if (behaviour == "crash")
        return crash();
    if (behaviour == "silent")
        standStill(60'000);
    if (behaviour == "slow")
        standStill(300);
    if (behaviour == "garbage") {
        std::cout << "Segmentation fault\n";
        return 0;
    }
    const std::string problem =
        behaviour == "problem"
            ? R"({"where": "data.train.labels", "what": {"format": "Row %1 has the label %2.",
                 "arguments": ["7", "10"]}, "cure": {"format": "Labels go from 0 to 9.",
                 "arguments": []}})"
            : "";
    std::cout << R"({"format": "trainyard.inspect/1", "problems": [)" << problem << R"(],
        "data": {"train": {"samples": 80, "shape": [1, 2, 2], "classes": 3},
                 "validation": {"samples": 16, "shape": [1, 2, 2], "classes": 3}},
        "machine": {"cores": 2, "blocked_pictures": false}})"
              << "\n";
    return 0;
}

int start(const Request& request, const std::string& behaviour) {
    const std::string experiment(std::istreambuf_iterator<char>(std::cin), {});
    if (behaviour == "refused") {
        std::cout << R"({"answer": "refused", "error": "disk full: /somewhere"})"
                  << "\n";
        return 1;
    }
    if (behaviour == "crash_before")
        return crash();
    if (behaviour == "slow")
        standStill(300);
    if (fs::exists(request.journal())) {
        std::cout << R"({"answer": "already"})"
                  << "\n";
        return 0;
    }
    fs::create_directories(request.folder());
    std::ofstream(request.folder() / "experiment.json") << experiment;
    JournalWriter journal(request.journal());
    journal.addBeginning(request.run);
    if (behaviour == "living") {
        journal.addSteps(5);
    } else if (behaviour == "long") {
        journal.addSteps(kManySteps);
        journal.addEnd(spec::RunState::Finished, kManySteps);
    } else {
        journal.addSteps(kSteps);
        journal.addEnd(spec::RunState::Finished, kSteps);
    }
    journal.flush();
    if (behaviour == "crash")
        return crash();
    std::cout << "a line of some library\n"
              << R"({"answer": "started", "pid": 1})"
              << "\n";
    return 0;
}

bool readerHasLeft() {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    char byte = 0;
    return ::poll(&input, 1, 20) > 0 && ::read(STDIN_FILENO, &byte, 1) <= 0;
}

void send(const std::string& bytes) {
    std::cout << bytes << std::flush;
}

bool isFinal(const std::string& journal) {
    spec::FrameReader reader;
    reader.append(journal);
    bool final = false;
    for (auto next = reader.next(); next.ok() && *next; next = reader.next()) {
        const auto event =
            spec::decode(static_cast<spec::EventType>((*next)->type), (*next)->payload);
        if (event.ok())
            if (const auto* state = std::get_if<spec::StateChanged>(&*event))
                final = spec::isFinal(state->state);
    }
    return final;
}

/// Products take a nanosecond an operation, whatever their shape; the rest nothing.
int calibrate(const std::string& behaviour, bool onlyKept) {
    if (behaviour == "refused" || (behaviour == "absent" && onlyKept)) {
        std::cout << R"({"answer": "refused", "error": "There is no room to measure in."})";
        return 1;
    }
    plan::Calibration calibration;
    calibration.key = {"scripted", "here", 2};
    calibration.measuredAt = "2026-01-31T12:00:00Z";
    const plan::CalibrationTable products = {{{3, 2, 2}, 1e-3, 1e-12}};
    for (const auto& [threads, ranks] : {std::pair{1, 1}, std::pair{1, 2}, std::pair{2, 1}})
        calibration.settings.push_back(
            {threads,
             ranks,
             {{"linear/forward/fp32", products}, {"linear/backward/fp32", products}}});
    calibration.exchanges["shared_memory/all_reduce"] = {{{6}, 1e-3, 1e-11}};
    std::cout << plan::toJson(calibration) << "\n";
    return 0;
}

int attach(const Request& request, const std::string& behaviour) {
    if (!fs::exists(request.journal())) {
        std::cerr << "There is no run " << request.run << "\n";
        return 2;
    }
    if (behaviour == "noise")
        send("Welcome to the machine\n\x1b[31mLast login: today");
    if (!request.nonce.empty())
        send("\n" + request.nonce + "\n");
    if (behaviour == "silent")
        standStill(60'000);
    std::uint64_t sent = request.from;
    for (;;) {
        std::string journal = contentOf(request.journal());
        if (behaviour == "newer") {
            spec::Hello hello;
            hello.protocolVersion = spec::kProtocolVersion + 1;
            send(spec::encodeFrame({1, kBeginNs, 1, spec::encode(hello)}));
            standStill(60'000);
        }
        if (behaviour == "half") {
            send(journal.substr(sent, journal.size() / 2 - sent));
            return 7;
        }
        if (behaviour == "damaged")
            journal[journal.size() / 2] ^= 0x55;
        send(journal.substr(sent));
        sent = journal.size();
        if (behaviour == "exit")
            return 9;
        if (behaviour == "dead")
            return 5;
        if (isFinal(journal))
            return 0;
        if (request.once)
            return 6;
        send(spec::encodeFrame({0, kBeginNs, static_cast<std::uint8_t>(spec::EventType::Heartbeat),
                                spec::encode(spec::Heartbeat{true})}));
        if (readerHasLeft())
            return 0;
    }
}

int stop(const Request& request, const std::string& behaviour) {
    if (behaviour == "refused") {
        std::cout << R"({"answer": "refused", "error": "The supervisor does not answer."})"
                  << "\n";
        return 1;
    }
    if (behaviour == "slow")
        standStill(3000);
    JournalWriter journal(request.journal());
    std::uint64_t frames = 0;
    spec::FrameReader reader;
    reader.append(contentOf(request.journal()));
    for (auto next = reader.next(); next.ok() && *next; next = reader.next())
        ++frames;
    journal.setSequence(frames);
    journal.addEnd(spec::RunState::Stopped, 5);
    journal.flush();
    std::cout << R"({"answer": "stopped"})"
              << "\n";
    return 0;
}

int remove(const Request& request) {
    const bool wasThere = fs::remove_all(request.folder()) > 0;
    std::cout << R"({"answer": ")" << (wasThere ? "removed" : "absent") << "\"}\n";
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    const Request request = requestOf(argc, argv);
    const std::string behaviour = behaviourOf(request.verb);
    if (request.verb == "inspect")
        return inspect(behaviour);
    if (request.verb == "start")
        return start(request, behaviour);
    if (request.verb == "attach")
        return attach(request, behaviour);
    if (request.verb == "stop")
        return stop(request, behaviour);
    if (request.verb == "remove")
        return remove(request);
    if (request.verb == "calibrate")
        return calibrate(behaviour, argc > 2 && std::string(argv[2]) == "--kept");
    if (request.verb == "probe") {
        std::cout << R"({"format": "trainyard.probe/1", "cores": 2})"
                  << "\n";
        return 0;
    }
    return 2;
}
