// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Layers that work on sequences {T, C}.
#include "engine/graph/build_sequences.h"

#include <utility>

namespace trainyard::graph {

namespace {

/// Deviation that GPT-2 starts its weights with.
constexpr Initializer kNarrow{Distribution::Normal, 0.02};

ValueId needsSequence(LayerBuilder& builder, ValueId input) {
    return builder.problem("", {"%1 needs a sequence [positions, features]; it gets %2.",
                                {builder.id(), describe(builder.shape(input))}});
}

ValueId buildEmbedding(LayerBuilder& builder) {
    const Shape in = builder.shape(builder.input());
    const std::int64_t vocabulary = builder.integer("vocabulary");
    const std::int64_t features = builder.integer("features");
    if (in.size() != 1)
        return builder.problem("", {"%1 needs a sequence of indices [positions]; it gets %2.",
                                    {builder.id(), describe(in)}});
    if (!builder.readAsIndices(builder.input(), vocabulary))
        return builder.problem("from", {"%1 looks up indices, which only the input has; it is not "
                                        "connected to the input alone.",
                                        {builder.id()}});
    if (std::max(elementCount({vocabulary, features}), elementCount({in[0], features})) >
        kMaxElements)
        return builder.problem("features",
                               {"%1 × %2 weights are too many for one layer.",
                                {std::to_string(vocabulary), std::to_string(features)}});
    const ParameterId weight =
        builder.addParameter("", "weight", {vocabulary, features},
                             initializer(builder.text("init"), vocabulary, features), true);
    return builder.addOperation("", OperationKind::Embedding,
                                EmbeddingAttributes{vocabulary, features}, {builder.input()},
                                {in[0], features}, {weight});
}

ValueId buildPositionEmbedding(LayerBuilder& builder) {
    const Shape in = builder.shape(builder.input());
    if (in.size() != 2)
        return needsSequence(builder, builder.input());
    return builder.addOperation("", OperationKind::PositionEmbedding, {}, {builder.input()}, in,
                                {builder.addParameter("", "weight", in, kNarrow, true)});
}

ValueId buildAttention(LayerBuilder& builder) {
    return addAttention(builder, "", builder.input(),
                        {.heads = builder.integer("heads"),
                         .kvHeads = builder.integer("kv_heads"),
                         .causal = builder.toggle("causal"),
                         .rotary = builder.toggle("rotary"),
                         .bias = builder.toggle("bias")});
}

std::string joined(const std::string& part, const std::string& name) {
    return part.empty() ? name : part + "." + name;
}

} // namespace

ValueId addAttention(LayerBuilder& builder, const std::string& part, ValueId input,
                     const AttentionOptions& o) {
    if (input < 0)
        return -1;
    const Shape in = builder.shape(input);
    if (in.size() != 2)
        return needsSequence(builder, input);
    const std::int64_t kvHeads = o.kvHeads == 0 ? o.heads : o.kvHeads;
    const std::int64_t headSize = in[1] / o.heads;
    if (in[1] % o.heads != 0)
        return builder.problem("heads", {"%1 heads do not divide %2 features evenly.",
                                         {std::to_string(o.heads), std::to_string(in[1])}});
    if (o.heads % kvHeads != 0)
        return builder.problem("kv_heads", {"%1 key heads do not divide %2 heads evenly.",
                                            {std::to_string(kvHeads), std::to_string(o.heads)}});
    if (o.rotary && headSize % 2 != 0)
        return builder.problem("rotary",
                               {"Rotary positions turn pairs, but a head has %1 features.",
                                {std::to_string(headSize)}},
                               {"Choose heads so that each has an even number of features."});
    if (elementCount({o.heads, in[0], in[0]}) > kMaxElements)
        return builder.problem(
            "", {"%1 positions are too many for attention.", {std::to_string(in[0])}});
    const ValueId qkv = addLinear(builder, joined(part, "qkv"), input,
                                  (o.heads + 2 * kvHeads) * headSize, o.bias, &kNarrow);
    if (qkv < 0)
        return -1;
    const AttentionAttributes attributes{.heads = o.heads,
                                         .kvHeads = kvHeads,
                                         .headSize = headSize,
                                         .causal = o.causal,
                                         .rotaryBase = o.rotary ? 10000.0 : 0.0};
    const ValueId mixed = builder.addOperation(joined(part, "heads"), OperationKind::Attention,
                                               attributes, {qkv}, in);
    return addLinear(builder, joined(part, "out"), mixed, in[1], o.bias, &kNarrow);
}

BuildFunctions sequenceLayers() {
    return {{"embedding", buildEmbedding},
            {"position_embedding", buildPositionEmbedding},
            {"attention", buildAttention}};
}

} // namespace trainyard::graph
