// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/models/message_text.h"

#include <QCoreApplication>

namespace trainyard::app {

QString text(const Message& message) {
    if (message.empty())
        return {};
    const QString format = QCoreApplication::translate("Engine", message.format.c_str());
    return QString::fromStdString(fillIn(format.toStdString(), message.arguments));
}

QString whatText(const Error& error) {
    return text(error.what);
}

QString cureText(const Error& error) {
    return text(error.cure);
}

QString sentenceText(const Error& error) {
    const QString cure = cureText(error);
    const QString what = whatText(error);
    if (cure.isEmpty() || what.isEmpty())
        return what + cure;
    // A sentence may end in a path or a number.
    const bool closed = QStringLiteral(".!?:").contains(what.back());
    return what + (closed ? QStringLiteral(" ") : QStringLiteral(". ")) + cure;
}

QString catalogueText(const std::string& english) {
    return english.empty() ? QString() : QCoreApplication::translate("Catalogue", english.c_str());
}

} // namespace trainyard::app
