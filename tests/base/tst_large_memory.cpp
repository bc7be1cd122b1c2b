// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/base/large_memory.h"

#include <QTest>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>

using namespace trainyard;

namespace {

/// The kernel's note about the mapping that `address` lies in: "hg" stands for a wish for huge
/// pages (proc(5), VmFlags).
bool wishesHugePages(const void* address) {
    std::ifstream maps("/proc/self/smaps");
    bool inside = false;
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t first = 0, end = 0;
        if (std::sscanf(line.c_str(), "%lx-%lx ", &first, &end) == 2 && line.find(' ') < 40)
            inside = reinterpret_cast<std::uintptr_t>(address) >= first &&
                     reinterpret_cast<std::uintptr_t>(address) < end;
        if (inside && line.starts_with("VmFlags:"))
            return line.find(" hg") != std::string::npos;
    }
    return false;
}

bool kernelHasHugePages() {
    return std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled").good();
}

} // namespace

class TestLargeMemory : public QObject {
    Q_OBJECT

private slots:
    void blocksAreAlignedAndWritable() {
        for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{100},
                                        kLargePage - 1, kLargePage, 3 * kLargePage + 5}) {
            const LargeMemory memory = takeLargeMemory(bytes);
            QVERIFY(memory);
            const auto address = reinterpret_cast<std::uintptr_t>(memory.get());
            QCOMPARE(address % (bytes < kLargePage ? 64 : kLargePage), std::uintptr_t{0});
            std::memset(memory.get(), 1, bytes);
        }
    }

    void largeBlocksAskForHugePages() {
        if (!kernelHasHugePages())
            QSKIP("this kernel has no transparent huge pages");
        const LargeMemory large = takeLargeMemory(4 * kLargePage);
        QVERIFY(wishesHugePages(large.get()));
        const LargeMemory small = takeLargeMemory(4096);
        QVERIFY(!wishesHugePages(small.get()));
    }

    void whatCannotBeHadIsNull() {
        QVERIFY(!takeLargeMemory(std::numeric_limits<std::size_t>::max() - 3));
        QVERIFY(!takeLargeMemory(std::size_t{1} << 62));
    }
};

QTEST_APPLESS_MAIN(TestLargeMemory)
#include "tst_large_memory.moc"
