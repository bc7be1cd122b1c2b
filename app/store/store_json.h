// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Messages and failures as JSON text, the form they have inside the catalog.
// Rule: reading never fails; what is missing keeps its default.
#pragma once

#include "engine/base/message.h"
#include "engine/spec/event.h"

#include <QJsonObject>
#include <QString>

#include <string>
#include <string_view>
#include <vector>

namespace trainyard::app {

QJsonObject toJson(const Message& message);
Message messageFromJson(const QJsonObject& json);

QJsonObject toJson(const spec::Failure& failure);
spec::Failure failureFromJson(const QJsonObject& json);

/// One line, no spaces.
std::string compactText(const QJsonObject& json);
QJsonObject objectFromText(std::string_view text);

/// The arguments of a message as a JSON array.
std::string argumentsText(const std::vector<std::string>& arguments);
std::vector<std::string> argumentsFromText(std::string_view text);

} // namespace trainyard::app
