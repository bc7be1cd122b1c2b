// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// trainyard-worker with one unlucky rank. Supervisor and ranks are the product's own: this program
// stands between them only for the moment before a rank's program is loaded.
// $TRAINYARD_TEST_FAULT: "KIND RANK [VALUE]" with
//   halt        the rank stops (SIGSTOP) before it does anything
//   memory      it gets VALUE bytes of address space
//   experiment  it reads the run's experiment from the folder VALUE
#include "engine/agent/limits.h"
#include "engine/agent/worker_main.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

using namespace trainyard;
using namespace trainyard::engine;

namespace {

struct TestFault {
    std::string kind;
    std::string rank;
    std::string value;
};

TestFault faultToMake() {
    const char* text = std::getenv("TRAINYARD_TEST_FAULT");
    std::istringstream words(text ? text : "");
    TestFault fault;
    words >> fault.kind >> fault.rank >> fault.value;
    return fault;
}

/// What follows the option `name`; null where it is not there.
std::string* valueOf(std::vector<std::string>& arguments, const std::string& name) {
    for (std::size_t i = 0; i + 1 < arguments.size(); ++i)
        if (arguments[i] == name)
            return &arguments[i + 1];
    return nullptr;
}

void makeFault(const TestFault& fault, std::vector<std::string>& arguments) {
    const std::string* rank = valueOf(arguments, "--rank");
    if (!rank || *rank != fault.rank)
        return;
    if (fault.kind == "halt")
        ::raise(SIGSTOP);
    if (fault.kind == "memory") {
        const rlim_t bytes = std::stoull(fault.value);
        const rlimit limit{bytes, bytes};
        ::setrlimit(RLIMIT_AS, &limit);
    }
    std::string* folder = valueOf(arguments, "--run-folder");
    if (fault.kind == "experiment" && folder) {
        // The ranks still meet where they should.
        const std::string meeting = "/rendezvous";
        std::filesystem::create_directory(*folder + meeting);
        std::filesystem::create_directory_symlink(*folder + meeting, fault.value + meeting);
        *folder = fault.value;
    }
}

[[noreturn]] void becomeWorker(std::vector<std::string> arguments) {
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
    arguments.insert(arguments.begin(), self.parent_path().parent_path() / "bin/trainyard-worker");
    std::vector<char*> pointers;
    for (std::string& text : arguments)
        pointers.push_back(text.data());
    pointers.push_back(nullptr);
    ::execv(pointers[0], pointers.data());
    ::_exit(127);
}

} // namespace

int main(int argc, char** argv) {
    std::vector<std::string> arguments(argv + 1, argv + argc);
    // A supervisor that begins here runs this program for its ranks, too.
    if (!arguments.empty() && arguments[0] == "start")
        return workerMain(arguments, {{}, {}, {}, {}, supervisorLimits()});
    if (!arguments.empty() && arguments[0] == "rank")
        makeFault(faultToMake(), arguments);
    becomeWorker(std::move(arguments));
}
