// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// See store_json.h.
#include "app/store/store_json.h"

#include <QJsonArray>
#include <QJsonDocument>

namespace trainyard::app {

namespace {

QJsonArray toArray(const std::vector<std::string>& texts) {
    QJsonArray array;
    for (const std::string& text : texts)
        array.append(QString::fromStdString(text));
    return array;
}

std::vector<std::string> fromArray(const QJsonArray& array) {
    std::vector<std::string> texts;
    for (const QJsonValue& value : array)
        texts.push_back(value.toString().toStdString());
    return texts;
}

QByteArray rawBytes(std::string_view text) {
    return QByteArray::fromRawData(text.data(), static_cast<qsizetype>(text.size()));
}

} // namespace

QJsonObject toJson(const Message& message) {
    QJsonObject json;
    json.insert(u"format", QString::fromStdString(message.format));
    if (!message.arguments.empty())
        json.insert(u"arguments", toArray(message.arguments));
    return json;
}

Message messageFromJson(const QJsonObject& json) {
    return Message(json.value(u"format").toString().toStdString(),
                   fromArray(json.value(u"arguments").toArray()));
}

QJsonObject toJson(const spec::Failure& failure) {
    QJsonObject json;
    json.insert(u"rank", failure.rank);
    json.insert(u"pid", static_cast<qint64>(failure.pid));
    json.insert(u"host", QString::fromStdString(failure.host));
    json.insert(u"device", QString::fromStdString(failure.device));
    json.insert(u"step", static_cast<qint64>(failure.step));
    json.insert(u"instruction", static_cast<qint64>(failure.instruction));
    json.insert(u"layer", QString::fromStdString(failure.layer));
    json.insert(u"what", toJson(failure.what));
    json.insert(u"cure", toJson(failure.cure));
    return json;
}

spec::Failure failureFromJson(const QJsonObject& json) {
    spec::Failure failure;
    failure.rank = json.value(u"rank").toInt(-1);
    failure.pid = json.value(u"pid").toInteger();
    failure.host = json.value(u"host").toString().toStdString();
    failure.device = json.value(u"device").toString().toStdString();
    failure.step = json.value(u"step").toInteger(-1);
    failure.instruction = json.value(u"instruction").toInteger(-1);
    failure.layer = json.value(u"layer").toString().toStdString();
    failure.what = messageFromJson(json.value(u"what").toObject());
    failure.cure = messageFromJson(json.value(u"cure").toObject());
    return failure;
}

std::string compactText(const QJsonObject& json) {
    return QJsonDocument(json).toJson(QJsonDocument::Compact).toStdString();
}

QJsonObject objectFromText(std::string_view text) {
    return QJsonDocument::fromJson(rawBytes(text)).object();
}

std::string argumentsText(const std::vector<std::string>& arguments) {
    return QJsonDocument(toArray(arguments)).toJson(QJsonDocument::Compact).toStdString();
}

std::vector<std::string> argumentsFromText(std::string_view text) {
    if (text == "[]")
        return {};
    return fromArray(QJsonDocument::fromJson(rawBytes(text)).array());
}

} // namespace trainyard::app
