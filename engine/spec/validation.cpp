// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Checks that need nothing but the experiment itself. Shapes are checked by graph/build_graph,
// files and labels by data/dataset.
#include "engine/base/number_text.h"
#include "engine/base/tensor_type.h"
#include "engine/spec/catalogue.h"
#include "engine/spec/experiment_json.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace trainyard::spec {

namespace {

constexpr std::int64_t kMaxRanks = 1024;
constexpr std::int64_t kMostMicroBatches = 4096;
constexpr std::int64_t kMostWarmup = 1'000'000'000;
constexpr std::int64_t kMaxBatch = std::int64_t{1} << 24;
constexpr std::int64_t kSmallestBucket = std::int64_t{1} << 12;
constexpr std::int64_t kLargestBucket = std::int64_t{1} << 30;

class Checker {
public:
    explicit Checker(const Experiment& experiment) : m_experiment(experiment) {}

    Problems run() {
        checkName();
        checkData();
        checkModel();
        checkTraining();
        checkParallel();
        return std::move(m_problems);
    }

private:
    void add(std::string where, Message what, Message cure = {}) {
        m_problems.push_back({std::move(what), std::move(where), std::move(cure)});
    }

    void checkRange(const std::string& where, std::int64_t value, std::int64_t low,
                    std::int64_t high) {
        if (value < low || value > high)
            add(where, {"Expected a whole number from %1 to %2, found %3.",
                        {grouped(low), grouped(high), grouped(value)}});
    }

    void checkName() {
        const std::string& name = m_experiment.name;
        const bool control = std::any_of(name.begin(), name.end(), [](char c) {
            return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
        });
        if (name.empty() || name.size() > 200 || control)
            add("name", {"A name has 1 to 200 bytes on one line."});
    }

    void checkOneOf(const std::string& where, const std::string& found,
                    const std::vector<std::string>& allowed) {
        if (std::count(allowed.begin(), allowed.end(), found))
            return;
        add(where, {"Found \"%1\"; known are: %2.", {excerpt(found), listed(allowed)}});
    }

    void checkData() {
        const DataSpec& data = m_experiment.data;
        if (findType(Kind::DataFormat, data.format))
            checkFields("data", Kind::DataFormat, data.format, data.values);
        else
            checkOneOf("data.format", data.format, typeNames(Kind::DataFormat));
        checkFields("data.augment", Kind::Augmentation, kPictureAugmentation, data.augment);
        checkOneOf("data.normalize", data.normalize, {"standard", "unit", "none"});
        if (!(data.validationFraction >= 0 && data.validationFraction < 1))
            add("data.validation.fraction", {"Expected a share from 0 to below 1, found %1.",
                                             {shortest(data.validationFraction)}});
    }

    void checkFields(const std::string& where, Kind kind, const std::string& type,
                     const Values& values) {
        const TypeInfo* info = findType(kind, type);
        if (!info) {
            add(where + ".type", {"There is no %1 \"%2\".", {std::string(name(kind)), type}});
            return;
        }
        for (const auto& [key, value] : values)
            if (!info->field(key))
                add(where + "." + key, {"This key is not known here."});
        for (const FieldInfo& field : info->fields) {
            const auto given = values.find(field.name);
            if (given == values.end() && !field.defaultValue)
                add(where + "." + field.name, {"This must be given."});
            else if (given != values.end())
                if (const auto wrong = misfit(field, given->second))
                    add(where + "." + field.name, {"%1.", {*wrong}});
        }
    }

    void checkModel() {
        const ModelSpec& model = m_experiment.model;
        const auto positive = [](std::int64_t extent) {
            return extent > 0 && extent <= 1 << 20;
        };
        const auto rank = model.inputShape.size();
        if (rank < 1 || rank > 3 ||
            !std::all_of(model.inputShape.begin(), model.inputShape.end(), positive))
            add("model.input.shape", {"Expected [features], [positions, features] or [channels, "
                                      "height, width], each from 1 to 1,048,576; found %1.",
                                      {excerpt(describe(model.inputShape))}});
        if (model.layers.empty())
            add("model.layers", {"The model has no layers."}, {"Add at least one linear layer."});
        std::set<std::string> seen{"input"};
        for (std::size_t i = 0; i < model.layers.size(); ++i)
            checkLayer(model.layers[i], "model.layers[" + std::to_string(i) + "]", seen);
        checkFields("model.loss", Kind::Loss, model.loss.type, model.loss.values);
    }

