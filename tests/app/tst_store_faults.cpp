// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The store among other programs, on full and read-only disks, and after sudden ends.
#include "app/store/run_store.h"
#include "app/store/sqlite.h"
#include "app/store/store_files.h"
#include "tests/app/store_support.h"

#include <QCryptographicHash>
#include <QDir>
#include <QFile>
#include <QProcess>
#include <QRandomGenerator>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include <csignal>
#include <sys/mount.h>
#include <unistd.h>

using namespace trainyard;
using namespace trainyard::app;
using namespace trainyard::test;

namespace {

const QString kNode = u"node-a"_qs;

QString helper() {
    return QCoreApplication::applicationDirPath() + u"/store_process";
}

std::unique_ptr<QProcess> startHelper(const QStringList& arguments) {
    auto process = std::make_unique<QProcess>();
    process->setProcessChannelMode(QProcess::SeparateChannels);
    process->start(helper(), arguments);
    return process;
}

std::unique_ptr<RunStore> openStore(const QString& folder, RunStore::Options options = {}) {
    return std::move(RunStore::open(folder, options)).value();
}

QByteArray hashOf(const QString& path) {
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        return "missing";
    return QCryptographicHash::hash(file.readAll(), QCryptographicHash::Sha256);
}

std::string sentenceOf(const QString& folder) {
    const auto opened = RunStore::open(folder);
    return opened ? "opened" : opened.error().sentence();
}

bool says(const std::string& sentence, const char* part) {
    return sentence.find(part) != std::string::npos;
}

/// A small file system of its own; only root may make one.
class SmallDisk {
public:
    explicit SmallDisk(const char* size) {
        m_mounted = ::geteuid() == 0 && ::mount("tmpfs", path(), "tmpfs", 0, option(size)) == 0;
    }
    ~SmallDisk() {
        if (m_mounted)
            ::umount2(path(), MNT_DETACH);
    }
    bool mounted() const { return m_mounted; }
    QString folder() const { return m_folder.path() + u"/store"; }
    bool resize(const char* size) {
        return ::mount("tmpfs", path(), "tmpfs", MS_REMOUNT, option(size)) == 0;
    }
    bool makeReadOnly() {
        return ::mount("tmpfs", path(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr) == 0;
    }

private:
    const char* path() {
        m_path = QFile::encodeName(m_folder.path());
        return m_path.constData();
    }
    const char* option(const char* size) {
        m_option = QByteArray("size=") + size;
        return m_option.constData();
    }
    QTemporaryDir m_folder;
    QByteArray m_path;
    QByteArray m_option;
    bool m_mounted = false;
};

} // namespace

class StoreFaultsTest : public QObject {
    Q_OBJECT
private slots:
    void twoProgramsMakeOneStore();
    void eightWritersAndAReader();
    void killedWriterLosesNothing();
    void newerStoreIsRefusedUnchanged_data();
    void newerStoreIsRefusedUnchanged();
    void foreignFilesAreRefusedUnchanged();
    void damageIsSaid();
    void folderThatCannotBe();
    void readOnlyDiskCanBeViewed();
    void readOnlyDiskAfterSuddenEndCanBeViewed();
    void fullDiskIsSaidOnceAndHeals();
    void fullDiskAtCloseKeepsWhatWasCommitted();
    void heldStoreIsWaitedFor();
    void networkFileSystemsAreKnown();
};

void StoreFaultsTest::twoProgramsMakeOneStore() {
    for (int round = 0; round < 20; ++round) {
        const QTemporaryDir parent;
        const QString folder = parent.filePath(u"a/store"_qs);
        const auto first = startHelper({u"open"_qs, folder});
        const auto second = startHelper({u"open"_qs, folder});
        for (QProcess* process : {first.get(), second.get()}) {
            QVERIFY(process->waitForFinished(30000));
            QCOMPARE(process->readAllStandardError(), QByteArray());
            QCOMPARE(process->exitCode(), 0);
        }
        QCOMPARE(integrityOf(folder), u"ok"_qs);
        Connection catalog(catalogFile(folder), Connection::Mode::ReadOnly);
        QCOMPARE(catalog.integer("PRAGMA user_version"), 2);
        QCOMPARE(catalog.integer("SELECT count(*) FROM store"), 1);
    }
}

void StoreFaultsTest::eightWritersAndAReader() {
    const QTemporaryDir folder;
    const auto store = openStore(folder.path());
    constexpr int kWriters = 8;
    constexpr int kSteps = 800;
    std::vector<std::unique_ptr<QProcess>> writers;
    for (int i = 0; i < kWriters; ++i)
        writers.push_back(startHelper({u"write"_qs, folder.path(), QStringLiteral("uid-%1").arg(i),
                                       QString::number(i), QString::number(kSteps)}));
    bool running = true;
    std::size_t looks = 0;
    while (running) { // the history and the live curves, while all write
        running = false;
        for (const auto& writer : writers) {
            writer->waitForFinished(1);
            running = running || writer->state() != QProcess::NotRunning;
        }
        const auto runs = store->reader().runs();
        QVERIFY2(runs.ok(), runs ? "" : runs.error().sentence().c_str());
        for (const RunRecord& run : *runs) {
            const auto points = store->reader().points(run.id, u"train_loss"_qs);
            QVERIFY2(points.ok(), points ? "" : points.error().sentence().c_str());
        }
        ++looks;
    }
    QVERIFY(looks > 1);
    for (int i = 0; i < kWriters; ++i) {
        QCOMPARE(writers[static_cast<std::size_t>(i)]->readAllStandardError(), QByteArray());
        QCOMPARE(writers[static_cast<std::size_t>(i)]->exitCode(), 0);
        const QTemporaryDir reference;
        const auto plain = openStore(reference.path());
        const QString uid = QStringLiteral("uid-%1").arg(i);
        const RunId expected = plain->createRun(newRun(u"run"_qs, uid)).value().id;
        plain->ingest({expected, kNode},
                      syntheticJournal(static_cast<unsigned>(i), kSteps).frames());
        QVERIFY(plain->flush().get().ok());
        const RunId run = store->reader().runByUid(uid).value()->id;
        QCOMPARE(
            firstDifference(contentOf(store->reader(), run), contentOf(plain->reader(), expected)),
            QString());
    }
    QCOMPARE(integrityOf(folder.path()), u"ok"_qs);
}

void StoreFaultsTest::killedWriterLosesNothing() {
    const QTemporaryDir folder;
    constexpr int kSteps = 12000;
    const JournalBuilder journal = syntheticJournal(6, kSteps);
    const QStringList arguments = {u"write"_qs, folder.path(), u"uid-1"_qs, u"6"_qs,
                                   QString::number(kSteps)};
    auto* random = QRandomGenerator::global();
    int killed = 0;
    for (int round = 0; round < 20; ++round) {
        const auto writer = startHelper(arguments);
        const int pieces = random->bounded(1, 12);
        std::size_t committed = 0;
        for (int piece = 0; piece < pieces && writer->state() != QProcess::NotRunning;) {
            writer->waitForReadyRead(1000);
            while (writer->canReadLine()) {
                committed = writer->readLine().mid(10).trimmed().toULongLong();
                ++piece;
            }
        }
        ::kill(static_cast<pid_t>(writer->processId()), SIGKILL);
        QVERIFY(writer->waitForFinished(30000));
        killed += writer->exitStatus() == QProcess::CrashExit ? 1 : 0;
        QCOMPARE(integrityOf(folder.path()), u"ok"_qs);
        const auto store = openStore(folder.path());
        const auto run = store->reader().runByUid(u"uid-1"_qs).value();
        const std::size_t position =
            run ? store->reader().position(run->id, kNode).value().sequence : 0;
        QVERIFY2(position >= std::min(committed, journal.frames().size()),
                 qPrintable(QStringLiteral("%1 < %2").arg(position).arg(committed)));
    }
    QVERIFY(killed >= 15);
    const auto last = startHelper(arguments);
    QVERIFY(last->waitForFinished(60000));
    QCOMPARE(last->exitCode(), 0);

    const QTemporaryDir reference;
    const auto plain = openStore(reference.path());
    const RunId expected = plain->createRun(newRun(u"run"_qs, u"uid-1"_qs)).value().id;
    plain->ingest({expected, kNode}, journal.frames());
    QVERIFY(plain->flush().get().ok());
    const auto store = openStore(folder.path());
    const RunId run = store->reader().runByUid(u"uid-1"_qs).value()->id;
    QCOMPARE(firstDifference(contentOf(store->reader(), run), contentOf(plain->reader(), expected)),
             QString());
}

void StoreFaultsTest::newerStoreIsRefusedUnchanged_data() {
    QTest::addColumn<bool>("catalog");
    QTest::newRow("catalog.db") << true;
    QTest::newRow("points.db") << false;
}

void StoreFaultsTest::newerStoreIsRefusedUnchanged() {
    QFETCH(bool, catalog);
    const QTemporaryDir folder;
    openStore(folder.path());
    const QString file = catalog ? catalogFile(folder.path()) : pointsFile(folder.path());
    {
        Connection connection(file, Connection::Mode::ReadWriteCreate);
        connection.execute("PRAGMA user_version = 99");
    }
    const QByteArray catalogBefore = hashOf(catalogFile(folder.path()));
    const QByteArray pointsBefore = hashOf(pointsFile(folder.path()));
    const std::string sentence = sentenceOf(folder.path());
    QVERIFY2(says(sentence, catalog ? "newer Trainyard (layout 99; this one knows up to 2)"
                                    : "newer Trainyard (layout 99; this one knows up to 1)"),
             sentence.c_str());
    QVERIFY2(says(sentence, qPrintable(file)), sentence.c_str());
    QCOMPARE(hashOf(catalogFile(folder.path())), catalogBefore);
    QCOMPARE(hashOf(pointsFile(folder.path())), pointsBefore);
}

void StoreFaultsTest::foreignFilesAreRefusedUnchanged() {
    const QTemporaryDir folder;
    {
        Connection connection(catalogFile(folder.path()), Connection::Mode::ReadWriteCreate);
        connection.execute("CREATE TABLE bookmarks (url TEXT)");
    }
    const QByteArray before = hashOf(catalogFile(folder.path()));
    QVERIFY(says(sentenceOf(folder.path()), "is a database of another program"));
    QCOMPARE(hashOf(catalogFile(folder.path())), before);
    QVERIFY(!QFile::exists(pointsFile(folder.path())));

    const QTemporaryDir other;
    QFile text(catalogFile(other.path()));
    QVERIFY(text.open(QIODevice::WriteOnly));
    text.write(QByteArray("This is not a database at all. ").repeated(100));
    text.close();
    QVERIFY(says(sentenceOf(other.path()), "is not a database"));
}

void StoreFaultsTest::damageIsSaid() {
    const QTemporaryDir folder;
    RunId run{};
    {
        const auto store = openStore(folder.path());
        run = store->createRun(newRun(u"a"_qs)).value().id;
        store->ingest({run, kNode}, syntheticJournal(1, 3000).frames());
        QVERIFY(store->flush().get().ok());
    }
    {
        QFile file(pointsFile(folder.path()));
        QVERIFY(file.open(QIODevice::ReadWrite));
        for (qint64 page = 2; page < file.size() / 4096; ++page) { // all but the schema
            file.seek(page * 4096);
            file.write(QByteArray(4096, '\x5a'));
        }
    }
    const auto store = openStore(folder.path());
    QVERIFY(store->reader().run(run).value()); // the catalog is whole
    const auto points = store->reader().points(run, u"train_loss"_qs);
    QVERIFY(!points.ok());
    QVERIFY2(says(points.error().sentence(), "is damaged"), points.error().sentence().c_str());
    store->ingest({run, kNode}, syntheticJournal(1, 3001).frames());
}

void StoreFaultsTest::folderThatCannotBe() {
    const QTemporaryDir folder;
    QFile file(folder.filePath(u"file"_qs));
    QVERIFY(file.open(QIODevice::WriteOnly));
    QVERIFY(says(sentenceOf(folder.filePath(u"file"_qs)), "it is a file, not a folder"));
    QVERIFY(says(sentenceOf(folder.filePath(u"file/below"_qs)), "the folder cannot be made"));
    QVERIFY(QDir(folder.path()).mkpath(u"dir/catalog.db"_qs));
    const std::string sentence = sentenceOf(folder.filePath(u"dir"_qs));
    QVERIFY2(says(sentence, "catalog.db is not a file"), sentence.c_str());
}

void StoreFaultsTest::readOnlyDiskCanBeViewed() {
    SmallDisk disk("16m");
    if (!disk.mounted())
        QSKIP("A read-only disk can only be made by root.");
    RunId run{};
    {
        const auto store = openStore(disk.folder());
        run = store->createRun(newRun(u"a"_qs)).value().id;
        store->ingest({run, kNode}, syntheticJournal(1, 100).frames());
    }
    QVERIFY(disk.makeReadOnly());
    {
        const auto store = openStore(disk.folder());
        QVERIFY(store->viewOnly());
        QVERIFY(says(store->viewOnly()->sentence(), "can only be viewed"));
        QCOMPARE(store->reader().runs().value().size(), std::size_t{1});
        QCOMPARE(store->reader().points(run, u"learning_rate"_qs).value().size(), std::size_t{100});
        QVERIFY(!store->createRun(newRun(u"b"_qs)).ok());
        QVERIFY(!store->deleteRun(run).ok());
        store->ingest({run, kNode}, syntheticJournal(1, 200).frames());
        QVERIFY(!store->flush().get().ok());
    }
    QVERIFY(says(sentenceOf(disk.folder() + u"/../other"), "the folder cannot be made"));
}

void StoreFaultsTest::readOnlyDiskAfterSuddenEndCanBeViewed() {
    SmallDisk disk("32m");
    if (!disk.mounted())
        QSKIP("A read-only disk can only be made by root.");
    const auto writer =
        startHelper({u"write"_qs, disk.folder(), u"uid-1"_qs, u"1"_qs, u"200000"_qs});
    std::size_t committed = 0;
    while (committed < 400 && writer->waitForReadyRead(30000))
        while (writer->canReadLine())
            committed = writer->readLine().mid(10).trimmed().toULongLong();
    ::kill(static_cast<pid_t>(writer->processId()), SIGKILL);
    QVERIFY(writer->waitForFinished(30000));
    QVERIFY(committed >= 400);
    QVERIFY(QFile::exists(catalogFile(disk.folder()) + u"-wal"));
    QVERIFY(disk.makeReadOnly());
    const auto store = openStore(disk.folder());
    QVERIFY(store->viewOnly());
    const auto run = store->reader().runByUid(u"uid-1"_qs).value();
    QVERIFY(run); // what lay in the log only is there
    QVERIFY(store->reader().position(run->id, kNode).value().sequence >= committed);
}

void StoreFaultsTest::fullDiskIsSaidOnceAndHeals() {
    SmallDisk disk("1m");
    if (!disk.mounted())
        QSKIP("A small disk can only be made by root.");
    RunStore::Options options;
    options.commitInterval = std::chrono::milliseconds(1);
    options.retryInterval = std::chrono::milliseconds(10);
    const auto store = openStore(disk.folder(), options);
    QSignalSpy problems(store.get(), &RunStore::problemChanged);
    const RunId run = store->createRun(newRun(u"a"_qs, u"uid-1"_qs)).value().id;
    const JournalBuilder journal = syntheticJournal(6, 30000);
    std::size_t at = 0;
    while (!store->problem() && at < journal.frames().size()) {
        store->ingest({run, kNode}, journal.slice(at, at + 200));
        (void)store->flush().get();
        at += 200;
    }
    QVERIFY(store->problem());
    const std::string expected = "disk full: " + disk.folder().toStdString();
    QCOMPARE(store->problem()->what.text(), expected);
    const std::uint64_t committed = store->reader().position(run, kNode).value().sequence;
    QVERIFY(committed > 0);
    for (std::size_t i = 0; i < 10; ++i) { // many tries, each with a new reason to complain
        store->ingest({run, kNode}, journal.slice(at, at + 200));
        at += 200;
        const Result<void> done = store->flush().get();
        QVERIFY(!done.ok());
        QCOMPARE(done.error().what.text(), expected);
    }
    QTRY_COMPARE(problems.size(), 1);
    QVERIFY(store->reader().position(run, kNode).value().sequence >= committed);
    QCOMPARE(store->reader().points(run, u"learning_rate"_qs).ok(), true);

    QVERIFY(disk.resize("64m"));
    QTRY_VERIFY(!store->problem());
    QTRY_COMPARE(problems.size(), 2);
    store->ingest({run, kNode}, journal.slice(at, journal.frames().size()));
    QVERIFY(store->flush().get().ok());
    QVERIFY(store->takeRereads().empty());
    QVERIFY(store->createRun(newRun(u"later runs start"_qs)).ok());

    const QTemporaryDir reference;
    const auto plain = openStore(reference.path());
    const RunId same = plain->createRun(newRun(u"a"_qs, u"uid-1"_qs)).value().id;
    plain->ingest({same, kNode}, journal.frames());
    QVERIFY(plain->flush().get().ok());
    QCOMPARE(firstDifference(contentOf(store->reader(), run), contentOf(plain->reader(), same)),
             QString());
    QCOMPARE(integrityOf(disk.folder()), u"ok"_qs);
}

void StoreFaultsTest::fullDiskAtCloseKeepsWhatWasCommitted() {
    SmallDisk disk("1m");
    if (!disk.mounted())
        QSKIP("A small disk can only be made by root.");
    const JournalBuilder journal = syntheticJournal(5, 30000);
    std::uint64_t committed = 0;
    RunId run{};
    {
        const auto store = openStore(disk.folder());
        run = store->createRun(newRun(u"a"_qs, u"uid-1"_qs)).value().id;
        for (std::size_t at = 0; !store->problem() && at < journal.frames().size(); at += 200) {
            store->ingest({run, kNode}, journal.slice(at, at + 200));
            (void)store->flush().get();
        }
        committed = store->reader().position(run, kNode).value().sequence;
    }
    QVERIFY(disk.resize("64m"));
    const auto store = openStore(disk.folder());
    const std::uint64_t position = store->reader().position(run, kNode).value().sequence;
    QVERIFY(committed > 0 && position >= committed);
    store->ingest({run, kNode}, journal.slice(position, journal.frames().size()));
    QVERIFY(store->flush().get().ok());
    QCOMPARE(store->reader().run(run).value()->status, RunStatus::Finished);
    QCOMPARE(store->reader().points(run, u"learning_rate"_qs).value().size(), std::size_t{30000});
}

void StoreFaultsTest::heldStoreIsWaitedFor() {
    const QTemporaryDir folder;
    RunStore::Options options;
    options.busyTimeout = std::chrono::milliseconds(50);
    options.retryInterval = std::chrono::milliseconds(20);
    const auto store = openStore(folder.path(), options);
    const RunId run = store->createRun(newRun(u"a"_qs)).value().id;
    {
        Connection other(catalogFile(folder.path()), Connection::Mode::ReadWriteCreate);
        Transaction held(other);
        const auto refused = store->createRun(newRun(u"b"_qs));
        QVERIFY(!refused.ok());
        QVERIFY2(says(refused.error().sentence(), "is held by another program"),
                 refused.error().sentence().c_str());
        store->ingest({run, kNode}, syntheticJournal(1, 50).frames());
        QVERIFY(!store->flush().get().ok());
        QVERIFY(store->problem());
        QVERIFY(store->reader().run(run).ok()); // reading goes on
    }
    QTRY_VERIFY(!store->problem());
    QVERIFY(store->flush().get().ok());
    QCOMPARE(store->reader().run(run).value()->status, RunStatus::Finished);
}

void StoreFaultsTest::networkFileSystemsAreKnown() {
    QCOMPARE(networkFileSystemName(0x6969), u"NFS"_qs);
    QCOMPARE(networkFileSystemName(static_cast<std::int32_t>(0xFF534D42)),
             u"CIFS"_qs); // sign extended
    QCOMPARE(networkFileSystemName(0x0BD00BD0), u"Lustre"_qs);
    QCOMPARE(networkFileSystemName(0xEF53), QString());     // ext4
    QCOMPARE(networkFileSystemName(0x01021994), QString()); // tmpfs
    const QTemporaryDir folder;
    QVERIFY(!openStore(folder.path())->warning());
}

QTEST_GUILESS_MAIN(StoreFaultsTest)
#include "tst_store_faults.moc"
