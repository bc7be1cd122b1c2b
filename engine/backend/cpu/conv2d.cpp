// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Convolutions by oneDNN. Weights lie plain {K, C, kh, kw} in the arena and change in every step,
// so they are packed in every run; their gradient is unpacked. A form is an algorithm (direct, or
// automatic which means Winograd where oneDNN has it) and a way to treat pictures: as they lie, in
// the layout oneDNN likes best, or plain; the last two reorder what lies otherwise. No form is
// always best and some are hundreds of times slower (few channels in blocks), so they are timed;
// oneDNN's plain loops ("ref") are taken only when there is nothing else.
#include "engine/backend/cpu/kernels.h"

#include "engine/backend/cpu/conv2d_columns.h"
#include "engine/backend/kernel_request.h"

#include <algorithm>
#include <optional>
#include <sstream>

namespace trainyard::engine::cpu {

namespace {

using dnnl::algorithm;
using dnnl::memory;
using graph::Conv2dAttributes;
constexpr auto kFloat = memory::data_type::f32;

enum class Pictures { AsTheyLie, Best, Plain };

/// One convolution in oneDNN's words.
struct Geometry {
    memory::dims input, weights, output, strides, padding;
    memory::dims dilation; ///< elements left out between two of a window
    std::int64_t outChannels, kernelHeight, kernelWidth;
    Layout inputLayout, outputLayout;
    bool bias;
    memory::data_type type; ///< of pictures and of the weights that are read

    explicit Geometry(const KernelRequest& r) {
        const auto& a = std::get<Conv2dAttributes>(r.attributes);
        const Shape& in = r.inputs[0].shape;
        const Shape& out = r.outputs[0].shape;
        input = {r.rows, in[0], in[1], in[2]};
        output = {r.rows, out[0], out[1], out[2]};
        outChannels = a.outChannels;
        kernelHeight = a.kernelHeight;
        kernelWidth = a.kernelWidth;
        weights = {outChannels, a.inChannels / a.groups, kernelHeight, kernelWidth};
        if (a.groups > 1) {
            weights.front() /= a.groups;
            weights.insert(weights.begin(), a.groups);
        }
        strides = {a.strideHeight, a.strideWidth};
        padding = {a.paddingHeight, a.paddingWidth};
        dilation = {a.dilationHeight - 1, a.dilationWidth - 1};
        inputLayout = r.inputs[0].layout;
        outputLayout = r.outputs[0].layout;
        bias = a.bias;
        type = r.type == DType::Bf16 ? memory::data_type::bf16 : kFloat;
    }

    memory::desc picture(const memory::dims& dims, Layout layout) const {
        switch (layout) {
        case Layout::Plain:
            return {dims, type, memory::format_tag::nchw};
        case Layout::Blocked16:
            return {dims, type, memory::format_tag::nChw16c};
        case Layout::ChannelsLast:
            break;
        }
        return {dims, type, memory::format_tag::nhwc};
    }
    memory::desc inputDesc() const { return picture(input, inputLayout); }
    memory::desc outputDesc() const { return picture(output, outputLayout); }
    /// As they lie in the arena: those that are read, and their gradient in fp32.
    memory::desc plainWeights() const { return plainWeights(type); }
    memory::desc plainGradient() const { return plainWeights(kFloat); }
    memory::desc plainWeights(memory::data_type of) const {
        return {weights, of,
                weights.size() == 5 ? memory::format_tag::goihw : memory::format_tag::oihw};
    }
    memory::desc biasDesc() const { return {{outChannels}, kFloat, memory::format_tag::a}; }
};

/// The descriptions a primitive is asked for with.
struct Wanted {
    algorithm how;
    memory::desc input, weights, weightGradient, output;
    std::string name;

