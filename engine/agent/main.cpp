// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// trainyard-worker: the verbs of the agent, put together with what computes.
#include "engine/agent/calibrate_command.h"
#include "engine/agent/host_facts.h"
#include "engine/agent/limits.h"
#include "engine/agent/posix_files.h"
#include "engine/agent/rank_command.h"
#include "engine/agent/worker_main.h"
#include "engine/runtime/calibrate.h"
#include "engine/runtime/calibration_file.h"
#include "engine/runtime/inspect.h"
#include "engine/runtime/predict.h"

#include <exception>
#include <unistd.h>

using namespace trainyard::engine;

namespace {

constexpr std::size_t kMaxInputBytes = 64u << 20;

/// The experiment comes on stdin, the description goes to stdout.
int inspectMain(const std::vector<std::string>&) {
    const std::string experiment = readAll(STDIN_FILENO, kMaxInputBytes);
    const auto calibration = readCalibration(
        defaultCalibrationFile(), calibrationKey(engineVersion(), readCpuFacts().usableCores()));
    const std::string answer = inspectExperiment(experiment, calibration ? &*calibration : nullptr);
    return writeAll(STDOUT_FILENO, answer + "\n") ? 0 : 1;
}

/// The request comes on stdin, the answer goes to stdout.
int predictMain(const std::vector<std::string>&) {
    const std::string request = readAll(STDIN_FILENO, kMaxInputBytes);
    const auto say = [](const std::string& line) {
        return writeAll(STDOUT_FILENO, line + "\n");
    };
    return say(predict(request, say)) ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    try {
        return workerMain({argv + 1, argv + argc},
                          {rankMain, inspectMain, predictMain, calibrateMain, supervisorLimits()});
    } catch (const std::exception& exception) {
        (void)writeAll(STDERR_FILENO, std::string("trainyard-worker: ") + exception.what() + "\n");
        return 1;
    }
}
