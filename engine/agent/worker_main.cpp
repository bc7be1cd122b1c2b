// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/agent/worker_main.h"

#include "engine/agent/host_facts.h"
#include "engine/agent/verbs.h"
#include "engine/base/number_text.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <unistd.h>

namespace trainyard::engine {
namespace {

constexpr std::size_t kMaxExperimentBytes = 64u << 20;
constexpr int kMaxRanks = 1024;
constexpr std::size_t kMaxBucketBytes = std::size_t{1} << 30;
constexpr double kDefaultGraceSeconds = 10;

constexpr const char* kHelp =
    "trainyard-worker VERB [--root DIR] ...\n"
    "\n"
    "  probe                                    what this node has, as JSON\n"
    "  start  --run ID --ranks N --threads T [--bucket-bytes B]\n"
    "                                           start a run; the experiment comes on stdin\n"
    "  attach --run ID --from OFFSET [--nonce X] [--once]\n"
    "                                           the run's journal as a stream\n"
    "  stop   --run ID [--grace SECONDS]        end a run\n"
    "  trace  --run ID [--out FILE]             what its ranks did, as a Chrome trace\n"
    "  sweep                                    end what killed runs left behind\n"
    "  remove --run ID                          delete an ended run\n"
    "  calibrate [--kept | --refresh]           how fast this machine is, as JSON: kept from the\n"
    "                                           last time, else measured, which takes some\n"
    "                                           seconds; --kept: never measured, --refresh: "
    "always\n"
    "  version                                  the version of this program\n"
    "\n"
    "Runs lie in DIR, else in $TRAINYARD_ROOT, else in ~/.trainyard.\n";

int exitCode(VerbExit exit) {
    return static_cast<int>(exit);
}

/// "--name value" pairs and "--name" switches; every one must be known and asked for.
class Options {
public:
    static Result<Options> parse(const std::vector<std::string>& arguments,
                                 const std::vector<std::string>& withValue,
                                 const std::vector<std::string>& switches = {});

    bool has(const std::string& name) const { return m_values.count(name) > 0; }
    std::string text(const std::string& name, const std::string& absent = "") const {
        const auto found = m_values.find(name);
        return found == m_values.end() ? absent : found->second;
    }
    template <class Number>
    Result<Number> number(const std::string& name, Number least, Number most,
                          std::optional<Number> absent = std::nullopt) const;

private:
    std::map<std::string, std::string> m_values;
};

Result<Options> Options::parse(const std::vector<std::string>& arguments,
                               const std::vector<std::string>& withValue,
                               const std::vector<std::string>& switches) {
    const auto contains = [](const std::vector<std::string>& names, const std::string& name) {
        return std::find(names.begin(), names.end(), name) != names.end();
    };
    Options options;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& name = arguments[i];
        if (contains(switches, name)) {
            options.m_values[name] = "";
        } else if (!contains(withValue, name)) {
            return Error(Message("There is no option %1 here.", {name}));
        } else if (i + 1 == arguments.size()) {
            return Error(Message("The option %1 needs a value.", {name}));
        } else {
            options.m_values[name] = arguments[++i];
        }
    }
    return options;
}

template <class Number>
Result<Number> Options::number(const std::string& name, Number least, Number most,
                               std::optional<Number> absent) const {
    if (!has(name) && absent)
        return *absent;
    const std::string value = text(name);
    Number result{};
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), result);
    if (parsed.ec != std::errc() || parsed.ptr != value.data() + value.size() ||
        !(result >= least && result <= most))
        return Error(Message("The option %1 is '%2'; it must be a number from %3 to %4.",
                             {name, value, shortest(static_cast<double>(least)),
                              shortest(static_cast<double>(most))}));
    return result;
}

Result<std::string> runOf(const Options& options) {
    const std::string run = options.text("--run");
    if (!isRunId(run))
        return Error(Message("'%1' is no run id.", {run}), {},
                     Message("Run ids have 1 to 64 of the characters A-Z a-z 0-9 . _ - and do not "
                             "start with '.' or '-'. Name the run with --run."));
    return run;
}

Result<std::string> rootOf(const Options& options) {
    if (options.has("--root"))
        return options.text("--root");
    return AgentRoot::defaultPath();
}

/// 0 where it is not given.
Result<std::size_t> bucketBytesOf(const Options& options) {
    return options.number<std::size_t>("--bucket-bytes", 0, kMaxBucketBytes, 0);
}

using VerbResult = Result<VerbExit>;
using Arguments = std::vector<std::string>;

VerbResult start(const Arguments& arguments, const WorkerHooks& hooks) {
    const auto options =
        Options::parse(arguments, {"--root", "--run", "--ranks", "--threads", "--bucket-bytes"});
    if (!options)
        return options.error();
    const Result<std::string> root = rootOf(*options);
    const Result<std::string> run = runOf(*options);
    const Result<int> ranks = options->number("--ranks", 1, kMaxRanks);
    const Result<int> threads = options->number("--threads", 1, kMaxRanks);
    const Result<std::size_t> bucketBytes = bucketBytesOf(*options);
    if (!root)
        return root.error();
    if (!run)
        return run.error();
    if (!ranks)
        return ranks.error();
    if (!threads)
        return threads.error();
    if (!bucketBytes)
        return bucketBytes.error();
    StartRequest request{*run,
                         *ranks,
                         *threads,
                         readAll(STDIN_FILENO, kMaxExperimentBytes),
                         {"/proc/self/exe", "rank"},
                         hooks.timing,
                         *bucketBytes};
    if (request.experiment.size() > kMaxExperimentBytes)
        return Error(Message("The experiment on the standard input is larger than 64 MiB."));
    return startVerb(*root, request);
}

