// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Which form of an operation a kernel takes. Forms differ in speed and, a little, in rounding, so
// the choice must be the same in every run and in every process of a machine: it is timed once,
// written to a small file in the user's cache folder, and from then on read. Where the file cannot
// be used nothing is timed and the first form is taken, always.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace trainyard::engine::cpu {

class FormChooser {
public:
    virtual ~FormChooser() = default;
    /// An index into `names` (not empty) for the operation that `key` describes; `fastest` finds by
    /// timing which one is fastest, and takes milliseconds.
    virtual std::size_t choose(const std::string& key, const std::vector<std::string>& names,
                               const std::function<std::size_t()>& fastest) = 0;
};

/// Remembers in lines of "machine <tab> key <tab> form". Processes that meet a new key at the same
/// time take turns by a lock on the file, so the second reads what the first has written. Deleting
/// the file is harmless; results may then differ in the last bits from those of before.
class RememberingChooser : public FormChooser {
public:
    /// `machine`: all that the speed depends on besides the key. Empty file: nothing is remembered.
    RememberingChooser(std::filesystem::path file, std::string machine);

    std::size_t choose(const std::string& key, const std::vector<std::string>& names,
                       const std::function<std::size_t()>& fastest) override;

private:
    void load();
    bool known(const std::string& key, const std::vector<std::string>& names,
               std::size_t& index) const;

    std::filesystem::path m_file;
    std::string m_machine;
    std::map<std::string, std::string> m_choices;
};

/// $XDG_CACHE_HOME/trainyard/cpu-kernels.txt, else in ~/.cache; empty when there is no home.
std::filesystem::path defaultChoicesFile();

/// Processor, instruction set and oneDNN version in one line.
std::string describeMachine();

} // namespace trainyard::engine::cpu
