// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/program.h"

#include "tests/support/run_support.h"

#include <QFile>
#include <QTest>

#include <array>
#include <csignal>
#include <fcntl.h>
#include <pty.h>
#include <unistd.h>

namespace trainyard::test {

namespace {

constexpr int kEndsInTime = 60'000; ///< ms

QStringList textsOf(Words words) {
    QStringList texts;
    for (const Word& word : words)
        texts += word.text;
    return texts;
}

} // namespace

Output run(Words words) {
    return runWords(textsOf(words));
}

Output runWords(const QStringList& words) {
    QProcess process;
    process.start(builtProgram(QStringLiteral("bin/trainyard")), words);
    process.closeWriteChannel();
    if (!process.waitForFinished(kEndsInTime) || process.exitStatus() != QProcess::NormalExit)
        return {-1, process.readAllStandardOutput(), process.readAllStandardError()};
    return {process.exitCode(), process.readAllStandardOutput(), process.readAllStandardError()};
}

QByteArray contentOf(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

Program::Program(Words words, Options options) : Program(textsOf(words), options) {}

Program::Program(const QStringList& words, Options options) {
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.remove(QStringLiteral("NO_COLOR"));
    if (options.noColour)
        environment.insert(QStringLiteral("NO_COLOR"), QStringLiteral("1"));
    environment.insert(QStringLiteral("TERM"), QStringLiteral("xterm"));
    m_process.setProcessEnvironment(environment);
    if (options.terminalColumns > 0) {
        int slave = -1;
        winsize size{};
        size.ws_col = static_cast<unsigned short>(options.terminalColumns);
        size.ws_row = 24;
        if (::openpty(&m_terminal, &slave, nullptr, nullptr, &size) == 0) {
            ::fcntl(m_terminal, F_SETFD, FD_CLOEXEC);
            ::fcntl(m_terminal, F_SETFL, O_NONBLOCK);
            m_process.setChildProcessModifier([slave] {
                ::dup2(slave, STDOUT_FILENO);
                ::dup2(slave, STDERR_FILENO);
                ::close(slave);
            });
        }
        m_process.start(builtProgram(QStringLiteral("bin/trainyard")), words);
        ::close(slave);
        return;
    }
    m_process.setProcessChannelMode(QProcess::MergedChannels);
    m_process.start(builtProgram(QStringLiteral("bin/trainyard")), words);
}

Program::~Program() {
    m_process.kill();
    m_process.waitForFinished(kEndsInTime);
    if (m_terminal >= 0)
        ::close(m_terminal);
}

QByteArray Program::output() {
    m_output += m_process.readAllStandardOutput();
    std::array<char, 4096> buffer;
    if (m_terminal >= 0)
        for (ssize_t count; (count = ::read(m_terminal, buffer.data(), buffer.size())) > 0;)
            m_output.append(buffer.data(), count);
    return m_output;
}

void Program::send(int signal) const {
    ::kill(static_cast<pid_t>(m_process.processId()), signal);
}

bool Program::waitForEnd() {
    return m_process.state() == QProcess::NotRunning || m_process.waitForFinished(kEndsInTime);
}

} // namespace trainyard::test
