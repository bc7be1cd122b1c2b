// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/cli/json_values.h"

#include "app/base/format.h"

#include <QJsonDocument>

#include <cmath>

namespace trainyard::app {

QJsonValue jsonNumber(std::optional<double> value) {
    if (!value)
        return QJsonValue::Null;
    if (!std::isfinite(*value))
        return QString::fromLatin1(plainNumber(*value));
    return *value;
}

QByteArray jsonText(const QJsonObject& object) {
    return QJsonDocument(object).toJson();
}

} // namespace trainyard::app
