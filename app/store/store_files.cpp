// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// See store_files.h. The order of opening matters: first the files are looked at without a right to
// write, so that a file of a newer version stays as it is to the byte.
#include "app/store/store_files.h"

#include "app/store/store_schema.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>

#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <thread>

namespace trainyard::app {

namespace {

QByteArray nativePath(const QString& path) {
    return QFile::encodeName(path);
}

bool canWrite(const QString& path) {
    return ::access(nativePath(path).constData(), W_OK) == 0;
}

Error cannotOpen(const QString& path, const std::string& why) {
    return Error(Message("The run store %1 cannot be opened: %2.", {path.toStdString(), why}), {},
                 Message("Check the permissions of the folder, or choose another store folder."));
}

Error newerStore(const QString& file, std::int64_t found, std::int64_t known) {
    return Error(
        Message("%1 was written by a newer Trainyard (layout %2; this one knows up to %3).",
                {file.toStdString(), std::to_string(found), std::to_string(known)}),
        {}, Message("Update Trainyard, or choose another store folder. Nothing was changed."));
}

Error foreignFile(const QString& file) {
    return Error(Message("%1 is a database of another program.", {file.toStdString()}), {},
                 Message("Choose another store folder. Nothing was changed."));
}

/// Fails for a file that this version must not touch.
Result<void> checkLayout(Connection& connection, const Layout& layout, const QString& file) {
    const std::int64_t version = readVersion(connection);
    if (isForeign(connection, layout))
        return foreignFile(file);
    if (version > layout.newest())
        return newerStore(file, version, layout.newest());
    return {};
}

/// Looks at an existing file without changing a byte of it.
Result<void> inspect(const QString& file, const Layout& layout,
                     std::chrono::milliseconds busyTimeout) {
    if (!QFileInfo::exists(file))
        return {};
    const auto look = [&](Connection::Mode mode) {
        Connection connection(file, mode);
        connection.setBusyTimeout(busyTimeout);
        return checkLayout(connection, layout, file);
    };
    try {
        return look(Connection::Mode::ReadOnly);
    } catch (const SqlError& error) {
        // In a folder that cannot be written SQLite cannot make its helper files.
        if (error.problem() != SqlProblem::CannotOpen && error.problem() != SqlProblem::ReadOnly)
            throw;
        return look(Connection::Mode::Immutable);
    }
}

/// The change to write-ahead logging needs the file for itself and does not wait by itself.
void useWriteAheadLog(Connection& connection, std::chrono::milliseconds patience) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (true) {
        try {
            connection.execute("PRAGMA journal_mode = WAL");
            return;
        } catch (const SqlError& error) {
            if (error.problem() != SqlProblem::Busy || std::chrono::steady_clock::now() >= deadline)
                throw;
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    }
}

Result<void> bringUpToDate(const QString& file, const Layout& layout,
                           std::chrono::milliseconds busyTimeout) {
    Connection connection(file, Connection::Mode::ReadWriteCreate);
    connection.setBusyTimeout(busyTimeout);
    useWriteAheadLog(connection, busyTimeout);
    Transaction transaction(connection);
    // Looked at again, now with the lock: somebody else may have been here in between.
    if (Result<void> checked = checkLayout(connection, layout, file); !checked)
        return checked.error();
    migrate(connection, layout);
    transaction.commit();
    return {};
}

std::unique_ptr<Connection> openForWriting(const QString& folder,
                                           std::chrono::milliseconds busyTimeout) {
    auto connection =
        std::make_unique<Connection>(catalogFile(folder), Connection::Mode::ReadWriteCreate);
    connection->setBusyTimeout(busyTimeout);
    connection->attach(pointsFile(folder), "points");
    // NORMAL: what is committed survives the end of this process; after a loss of power the last
    // moments may be missing, and are read again from the journals.
    connection->execute("PRAGMA main.synchronous = NORMAL; PRAGMA points.synchronous = NORMAL;"
                        "PRAGMA main.journal_size_limit = 16777216;"
                        "PRAGMA points.journal_size_limit = 16777216;");
    return connection;
}

std::optional<Error> viewOnlyReason(const QString& folder) {
    for (const QString& path : {folder, catalogFile(folder), pointsFile(folder)}) {
        if (QFileInfo::exists(path) && !canWrite(path))
            return Error(Message("%1 cannot be written, so its runs can only be viewed.",
                                 {path.toStdString()}),
                         {}, Message("Choose another store folder to train and to change runs."));
    }
    return std::nullopt;
}

std::optional<Error> networkWarning(const QString& folder) {
    struct statfs info {};
    if (::statfs(nativePath(folder).constData(), &info) != 0)
        return std::nullopt;
    const QString name = networkFileSystemName(static_cast<std::int64_t>(info.f_type));
    if (name.isEmpty())
        return std::nullopt;
    return Error(
        Message("The run store %1 lies on a network file system (%2), which cannot keep two "
                "computers from writing at once.",
                {folder.toStdString(), name.toStdString()}),
        {},
        Message("Use it from one computer at a time, or choose a store folder on a local disk."));
}

} // namespace

QString catalogFile(const QString& folder) {
    return folder + QStringLiteral("/catalog.db");
}

QString pointsFile(const QString& folder) {
    return folder + QStringLiteral("/points.db");
}

Error storeError(const SqlError& error, const QString& folder) {
    const std::string path = folder.toStdString();
    switch (error.problem()) {
    case SqlProblem::DiskFull:
        return Error(
            Message("disk full: %1", {path}), {},
            Message("Free some space. What is stored is safe; what is waiting is written then."));
    case SqlProblem::Busy: {
        const QString holder = describeLockHolder(folder);
        return Error(holder.isEmpty()
                         ? Message("The run store %1 is held by another program.", {path})
                         : Message("The run store %1 is held by %2.", {path, holder.toStdString()}),
                     {}, Message("Wait until it is done, or end it."));
    }
    case SqlProblem::ReadOnly:
        return Error(
            Message("The run store %1 cannot be written.", {path}), {},
            Message("Check the permissions of the folder, or choose another store folder."));
    case SqlProblem::CannotOpen:
        return cannotOpen(folder, error.what());
    case SqlProblem::NotADatabase:
        return Error(
            Message("The run store %1 cannot be read: one of its files is not a database.", {path}),
            {}, Message("Move catalog.db and points.db away, or choose another store folder."));
    case SqlProblem::Damaged:
        return Error(
            Message("The run store %1 is damaged: %2.", {path, error.what()}), {},
            Message("Restore it from a copy, or move it away and start with an empty one."));
    case SqlProblem::Other:
        break;
    }
    return Error(Message("The run store %1 cannot be read or written: %2.", {path, error.what()}),
                 {}, Message("Check the disk, or choose another store folder."));
}

Result<OpenedStore> openStoreFiles(const QString& folder, std::chrono::milliseconds busyTimeout) {
    if (QFileInfo::exists(folder) && !QFileInfo(folder).isDir())
        return cannotOpen(folder, "it is a file, not a folder");
    if (!QDir().mkpath(folder))
        return cannotOpen(folder, "the folder cannot be made");
    const std::array files = {std::pair(catalogFile(folder), &catalogLayout()),
                              std::pair(pointsFile(folder), &pointsLayout())};
    for (const auto& [file, layout] : files)
        if (QFileInfo::exists(file) && !QFileInfo(file).isFile())
            return cannotOpen(folder, QFileInfo(file).fileName().toStdString() + " is not a file");
    try {
        for (const auto& [file, layout] : files)
            if (Result<void> checked = inspect(file, *layout, busyTimeout); !checked)
                return checked.error();
        OpenedStore opened;
        opened.warning = networkWarning(folder);
        opened.viewOnly = viewOnlyReason(folder);
        if (opened.viewOnly) {
            if (!QFileInfo::exists(files[0].first) || !QFileInfo::exists(files[1].first))
                return cannotOpen(folder,
                                  "there is no store yet, and the folder cannot be written");
            return opened;
        }
        for (const auto& [file, layout] : files)
            if (Result<void> done = bringUpToDate(file, *layout, busyTimeout); !done)
                return done.error();
        opened.writer = openForWriting(folder, busyTimeout);
        return opened;
    } catch (const SqlError& error) {
        return storeError(error, folder);
    }
}

std::unique_ptr<Connection> openForReading(const QString& folder,
                                           std::chrono::milliseconds busyTimeout) {
    const auto open = [&](Connection::Mode mode) {
        auto connection = std::make_unique<Connection>(catalogFile(folder), mode);
        connection->setBusyTimeout(busyTimeout);
        connection->attach(pointsFile(folder), "points");
        // The first statement that needs the files tells whether they can be read.
        connection->integer("SELECT count(*) FROM main.sqlite_schema");
        connection->integer("SELECT count(*) FROM points.sqlite_schema");
        return connection;
    };
    try {
        return open(Connection::Mode::ReadOnly);
    } catch (const SqlError& error) {
        if (error.problem() != SqlProblem::CannotOpen && error.problem() != SqlProblem::ReadOnly)
            throw;
        return open(Connection::Mode::Immutable);
    }
}

QString networkFileSystemName(std::int64_t statfsType) {
    struct Known {
        std::uint32_t magic;
        const char* name;
    };
    // Numbers from linux/magic.h and, for those outside the kernel, from their own sources.
    static constexpr std::array kKnown = {
        Known{0x6969, "NFS"},      Known{0x517B, "SMB"},        Known{0xFF534D42, "CIFS"},
        Known{0xFE534D42, "SMB2"}, Known{0x0BD00BD0, "Lustre"}, Known{0x00C36400, "Ceph"},
        Known{0x5346414F, "AFS"},  Known{0x6B414653, "AFS"},    Known{0x01021997, "9P"},
        Known{0x47504653, "GPFS"}, Known{0x19830326, "BeeGFS"}, Known{0x7461636F, "OCFS2"},
        Known{0x01161970, "GFS2"}, Known{0x73757245, "Coda"},   Known{0x20030528, "OrangeFS"},
    };
    // Some systems give the number with its sign extended.
    const auto magic = static_cast<std::uint32_t>(statfsType);
    for (const Known& known : kKnown)
        if (known.magic == magic)
            return QString(QLatin1StringView(known.name));
    return {};
}

QString describeLockHolder(const QString& folder) {
    // SQLite locks byte 120 of the shared-memory file for writing. The kernel lists all locks;
    // asking with fcntl() would need the file opened, and closing it would drop this process' own
    // locks.
    struct stat info {};
    if (::stat(nativePath(catalogFile(folder) + QStringLiteral("-shm")).constData(), &info) != 0)
        return {};
    QFile locks(QStringLiteral("/proc/locks"));
    if (!locks.open(QIODevice::ReadOnly))
        return {};
    const QByteArray inode = ':' + QByteArray::number(static_cast<qulonglong>(info.st_ino));
    for (const QByteArray& line : locks.readAll().split('\n')) {
        // 1: POSIX  ADVISORY  WRITE 4711 fe:00:131 120 120
        const QByteArrayList fields = line.simplified().split(' ');
        if (fields.size() < 8 || fields[1] != "POSIX" || fields[3] != "WRITE" ||
            !fields[5].endsWith(inode) || fields[6] != "120")
            continue;
        const qint64 process = fields[4].toLongLong();
        if (process == ::getpid())
            continue;
        QFile command(QStringLiteral("/proc/%1/comm").arg(process));
        QString name = QStringLiteral("a program");
        if (command.open(QIODevice::ReadOnly))
            name = QString::fromUtf8(command.readAll()).trimmed();
        return QStringLiteral("%1 (process %2)").arg(name, QString::number(process));
    }
    return {};
}

} // namespace trainyard::app
