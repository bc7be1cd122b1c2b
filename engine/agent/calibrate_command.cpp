// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/agent/calibrate_command.h"

#include "engine/agent/answer.h"
#include "engine/agent/host_facts.h"
#include "engine/agent/posix_files.h"
#include "engine/agent/rank_process.h"
#include "engine/agent/verbs.h"
#include "engine/runtime/calibrate.h"
#include "engine/runtime/calibration_file.h"

#include <cstdlib>
#include <exception>
#include <unistd.h>

namespace trainyard::engine {

namespace {

int say(const plan::Calibration& calibration) {
    const bool said = writeAll(STDOUT_FILENO, plan::toJson(calibration) + "\n");
    return static_cast<int>(said ? VerbExit::Ok : VerbExit::Refused);
}

int refuse(const std::string& sentence) {
    print(Answer{{"answer", "refused"}, {"error", sentence}});
    return static_cast<int>(VerbExit::Refused);
}

/// Threads must wait for each other as those of ranks do, which OpenMP reads when a program starts.
void beginAgainAsRanksDo(const std::vector<std::string>& arguments) {
    const char* waits = rankWaits();
    if (!waits)
        return;
    static std::string line = waits; // the environment keeps it
    ::putenv(line.data());
    std::vector<std::string> words{"trainyard-worker", "calibrate"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& word : words)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);
    ::execv("/proc/self/exe", pointers.data()); // where it fails the times are those of this one
}

int measureAndKeep(const plan::CalibrationKey& key) {
    const Result<plan::Calibration> measured = calibrate({.key = key});
    if (!measured)
        return refuse(measured.error().sentence());
    if (const Result<void> kept = writeCalibration(defaultCalibrationFile(), *measured); !kept)
        (void)writeAll(STDERR_FILENO, "trainyard-worker: The calibration is not kept: " +
                                          kept.error().sentence() + "\n");
    return say(*measured);
}

} // namespace

int calibrateMain(const std::vector<std::string>& arguments) {
    const std::string option = arguments.empty() ? "" : arguments.front();
    if (arguments.size() > 1 || (!option.empty() && option != "--kept" && option != "--refresh")) {
        (void)writeAll(STDERR_FILENO,
                       "trainyard-worker: calibrate takes --kept, or --refresh, or nothing.\n");
        return static_cast<int>(VerbExit::Usage);
    }
    const plan::CalibrationKey key = calibrationKey(engineVersion(), readCpuFacts().usableCores());
    if (option != "--refresh")
        if (const auto kept = readCalibration(defaultCalibrationFile(), key))
            return say(*kept);
    if (option == "--kept")
        return refuse("This computer has not been measured yet.");
    beginAgainAsRanksDo(arguments);
    try {
        return measureAndKeep(key);
    } catch (const std::exception& error) {
        return refuse(error.what());
    }
}

} // namespace trainyard::engine
