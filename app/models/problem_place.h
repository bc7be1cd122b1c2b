// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Where in the editor a problem belongs, from the path it names.
#pragma once

#include <string>

namespace trainyard::app {

enum class Section { Data, Model, Training, Parallelism };
inline constexpr int kSectionCount = 4;

struct ProblemPlace {
    Section section = Section::Model;
    /// Of the chain input, layers, loss: 0 is the input; -1: none (the problem is not of the
    /// model).
    int node = -1;
    std::string path;
    bool operator==(const ProblemPlace&) const = default;
};

/// `layers`: how many the model has.
ProblemPlace placeOf(const std::string& path, int layers);

} // namespace trainyard::app
