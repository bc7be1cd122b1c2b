// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/samples/samples.h"

#include "engine/base/check.h"

#include <QCoreApplication>
#include <QFile>

namespace trainyard::app {

namespace {

QByteArray contentOf(const QString& name) {
    QFile file(u":/trainyard/samples/" + name + u".json");
    const bool opened = file.open(QIODevice::ReadOnly);
    TRAINYARD_CHECK_MSG(opened, file.fileName().toStdString());
    return file.readAll();
}

Sample sample(const char* name, const char* title, const char* description) {
    const QString fileName = QString::fromUtf8(name);
    return {fileName, QCoreApplication::translate("Samples", title),
            QCoreApplication::translate("Samples", description), contentOf(fileName)};
}

} // namespace

std::vector<Sample> samples() {
    return {
        sample("fashion-mlp", QT_TRANSLATE_NOOP("Samples", "Clothes, dense network"),
               QT_TRANSLATE_NOOP("Samples",
                                 "Tells ten kinds of clothes apart in 60,000 small pictures with "
                                 "three dense layers; takes seconds on any processor.")),
        sample("fashion-cnn", QT_TRANSLATE_NOOP("Samples", "Clothes, convolutional network"),
               QT_TRANSLATE_NOOP("Samples",
                                 "Tells the same clothes apart better with two convolutions, "
                                 "trained by two processes that share each batch.")),
    };
}

} // namespace trainyard::app
