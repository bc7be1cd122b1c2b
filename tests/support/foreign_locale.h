// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// ForeignLocale: switches the process to a locale such as "de_DE" while it lives. The locale is
// compiled with localedef into a temporary folder, so it need not be installed; its source is in
// Debian's package "locales".
#pragma once

#include <QProcess>
#include <QTemporaryDir>
#include <clocale>

namespace trainyard::test {

class ForeignLocale {
public:
    explicit ForeignLocale(const QString& language) {
        const QString name = language + QStringLiteral(".UTF-8");
        QProcess localedef;
        localedef.start(QStringLiteral("localedef"),
                        {QStringLiteral("-i"), language, QStringLiteral("-f"),
                         QStringLiteral("UTF-8"), m_folder.filePath(name)});
        localedef.waitForFinished(-1); // ctest has a limit of its own
        qputenv("LOCPATH", m_folder.path().toLocal8Bit());
        m_active = std::setlocale(LC_ALL, name.toLocal8Bit().constData()) != nullptr;
    }
    ~ForeignLocale() {
        std::setlocale(LC_ALL, "C");
        qunsetenv("LOCPATH");
    }
    ForeignLocale(const ForeignLocale&) = delete;
    ForeignLocale& operator=(const ForeignLocale&) = delete;

    /// False where localedef or the locale's source is missing: skip the test.
    bool active() const { return m_active; }

private:
    QTemporaryDir m_folder;
    bool m_active = false;
};

} // namespace trainyard::test
