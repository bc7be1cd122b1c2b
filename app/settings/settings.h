// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What the studio remembers between starts: typed keys with their defaults, in one table.
// Rule: a value that cannot be understood (edited by hand, written by a newer studio) counts as its
// default and stays in the file until it is set.
#pragma once

#include <QByteArray>
#include <QObject>
#include <QSettings>
#include <QString>

namespace trainyard::app {

enum class Theme { System, Light, Dark };

/// A key of the settings file and what holds where it is absent.
template <class T>
struct Setting {
    const char* key;
    T fallback;
};

/// The table. A new setting is one line here.
namespace settings {
inline constexpr Setting<Theme> kTheme{"appearance/theme", Theme::System};
inline const Setting<QByteArray> kWindowGeometry{"window/geometry", {}};
inline const Setting<QString> kLastExperiment{"compose/last_experiment", {}};
} // namespace settings

class Settings : public QObject {
    Q_OBJECT
public:
    /// `file` is an INI file; tests pass one of their own.
    explicit Settings(const QString& file = defaultFile(), QObject* parent = nullptr);

    /// "settings.ini" in the configuration folder.
    static QString defaultFile();

    Theme get(const Setting<Theme>& setting) const;
    QByteArray get(const Setting<QByteArray>& setting) const;
    QString get(const Setting<QString>& setting) const;

    void set(const Setting<Theme>& setting, Theme value);
    void set(const Setting<QByteArray>& setting, const QByteArray& value);
    void set(const Setting<QString>& setting, const QString& value);

signals:
    /// The value of `key` is another one than before.
    void changed(const QString& key);

private:
    QVariant read(const char* key) const;
    void write(const char* key, const QVariant& value);

    QSettings m_file;
};

} // namespace trainyard::app