VerbResult attach(const Arguments& arguments) {
    const auto options =
        Options::parse(arguments, {"--root", "--run", "--from", "--nonce"}, {"--once"});
    if (!options)
        return options.error();
    const Result<std::string> root = rootOf(*options);
    const Result<std::string> run = runOf(*options);
    const auto from = options->number<std::uint64_t>("--from", 0, std::uint64_t{1} << 62, 0);
    if (!root)
        return root.error();
    if (!run)
        return run.error();
    if (!from)
        return from.error();
    return attachVerb(*root, {*run, *from, options->text("--nonce"), options->has("--once")});
}

VerbResult stop(const Arguments& arguments) {
    const auto options = Options::parse(arguments, {"--root", "--run", "--grace"});
    if (!options)
        return options.error();
    const Result<std::string> root = rootOf(*options);
    const Result<std::string> run = runOf(*options);
    const auto grace = options->number<double>("--grace", 0, 86400, kDefaultGraceSeconds);
    if (!root)
        return root.error();
    if (!run)
        return run.error();
    if (!grace)
        return grace.error();
    return stopVerb(*root, *run, *grace);
}

VerbResult remove(const Arguments& arguments) {
    const auto options = Options::parse(arguments, {"--root", "--run"});
    if (!options)
        return options.error();
    const Result<std::string> root = rootOf(*options);
    const Result<std::string> run = runOf(*options);
    if (!root)
        return root.error();
    if (!run)
        return run.error();
    return removeVerb(*root, *run);
}

VerbResult trace(const Arguments& arguments) {
    const auto options = Options::parse(arguments, {"--root", "--run", "--out"});
    if (!options)
        return options.error();
    const Result<std::string> root = rootOf(*options);
    const Result<std::string> run = runOf(*options);
    if (!root)
        return root.error();
    if (!run)
        return run.error();
    return traceVerb(*root, *run, options->text("--out"));
}

VerbResult onRoot(const Arguments& arguments, VerbExit (*verb)(const std::string&)) {
    const auto options = Options::parse(arguments, {"--root"});
    if (!options)
        return options.error();
    const Result<std::string> root = rootOf(*options);
    if (!root)
        return root.error();
    return verb(*root);
}

Result<RankArguments> rankArguments(const Arguments& arguments) {
    const auto options = Options::parse(
        arguments, {"--run-folder", "--rank", "--world-size", "--threads", "--bucket-bytes"});
    if (!options)
        return options.error();
    const Result<int> worldSize = options->number("--world-size", 1, kMaxRanks);
    const Result<int> rank = options->number("--rank", 0, kMaxRanks - 1);
    const Result<int> threads = options->number("--threads", 1, kMaxRanks);
    for (const Result<int>* number : {&worldSize, &rank, &threads})
        if (!*number)
            return number->error();
    const Result<std::size_t> bucketBytes = bucketBytesOf(*options);
    if (!bucketBytes)
        return bucketBytes.error();
    return RankArguments{options->text("--run-folder"), *rank, *worldSize, *threads, *bucketBytes};
}

int fail(const Error& error) {
    (void)writeAll(STDERR_FILENO, "trainyard-worker: " + error.sentence() + "\n");
    return exitCode(VerbExit::Usage);
}

VerbResult runVerb(const std::string& verb, const Arguments& arguments, const WorkerHooks& hooks) {
    if (verb == "probe")
        return onRoot(arguments, probeVerb);
    if (verb == "sweep")
        return onRoot(arguments, sweepVerb);
    if (verb == "start")
        return start(arguments, hooks);
    if (verb == "attach")
        return attach(arguments);
    if (verb == "stop")
        return stop(arguments);
    if (verb == "trace")
        return trace(arguments);
    if (verb == "remove")
        return remove(arguments);
    return Error(Message("There is no verb %1.", {verb}), {},
                 Message("See trainyard-worker --help."));
}

} // namespace

int workerMain(const std::vector<std::string>& arguments, const WorkerHooks& hooks) {
    const std::string verb = arguments.empty() ? "" : arguments.front();
    if (verb.empty() || verb == "--help" || verb == "help") {
        (void)writeAll(verb.empty() ? STDERR_FILENO : STDOUT_FILENO, kHelp);
        return exitCode(verb.empty() ? VerbExit::Usage : VerbExit::Ok);
    }
    if (verb == "version" || verb == "--version") {
        (void)writeAll(STDOUT_FILENO, engineVersion() + "\n");
        return exitCode(VerbExit::Ok);
    }
    const Arguments rest(arguments.begin() + 1, arguments.end());
    if (verb == "rank" && hooks.rank) {
        const Result<RankArguments> parsed = rankArguments(rest);
        return parsed ? hooks.rank(*parsed) : fail(parsed.error());
    }
    if (verb == "inspect" && hooks.inspect)
        return hooks.inspect(rest);
    if (verb == "predict" && hooks.predict)
        return hooks.predict(rest);
    if (verb == "calibrate" && hooks.calibrate)
        return hooks.calibrate(rest);
    const VerbResult result = runVerb(verb, rest, hooks);
    return result ? exitCode(*result) : fail(result.error());
}

} // namespace trainyard::engine
