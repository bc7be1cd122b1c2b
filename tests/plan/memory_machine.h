// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// MemoryMachine: walks a program and only keeps track of what lies where. Every read must find what
// was last meant to be there, so an arena in which two live buffers overlap, a lost gradient or an
// in-place result over bytes that are still needed shows up, whatever the kernels do.
#pragma once

#include "engine/program/program.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace trainyard::test {

class MemoryMachine {
public:
    MemoryMachine(const plan::Plan& plan, int rank, const plan::Program& program);

    /// Empty when all is well, else what was read, by which instruction, and what lay there.
    std::string run();

    /// Bytes that still have to be read at the instruction where these are most: no arena can be
    /// smaller. Known after run().
    std::size_t mostAlive() const;

private:
    using Content = std::string;

    void load();
    void forward(const plan::Instruction& instruction);
    void backward(const plan::Instruction& instruction);
    void exchange(const plan::Instruction& instruction);
    void score(const plan::Instruction& instruction, const plan::Placement& saved);
    void gather(const plan::Instruction& instruction);
    void addToGradient(graph::ValueId value, bool adds);
    const plan::Placement& placeOf(graph::ValueId value) const;
    const plan::Placement& gradientPlaceOf(graph::ValueId value) const;
    std::size_t& gradientParts(graph::ValueId value);
    void read(const plan::Placement& place, std::size_t bytes, const Content& content);
    void write(const plan::Placement& place, std::size_t bytes, const Content& content);
    void mayShare(const plan::Placement& a, const plan::Placement& b, bool inPlace,
                  const std::string& what);
    std::size_t bytesOf(graph::ValueId value) const;
    std::size_t savedBytesOf(graph::OperationId id) const;
    Content contentOf(graph::ValueId value) const;
    Content savedBy(const graph::Operation& operation) const;
    Content gradientOf(graph::ValueId value);
    std::string ofMicroBatch() const;
    std::size_t gradientsDue(graph::ValueId value) const;
    bool sameBytes(const graph::Operation& operation) const;
    void fail(const std::string& what);

    const plan::Plan& m_plan;
    const plan::Section& m_section;
    const graph::Graph& m_graph;
    const plan::Program& m_program;
    std::size_t m_now = 0;
    std::string m_problem;
    struct Block {
        Content content;
        std::size_t writtenAt = 0;
    };
    std::vector<Block> m_blocks;                                           ///< one per 64 bytes
    std::map<std::pair<int, graph::ValueId>, std::size_t> m_gradientParts; ///< by micro-batch
    std::vector<std::size_t> m_alive; ///< blocks per instruction
};

} // namespace trainyard::test
