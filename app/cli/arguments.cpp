// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/cli/arguments.h"

#include "engine/spec/catalogue.h"

#include <algorithm>

namespace trainyard::app {

namespace {

const OptionInfo* findOption(const CommandInfo& command, const QString& name) {
    for (const OptionInfo& option : command.options)
        if (option.name == name)
            return &option;
    return nullptr;
}

Error unknownOption(const CommandInfo& command, const QString& name) {
    QStringList known{QStringLiteral("--help")};
    for (const OptionInfo& option : command.options)
        known += option.name;
    Message cure = suggestion(name, known);
    if (cure.empty())
        cure = {"Its options are: %1.", {known.join(QStringLiteral(", ")).toStdString()}};
    return Error(
        {"\"trainyard %1\" has no option %2.", {command.name.toStdString(), name.toStdString()}},
        {}, std::move(cure));
}

Error wrongOperands(const CommandInfo& command) {
    const std::string usage = usageOf(command).toStdString();
    if (command.operands.isEmpty())
        return Error({"\"trainyard %1\" takes no further words.", {command.name.toStdString()}}, {},
                     {"Usage: %1", {usage}});
    return Error({"\"trainyard %1\" needs %2.",
                  {command.name.toStdString(), command.operands.join(u' ').toStdString()}},
                 {}, {"Usage: %1", {usage}});
}

bool isCountRight(const QStringList& operands, qsizetype count) {
    const bool any = !operands.isEmpty() && operands.last().endsWith(QLatin1StringView("..."));
    return any ? count >= operands.size() - 1 : count == operands.size();
}

} // namespace

QString Arguments::value(const QString& option) const {
    const QStringList all = values(option);
    return all.isEmpty() ? QString() : all.last();
}

QStringList Arguments::values(const QString& option) const {
    const auto found = m_values.find(option);
    return found == m_values.end() ? QStringList() : found->second;
}

Result<Arguments> parseArguments(const CommandInfo& command, const QStringList& words) {
    Arguments arguments;
    bool optionsEnded = false;
    for (qsizetype i = 0; i < words.size(); ++i) {
        const QString& word = words[i];
        if (optionsEnded || !word.startsWith(u'-') || word == QLatin1StringView("-")) {
            arguments.m_operands += word;
            continue;
        }
        if (word == QLatin1StringView("--")) {
            optionsEnded = true;
            continue;
        }
        if (word == QLatin1StringView("--help") || word == QLatin1StringView("-h")) {
            arguments.m_values = {{QStringLiteral("--help"), {}}};
            return arguments;
        }
        const qsizetype equals = word.indexOf(u'=');
        const QString name = word.left(equals);
        const OptionInfo* option = findOption(command, name);
        if (!option)
            return unknownOption(command, name);
        QStringList& values = arguments.m_values[name];
        if (option->value.isEmpty() && equals >= 0)
            return Error({"%1 takes no value.", {name.toStdString()}});
        if (!values.isEmpty() && !option->repeatable)
            return Error({"%1 is given twice.", {name.toStdString()}});
        if (option->value.isEmpty())
            continue;
        if (equals < 0 && i + 1 == words.size())
            return Error(
                {"%1 needs a value: %1 %2.", {name.toStdString(), option->value.toStdString()}});
        values += equals >= 0 ? word.mid(equals + 1) : words[++i];
    }
    if (!isCountRight(command.operands, arguments.m_operands.size()))
        return wrongOperands(command);
    return arguments;
}

Message suggestion(const QString& word, const QStringList& candidates) {
    std::vector<std::string> words;
    for (const QString& candidate : candidates)
        words.push_back(candidate.toStdString());
    const std::string near = spec::nearest(word.toStdString(), words);
    return near.empty() ? Message() : Message("Did you mean \"%1\"?", {near});
}

QString usageOf(const CommandInfo& command) {
    QString usage = u"trainyard " + command.name;
    for (const QString& operand : command.operands)
        usage += u' ' + operand;
    for (const OptionInfo& option : command.options) {
        const QString value = option.value.isEmpty() ? QString() : u' ' + option.value;
        usage += u" [" + option.name + value + (option.repeatable ? u"]..." : u"]");
    }
    return usage;
}

QString helpOf(const CommandInfo& command) {
    QString text = u"Usage: " + usageOf(command) + u"\n\n" + command.summary + u'\n';
    if (!command.help.isEmpty())
        text += u'\n' + command.help + u'\n';
    if (command.options.empty())
        return text;
    qsizetype width = 0;
    for (const OptionInfo& option : command.options)
        width = std::max(width, option.name.size() + 1 + option.value.size());
    text += u"\nOptions:\n";
    for (const OptionInfo& option : command.options)
        text += u"  " + QString(option.name + u' ' + option.value).leftJustified(width + 2) +
                option.help + u'\n';
    return text;
}

} // namespace trainyard::app
