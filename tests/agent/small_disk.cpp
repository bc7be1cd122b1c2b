// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/agent/small_disk.h"

#include "engine/agent/posix_files.h"

#include <QFile>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

using namespace trainyard::engine;

namespace {

/// From now on mounts of this process are its own. Once is enough.
bool separateMounts() {
    static const bool done = ::unshare(CLONE_NEWNS) == 0 &&
                             ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    return done;
}

} // namespace

SmallDisk::SmallDisk(qint64 bytes) {
    const QByteArray size = "size=" + QByteArray::number(bytes);
    if (!separateMounts() ||
        ::mount("tmpfs", m_folder.path().toUtf8().constData(), "tmpfs", 0, size.constData()) != 0)
        m_whyNot = QByteArray("cannot mount a small file system here: ") + std::strerror(errno);
}

SmallDisk::~SmallDisk() {
    if (isMounted())
        ::umount2(m_folder.path().toUtf8().constData(), MNT_DETACH);
}

qint64 SmallDisk::freeBytes() const {
    struct statvfs room {};
    ::statvfs(m_folder.path().toUtf8().constData(), &room);
    return static_cast<qint64>(room.f_bavail * room.f_frsize);
}

void SmallDisk::fill(qint64 leave) {
    const FileHandle file(
        ::open(filler().toUtf8().constData(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    const std::string block(4096, 'f');
    while (freeBytes() > leave && writeAll(file.fd(), block)) {
    }
}

void SmallDisk::clear() {
    QFile::remove(filler());
}

bool SmallDisk::makeReadOnly() {
    return ::mount("none", m_folder.path().toUtf8().constData(), nullptr, MS_REMOUNT | MS_RDONLY,
                   nullptr) == 0;
}
