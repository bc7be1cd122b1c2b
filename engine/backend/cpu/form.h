// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Form: one way of computing an operation, as a fixed sequence of oneDNN primitives and own loops
// over fixed memory and scratch. Scratch is counted while the form is built and lies in memory that
// is handed in when it runs, so that all kernels share one workspace.
#pragma once

#include "engine/base/check.h"

#include <dnnl.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace trainyard::engine::cpu {

/// Memory at a fixed address, or at an offset into the scratch.
class Place {
public:
    static Place fixed(void* address) {
        TRAINYARD_CHECK(address != nullptr);
        return Place(address, 0);
    }
    static Place scratch(std::size_t offset) { return Place(nullptr, offset); }

    bool isScratch() const { return m_address == nullptr; }
    std::size_t offset() const { return m_offset; }
    void* in(std::byte* scratch) const { return m_address ? m_address : scratch + m_offset; }

private:
    Place(void* address, std::size_t offset) : m_address(address), m_offset(offset) {}
    void* m_address;
    std::size_t m_offset;
};

struct Argument {
    int id; ///< DNNL_ARG_...
    dnnl::memory::desc desc;
    Place place;
};

/// Gets the scratch; must not throw.
using Loop = std::function<void(std::byte*)>;

class Form {
public:
    Form(std::string name, const dnnl::engine& engine)
        : m_name(std::move(name)), m_engine(engine) {}

    const std::string& name() const { return m_name; }
    std::size_t scratchBytes() const { return m_scratchBytes; }
    /// Room for `bytes` in the scratch, aligned.
    Place reserve(std::size_t bytes);

    /// The primitive's own scratchpad (mode user) is added to the scratch of the form.
    void add(const dnnl::primitive& primitive, const dnnl::memory::desc& scratchpad,
             const std::vector<Argument>& arguments);
    /// to = from in another layout, or to += from.
    void addReorder(const dnnl::memory::desc& fromDesc, Place from,
                    const dnnl::memory::desc& toDesc, Place to, bool accumulate = false);
    void add(Loop loop);

    /// `scratch`: at least scratchBytes(), 64-byte aligned.
    void run(const dnnl::stream& stream, std::byte* scratch);

private:
    struct Step {
        dnnl::primitive primitive; ///< empty: `loop`
        std::vector<dnnl::memory> memories;
        std::vector<dnnl_exec_arg_t> arguments;
        std::vector<std::pair<std::size_t, std::size_t>> inScratch; ///< memory, offset
        Loop loop;
    };
    void bind(std::byte* scratch);

    std::string m_name;
    dnnl::engine m_engine;
    std::size_t m_scratchBytes = 0;
    std::byte* m_bound = nullptr;
    bool m_isBound = false;
    std::vector<Step> m_steps;
};

/// Attributes of every primitive: the scratchpad is ours.
dnnl::primitive_attr attributes(bool accumulate = false);

} // namespace trainyard::engine::cpu
