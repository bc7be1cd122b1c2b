// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The engine's English words as text in the user's language. The engine keeps sentences and their
// values apart (engine/base/message.h); the sentence is looked up in the translation, then the
// values go in.
#pragma once

#include "engine/base/result.h"

#include <QString>

namespace trainyard::app {

QString text(const Message& message);
/// What is wrong, without the path and the cure.
QString whatText(const Error& error);
QString cureText(const Error& error);
/// Both as one text.
QString sentenceText(const Error& error);

/// A label or help text of the catalogue.
QString catalogueText(const std::string& english);

} // namespace trainyard::app