    void checkLayer(const LayerSpec& layer, const std::string& where, std::set<std::string>& seen) {
        const auto allowed = [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                   c == '_' || c == '-';
        };
        if (layer.id.empty() || layer.id.size() > 64 ||
            !std::all_of(layer.id.begin(), layer.id.end(), allowed))
            add(where + ".id",
                {"Found \"%1\"; an id has 1 to 64 letters, digits, - or _.", {excerpt(layer.id)}});
        for (const std::string& source : layer.from)
            if (!seen.contains(source))
                add(where + ".from",
                    {"There is no layer \"%1\" before this one.", {excerpt(source)}});
        if (!seen.insert(layer.id).second)
            add(where + ".id", {"The id \"%1\" is taken by an earlier layer.", {layer.id}},
                {"Give each layer an id of its own."});
        checkFields(where, Kind::Layer, layer.type, layer.values);
    }

    void checkTraining() {
        const TrainingSpec& training = m_experiment.training;
        checkRange("training.batch", training.batch, 1, kMaxBatch);
        checkRange("training.epochs", training.epochs, 1, 1'000'000);
        if (training.maxSteps)
            checkRange("training.max_steps", *training.maxSteps, 1, INT64_MAX);
        if (training.clipNorm && !(*training.clipNorm > 0 && std::isfinite(*training.clipNorm)))
            add("training.clip_norm",
                {"Expected a number above 0, found %1.", {shortest(*training.clipNorm)}});
        if (training.learningRateBatch)
            checkRange("training.learning_rate_batch", *training.learningRateBatch, 1, kMaxBatch);
        if (training.emaDecay && !(*training.emaDecay >= 0 && *training.emaDecay < 1))
            add("training.ema_decay",
                {"Expected a number from 0 to below 1, found %1.", {shortest(*training.emaDecay)}});
        if (training.earlyStopping)
            checkEarlyStopping(*training.earlyStopping);
        checkFields("training.optimizer", Kind::Optimizer, training.optimizer.type,
                    training.optimizer.values);
        checkFields("training.schedule", Kind::Schedule, training.schedule.type,
                    training.schedule.values);
    }

    void checkEarlyStopping(const EarlyStopping& stopping) {
        const DataSpec& data = m_experiment.data;
        if (data.validation.empty() && !(data.validationFraction > 0))
            add("training.early_stopping.metric",
                {"Early stopping looks at the validation, but no data is "
                 "kept for it."},
                {"Set data.validation, or take early stopping out."});
        checkOneOf("training.early_stopping.metric", stopping.metric,
                   {"validation_loss", "validation_accuracy"});
        checkRange("training.early_stopping.patience", stopping.patience, 1, 1'000'000);
        if (!(stopping.minDelta >= 0 && std::isfinite(stopping.minDelta)))
            add("training.early_stopping.min_delta",
                {"Expected a number of at least 0, found %1.", {shortest(stopping.minDelta)}});
    }

