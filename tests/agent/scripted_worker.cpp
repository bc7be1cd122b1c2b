// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// trainyard-worker with ranks that do what the experiment's "script" says: one list of commands per
// rank (the last list serves all further ranks). Verbs and supervisor are the product's own.
#include "engine/agent/posix_files.h"
#include "engine/agent/worker_main.h"
#include "engine/runtime/rank_protocol.h"
#include "engine/spec/frame.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace trainyard;
using namespace trainyard::engine;
using Json = nlohmann::json;

namespace {

/// Between two looks at memory or files that other processes change; they can not wake us.
void nap() {
    ::poll(nullptr, 0, 1);
}

/// Processes that try to outlive their rank: deaf to SIGTERM, in sessions of their own, orphaned.
void makeDaemons() {
    for (int i = 0; i < 3; ++i) {
        if (::fork() != 0)
            continue;
        std::signal(SIGTERM, SIG_IGN);
        std::signal(SIGHUP, SIG_IGN);
        if (i > 0)
            ::setsid();
        if (i > 1 && ::fork() != 0)
            ::_exit(0);
        if (::fork() == 0)
            ::setsid();
        for (;;)
            ::pause();
    }
}

class ScriptedRank {
public:
    explicit ScriptedRank(const RankArguments& arguments)
        : m_arguments(arguments), m_page(::mmap(nullptr, statusPageBytes(arguments.worldSize),
                                                PROT_READ | PROT_WRITE, MAP_SHARED, kStatusFd, 0)) {
    }

    int run() {
        const Json experiment =
            Json::parse(readSmallFile(m_arguments.runFolder + "/experiment.json"));
        const Json& scripts = experiment.at("script");
        const auto mine =
            std::min<std::size_t>(static_cast<std::size_t>(m_arguments.rank), scripts.size() - 1);
        for (const Json& command : scripts.at(mine))
            if (const std::optional<int> exit = perform(command.at(0), command))
                return *exit;
        return 0;
    }

private:
    std::optional<int> perform(const std::string& name, const Json& c) {
        if (name == "exit")
            return c.at(1).get<int>();
        if (name == "signal")
            ::kill(::getpid(), c.at(1).get<int>());
        else if (name == "ignore_term")
            std::signal(SIGTERM, SIG_IGN);
        else if (name == "block")
            for (;;)
                ::pause();
        else if (name == "daemons")
            makeDaemons();
        else if (name == "wait_stop")
            while (m_page.header().stopRequested.load() == 0)
                nap();
        else if (name == "wait_abort")
            while (m_page.header().abort.load() == 0)
                nap();
        else if (name == "wait_file")
            while (::access(inFolder(c.at(1)).c_str(), F_OK) != 0)
                nap();
        else if (name == "touch")
            FileHandle(::open(inFolder(c.at(1)).c_str(), O_CREAT | O_WRONLY, 0600));
        else if (name == "status")
            moveTo(c.at(1), c.at(2), c.at(3), c.size() > 4 ? c.at(4).get<int>() : 0);
        else if (name == "spin")
            spin(c.at(1).get<std::int64_t>() * 1'000'000);
        else
            speak(name, c);
        return std::nullopt;
    }

    void speak(const std::string& name, const Json& c) {
        if (name == "running")
            send(spec::StateChanged{spec::RunState::Running, {}});
        else if (name == "metrics")
            sendMetrics(c.at(1), c.size() > 2 ? c.at(2).get<std::int64_t>() : 1);
        else if (name == "failure")
            sendFailure(c.at(1));
        else if (name == "event")
            sendFrame(c.at(1), c.at(2));
        else if (name == "print")
            write(STDOUT_FILENO, c.at(1));
        else if (name == "warn")
            write(STDERR_FILENO, c.at(1));
        else if (name == "flood")
            flood(c.at(1).get<std::size_t>());
        else if (name == "garbage")
            write(kEventsFd, std::string(c.at(1).get<std::size_t>(), '\x5a'));
        else if (name == "half_frame")
            write(kEventsFd, spec::encodeFrame({0, 1, 7, std::string(100, 'x')}).substr(0, 60));
        else
            std::abort();
    }

    std::string inFolder(const std::string& name) const {
        return m_arguments.runFolder + "/" + name;
    }

    static void write(int fd, const std::string& bytes) {
        if (!writeAll(fd, bytes))
            ::_exit(99);
    }

    void sendFrame(std::uint8_t type, const std::string& payload) {
        write(kEventsFd, spec::encodeFrame({0, wallClockNs(), type, payload}));
    }
    void send(const spec::Event& event) {
        sendFrame(static_cast<std::uint8_t>(spec::typeOf(event)), spec::encode(event));
    }

    void sendFailure(const std::string& what) {
        spec::Failure failure;
        failure.what = Message(what);
        failure.cure = Message("Do better.");
        send(failure);
    }

    void sendMetrics(std::int64_t count, std::int64_t first) {
        for (std::int64_t step = first; step < first + count; ++step) {
            moveTo(step, 0, "fc1");
            send(spec::Metrics{step,
                               0.5,
                               step * 32,
                               {{spec::metric::kTrainLoss, 1.0 / static_cast<double>(step)}}});
        }
    }

    void moveTo(std::int64_t step, std::int64_t instruction, const std::string& layer,
                int opcode = 0) {
        RankStatus& status = m_page.rank(m_arguments.rank);
        status.pid.store(static_cast<std::uint32_t>(::getpid()));
        status.step.store(step);
        status.instruction.store(instruction);
        status.opcode.store(static_cast<std::uint8_t>(opcode));
        std::memset(status.layer, 0, sizeof status.layer);
        layer.copy(status.layer, sizeof status.layer - 1);
        status.phase.store(static_cast<std::uint32_t>(RankPhase::Training));
        status.timeNs.store(monotonicNs());
    }

    /// Uses so much processor time, however long that takes.
    static void spin(std::int64_t ns) {
        timespec used{};
        while (used.tv_sec * 1'000'000'000 + used.tv_nsec < ns)
            ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    }

    static void flood(std::size_t megabytes) {
        std::string block;
        while (block.size() < (1u << 20))
            block += "a line of a program that prints far too much\n";
        for (std::size_t i = 0; i < megabytes; ++i)
            write(STDOUT_FILENO, block);
    }

    RankArguments m_arguments;
    StatusPage m_page;
};

/// Shorter times make tests shorter; the product's defaults where nothing is set.
SupervisorTiming timingFromEnvironment() {
    SupervisorTiming timing;
    if (const char* stall = std::getenv("SCRIPTED_STALL_MS"))
        timing.stall = std::chrono::milliseconds(std::atoi(stall));
    return timing;
}

} // namespace

int main(int argc, char** argv) {
    const auto rank = [](const RankArguments& arguments) {
        return ScriptedRank(arguments).run();
    };
    return workerMain({argv + 1, argv + argc}, {rank, {}, {}, {}, timingFromEnvironment()});
}
