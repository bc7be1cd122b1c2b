// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/cpu/form.h"

#include "engine/backend/workspace.h"
#include "engine/base/check.h"

namespace trainyard::engine::cpu {

Place Form::reserve(std::size_t bytes) {
    const Place place = Place::scratch(m_scratchBytes);
    m_scratchBytes += alignedBytes(bytes);
    return place;
}

void Form::add(const dnnl::primitive& primitive, const dnnl::memory::desc& scratchpad,
               const std::vector<Argument>& arguments) {
    std::vector<Argument> all = arguments;
    if (scratchpad.get_size() > 0)
        all.push_back({DNNL_ARG_SCRATCHPAD, scratchpad, reserve(scratchpad.get_size())});
    Step step;
    step.primitive = primitive;
    for (const Argument& argument : all) {
        void* address = argument.place.isScratch() ? DNNL_MEMORY_NONE : argument.place.in(nullptr);
        if (argument.place.isScratch())
            step.inScratch.emplace_back(step.memories.size(), argument.place.offset());
        step.memories.emplace_back(argument.desc, m_engine, address);
        step.arguments.push_back({argument.id, step.memories.back().get()});
    }
    m_steps.push_back(std::move(step));
}

void Form::addReorder(const dnnl::memory::desc& fromDesc, Place from,
                      const dnnl::memory::desc& toDesc, Place to, bool accumulate) {
    const dnnl::reorder::primitive_desc reorder(m_engine, fromDesc, m_engine, toDesc,
                                                attributes(accumulate));
    add(dnnl::reorder(reorder), reorder.scratchpad_desc(),
        {{DNNL_ARG_FROM, fromDesc, from}, {DNNL_ARG_TO, toDesc, to}});
}

void Form::add(Loop loop) {
    Step step;
    step.loop = std::move(loop);
    m_steps.push_back(std::move(step));
}

void Form::bind(std::byte* scratch) {
    for (Step& step : m_steps)
        for (const auto& [memory, offset] : step.inScratch)
            step.memories[memory].set_data_handle(scratch + offset);
    m_bound = scratch;
    m_isBound = true;
}

void Form::run(const dnnl::stream& stream, std::byte* scratch) {
    // Once: the workspace stays where it is after the last kernel is made.
    if (!m_isBound || m_bound != scratch)
        bind(scratch);
    for (const Step& step : m_steps) {
        if (step.loop) {
            step.loop(scratch);
            continue;
        }
        // The C call: the C++ wrapper would build a new list of arguments every time.
        const dnnl_status_t status =
            dnnl_primitive_execute(step.primitive.get(), stream.get(),
                                   static_cast<int>(step.arguments.size()), step.arguments.data());
        TRAINYARD_CHECK_MSG(status == dnnl_success, m_name);
    }
}

dnnl::primitive_attr attributes(bool accumulate) {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (accumulate) {
        dnnl::post_ops sum;
        sum.append_sum(1.0F);
        attributes.set_post_ops(sum);
    }
    return attributes;
}

} // namespace trainyard::engine::cpu
