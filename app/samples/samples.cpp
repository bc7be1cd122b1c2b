// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/samples/samples.h"

#include "engine/base/check.h"

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QSaveFile>
#include <QStandardPaths>

/// An object of its own in a static library: without being named it would not be linked. Outside of
/// namespaces, as the macro wants it.
static void registerResources() {
    Q_INIT_RESOURCE(trainyard_samples);
}

namespace trainyard::app {

namespace {

QByteArray contentOf(const QString& name) {
    registerResources();
    QFile file(u":/trainyard/samples/" + name);
    const bool opened = file.open(QIODevice::ReadOnly);
    TRAINYARD_CHECK_MSG(opened, file.fileName().toStdString());
    return file.readAll();
}

struct Text {
    const char* name;
    const char* title;
    const char* description;
};

Sample sample(const Text& text, const QStringList& data = {}) {
    const QString name = QString::fromUtf8(text.name);
    QByteArray json = contentOf(name + u".json");
    json.replace("@samples@", sampleDataFolder().toUtf8());
    return {name, QCoreApplication::translate("Samples", text.title),
            QCoreApplication::translate("Samples", text.description), json, data};
}

Result<void> place(const QString& name) {
    const QString path = sampleDataFolder() + u'/' + name;
    const QByteArray content = contentOf(u"data/" + name);
    if (QFileInfo(path).size() == content.size())
        return {};
    QDir().mkpath(QFileInfo(path).absolutePath());
    QSaveFile file(path);
    if (file.open(QIODevice::WriteOnly) && file.write(content) == content.size() && file.commit())
        return {};
    return Error({"The data of the sample cannot be written to %1: %2.",
                  {path.toStdString(), file.errorString().toStdString()}},
                 {}, {"Make room there, or set XDG_DATA_HOME to a folder that can be written."});
}

} // namespace

QString sampleDataFolder() {
    return QStandardPaths::writableLocation(QStandardPaths::GenericDataLocation) +
           u"/trainyard/samples";
}

Result<void> placeData(const Sample& sample) {
    for (const QString& name : sample.data)
        if (Result<void> placed = place(name); !placed)
            return placed;
    return {};
}

std::vector<Sample> samples() {
    const QString penguins = QStringLiteral("penguins.csv");
    return {
        sample({"fashion-mlp", QT_TRANSLATE_NOOP("Samples", "Clothes, dense network"),
                QT_TRANSLATE_NOOP("Samples",
                                  "Tells ten kinds of clothes apart in 60,000 small pictures with "
                                  "three dense layers; takes seconds on any processor.")}),
        sample({"fashion-cnn", QT_TRANSLATE_NOOP("Samples", "Clothes, convolutional network"),
                QT_TRANSLATE_NOOP("Samples",
                                  "Tells the same clothes apart better with two convolutions, "
                                  "trained by two processes that share each batch.")}),
        sample({"resnet18", QT_TRANSLATE_NOOP("Samples", "Hands, ResNet-18"),
                QT_TRANSLATE_NOOP("Samples",
                                  "Reads digits that hands sign in colour pictures laid out as "
                                  "CIFAR-10, with eighteen layers and ways around them.")},
               {QStringLiteral("sign-digits/data_batch_1.bin"),
                QStringLiteral("sign-digits/test_batch.bin")}),
        sample({"gpt-small", QT_TRANSLATE_NOOP("Samples", "Plays, small GPT"),
                QT_TRANSLATE_NOOP("Samples",
                                  "Learns to write like Shakespeare, character by character, with "
                                  "four transformer blocks.")},
               {QStringLiteral("shakespeare.txt")}),
        sample({"penguins", QT_TRANSLATE_NOOP("Samples", "Penguins, which species"),
                QT_TRANSLATE_NOOP("Samples",
                                  "Tells three species apart by their measures in a table with "
                                  "words and gaps.")},
               {penguins}),
        sample({"penguins-mass", QT_TRANSLATE_NOOP("Samples", "Penguins, how heavy"),
                QT_TRANSLATE_NOOP("Samples",
                                  "Predicts a number, the body mass, from the rest of the table.")},
               {penguins}),
    };
}

} // namespace trainyard::app
