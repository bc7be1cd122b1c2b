// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Settings come back, tell of changes, and survive a file that a person has spoilt.
#include "app/settings/settings.h"

#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

using namespace trainyard::app;

class SettingsTest : public QObject {
    Q_OBJECT
private slots:
    void absentKeysHaveTheirDefaults();
    void valuesComeBack();
    void tellsOfChangesOnly();
    void unknownValueIsTheDefaultAndStays();
    void twoProgramsDoNotEraseEachOther();
};

namespace {
QString fileIn(const QTemporaryDir& folder) {
    return folder.filePath(u"settings.ini"_qs);
}
} // namespace

void SettingsTest::absentKeysHaveTheirDefaults() {
    const QTemporaryDir folder;
    const Settings settings(fileIn(folder));
    QCOMPARE(settings.get(settings::kTheme), Theme::System);
    QCOMPARE(settings.get(settings::kWindowGeometry), QByteArray());
    QCOMPARE(settings.get(settings::kLastExperiment), QString());
    QVERIFY(!QFile::exists(fileIn(folder)));
}

void SettingsTest::valuesComeBack() {
    const QTemporaryDir folder;
    const QByteArray geometry("\x01\xd9\xd0\xcb\x00\x03\xff,;=\n\"", 13);
    const QString path = u"/home/анна/моя модель, 2.json"_qs;
    {
        Settings settings(fileIn(folder));
        settings.set(settings::kTheme, Theme::Dark);
        settings.set(settings::kWindowGeometry, geometry);
        settings.set(settings::kLastExperiment, path);
    }
    const Settings settings(fileIn(folder));
    QCOMPARE(settings.get(settings::kTheme), Theme::Dark);
    QCOMPARE(settings.get(settings::kWindowGeometry), geometry);
    QCOMPARE(settings.get(settings::kLastExperiment), path);
}

void SettingsTest::tellsOfChangesOnly() {
    const QTemporaryDir folder;
    Settings settings(fileIn(folder));
    QSignalSpy spy(&settings, &Settings::changed);
    settings.set(settings::kTheme, Theme::Light);
    settings.set(settings::kTheme, Theme::Light);
    QCOMPARE(spy.size(), 1);
    QCOMPARE(spy[0][0].toString(), u"appearance/theme"_qs);
}

void SettingsTest::unknownValueIsTheDefaultAndStays() {
    const QTemporaryDir folder;
    {
        QFile file(fileIn(folder));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("[appearance]\ntheme=sepia\n");
    }
    {
        Settings settings(fileIn(folder));
        QCOMPARE(settings.get(settings::kTheme), Theme::System);
        settings.set(settings::kLastExperiment, u"a.json"_qs);
    }
    QFile file(fileIn(folder));
    QVERIFY(file.open(QIODevice::ReadOnly));
    QVERIFY(file.readAll().contains("theme=sepia"));
}

void SettingsTest::twoProgramsDoNotEraseEachOther() {
    const QTemporaryDir folder;
    {
        Settings first(fileIn(folder));
        Settings second(fileIn(folder));
        first.set(settings::kTheme, Theme::Dark);
        second.set(settings::kLastExperiment, u"b.json"_qs);
    }
    const Settings settings(fileIn(folder));
    QCOMPARE(settings.get(settings::kTheme), Theme::Dark);
    QCOMPARE(settings.get(settings::kLastExperiment), u"b.json"_qs);
}

QTEST_GUILESS_MAIN(SettingsTest)
#include "tst_settings.moc"
