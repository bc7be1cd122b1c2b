// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The inputs of all fuzz targets: small files of each kind, and every one that once broke
// something.
#include "tests/fuzz/targets.h"

#include <QDir>
#include <QtTest>

#include <algorithm>

using namespace trainyard::test;

namespace {

QDir inputs() {
    return QDir(QStringLiteral(TRAINYARD_FUZZ_INPUTS));
}

} // namespace

class TestFuzzInputs : public QObject {
    Q_OBJECT

private slots:
    void replayed_data();
    void replayed();
    void foldersAreTargets();
};

void TestFuzzInputs::replayed_data() {
    QTest::addColumn<int>("target");
    for (int i = 0; i < static_cast<int>(std::size(kFuzzTargets)); ++i)
        QTest::newRow(kFuzzTargets[i].name.data()) << i;
}

void TestFuzzInputs::replayed() {
    QFETCH(int, target);
    const QDir folder(inputs().filePath(QString::fromUtf8(kFuzzTargets[target].name.data())));
    const QStringList names = folder.entryList(QDir::Files, QDir::Name);
    QVERIFY2(!names.empty(), "there is no input");
    for (const QString& name : names) {
        QFile file(folder.filePath(name));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray bytes = file.readAll();
        // A copy of exactly this size: a sanitizer then sees each byte too far.
        const std::vector<std::byte> copy(reinterpret_cast<const std::byte*>(bytes.data()),
                                          reinterpret_cast<const std::byte*>(bytes.data()) +
                                              bytes.size());
        try {
            kFuzzTargets[target].run(copy);
        } catch (const std::exception& error) {
            QFAIL(qPrintable(name + QStringLiteral(": ") + QString::fromUtf8(error.what())));
        }
    }
}

void TestFuzzInputs::foldersAreTargets() {
    for (const QString& name : inputs().entryList(QDir::Dirs | QDir::NoDotAndDotDot))
        QVERIFY2(std::ranges::any_of(kFuzzTargets,
                                     [&](const FuzzTarget& target) {
                                         return name == QString::fromUtf8(target.name.data());
                                     }),
                 qPrintable(name));
}

QTEST_APPLESS_MAIN(TestFuzzInputs)
#include "tst_fuzz_inputs.moc"
