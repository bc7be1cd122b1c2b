// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Experiment: everything a person chose for a run. Plain values; what types of layers, optimizers
// and schedules exist and which fields they have is in catalogue.h; reading and writing in
// experiment_json.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace trainyard::spec {

inline constexpr const char* kExperimentFormat = "trainyard.experiment/1";

/// A chosen value: switch, whole number, number, text (or one of a choice), list of whole numbers.
using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>>;
/// Only fields that the type's catalogue entry lists; absent ones have the entry's default.
using Values = std::map<std::string, Value>;

/// Files of one part of the data by role (catalogue: TypeInfo::roles), e.g. {"images": ...,
/// "labels": ...} for "idx".
using FileSet = std::map<std::string, std::string>;

struct DataSpec {
    std::string format = "idx";
    FileSet train;
    FileSet validation;            ///< empty: none, or a share of train
    double validationFraction = 0; ///< of train, used when `validation` is empty; 0 = no validation
    std::string normalize = "standard"; ///< "standard", "unit" or "none"
    Values values;                      ///< fields of the format's catalogue entry
    Values augment;                     ///< fields of the catalogue's augmentation of pictures
    bool operator==(const DataSpec&) const = default;
};

struct LayerSpec {
    std::string id;
    std::string type;
    std::vector<std::string> from; ///< empty: the layer before (the first: the input)
    Values values;
    bool operator==(const LayerSpec&) const = default;
};

/// Optimizer, schedule, loss: a type and its values.
struct Choice {
    std::string type;
    Values values;
    bool operator==(const Choice&) const = default;
};

struct ModelSpec {
    std::vector<std::int64_t> inputShape;
    std::vector<LayerSpec> layers;
    Choice loss{"cross_entropy", {}};
    bool operator==(const ModelSpec&) const = default;
};

/// Ends a run whose validation no longer gets better.
struct EarlyStopping {
    std::string metric = "validation_loss"; ///< or "validation_accuracy"
    std::int64_t patience = 5;              ///< epochs without a better value
    double minDelta = 0;                    ///< a better value is better by more than this
    bool operator==(const EarlyStopping&) const = default;
};

struct TrainingSpec {
    std::int64_t batch = 128; ///< global: over all ranks
    std::int64_t epochs = 5;
    std::optional<std::int64_t> maxSteps;
    std::uint64_t seed = 1;
    std::optional<double> clipNorm;
    std::optional<std::int64_t>
        learningRateBatch;          ///< the batch that the learning rate is meant for
    std::optional<double> emaDecay; ///< of the moving average of the weights
    std::optional<EarlyStopping> earlyStopping;
    Choice optimizer{"adam", {}};
    Choice schedule{"constant", {}};
    bool operator==(const TrainingSpec&) const = default;
};

/// Bf16: values and their gradients in bf16, parameters, their gradients and the optimizer's state
/// in fp32.
enum class Precision { Fp64, Fp32, Bf16 };
/// "fp64", "fp32", "bf16".
std::string_view name(Precision precision);
std::optional<Precision> precisionOf(std::string_view name);

struct ParallelSpec {
    // The mesh: data x tensor x pipeline ranks.
    std::int64_t data = 1; ///< each has its rows of the batch
    /// For unlike devices: of the batch, in proportion, one for each data parallel rank; empty:
    /// all alike.
    std::vector<double> shares;
    /// "equal", or "measured": shares of the batch and cuts of a pipeline follow from how fast the
    /// ranks are, which they measure when the run starts.
    std::string balance = "equal";
    std::int64_t tensor = 1;   ///< share each layer
    std::int64_t pipeline = 1; ///< have the model's layers one after the other
    /// Parts of each rank's rows that go through a pipeline one after the other.
    std::int64_t microBatches = 1;
    /// Order of a pipeline's micro-batches: "gpipe", "1f1b" or "interleaved".
    std::string schedule = "1f1b";
    /// Of an interleaved pipeline.
    std::int64_t stagesPerRank = 2;
    /// The layers that begin the second stage of a pipeline and those after it; empty: cut so that
    /// stages take equally long.
    std::vector<std::string> cuts;
    /// Parts of each rank's rows that are computed one after the other, their gradients added. In a
    /// pipeline each has `microBatches`.
    std::int64_t accumulate = 1;
    /// ZeRO stage (Rajbhandari et al., 2020): 1 shards the optimizer's state over the data parallel
    /// ranks, 2 the gradients, too, 3 the parameters, too.
    std::int64_t zero = 0;
    /// "none", or "blocks": layers of several operations run forward again before their backward
    /// instead of keeping their values.
    std::string recompute = "none";
    /// How gradients are made smaller for the way between data parallel ranks: "none", "bf16" or
    /// "fp16" (rounded to half the bytes of fp32, added in fp32), or "powersgd" (each matrix as a
    /// product of two thin ones, what that leaves out is added to the next gradient; Vogels et al.,
    /// 2019).
    std::string compression = "none";
    /// Of powersgd: columns of the thin matrices.
    std::int64_t compressionRank = 4;
    /// Of powersgd: updates with whole gradients before the first with compressed ones. PyTorch's
    /// hook (start_powerSGD_iter) advises a tenth of a run and takes 1,000 where nothing is said.
    std::int64_t compressionWarmup = 100;
    /// How ranks exchange gradients: "auto", "shared_memory" or "gloo".
    std::string transport = "auto";
    /// Gradients that travel together end when they are so large; 0: by what exchanges were
    /// measured to take (engine/plan/bucket_size.h).
    std::int64_t bucketBytes = 0;

    std::int64_t ranks() const { return data * tensor * pipeline; }
    bool operator==(const ParallelSpec&) const = default;
};

struct Experiment {
    std::string name = "untitled";
    DataSpec data;
    ModelSpec model;
    TrainingSpec training;
    Precision precision = Precision::Fp32;
    ParallelSpec parallel;
    std::vector<std::string> devices; ///< empty: local ones in order
    bool operator==(const Experiment&) const = default;
};

} // namespace trainyard::spec
