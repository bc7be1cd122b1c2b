// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Settings over QSettings. Enumerations are stored by name, so that the file can be read by a
// person and does not depend on their order.
#include "app/settings/settings.h"

#include "app/base/folders.h"

namespace trainyard::app {

namespace {

QString nameOf(Theme theme) {
    switch (theme) {
    case Theme::System:
        return QStringLiteral("system");
    case Theme::Light:
        return QStringLiteral("light");
    case Theme::Dark:
        return QStringLiteral("dark");
    }
    return {};
}

} // namespace

Settings::Settings(const QString& file, QObject* parent)
    : QObject(parent), m_file(file, QSettings::IniFormat) {}

QString Settings::defaultFile() {
    return configFolder() + QStringLiteral("/settings.ini");
}

Theme Settings::get(const Setting<Theme>& setting) const {
    const QString stored = read(setting.key).toString();
    for (Theme theme : {Theme::System, Theme::Light, Theme::Dark})
        if (stored == nameOf(theme))
            return theme;
    return setting.fallback;
}

QByteArray Settings::get(const Setting<QByteArray>& setting) const {
    const QVariant stored = read(setting.key);
    return stored.isValid() ? stored.toByteArray() : setting.fallback;
}

QString Settings::get(const Setting<QString>& setting) const {
    const QVariant stored = read(setting.key);
    return stored.isValid() ? stored.toString() : setting.fallback;
}

void Settings::set(const Setting<Theme>& setting, Theme value) {
    write(setting.key, nameOf(value));
}

void Settings::set(const Setting<QByteArray>& setting, const QByteArray& value) {
    write(setting.key, value);
}

void Settings::set(const Setting<QString>& setting, const QString& value) {
    write(setting.key, value);
}

QVariant Settings::read(const char* key) const {
    return m_file.value(QLatin1StringView(key));
}

void Settings::write(const char* key, const QVariant& value) {
    const QString name = QLatin1StringView(key);
    if (m_file.value(name) == value)
        return;
    m_file.setValue(name, value);
    emit changed(name);
}

} // namespace trainyard::app

#include "moc_settings.cpp"