    void checkParallel() {
        const ParallelSpec& parallel = m_experiment.parallel;
        checkBalance();
        checkOneOf("parallel.schedule", parallel.schedule, {"gpipe", "1f1b", "interleaved"});
        checkOneOf("parallel.recompute", parallel.recompute, {"none", "blocks"});
        checkOneOf("parallel.transport", parallel.transport, {"auto", "shared_memory", "gloo"});
        checkCompression();
        if (parallel.bucketBytes != 0)
            checkRange("parallel.bucket_bytes", parallel.bucketBytes, kSmallestBucket,
                       kLargestBucket);
        const std::size_t before = m_problems.size();
        checkRange("parallel.data", parallel.data, 1, kMaxRanks);
        checkRange("parallel.tensor", parallel.tensor, 1, kMaxRanks);
        checkRange("parallel.pipeline", parallel.pipeline, 1, kMaxRanks);
        checkRange("parallel.accumulate", parallel.accumulate, 1, kMostMicroBatches);
        checkRange("parallel.micro_batches", parallel.microBatches, 1, kMostMicroBatches);
        if (m_problems.size() > before)
            return; // what follows computes with these
        checkMesh();
        checkZero();
        checkPipeline();
        const std::int64_t batch = m_experiment.training.batch;
        if (batch >= 1 && parallel.data > batch)
            add("training.batch",
                {"A batch of %1 cannot be shared by %2 ranks.",
                 {grouped(batch), grouped(parallel.data)}},
                {"Use a batch of at least %2, or %1 ranks.",
                 {grouped(batch), grouped(parallel.data)}});
        else if (batch >= 1 && parallel.shares.empty())
            checkMicroBatches((batch - 1) / parallel.data + 1);
        checkShares();
        checkDevices();
    }

    void checkCompression() {
        const ParallelSpec& parallel = m_experiment.parallel;
        const std::string& form = parallel.compression;
        checkOneOf("parallel.compression", form, {"none", "bf16", "fp16", "powersgd"});
        checkRange("parallel.compression_rank", parallel.compressionRank, 1, 1024);
        checkRange("parallel.compression_warmup", parallel.compressionWarmup, 0, kMostWarmup);
        if ((form == "bf16" || form == "fp16") && m_experiment.precision == Precision::Fp64)
            add("parallel.compression",
                {"Gradients in fp64 are not rounded to %1 on their way.", {form}},
                {"Set parallel.compression to none, or choose fp32."});
        if (form == "powersgd" && parallel.zero > 0 && parallel.data > 1)
            add("parallel.compression",
                {"PowerSGD needs the sum of whole gradients on every rank; with ZeRO a rank gets "
                 "its share of the sum only."},
                {"Set parallel.zero to 0, or parallel.compression to bf16."});
    }

    void checkBalance() {
        const ParallelSpec& parallel = m_experiment.parallel;
        checkOneOf("parallel.balance", parallel.balance, {"equal", "measured"});
        if (parallel.balance != "measured")
            return;
        if (!parallel.shares.empty())
            add("parallel.balance",
                {"Shares of the batch are given; they cannot be measured, too."},
                {"Take parallel.shares out, or set parallel.balance to equal."});
        if (!parallel.cuts.empty())
            add("parallel.balance",
                {"Cuts of the pipeline are given; they cannot follow from measured speeds, too."},
                {"Take parallel.cuts out, or set parallel.balance to equal."});
    }

    void checkShares() {
        const ParallelSpec& parallel = m_experiment.parallel;
        if (parallel.shares.empty())
            return;
        if (static_cast<std::int64_t>(parallel.shares.size()) != parallel.data)
            add("parallel.shares",
                {"Expected a share of the batch for each of %1 data parallel ranks, found %2.",
                 {grouped(parallel.data), std::to_string(parallel.shares.size())}},
                {"Give one for each, or none."});
        for (const double share : parallel.shares)
            if (!(share > 0 && std::isfinite(share)))
                add("parallel.shares", {"Expected numbers above 0, found %1.", {shortest(share)}});
    }

    void checkMesh() {
        const ParallelSpec& parallel = m_experiment.parallel;
        if (parallel.ranks() > kMaxRanks)
            add("parallel",
                {"%1 x %2 x %3 ranks are %4; at most %5 can train together.",
                 {grouped(parallel.data), grouped(parallel.tensor), grouped(parallel.pipeline),
                  grouped(parallel.ranks()), grouped(kMaxRanks)}});
        const std::string& optimizer = m_experiment.training.optimizer.type;
        if (parallel.tensor > 1 && (optimizer == "lars" || optimizer == "lamb"))
            add("parallel.tensor",
                {"%1 needs the norm of whole tensors, and tensor parallel ranks have parts of "
                 "them.",
                 {optimizer}},
                {"Set parallel.tensor to 1, or choose another optimizer."});
    }

