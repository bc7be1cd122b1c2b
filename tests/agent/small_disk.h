// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A file system of a given size that can be filled up, seen by this process and its children only.
#pragma once

#include <QString>
#include <QTemporaryDir>

class SmallDisk {
public:
    /// Mounts it; see isMounted().
    explicit SmallDisk(qint64 bytes);
    ~SmallDisk();

    /// False without the rights to mount; whyNot() is for QSKIP.
    bool isMounted() const { return m_whyNot.isEmpty(); }
    QByteArray whyNot() const { return m_whyNot; }
    QString path() const { return m_folder.path(); }

    qint64 freeBytes() const;
    /// Takes all room but about `leave` bytes.
    void fill(qint64 leave = 0);
    /// Gives it back.
    void clear();
    bool makeReadOnly();

private:
    QString filler() const { return m_folder.path() + QStringLiteral("/filler"); }

    QTemporaryDir m_folder;
    QByteArray m_whyNot;
};
