// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Another program that uses the store, for tests with several processes.
//   store_process open FOLDER                       opens the store and leaves
//   store_process write FOLDER UID SEED STEPS       stores the synthetic journal as run UID, going
//   on
//                                                   where it was left; "committed N" after each
//                                                   piece
#include "tests/app/store_support.h"

#include <QCoreApplication>

#include <cstdio>

using namespace trainyard;
using namespace trainyard::app;

namespace {

int fail(const Error& error) {
    std::fprintf(stderr, "%s\n", error.sentence().c_str());
    return 1;
}

Result<RunId> findOrCreate(RunStore& store, const QString& uid) {
    const auto known = store.reader().runByUid(uid);
    if (!known)
        return known.error();
    if (known->has_value())
        return (*known)->id;
    const Result<RunRecord> made = store.createRun(test::newRun(u"run"_qs, uid));
    if (!made)
        return made.error();
    return made->id;
}

int write(RunStore& store, const QString& uid, unsigned seed, std::int64_t steps) {
    const Result<RunId> run = findOrCreate(store, uid);
    if (!run)
        return fail(run.error());
    const JournalKey journal{*run, u"node-a"_qs};
    const auto position = store.reader().position(*run, journal.node);
    if (!position)
        return fail(position.error());
    const test::JournalBuilder source = test::syntheticJournal(seed, steps);
    constexpr std::size_t kPiece = 40;
    for (std::size_t at = position->sequence; at < source.frames().size(); at += kPiece) {
        store.ingest(journal, source.slice(at, at + kPiece));
        if (const Result<void> done = store.flush().get(); !done)
            return fail(done.error());
        std::printf("committed %zu\n", at + kPiece);
        std::fflush(stdout);
    }
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    const QCoreApplication application(argc, argv);
    const QStringList arguments = QCoreApplication::arguments();
    if (arguments.size() < 3)
        return 2;
    Result<std::unique_ptr<RunStore>> store = RunStore::open(arguments[2]);
    if (!store)
        return fail(store.error());
    if (arguments[1] == u"open")
        return 0;
    if (arguments[1] == u"write" && arguments.size() == 6)
        return write(**store, arguments[3], arguments[4].toUInt(), arguments[5].toLongLong());
    return 2;
}
