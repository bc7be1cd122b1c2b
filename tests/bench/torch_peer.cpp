// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/torch_peer.h"

#include "engine/base/check.h"
#include "engine/base/number_text.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace trainyard::bench {

const char* const TorchPeer::kScript = TRAINYARD_TORCH_PEER;

TorchPeer::TorchPeer(const char* script, const std::vector<std::string>& arguments) {
    std::array<int, 2> questions{}, answers{};
    TRAINYARD_CHECK(::pipe2(questions.data(), O_CLOEXEC) == 0 &&
                    ::pipe2(answers.data(), O_CLOEXEC) == 0);
    std::signal(SIGPIPE, SIG_IGN);
    const char* chosen = std::getenv("TRAINYARD_TORCH_PYTHON");
    const std::string python = chosen ? chosen : "python3";
    m_process = ::fork();
    if (m_process == 0) {
        ::dup2(questions[0], STDIN_FILENO);
        ::dup2(answers[1], STDOUT_FILENO);
        for (const int end : {questions[0], questions[1], answers[0], answers[1]})
            ::close(end);
        std::vector<char*> words = {const_cast<char*>(python.c_str()), const_cast<char*>(script)};
        for (const std::string& argument : arguments)
            words.push_back(const_cast<char*>(argument.c_str()));
        words.push_back(nullptr);
        ::execvp(python.c_str(), words.data());
        ::_exit(127);
    }
    ::close(questions[0]);
    ::close(answers[1]);
    m_to = ::fdopen(questions[1], "w");
    m_from = ::fdopen(answers[0], "r");
    m_name = readLine();
    if (m_name.empty())
        std::fprintf(stderr, "no PyTorch in %s: only our own numbers follow\n", python.c_str());
}

TorchPeer::~TorchPeer() {
    std::fclose(m_to);
    std::fclose(m_from);
    ::waitpid(m_process, nullptr, 0);
}

std::vector<std::string> TorchPeer::variants(const std::string& name) {
    std::vector<std::string> words;
    if (m_name.empty())
        return words;
    std::istringstream in(ask("variants " + name));
    for (std::string word; in >> word;)
        words.push_back(word);
    return words;
}

double TorchPeer::samplesPerSecond(const std::string& name, int threads, const std::string& variant,
                                   double seconds) {
    const std::string answer =
        ask(name + " " + std::to_string(threads) + " " + variant + " " + shortest(seconds));
    const auto speed = parseReal(answer);
    TRAINYARD_CHECK_MSG(speed.has_value(), "the PyTorch process ended: " + answer);
    return *speed;
}

std::string TorchPeer::ask(const std::string& question) {
    tell(question);
    return readLine();
}

void TorchPeer::tell(const std::string& question) {
    std::fprintf(m_to, "%s\n", question.c_str());
    std::fflush(m_to);
}

std::string TorchPeer::readLine() {
    std::string line;
    for (int c = std::fgetc(m_from); c != EOF && c != '\n'; c = std::fgetc(m_from))
        line.push_back(static_cast<char>(c));
    return line;
}

} // namespace trainyard::bench
