// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers for programs. JSON knows no NaN and no infinities: there they are the strings "NaN",
// "Infinity" and "-Infinity", as in exported runs; what is not known is null.
#pragma once

#include <QJsonObject>
#include <QJsonValue>

#include <optional>

namespace trainyard::app {

QJsonValue jsonNumber(std::optional<double> value);
/// Indented, with a line break at the end.
QByteArray jsonText(const QJsonObject& object);

} // namespace trainyard::app