    void checkPipeline() {
        const ParallelSpec& parallel = m_experiment.parallel;
        const bool interleaved = parallel.schedule == "interleaved" && parallel.pipeline > 1;
        checkRange("parallel.stages_per_rank", parallel.stagesPerRank, 2, 64);
        const std::int64_t all = parallel.accumulate * parallel.microBatches;
        if (interleaved && all % parallel.pipeline != 0)
            add("parallel.micro_batches",
                {"The interleaved schedule needs a multiple of the %1 pipeline ranks, found %2 "
                 "micro-batches.",
                 {grouped(parallel.pipeline), grouped(all)}},
                {"Use %1 micro-batches, or the schedule 1f1b.",
                 {grouped((all + parallel.pipeline - 1) / parallel.pipeline * parallel.pipeline)}});
        const std::int64_t stages =
            parallel.pipeline * (interleaved ? parallel.stagesPerRank : std::int64_t{1});
        const auto cuts = static_cast<std::int64_t>(parallel.cuts.size());
        if (cuts > 0 && stages == 1)
            add("parallel.cuts",
                {"A model that is not cut into stages has no cuts, found %1.", {grouped(cuts)}},
                {"Set parallel.pipeline to the number of stages, or name no cuts."});
        else if (cuts > 0 && cuts != stages - 1)
            add("parallel.cuts",
                {"Expected the first layers of %1 stages, all but the first, found %2.",
                 {grouped(stages), grouped(cuts)}},
                {"Name %1, or none.", {grouped(stages - 1)}});
    }

    /// `rows`: of the first data parallel rank, which has the most.
    void checkMicroBatches(std::int64_t rows) {
        const ParallelSpec& parallel = m_experiment.parallel;
        const std::int64_t parts = parallel.accumulate * parallel.microBatches;
        if (parts > std::min(rows, kMostMicroBatches - 1))
            add(parallel.microBatches > 1 ? "parallel.micro_batches" : "parallel.accumulate",
                {"%1 rows of a batch on each rank cannot be cut into %2 micro-batches.",
                 {grouped(rows), grouped(parts)}},
                {"Use at most %1 micro-batches, or a larger batch.", {grouped(rows)}});
    }

    void checkZero() {
        checkRange("parallel.zero", m_experiment.parallel.zero, 0, 3);
        const std::string& optimizer = m_experiment.training.optimizer.type;
        if (m_experiment.parallel.zero > 0 && (optimizer == "lars" || optimizer == "lamb"))
            add("parallel.zero",
                {"%1 needs the norm of whole tensors, and a sharded optimizer sees parts of them.",
                 {optimizer}},
                {"Set parallel.zero to 0, or choose another optimizer."});
    }

    /// "local/cpu:" and a number, written in one way only: one device has one name.
    static bool isCpu(const std::string& device) {
        const std::string prefix = "local/cpu:";
        if (!device.starts_with(prefix))
            return false;
        const auto index = parseInteger(device.substr(prefix.size()));
        return index && *index >= 0 && device == prefix + std::to_string(*index);
    }

    void checkDevices() {
        const auto& devices = m_experiment.devices;
        std::set<std::string> seen;
        for (std::size_t i = 0; i < devices.size(); ++i) {
            const std::string where = "devices[" + std::to_string(i) + "]";
            if (!isCpu(devices[i]))
                add(where, {"Found \"%1\"; this version knows local/cpu:0, local/cpu:1 ...",
                            {excerpt(devices[i])}});
            else if (!seen.insert(devices[i]).second)
                add(where, {"The device \"%1\" is listed twice.", {devices[i]}});
        }
        if (!devices.empty() &&
            static_cast<std::int64_t>(devices.size()) != m_experiment.parallel.ranks())
            add("devices",
                {"%1 devices are listed for %2 ranks.",
                 {std::to_string(devices.size()), std::to_string(m_experiment.parallel.ranks())}},
                {"List one device for each rank, or none."});
    }

    const Experiment& m_experiment;
    Problems m_problems;
};

} // namespace

Problems validate(const Experiment& experiment) {
    return Checker(experiment).run();
}

} // namespace trainyard::spec