    Wanted(const Geometry& g, algorithm algorithm, Pictures pictures) : how(algorithm) {
        const auto any = memory::format_tag::any;
        name = algorithm == algorithm::convolution_direct ? "direct" : "auto";
        weights = memory::desc(g.weights, g.type, any);
        weightGradient = memory::desc(g.weights, kFloat, any);
        switch (pictures) {
        case Pictures::AsTheyLie:
            input = g.inputDesc();
            output = g.outputDesc();
            break;
        case Pictures::Best:
            name += " best layout";
            input = memory::desc(g.input, g.type, any);
            output = memory::desc(g.output, g.type, any);
            break;
        case Pictures::Plain:
            name += " plain";
            input = g.picture(g.input, Layout::Plain);
            output = g.picture(g.output, Layout::Plain);
            break;
        }
    }
};

dnnl::convolution_forward::primitive_desc forwardDesc(const Geometry& g, const Wanted& w,
                                                      const dnnl::engine& engine) {
    const auto kind = dnnl::prop_kind::forward_training;
    const auto operation =
        g.bias
            ? dnnl::convolution_forward::desc(kind, w.how, w.input, w.weights, g.biasDesc(),
                                              w.output, g.strides, g.dilation, g.padding, g.padding)
            : dnnl::convolution_forward::desc(kind, w.how, w.input, w.weights, w.output, g.strides,
                                              g.dilation, g.padding, g.padding);
    return {operation, attributes(), engine};
}

/// Where a picture is read: at its place, or in the scratch after a reorder.
Place readable(Form& form, const memory::desc& lies, Place place, const memory::desc& wanted) {
    if (lies == wanted)
        return place;
    const Place packed = form.reserve(wanted.get_size());
    form.addReorder(lies, place, wanted, packed);
    return packed;
}

/// Where a result is written; finish() brings it to its place, or adds it there.
class Destination {
public:
    Destination(Form& form, const memory::desc& lies, std::optional<Place> place,
                const memory::desc& made, bool accumulate)
        : m_lies(lies), m_made(made), m_destination(place), m_accumulate(accumulate),
          m_place(place && lies == made && !accumulate ? *place : form.reserve(made.get_size())) {}

    Place place() const { return m_place; }

