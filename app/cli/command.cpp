// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/cli/command.h"

#include "app/cli/check_command.h"
#include "app/cli/predict_command.h"
#include "app/cli/runs_commands.h"
#include "app/cli/samples_commands.h"
#include "app/cli/train_command.h"

#include <algorithm>

namespace trainyard::app {

namespace {

/// Help and version: a text, and that is all.
class TextCommand : public Command {
public:
    TextCommand(QString text, Console& console) : Command(console), m_text(std::move(text)) {}
    void start() override {
        console().printText(m_text);
        emit finished(kExitOk);
    }

private:
    const QString m_text;
};

template <class T>
CommandEntry entry() {
    return {T::info(),
            [](const Arguments& arguments, Console& console) -> std::unique_ptr<Command> {
                return std::make_unique<T>(arguments, console);
            }};
}

std::vector<CommandEntry> makeTable() {
    using Tell = CheckCommand::Tell;
    std::vector<CommandEntry> table{entry<TrainCommand>()};
    table.push_back({CheckCommand::checkInfo(), [](const Arguments& arguments, Console& console) {
                         return std::make_unique<CheckCommand>(arguments, Tell::Verdict, console);
                     }});
    table.push_back({CheckCommand::planInfo(), [](const Arguments& arguments, Console& console) {
                         const bool json = arguments.has(QStringLiteral("--json"));
                         return std::make_unique<CheckCommand>(
                             arguments, json ? Tell::PlanAsJson : Tell::Plan, console);
                     }});
    table.push_back(entry<PredictCommand>());
    table.push_back(entry<RunsListCommand>());
    table.push_back(entry<RunsShowCommand>());
    table.push_back(entry<RunsExportCommand>());
    table.push_back(entry<RunsStopCommand>());
    table.push_back(entry<RunsTraceCommand>());
    table.push_back(entry<RunsDeleteCommand>());
    table.push_back({SamplesListCommand::info(), [](const Arguments&, Console& console) {
                         return std::make_unique<SamplesListCommand>(console);
                     }});
    table.push_back(entry<SamplesWriteCommand>());
    return table;
}

/// The second words that may follow `first`: "list", "show" ... after "runs".
QStringList secondWords(const QString& first) {
    QStringList words;
    for (const CommandEntry& command : commandTable())
        if (command.info.name.startsWith(first + u' '))
            words += command.info.name.section(u' ', 1);
    return words;
}

Error unknownWord(const QString& word, const QStringList& known, const QString& before) {
    Message cure = suggestion(word, known);
    if (cure.empty())
        cure = {"There are: %1.", {known.join(QStringLiteral(", ")).toStdString()}};
    if (before.isEmpty())
        return Error({"There is no command \"%1\".", {word.toStdString()}}, {}, std::move(cure));
    return Error(
        {"\"trainyard %1\" has no command \"%2\".", {before.toStdString(), word.toStdString()}}, {},
        std::move(cure));
}

QString helpOfGroup(const QString& group) {
    QString text = u"Usage: trainyard " + group + u" COMMAND\n\n";
    for (const CommandEntry& command : commandTable())
        if (command.info.name.startsWith(group + u' '))
            text += u"  " + command.info.name.leftJustified(16) + command.info.summary + u'\n';
    return text;
}

bool asksForHelp(const QString& word) {
    return word == QLatin1StringView("--help") || word == QLatin1StringView("-h") ||
           word == QLatin1StringView("help");
}

} // namespace

void Command::fail(const Error& error, int exitCode) {
    console().printError(QString::fromStdString(error.sentence()));
    emit finished(exitCode);
}

void Command::failInvalid(const Problems& problems) {
    for (const Error& problem : problems)
        console().printError(QString::fromStdString(problem.sentence()));
    emit finished(kExitInvalid);
}

const std::vector<CommandEntry>& commandTable() {
    static const std::vector<CommandEntry> table = makeTable();
    return table;
}

QString generalHelp() {
    QString text =
        QStringLiteral("Trainyard trains neural networks on one machine or a cluster.\n\n"
                       "Usage: trainyard COMMAND ...\n\n");
    for (const CommandEntry& command : commandTable())
        text += u"  " + command.info.name.leftJustified(16) + command.info.summary + u'\n';
    return text + QStringLiteral("\n\"trainyard COMMAND --help\" says more of each.\n\n"
                                 "First steps:\n"
                                 "  trainyard samples write fashion-cnn clothes.json\n"
                                 "  trainyard train clothes.json\n");
}

Result<std::unique_ptr<Command>> makeCommand(const QStringList& words, Console& console) {
    const auto text = [&](const QString& content) -> Result<std::unique_ptr<Command>> {
        return std::unique_ptr<Command>(std::make_unique<TextCommand>(content, console));
    };
    const QString first = words.value(0);
    if (asksForHelp(first))
        return text(generalHelp().trimmed());
    if (first == QLatin1StringView("--version"))
        return text(QStringLiteral("trainyard " TRAINYARD_VERSION));

    const QStringList seconds = secondWords(first);
    const QString second = words.value(1);
    if (!seconds.isEmpty() && asksForHelp(second))
        return text(helpOfGroup(first).trimmed());
    if (!seconds.isEmpty() && second.isEmpty())
        return Error({"\"trainyard %1\" needs a command: %2.",
                      {first.toStdString(), seconds.join(QStringLiteral(", ")).toStdString()}});
    if (!seconds.isEmpty() && !seconds.contains(second))
        return unknownWord(second, seconds, first);

    const QString name = seconds.isEmpty() ? first : first + u' ' + second;
    const auto& table = commandTable();
    const auto found = std::find_if(table.begin(), table.end(), [&](const CommandEntry& command) {
        return command.info.name == name;
    });
    if (found == table.end()) {
        QStringList known;
        for (const CommandEntry& command : table)
            if (const QString word = command.info.name.section(u' ', 0, 0); !known.contains(word))
                known += word;
        return unknownWord(first, known, {});
    }
    const Result<Arguments> arguments =
        parseArguments(found->info, words.mid(seconds.isEmpty() ? 1 : 2));
    if (!arguments.ok())
        return arguments.error();
    if (arguments->has(QStringLiteral("--help")))
        return text(helpOf(found->info).trimmed());
    return found->make(*arguments, console);
}

} // namespace trainyard::app

#include "moc_command.cpp"
