// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// start: makes the run's folder and a supervisor that outlives this process. The run's lock is
// taken here and passes on to the supervisor by fork, so two starts at once can never both win, and
// a start that is repeated because its answer was lost finds the run that the first one made.
#include "engine/agent/answer.h"
#include "engine/agent/journal.h"
#include "engine/agent/sweep.h"
#include "engine/agent/verbs.h"
#include "engine/base/json.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace trainyard::engine {
namespace {

constexpr std::string_view kFormatPrefix = "trainyard.experiment/";
constexpr int kReadyTimeoutMs = 60'000;

Result<void> checkExperiment(const std::string& text) {
    const Answer json = jsonOrDiscarded(text);
    if (json.is_discarded() || !json.is_object())
        return Error(Message("The experiment on the standard input is not a JSON object."), {},
                     Message("Send the experiment file as it was saved."));
    const auto format = json.find("format");
    if (format == json.end() || !format->is_string() ||
        format->get_ref<const std::string&>().rfind(kFormatPrefix, 0) != 0)
        return Error(
            Message("The JSON on the standard input is no experiment: its \"format\" does not "
                    "start with %1.",
                    {std::string(kFormatPrefix)}));
    return {};
}

/// Closes what was inherited, so that no pipe of a login shell stays open as long as the run.
void closeAllBut(std::initializer_list<int> kept) {
    for (const std::string& name : namesIn("/proc/self/fd")) {
        const int fd = std::atoi(name.c_str());
        if (fd > STDERR_FILENO && std::find(kept.begin(), kept.end(), fd) == kept.end())
            ::close(fd);
    }
}

void detachFromTerminal(const RunFolder& folder) {
    const FileHandle null(::open("/dev/null", O_RDWR));
    const FileHandle log(
        ::open(folder.supervisorLog().c_str(), O_WRONLY | O_CREAT | O_APPEND, S_IRUSR | S_IWUSR));
    ::dup2(null.fd(), STDIN_FILENO);
    ::dup2(null.fd(), STDOUT_FILENO);
    ::dup2(log.isOpen() ? log.fd() : null.fd(), STDERR_FILENO);
}

/// The life of the supervisor's process. Reports to `ready`: "ok", or what went wrong.
[[noreturn]] void supervise(const RunFolder& folder, const StartRequest& request, RunLock lock,
                            FileHandle ready) {
    ::umask(S_IRWXG | S_IRWXO);
    ::prctl(PR_SET_NAME, "trainyard-sup");
    closeAllBut({lock.fd(), ready.fd()});
    detachFromTerminal(folder);
    // A file system that is to be unmounted shall not be held by the folder we were called in.
    if (::chdir(folder.path().c_str()) != 0)
        ::_exit(1);
    Supervisor supervisor({folder, request.ranks, request.threads, request.rankProgram,
                           request.timing, request.bucketBytes});
    Result<void> begun = lock.writeHolder(::getpid(), folder);
    if (begun)
        begun = supervisor.begin();
    (void)writeAll(ready.fd(), begun ? "ok" : begun.error().sentence());
    ready.close();
    if (!begun)
        ::_exit(1);
    supervisor.run();
    ::_exit(0); // the lock goes with the process
}

/// Forks twice, so that the supervisor is nobody's child and can not get a terminal again. Returns
/// what it reported.
Result<void> launch(const RunFolder& folder, const StartRequest& request, RunLock lock) {
    Result<Pipe> ready = makePipe();
    if (!ready)
        return ready.error();
    const pid_t child = ::fork();
    if (child < 0)
        return Error(Message("Cannot make a process: %1.", {std::strerror(errno)}), {},
                     Message("Raise the limit of processes (ulimit -u)."));
    if (child == 0) {
        ::setsid();
        const pid_t grandchild = ::fork();
        if (grandchild != 0)
            ::_exit(grandchild < 0 ? 1 : 0);
        ready->readEnd.close();
        supervise(folder, request, std::move(lock), std::move(ready->writeEnd));
    }
    ready->writeEnd.close();
    ::waitpid(child, nullptr, 0);
    pollfd wait{ready->readEnd.fd(), POLLIN, 0};
    ::poll(&wait, 1, kReadyTimeoutMs);
    const std::string report = wait.revents ? readAll(ready->readEnd.fd(), 64 * 1024) : "";
    if (report == "ok")
        return {};
    return Error(Message("%1", {report.empty() ? "The supervisor of the run did not come up; see " +
                                                     folder.supervisorLog() + "."
                                               : report}));
}

/// What makes a second start unnecessary.
std::optional<Answer> answerOfEarlierStart(const RunFolder& folder) {
    const Result<JournalContent> journal = scanJournal(folder.journal());
    if (!journal || journal->frames == 0)
        return std::nullopt;
    Answer answer{{"answer", "finished"}};
    if (journal->finalState)
        answer["state"] = std::string(spec::name(*journal->finalState));
    else
        answer["error"] =
            "The supervisor of this run was killed, or the node was restarted, before "
            "the run ended.";
    return answer;
}

Answer start(const AgentRoot& root, const StartRequest& request) {
    const RunFolder folder = root.run(request.run);
    sweepOrphans(root);
    const bool isNew = !folder.exists();
    const auto refuse = [&](const Error& error) {
        if (isNew) { // leave no trace of what could not begin
            for (const std::string& file :
                 {folder.lock(), folder.supervisorLog(), folder.experiment(), folder.journal(),
                  folder.reserve()})
                ::unlink(file.c_str());
            ::rmdir(folder.path().c_str());
        }
        return refusal(error);
    };
    if (const Result<void> made = makeFolders(folder.path()); !made)
        return refuse(made.error());
    Result<std::optional<RunLock>> lock = RunLock::tryTake(folder);
    if (!lock)
        return refuse(lock.error());
    if (!lock.value()) {
        Answer answer{{"answer", "already"}};
        if (const pid_t pid = RunLock::holder(folder); pid > 0)
            answer["pid"] = pid;
        return answer;
    }
    if (std::optional<Answer> answer = answerOfEarlierStart(folder))
        return *std::move(answer);
    if (const Result<void> written = writeFileAtomically(folder.experiment(), request.experiment);
        !written)
        return refuse(written.error());
    const Result<void> launched = launch(folder, request, *std::move(lock.value()));
    if (!launched)
        return refuse(launched.error());
    return {{"answer", "started"}, {"pid", RunLock::holder(folder)}};
}

} // namespace

VerbExit startVerb(const std::string& root, const StartRequest& request) {
    Answer answer;
    if (const Result<void> checked = checkExperiment(request.experiment); !checked)
        answer = refusal(checked.error());
    else if (const Result<AgentRoot> opened = AgentRoot::create(root); !opened)
        answer = refusal(opened.error());
    else
        answer = start(opened.value(), request);
    print(answer);
    return answer["answer"] == "refused" ? VerbExit::Refused : VerbExit::Ok;
}

} // namespace trainyard::engine