    void finish(Form& form) const {
        if (m_destination && (m_lies != m_made || m_accumulate))
            form.addReorder(m_made, m_place, m_lies, *m_destination, m_accumulate);
    }

private:
    memory::desc m_lies, m_made;
    std::optional<Place> m_destination; ///< none: nobody wants it
    bool m_accumulate;
    Place m_place;
};

Form forwardForm(const KernelRequest& r, const Geometry& g, const Wanted& w,
                 const dnnl::convolution_forward::primitive_desc& pd, const dnnl::engine& engine) {
    Form form(w.name, engine);
    const Place input =
        readable(form, g.inputDesc(), Place::fixed(r.inputs[0].data), pd.src_desc());
    const Place weights =
        readable(form, g.plainWeights(), Place::fixed(r.parameters[0].data), pd.weights_desc());
    const Destination output(form, g.outputDesc(), Place::fixed(r.outputs[0].data), pd.dst_desc(),
                             false);
    std::vector<Argument> arguments = {{DNNL_ARG_SRC, pd.src_desc(), input},
                                       {DNNL_ARG_WEIGHTS, pd.weights_desc(), weights},
                                       {DNNL_ARG_DST, pd.dst_desc(), output.place()}};
    if (g.bias)
        arguments.push_back({DNNL_ARG_BIAS, g.biasDesc(), Place::fixed(r.parameters[1].data)});
    form.add(dnnl::convolution_forward(pd), pd.scratchpad_desc(), arguments);
    output.finish(form);
    return form;
}

Form inputGradientForm(const KernelRequest& r, const Geometry& g, const Wanted& w,
                       const dnnl::convolution_backward_data::primitive_desc& pd,
                       const dnnl::engine& engine) {
    Form form(w.name, engine);
    const Place dy =
        readable(form, g.outputDesc(), Place::fixed(r.outputGradients[0].data), pd.diff_dst_desc());
    const Place weights =
        readable(form, g.plainWeights(), Place::fixed(r.parameters[0].data), pd.weights_desc());
    const Destination dx(form, g.inputDesc(), Place::fixed(r.inputGradients[0].data),
                         pd.diff_src_desc(), addsToInputGradient(r));
    form.add(dnnl::convolution_backward_data(pd), pd.scratchpad_desc(),
             {{DNNL_ARG_DIFF_DST, pd.diff_dst_desc(), dy},
              {DNNL_ARG_WEIGHTS, pd.weights_desc(), weights},
              {DNNL_ARG_DIFF_SRC, pd.diff_src_desc(), dx.place()}});
    dx.finish(form);
    return form;
}

std::optional<Place> wantedGradient(const KernelRequest& r, std::size_t parameter) {
    if (!wantsParameterGradient(r, parameter))
        return std::nullopt;
    return Place::fixed(r.parameterGradients[parameter].data);
}

Form parameterGradientForm(const KernelRequest& r, const Geometry& g, const Wanted& w,
                           const dnnl::convolution_backward_weights::primitive_desc& pd,
                           const dnnl::engine& engine) {
    Form form(w.name, engine);
    const Place x = readable(form, g.inputDesc(), Place::fixed(r.inputs[0].data), pd.src_desc());
    const Place dy =
        readable(form, g.outputDesc(), Place::fixed(r.outputGradients[0].data), pd.diff_dst_desc());
    const Destination weights(form, g.plainGradient(), wantedGradient(r, 0), pd.diff_weights_desc(),
                              addsToParameterGradient(r, 0));
    std::vector<Argument> arguments = {
        {DNNL_ARG_SRC, pd.src_desc(), x},
        {DNNL_ARG_DIFF_DST, pd.diff_dst_desc(), dy},
        {DNNL_ARG_DIFF_WEIGHTS, pd.diff_weights_desc(), weights.place()}};
    std::optional<Destination> bias;
    if (g.bias) {
        bias.emplace(form, g.biasDesc(), wantedGradient(r, 1), g.biasDesc(),
                     addsToParameterGradient(r, 1));
        arguments.push_back({DNNL_ARG_DIFF_BIAS, g.biasDesc(), bias->place()});
    }
    form.add(dnnl::convolution_backward_weights(pd), pd.scratchpad_desc(), arguments);
    weights.finish(form);
    if (bias)
        bias->finish(form);
    return form;
}

const char* nameOf(ConvolutionPart part) {
    switch (part) {
    case ConvolutionPart::Output:
        return "conv2d forward";
    case ConvolutionPart::InputGradient:
        return "conv2d input gradient";
    case ConvolutionPart::ParameterGradients:
        return "conv2d parameter gradients";
    }
    return "?";
}

/// A form and what tells it apart from others: the implementation and its layouts.
struct Candidate {
    Form form;
    std::string implementation;
    std::vector<memory::desc> layouts;
    bool plainLoops() const { return implementation.find("ref") != std::string::npos; }
    bool same(const Candidate& other) const {
        return implementation == other.implementation && layouts == other.layouts;
    }
};

Candidate makeCandidate(ConvolutionPart part, const KernelRequest& r, const Geometry& g,
                        const Wanted& w, const dnnl::engine& engine) {
    const auto hint = forwardDesc(g, w, engine);
    if (part == ConvolutionPart::Output)
        return {forwardForm(r, g, w, hint, engine),
                hint.impl_info_str(),
                {hint.src_desc(), hint.dst_desc()}};
    if (part == ConvolutionPart::InputGradient) {
        const dnnl::convolution_backward_data::primitive_desc pd(
            {w.how, w.input, w.weights, w.output, g.strides, g.dilation, g.padding, g.padding},
            attributes(), engine, hint);
        return {inputGradientForm(r, g, w, pd, engine),
                pd.impl_info_str(),
                {pd.diff_src_desc(), pd.diff_dst_desc()}};
    }
    const auto operation =
        g.bias
            ? dnnl::convolution_backward_weights::desc(w.how, w.input, w.weightGradient,
                                                       g.biasDesc(), w.output, g.strides,
                                                       g.dilation, g.padding, g.padding)
            : dnnl::convolution_backward_weights::desc(w.how, w.input, w.weightGradient, w.output,
                                                       g.strides, g.dilation, g.padding, g.padding);
    const dnnl::convolution_backward_weights::primitive_desc pd(operation, attributes(), engine,
                                                                hint);
    return {parameterGradientForm(r, g, w, pd, engine),
            pd.impl_info_str(),
            {pd.src_desc(), pd.diff_dst_desc()}};
}

std::vector<Form> formsOf(ConvolutionPart part, const KernelRequest& r,
                          const dnnl::engine& engine) {
    const Geometry g(r);
    std::vector<Candidate> candidates;
    for (const Pictures pictures : {Pictures::AsTheyLie, Pictures::Best, Pictures::Plain})
        for (const algorithm how : {algorithm::convolution_auto, algorithm::convolution_direct}) {
            try {
                Candidate made = makeCandidate(part, r, g, Wanted(g, how, pictures), engine);
                if (std::none_of(candidates.begin(), candidates.end(),
                                 [&](const Candidate& c) { return c.same(made); }))
                    candidates.push_back(std::move(made));
            } catch (const dnnl::error&) {
                // This combination does not exist on this machine; the plain one always does.
            }
        }
    const bool anyFast = std::any_of(candidates.begin(), candidates.end(),
                                     [](const Candidate& c) { return !c.plainLoops(); });
    std::vector<Form> forms;
    for (Candidate& candidate : candidates)
        if (!anyFast || !candidate.plainLoops())
            forms.push_back(std::move(candidate.form));
    for (Form& form : columnForms(part, r, engine))
        forms.push_back(std::move(form));
    return forms;
}

std::string keyOf(ConvolutionPart part, const KernelRequest& r) {
    const Geometry g(r);
    const auto layout = [](Layout l) {
        return l == Layout::Plain ? "plain" : l == Layout::Blocked16 ? "blocked" : "last";
    };
    std::ostringstream out;
    out << nameOf(part) << " " << g.input[0] << "x" << g.input[1] << "x" << g.input[2] << "x"
        << g.input[3] << " to " << g.output[1] << " kernel " << g.kernelHeight << "x"
        << g.kernelWidth << " stride " << g.strides[0] << "x" << g.strides[1] << " padding "
        << g.padding[0] << "x" << g.padding[1] << " " << layout(g.inputLayout) << " "
        << layout(g.outputLayout);
    if (g.dilation != memory::dims{0, 0})
        out << " dilation " << g.dilation[0] << "x" << g.dilation[1];
    if (g.weights.size() == 5)
        out << " groups " << g.weights[0];
    if (g.bias)
        out << " with bias";
    if (g.type != kFloat)
        out << " bf16";
    if (part == ConvolutionPart::InputGradient ? addsToInputGradient(r)
                                               : addsToParameterGradient(r, 0))
        out << " added";
    return out.str();
}

std::unique_ptr<Form> pick(ConvolutionPart part, const KernelRequest& request, Context& context) {
    return pickForm(context, keyOf(part, request), request,
                    [&](const KernelRequest& r) { return formsOf(part, r, context.engine); });
}

} // namespace

std::unique_ptr<Kernel> makeConv2d(const KernelRequest& request, Context& context) {
    std::vector<std::unique_ptr<Form>> forms;
    if (request.direction != Direction::Backward) {
        forms.push_back(pick(ConvolutionPart::Output, request, context));
        return std::make_unique<FormKernel>(context, std::move(forms));
    }
    if (wantsParameterGradient(request, 0) || wantsParameterGradient(request, 1))
        forms.push_back(pick(ConvolutionPart::ParameterGradients, request, context));
    if (wantsInputGradient(request))
        forms.push_back(pick(ConvolutionPart::InputGradient, request, context));
    return std::make_unique<FormKernel>(context, std::move(forms));
}

} // namespace trainyard::engine::cpu
