// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The words of the command line, held against a table of what each command takes.
// Rules: "--name value" and "--name=value" are the same; "--" ends the options; an option that is
// not in the table is an error that names the nearest one; every command knows --help.
#pragma once

#include "engine/base/result.h"

#include <QString>
#include <QStringList>

#include <map>
#include <vector>

namespace trainyard::app {

struct OptionInfo {
    QString name;  ///< "--store"
    QString value; ///< "DIR"; empty for a switch
    QString help;
    bool repeatable = false;
};

struct CommandInfo {
    QString name;         ///< "train", "runs list"
    QStringList operands; ///< "FILE"; the last may be "[FILE]...": any number, also none
    std::vector<OptionInfo> options;
    QString summary; ///< one line
    QString help;    ///< what more there is to say
};

class Arguments {
public:
    const QStringList& operands() const { return m_operands; }
    bool has(const QString& option) const { return m_values.contains(option); }
    /// The last one given; empty when absent.
    QString value(const QString& option) const;
    QStringList values(const QString& option) const;

private:
    friend Result<Arguments> parseArguments(const CommandInfo&, const QStringList&);
    QStringList m_operands;
    std::map<QString, QStringList> m_values;
};

/// `words` without the name of the command. With --help nothing else is asked for.
Result<Arguments> parseArguments(const CommandInfo& command, const QStringList& words);

/// "Did you mean ...?" for a word that is in none of `candidates`; empty when none is near.
Message suggestion(const QString& word, const QStringList& candidates);

/// "trainyard train FILE [--set PATH=VALUE]... ..."
QString usageOf(const CommandInfo& command);
/// The text of `trainyard COMMAND --help`.
QString helpOf(const CommandInfo& command);

} // namespace trainyard::app
