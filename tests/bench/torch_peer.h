// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// PyTorch in a process of its own, asked for speeds over a pair of pipes (torch_peer.py).
#pragma once

#include <cstdio>
#include <string>
#include <sys/types.h>
#include <vector>

namespace trainyard::bench {

class TorchPeer {
public:
    /// Starts the Python of TRAINYARD_TORCH_PYTHON, else python3. Says on stderr when there is no
    /// PyTorch; there are then no variants. `arguments`: of the script.
    explicit TorchPeer(const char* script = kScript,
                       const std::vector<std::string>& arguments = {});
    ~TorchPeer();
    TorchPeer(const TorchPeer&) = delete;
    TorchPeer& operator=(const TorchPeer&) = delete;

    /// "torch 2.9.1"
    const std::string& name() const { return m_name; }
    std::vector<std::string> variants(const std::string& name);
    double samplesPerSecond(const std::string& name, int threads, const std::string& variant,
                            double seconds);

    bool isThere() const { return !m_name.empty(); }
    void tell(const std::string& question);
    std::string readLine();

private:
    static const char* const kScript;

    std::string ask(const std::string& question);

    pid_t m_process = -1;
    std::FILE* m_to = nullptr;
    std::FILE* m_from = nullptr;
    std::string m_name; ///< empty: no PyTorch
};

} // namespace trainyard::bench
