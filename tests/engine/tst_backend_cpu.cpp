// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What the CPU backend promises beyond the op table: choices of forms that last, one stable
// workspace, no allocation while kernels run, equal bits from run to run and for any number of
// threads where own loops compute, and refusal of requests that make no sense.
#include "engine/backend/cpu/cpu_backend.h"
#include "engine/base/check.h"
#include "tests/engine/allocation_counter.h"
#include "tests/engine/operation_cases.h"

#include <QTemporaryDir>
#include <QTest>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

using namespace trainyard;
using namespace trainyard::test;
using engine::cpu::FormChooser;
using engine::cpu::RememberingChooser;

namespace {

/// Takes a form by number and notes the names there were.
class NotingChooser : public FormChooser {
public:
    NotingChooser(std::size_t n, std::vector<std::string>* chosen) : m_n(n), m_chosen(chosen) {}
    std::size_t choose(const std::string&, const std::vector<std::string>& names,
                       const std::function<std::size_t()>&) override {
        const std::size_t index = std::min(m_n, names.size() - 1);
        if (m_chosen)
            m_chosen->push_back(names[index]);
        return index;
    }

private:
    std::size_t m_n;
    std::vector<std::string>* m_chosen;
};

/// Always has the forms timed.
class TimingChooser : public FormChooser {
public:
    std::size_t choose(const std::string&, const std::vector<std::string>& names,
                       const std::function<std::size_t()>& fastest) override {
        const std::size_t index = fastest();
        TRAINYARD_CHECK(index < names.size());
        return index;
    }
};

std::unique_ptr<engine::Backend> cpuBackend(int threads, std::size_t form = 0,
                                            std::vector<std::string>* chosen = nullptr) {
    return engine::makeCpuBackend(threads, std::make_unique<NotingChooser>(form, chosen));
}

OperationCase convolution(std::int64_t rows, std::int64_t in, std::int64_t out,
                          std::int64_t extent) {
    return {.name = "convolution",
            .kind = graph::OperationKind::Conv2d,
            .attributes = graph::Conv2dAttributes{in, out, 3, 3, 1, 1, 1, 1, true},
            .rows = rows,
            .input = {in, extent, extent},
            .inputLayout = in >= 16 ? Layout::Blocked16 : Layout::Plain,
            .outputLayout = Layout::Blocked16};
}

OperationCase linear(std::int64_t rows, std::int64_t in, std::int64_t out) {
    return {.name = "linear",
            .kind = graph::OperationKind::Linear,
            .attributes = graph::LinearAttributes{in, out, true},
            .rows = rows,
            .input = {in}};
}

/// Larger than the op table's, so that several threads share the work.
std::vector<OperationCase> largeOwnLoops() {
    using graph::OperationKind;
    const Shape picture = {40, 30, 30};
    const auto blocked = Layout::Blocked16;
    return {{.name = "relu",
             .kind = OperationKind::Relu,
             .rows = 8,
             .input = picture,
             .inputLayout = blocked,
             .outputLayout = blocked},
            {.name = "pool",
             .kind = OperationKind::MaxPool,
             .attributes = graph::PoolAttributes{3, 3, 2, 2, 1, 1},
             .rows = 8,
             .input = picture,
             .inputLayout = blocked,
             .outputLayout = blocked},
            {.name = "dropout",
             .kind = OperationKind::Dropout,
             .attributes = graph::DropoutAttributes{0.4, 1},
             .rows = 8,
             .input = picture,
             .inputLayout = blocked,
             .outputLayout = blocked},
            {.name = "flatten",
             .kind = OperationKind::Reshape,
             .attributes = graph::ReshapeAttributes{{elementCount(picture)}},
             .rows = 8,
             .input = picture,
             .inputLayout = blocked},
            {.name = "loss",
             .kind = OperationKind::SoftmaxCrossEntropy,
             .attributes = graph::CrossEntropyAttributes{},
             .rows = 300,
             .input = {200}}};
}

std::string fileText(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

constexpr std::size_t kSmall = 1024; ///< bytes: what oneDNN's own call allocates for its arguments

} // namespace

class TestBackendCpu : public QObject {
    Q_OBJECT

private slots:
    void choicesLast();
    void aTornOrStrangeFileIsPutUpWith();
    void whereNothingCanBeWrittenNothingIsTimed();
    void processesAtTheSameTimeChooseAlike();
    void timedChoicesGiveTheSameBitsInEveryRun();
    void timingLeavesTheRequestAlone();
    void kernelsMadeBeforeTheWorkspaceGrewStillRun();
    void scratchIsSharedNotSummed();
    void ownLoopsDoNotDependOnThreads();
    void allocationsAreSeen();
    void kernelsDoNotAllocate_data();
    void kernelsDoNotAllocate();
    void senselessRequestsAreRefused();
    void onlyTheOwnThreadMakesKernels();
};

void TestBackendCpu::choicesLast() {
    const QTemporaryDir dir;
    const std::filesystem::path file =
        std::filesystem::path(dir.path().toStdString()) / "sub" / "choices.txt";
    const std::vector<std::string> names = {"a", "b", "c"};
    int timed = 0;
    const auto fastest = [&] {
        ++timed;
        return std::size_t{2};
    };
    RememberingChooser first(file, "machine 1");
    QCOMPARE(first.choose("x", names, fastest), std::size_t{2});
    QCOMPARE(first.choose("x", names, fastest), std::size_t{2});
    QCOMPARE(timed, 1);
    RememberingChooser second(file, "machine 1");
    QCOMPARE(second.choose("x", names, fastest), std::size_t{2});
    QCOMPARE(timed, 1);
    // Another machine (the same home on a network), another key.
    RememberingChooser other(file, "machine 2");
    QCOMPARE(other.choose("x", names, [] { return std::size_t{1}; }), std::size_t{1});
    QCOMPARE(second.choose("y", names, fastest), std::size_t{2});
    QCOMPARE(timed, 2);
    // A form that is gone: the first, and again without timing.
    QCOMPARE(second.choose("x", {"a", "b"}, fastest), std::size_t{0});
    // Only one form: nothing to choose.
    QCOMPARE(second.choose("z", {"a"}, fastest), std::size_t{0});
    QCOMPARE(timed, 2);
}

void TestBackendCpu::aTornOrStrangeFileIsPutUpWith() {
    const QTemporaryDir dir;
    const std::filesystem::path file =
        std::filesystem::path(dir.path().toStdString()) / "choices.txt";
    std::ofstream(file, std::ios::binary)
        << "m\tx\tb\nnonsense\n\n\tm\t\nm\tx\tc\n"
        << "m\tw\tc"; // torn: the line break is missing, so the name may be, too
    RememberingChooser chooser(file, "m");
    const std::vector<std::string> names = {"a", "b", "c"};
    QCOMPARE(chooser.choose("x", names, [] { return std::size_t{0}; }), std::size_t{1});
    QCOMPARE(chooser.choose("w", names, [] { return std::size_t{1}; }), std::size_t{1});
    RememberingChooser again(file, "m");
    QCOMPARE(again.choose("w", names, [] { return std::size_t{0}; }),
             std::size_t{2}); // the torn line was ended, and the first line counts
    QVERIFY(fileText(file).ends_with("m\tw\tb\n"));
}

void TestBackendCpu::whereNothingCanBeWrittenNothingIsTimed() {
    const QTemporaryDir dir;
    // A folder where the file should be cannot be opened for writing, not even by root.
    RememberingChooser blocked(dir.path().toStdString(), "m");
    RememberingChooser without({}, "m");
    for (RememberingChooser* chooser : {&blocked, &without})
        QCOMPARE(chooser->choose("x", {"a", "b"},
                                 []() -> std::size_t { throw std::logic_error("timed"); }),
                 std::size_t{0});
}

void TestBackendCpu::processesAtTheSameTimeChooseAlike() {
    const QTemporaryDir dir;
    const std::filesystem::path file =
        std::filesystem::path(dir.path().toStdString()) / "choices.txt";
    const std::vector<std::string> names = {"a", "b", "c", "d"};
    constexpr int kProcesses = 4, kKeys = 20;
    std::vector<std::vector<std::size_t>> choices(kProcesses);
    std::atomic<int> timed{0};
    std::vector<std::thread> processes;
    for (std::size_t p = 0; p < kProcesses; ++p)
        processes.emplace_back([&, p] {
            RememberingChooser chooser(file, "m");
            for (int key = 0; key < kKeys; ++key)
                choices[p].push_back(chooser.choose("key " + std::to_string(key), names, [&] {
                    ++timed;
                    return p; // each would choose differently
                }));
        });
    for (std::thread& process : processes)
        process.join();
    QCOMPARE(timed.load(), kKeys);
    for (std::size_t p = 1; p < kProcesses; ++p)
        QVERIFY(choices[p] == choices[0]);
}

void TestBackendCpu::timedChoicesGiveTheSameBitsInEveryRun() {
    const QTemporaryDir dir;
    const std::filesystem::path file =
        std::filesystem::path(dir.path().toStdString()) / "choices.txt";
    for (const OperationCase& c : {linear(96, 300, 120), convolution(8, 32, 32, 12)}) {
        const OperationValues values = randomValues(c);
        OperationResults first;
        for (int run = 0; run < 3; ++run) {
            const auto backend = engine::makeCpuBackend(
                2, std::make_unique<RememberingChooser>(file, engine::cpu::describeMachine()));
            const OperationResults results = evaluate(*backend, DType::Fp32, c, values);
            if (run == 0)
                first = results;
            QVERIFY(results == first);
        }
    }
    // Linear: forward, weight gradient, input gradient; convolution: its three parts.
    const std::string text = fileText(file);
    QCOMPARE(std::count(text.begin(), text.end(), '\n'), std::ptrdiff_t{6});
    QVERIFY(text.find("linear forward 96x300x120 with bias\t") != std::string::npos);
}

void TestBackendCpu::timingLeavesTheRequestAlone() {
    for (const OperationCase& c : {linear(12, 40, 30), convolution(4, 16, 16, 9)}) {
        const OperationValues values = randomValues(c);
        const auto backend = cpuBackend(1);
        OperationBench bench(*backend, DType::Fp32, c, values, {.addToGradients = true});
        bench.run();
        const OperationResults before = bench.results();
        const auto timing = engine::makeCpuBackend(1, std::make_unique<TimingChooser>());
        bench.compile(*timing);
        QVERIFY(bench.results() == before);
    }
}

void TestBackendCpu::kernelsMadeBeforeTheWorkspaceGrewStillRun() {
    const auto backend = cpuBackend(2);
    const OperationCase small = convolution(2, 16, 16, 8);
    const OperationCase large = convolution(16, 64, 64, 16);
    const OperationValues smallValues = randomValues(small), largeValues = randomValues(large);
    OperationBench first(*backend, DType::Fp32, small, smallValues);
    first.run();
    const OperationResults alone = first.results();
    const std::size_t before = backend->workspaceBytes();
    OperationBench second(*backend, DType::Fp32, large, largeValues);
    QVERIFY(backend->workspaceBytes() > before);
    const std::size_t after = backend->workspaceBytes();
    second.run();
    first.run();
    QVERIFY(first.results() == alone);
    second.run();
    QVERIFY(second.results() == evaluate(*cpuBackend(2), DType::Fp32, large, largeValues));
    QCOMPARE(backend->workspaceBytes(), after);
}

void TestBackendCpu::scratchIsSharedNotSummed() {
    const OperationCase c = convolution(8, 32, 64, 14);
    const OperationValues values = randomValues(c);
    const auto backend = cpuBackend(1);
    const OperationBench one(*backend, DType::Fp32, c, values);
    const std::size_t bytes = backend->workspaceBytes();
    QVERIFY(bytes > 0);
    std::vector<std::unique_ptr<OperationBench>> more;
    for (int i = 0; i < 5; ++i)
        more.push_back(std::make_unique<OperationBench>(*backend, DType::Fp32, c, values));
    QCOMPARE(backend->workspaceBytes(), bytes);
}

void TestBackendCpu::ownLoopsDoNotDependOnThreads() {
    for (const OperationCase& c : largeOwnLoops()) {
        const OperationValues values = randomValues(c);
        OperationResults one, two;
        {
            const auto backend = cpuBackend(1);
            one = evaluate(*backend, DType::Fp32, c, values);
        }
        {
            const auto backend = cpuBackend(2);
            two = evaluate(*backend, DType::Fp32, c, values);
        }
        QVERIFY2(one == two, c.name.c_str());
    }
    // The bias gradient, the one own sum in a layer with parameters.
    const OperationCase c = linear(512, 64, 300);
    const OperationValues values = randomValues(c);
    const auto bias = [&](int threads) {
        return evaluate(*cpuBackend(threads), DType::Fp32, c, values).parameterGradients[1];
    };
    QVERIFY(bias(1) == bias(2));
}

/// The counter must see the allocations of this program and of oneDNN's library.
void TestBackendCpu::allocationsAreSeen() {
    if (!canCountAllocations())
        QSKIP("the sanitizer has its own malloc");
    startCountingAllocations();
    const std::vector<char> own(12345);
    const Allocations mine = stopCountingAllocations();
    QVERIFY(mine.count >= 1 && mine.largest >= own.size());
    // oneDNN copies the list of arguments in every call.
    const OperationCase c = linear(8, 16, 16);
    const OperationValues values = randomValues(c);
    const auto backend = cpuBackend(1);
    OperationBench bench(*backend, DType::Fp32, c, values);
    bench.run();
    startCountingAllocations();
    bench.runKernels();
    QVERIFY(stopCountingAllocations().count > 0);
}

void TestBackendCpu::kernelsDoNotAllocate_data() {
    if (!canCountAllocations())
        QSKIP("the sanitizer has its own malloc");
    QTest::addColumn<int>("caseIndex");
    QTest::addColumn<int>("form");
    for (std::size_t i = 0; i < operationCases().size(); ++i) {
        const OperationCase& c = operationCases()[i];
        for (int form = 0; form < (c.hasForms() ? 6 : 1); ++form)
            QTest::addRow("%s %zu form %d", c.name.c_str(), i, form + 1)
                << static_cast<int>(i) << form;
    }
}

/// Own loops allocate nothing. oneDNN's call copies its list of arguments every time; its BLAS
/// packs matrices into memory of its own, which the plain convolutions use inside.
void TestBackendCpu::kernelsDoNotAllocate() {
    QFETCH(int, caseIndex);
    QFETCH(int, form);
    const OperationCase& c = operationCases()[static_cast<std::size_t>(caseIndex)];
    const OperationValues values = randomValues(c);
    std::vector<std::string> forms;
    const auto backend = cpuBackend(1, static_cast<std::size_t>(form), &forms);
    OperationBench bench(*backend, DType::Fp32, c, values);
    bench.run(); // binds the scratch, starts the team
    startCountingAllocations();
    bench.runKernels();
    const Allocations seen = stopCountingAllocations();
    const auto anyForm = [&](const char* part) {
        return std::any_of(forms.begin(), forms.end(), [part](const std::string& name) {
            return name.find(part) != std::string::npos;
        });
    };
    if (c.kind == graph::OperationKind::Attention)
        return; // its products are calls of that BLAS
    const bool blocked = c.inputLayout == Layout::Blocked16 && c.outputLayout == Layout::Blocked16;
    if (forms.empty())
        QCOMPARE(seen.count, std::size_t{0});
    else if (c.kind == graph::OperationKind::Linear ? !anyForm("sgemm")
                                                    : blocked && !anyForm("plain"))
        QVERIFY2(seen.largest <= kSmall, qPrintable(QString::number(seen.largest)));
}

void TestBackendCpu::senselessRequestsAreRefused() {
    const auto backend = cpuBackend(1);
    float memory[64] = {};
    engine::KernelRequest relu;
    relu.kind = graph::OperationKind::Relu;
    relu.rows = 2;
    relu.inputs = {{memory, {8}, Layout::Plain}};
    relu.outputs = {{memory + 16, {8}, Layout::Plain}};
    QVERIFY(backend->compile(relu) != nullptr);

    engine::KernelRequest wrong = relu;
    wrong.type = DType::Fp64;
    QVERIFY_EXCEPTION_THROWN(backend->compile(wrong), BrokenInvariant);
    wrong = relu;
    wrong.outputs[0].shape = {9};
    QVERIFY_EXCEPTION_THROWN(backend->compile(wrong), BrokenInvariant);
    wrong = relu;
    wrong.inputs[0].data = nullptr;
    QVERIFY_EXCEPTION_THROWN(backend->compile(wrong), BrokenInvariant);
    wrong = relu;
    wrong.kind = graph::OperationKind::Linear;
    wrong.attributes = graph::LinearAttributes{8, 8, false};
    QVERIFY_EXCEPTION_THROWN(backend->compile(wrong), BrokenInvariant);
    // A blocked picture cannot become plain where it lies.
    wrong = relu;
    wrong.kind = graph::OperationKind::Reshape;
    wrong.attributes = graph::ReshapeAttributes{{32}};
    wrong.rows = 1;
    wrong.inputs = {{memory, {16, 1, 2}, Layout::Blocked16}};
    wrong.outputs = {{memory, {32}, Layout::Plain}};
    QVERIFY_EXCEPTION_THROWN(backend->compile(wrong), BrokenInvariant);

    const std::int32_t labels[2] = {1, 9};
    double sums[engine::kLossSums] = {};
    engine::KernelRequest loss = relu;
    loss.kind = graph::OperationKind::SoftmaxCrossEntropy;
    loss.attributes = graph::CrossEntropyAttributes{};
    loss.outputs.clear();
    loss.labels = labels;
    loss.lossSums = sums;
    const auto kernel = backend->compile(loss);
    QVERIFY_EXCEPTION_THROWN(kernel->run({}), BrokenInvariant);
}

void TestBackendCpu::onlyTheOwnThreadMakesKernels() {
    const auto backend = cpuBackend(1);
    bool refused = false;
    std::thread([&] {
        try {
            static_cast<void>(backend->compile({}));
        } catch (const BrokenInvariant&) {
            refused = true;
        }
    }).join();
    QVERIFY(refused);
}

QTEST_APPLESS_MAIN(TestBackendCpu)
#include "tst_backend_cpu.moc"
