// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Mesh: ranks as points of data x tensor x pipeline. The one place that knows how they are
// numbered: tensor neighbours, which talk most, are next to each other, stages of the pipeline are
// farthest apart (as in Narayanan et al., "Efficient large-scale language model training on GPU
// clusters using Megatron-LM", 2021, section 3.3).
#pragma once

#include <vector>

namespace trainyard::plan {

enum class Axis { Data, Tensor, Pipeline };

struct Coordinate {
    int data = 0;
    int tensor = 0;
    int pipeline = 0;
    bool operator==(const Coordinate&) const = default;
};

struct Mesh {
    int data = 1;
    int tensor = 1;
    int pipeline = 1;

    int worldSize() const { return data * tensor * pipeline; }
    int extent(Axis axis) const;
    Coordinate coordinateOf(int rank) const;
    int rankOf(const Coordinate& place) const;
    /// Every rank is in one group; those of a group differ along `axis` only, in its order.
    std::vector<std::vector<int>> groups(Axis axis) const;
    bool operator==(const Mesh&) const = default;
};

} // namespace trainyard::plan
