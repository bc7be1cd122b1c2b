// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/mesh.h"

#include <cstddef>

namespace trainyard::plan {

namespace {

int& along(Coordinate& place, Axis axis) {
    if (axis == Axis::Data)
        return place.data;
    return axis == Axis::Tensor ? place.tensor : place.pipeline;
}

} // namespace

int Mesh::extent(Axis axis) const {
    if (axis == Axis::Data)
        return data;
    return axis == Axis::Tensor ? tensor : pipeline;
}

Coordinate Mesh::coordinateOf(int rank) const {
    return {rank / tensor % data, rank % tensor, rank / tensor / data};
}

int Mesh::rankOf(const Coordinate& place) const {
    return (place.pipeline * data + place.data) * tensor + place.tensor;
}

std::vector<std::vector<int>> Mesh::groups(Axis axis) const {
    std::vector<std::vector<int>> groups;
    for (int rank = 0; rank < worldSize(); ++rank) {
        Coordinate place = coordinateOf(rank);
        if (along(place, axis) != 0)
            continue;
        std::vector<int> group;
        for (int i = 0; i < extent(axis); ++i) {
            along(place, axis) = i;
            group.push_back(rankOf(place));
        }
        groups.push_back(std::move(group));
    }
    return groups;
}

} // namespace trainyard::plan
