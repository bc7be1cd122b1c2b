// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/models/experiment_fields.h"

#include "app/base/format.h"
#include "app/models/experiment_path.h"
#include "app/models/message_text.h"
#include "app/models/model_edit.h"
#include "engine/base/check.h"
#include "engine/plan/plan.h"

#include <QCoreApplication>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>

namespace trainyard::app {

using spec::FieldInfo;
using spec::FieldKind;
using spec::Value;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Whole numbers up to here are exact in the double that number fields work with.
constexpr double kMaxExact = 9007199254740992.0;
constexpr int kMaxWrittenRanks = 6;

FieldInfo whole(const char* name, const char* label, double minimum, double maximum,
                const char* help = "") {
    return {.name = name,
            .label = label,
            .kind = FieldKind::Integer,
            .minimum = minimum,
            .maximum = maximum,
            .help = help};
}

FieldInfo words(const char* name, const char* label, const char* help) {
    return {.name = name, .label = label, .kind = FieldKind::Text, .help = help};
}

FieldInfo choice(const char* name, const char* label, std::vector<std::string> choices,
                 const char* help = "") {
    return {.name = name,
            .label = label,
            .kind = FieldKind::Choice,
            .choices = std::move(choices),
            .help = help};
}

std::vector<EditorField> makeFixedFields() {
    FieldInfo clip{.name = "clip_norm",
                   .label = "Clip gradients",
                   .kind = FieldKind::Real,
                   .minimum = 0,
                   .maximum = kInfinity,
                   .openMinimum = true,
                   .help = "Gradients whose norm is larger are scaled down to it."};
    FieldInfo average{.name = "ema_decay",
                      .label = "Average weights",
                      .kind = FieldKind::Real,
                      .minimum = 0,
                      .maximum = 1,
                      .openMaximum = true,
                      .help = "Validates and ends with a moving average of the weights; near 1, "
                              "for example 0.999, it is a long one."};
    FieldInfo delta{.name = "min_delta",
                    .label = "Better by",
                    .kind = FieldKind::Real,
                    .minimum = 0,
                    .maximum = kInfinity,
                    .help = "Smaller gains do not count as better."};
    FieldInfo fraction{.name = "fraction",
                       .label = "Share held back",
                       .kind = FieldKind::Real,
                       .minimum = 0,
                       .maximum = 1,
                       .openMaximum = true,
                       .help = "Of the training samples; they are never trained on."};
    return {
        {"name", {.name = "name", .label = "Name", .kind = FieldKind::Text}, ""},
        {"data.normalize",
         choice("normalize", "Normalise", {"standard", "unit", "none"},
                "Standard: mean 0 and deviation 1. Unit: from 0 to 1."),
         ""},
        {"data.validation.fraction", fraction, ""},
        {"training.batch",
         whole("batch", "Batch", 1, 1 << 24,
               "Samples that one update learns from, over all ranks."),
         ""},
        {"training.epochs", whole("epochs", "Epochs", 1, 1e6, "Passes over the training data."),
         ""},
        {"training.max_steps",
         whole("max_steps", "Stop after steps", 1, kMaxExact, "Ends the run early."), "no limit"},
        {"training.seed",
         whole("seed", "Seed", 0, kMaxExact,
               "The same seed gives the same run: first weights, order, dropout."),
         ""},
        {"training.clip_norm", clip, "none"},
        {"training.learning_rate_batch",
         whole("learning_rate_batch", "Rate fits batch", 1, 1 << 24,
               "The learning rate is multiplied by the batch divided by this."),
         "any"},
        {"training.ema_decay", average, "none"},
        {"training.early_stopping.metric",
         choice("metric", "Stops by", {kNoStopping, "validation_loss", "validation_accuracy"},
                "Ends the run when this no longer gets better, and keeps the best weights."),
         ""},
        {"training.early_stopping.patience",
         whole("patience", "Patience", 1, 1e6, "Epochs without a better value."), ""},
        {"training.early_stopping.min_delta", delta, ""},
        {"precision", choice("precision", "Precision", {"fp32", "bf16", "fp64"}), ""},
        {"parallel.data",
         whole("data", "Data parallel", 1, 1024, "Ranks (processes) that share each batch."), ""},
        {"parallel.shares",
         words("shares", "Shares",
               "For unlike devices: how the data parallel ranks share the batch, such as 2, 1. "
               "Gradients stay exact."),
         "equal"},
        {"parallel.balance",
         choice("balance", "Balance", {"equal", "measured"},
                "Measured: when the run starts, each rank trains for a moment by itself, and those "
                "that are faster get more of the batch, or more of the layers. Gradients stay "
                "exact."),
         ""},
        {"parallel.tensor",
         whole("tensor", "Tensor parallel", 1, 1024,
               "Ranks that share each layer: columns and rows of linear layers, heads of "
               "attention, filters of convolutions. They exchange values in every layer."),
         ""},
        {"parallel.pipeline",
         whole("pipeline", "Pipeline", 1, 1024,
               "Ranks that have the layers one after the other. Micro-batches go through them like "
               "through a pipeline."),
         ""},
        {"parallel.cuts",
         words("cuts", "Stages begin at",
               "The layers that begin the second stage and those after it, such as block3, block6. "
               "Empty: cut so that stages take equally long."),
         "by cost"},
        {"parallel.micro_batches",
         whole("micro_batches", "Micro-batches", 1, 4096,
               "Parts of each rank's rows that are in a pipeline at the same time. More of them "
               "leave its ranks less idle."),
         ""},
        {"parallel.schedule",
         choice("schedule", "Schedule", {"1f1b", "gpipe", "interleaved"},
                "Order of a pipeline's micro-batches. 1f1b: few are alive at once. GPipe: all "
                "forward, then all backward. Interleaved: several stages for each rank, less "
                "idle time, more messages."),
         ""},
        {"parallel.stages_per_rank",
         whole("stages_per_rank", "Stages per rank", 2, 64, "Of the interleaved schedule."), ""},
        {"parallel.accumulate",
         whole("accumulate", "Accumulate", 1, 4096,
               "Each rank computes its rows in so many parts, one after the other, and adds up "
               "their gradients: less memory for activations. Batch norms see one part at once."),
         ""},
        {"parallel.zero",
         whole("zero", "ZeRO stage", 0, 3,
               "1: each data parallel rank keeps the optimizer's state of its share of the "
               "parameters only. 2: likewise the gradients. 3: likewise the parameters, which are "
               "gathered layer by layer when they are needed."),
         ""},
        {"parallel.recompute",
         choice(
             "recompute", "Recompute", {"none", "blocks"},
             "Blocks: layers of several operations run forward once more before their backward "
             "instead of keeping what they made. Less memory, a third more work, the same bits."),
         ""},
        {"parallel.compression",
         choice("compression", "Gradients as", {"none", "bf16", "fp16", "powersgd"},
                "For the way between data parallel ranks. Bf16 and fp16: rounded, half the bytes; "
                "fp16 is finer, but gradients above 65,504 become infinite and those below 6e-8 "
                "are lost. PowerSGD: each matrix as a product of two thin ones; what that leaves "
                "out is added to the next gradient. Worth it over a slow network."),
         ""},
        {"parallel.compression_rank",
         whole("compression_rank", "Matrix rank", 1, 1024,
               "Of PowerSGD: columns of the thin matrices. Fewer are fewer bytes and coarser "
               "gradients."),
         ""},
        {"parallel.compression_warmup",
         whole("compression_warmup", "Warm-up", 0, 1e9,
               "Of PowerSGD: updates with whole gradients before the first with compressed ones. "
               "A tenth of the run is a good start."),
         ""},
        {"parallel.transport",
         choice("transport", "Transport", {"auto", "shared_memory", "gloo"},
                "Auto: shared memory inside one computer."),
         ""},
        {"parallel.bucket_bytes",
         whole("bucket_bytes", "Bucket bytes", 1 << 12, 1 << 30,
               "Gradients are sent as soon as so many are finished. Small buckets pay the latency "
               "more often, large ones hide less behind the backward pass."),
         "automatic"},
    };
}

std::vector<EditorField> fieldsOf(spec::Kind kind, const std::string& type,
                                  const std::string& prefix) {
    std::vector<EditorField> fields;
    if (const spec::TypeInfo* info = spec::findType(kind, type))
        for (const FieldInfo& field : info->fields)
            fields.push_back({.path = prefix + field.name, .info = field, .emptyWord = ""});
    return fields;
}

/// A field that names an earlier layer becomes a choice among those that there are.
void offerLayers(EditorField& field, const spec::Experiment& experiment, int layer) {
    field.choicesAreNames = true;
    field.emptyWord = "its own";
    field.info.kind = FieldKind::Choice;
    field.info.choices = weightSources(experiment.model, layer);
    field.info.choices.insert(field.info.choices.begin(), "");
    const auto now = valueAt(experiment, field.path);
    const auto* name = now ? std::get_if<std::string>(&*now) : nullptr;
    auto& choices = field.info.choices;
    if (name && std::find(choices.begin(), choices.end(), *name) == choices.end())
        choices.push_back(*name); // wrong, and shown so that it can be seen
}

QString numberText(double value) {
    return QLocale().toString(value, 'g', 6);
}

QString pairText(const std::vector<std::int64_t>& pair) {
    return QStringLiteral("%1 × %2").arg(pair[0]).arg(pair[1]);
}

/// "/2" or "/2 × 1" where the step is not the usual one.
QString strideText(const std::vector<std::int64_t>& stride) {
    return u'/' + (stride[0] == stride[1] ? QString::number(stride[0]) : pairText(stride));
}

struct LayerReader {
    const spec::TypeInfo& type;
    const spec::LayerSpec& layer;

    bool known(const FieldInfo& field) const {
        const auto given = layer.values.find(field.name);
        return given == layer.values.end() ? field.defaultValue.has_value()
                                           : !spec::misfit(field, given->second);
    }
    bool isDefault(const FieldInfo& field) const {
        return field.defaultValue == spec::valueOf(type, layer.values, field.name);
    }
    /// The one value that says most of the layer, though it has a default.
    static bool isMain(const FieldInfo& field) { return field.name == "probability"; }
    /// Empty for fields that are not worth a place beside the name.
    QString argument(const FieldInfo& field) const {
        if (field.kind == FieldKind::Integer && !field.defaultValue)
            return QLocale().toString(
                static_cast<qlonglong>(spec::integerOf(type, layer.values, field.name)));
        if (field.kind == FieldKind::Real && (isMain(field) || !isDefault(field)))
            return numberText(spec::realOf(type, layer.values, field.name));
        if (field.kind == FieldKind::IntegerList)
            return shapeText(spec::listOf(type, layer.values, field.name));
        if (field.name == "heads")
            return QCoreApplication::translate(
                "Fields", "%n heads", nullptr,
                static_cast<int>(spec::integerOf(type, layer.values, field.name)));
        if (field.name == "stride" && field.kind == FieldKind::IntegerPair && !isDefault(field) &&
            field.defaultValue)
            return strideText(spec::pairOf(type, layer.values, field.name));
        return {};
    }
};

} // namespace

const EditorField& fixedField(std::string_view path) {
    static const std::vector<EditorField> fields = makeFixedFields();
    for (const EditorField& field : fields)
        if (field.path == path)
            return field;
    throwBrokenInvariant(__FILE__, __LINE__, "a fixed field", std::string(path));
}

std::vector<EditorField> layerFields(const spec::Experiment& experiment, int layer) {
    const spec::LayerSpec& of = experiment.model.layers[static_cast<std::size_t>(layer)];
    std::vector<EditorField> fields = fieldsOf(spec::Kind::Layer, of.type, layerPath(layer) + ".");
    for (EditorField& field : fields)
        if (namesLayer(field.info))
            offerLayers(field, experiment, layer);
    return fields;
}

std::vector<EditorField> optimizerFields(const spec::Experiment& experiment) {
    return fieldsOf(spec::Kind::Optimizer, experiment.training.optimizer.type,
                    "training.optimizer.");
}

std::vector<EditorField> scheduleFields(const spec::Experiment& experiment) {
    return fieldsOf(spec::Kind::Schedule, experiment.training.schedule.type, "training.schedule.");
}

std::vector<EditorField> lossFields(const spec::Experiment& experiment) {
    return fieldsOf(spec::Kind::Loss, experiment.model.loss.type, "model.loss.");
}

std::vector<EditorField> dataFields(const spec::Experiment& experiment) {
    return fieldsOf(spec::Kind::DataFormat, experiment.data.format, "data.");
}

std::vector<EditorField> augmentFields(const spec::Experiment& experiment) {
    const spec::TypeInfo* format = spec::findType(spec::Kind::DataFormat, experiment.data.format);
    if (!format || !format->pictures)
        return {};
    return fieldsOf(spec::Kind::Augmentation, spec::kPictureAugmentation, "data.augment.");
}

EditorField typeField(const std::string& path, spec::Kind kind) {
    FieldInfo info{.name = "type", .label = "Type", .kind = FieldKind::Choice};
    info.choices = spec::typeNames(kind);
    return {.path = path, .info = std::move(info), .emptyWord = "", .typesOf = kind};
}

namespace {

constexpr const char* kInputs = QT_TRANSLATE_NOOP("Fields", "Inputs");
constexpr const char* kOfLayer = QT_TRANSLATE_NOOP("Fields", "%1 of %2");
constexpr const char* kDataFiles = QT_TRANSLATE_NOOP("Fields", "data files");
constexpr std::pair<std::string_view, const char*> kTypeLabels[] = {
    {"training.optimizer.type", QT_TRANSLATE_NOOP("Fields", "optimizer")},
    {"training.schedule.type", QT_TRANSLATE_NOOP("Fields", "schedule")},
    {"model.loss.type", QT_TRANSLATE_NOOP("Fields", "loss")},
    {"model.input.shape", QT_TRANSLATE_NOOP("Fields", "input shape")},
    {"data.format", QT_TRANSLATE_NOOP("Fields", "data format")},
};

} // namespace

QString fieldLabel(const spec::Experiment& experiment, std::string_view path) {
    const int layer = layerOfPath(path);
    const std::string_view name = path.substr(path.rfind('.') + 1);
    const auto in = [&](const std::vector<EditorField>& fields) {
        for (const EditorField& field : fields)
            if (field.path == path)
                return catalogueText(field.info.label);
        return QString();
    };
    const auto tr = [](const char* text) {
        return QCoreApplication::translate("Fields", text);
    };
    if (layer >= 0 && layer < static_cast<int>(experiment.model.layers.size())) {
        const QString id =
            QString::fromStdString(experiment.model.layers[static_cast<std::size_t>(layer)].id);
        const QString label =
            fieldOfLayerPath(path) == "from" ? tr(kInputs) : in(layerFields(experiment, layer));
        return label.isEmpty() ? id : tr(kOfLayer).arg(label, id);
    }
    for (const auto& [typePath, words] : kTypeLabels)
        if (path == typePath)
            return tr(words);
    if (path.starts_with("training.optimizer."))
        return in(optimizerFields(experiment));
    if (path.starts_with("training.schedule."))
        return in(scheduleFields(experiment));
    if (path.starts_with("model.loss."))
        return in(lossFields(experiment));
    if (path.starts_with("data.augment."))
        return in(augmentFields(experiment));
    if (path != "data.validation.fraction" &&
        (path.starts_with("data.train") || path.starts_with("data.validation.")))
        return tr(kDataFiles);
    if (const QString label = in(dataFields(experiment)); !label.isEmpty())
        return label;
    for (const EditorField& field : makeFixedFields())
        if (field.path == path)
            return catalogueText(field.info.label);
    return QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
}

QString choiceText(const EditorField& field, const std::string& choice) {
    if (choice.empty())
        return catalogueText(field.emptyWord);
    if (field.choicesAreNames)
        return QString::fromStdString(choice);
    const spec::Kind kind = field.typesOf.value_or(spec::Kind::Layer);
    const spec::TypeInfo* type = spec::findType(kind, choice);
    // Other choices may be called as layers are: activations and norms are meant by their names, a
    // "linear" fall of a rate is no dense layer.
    if (type && (field.typesOf || type->category == "Normalise and activate"))
        return catalogueText(type->label);
    if (choice == "bpe") // no words
        return QStringLiteral("BPE");
    if (choice == "powersgd")
        return QStringLiteral("PowerSGD");
    std::string words = choice;
    std::replace(words.begin(), words.end(), '_', ' ');
    const bool isName = words.find_first_of("0123456789") != std::string::npos; // "fp32"
    if (!isName && !words.empty() && words.front() >= 'a' && words.front() <= 'z')
        words.front() = static_cast<char>(words.front() - 'a' + 'A');
    return catalogueText(words);
}

QString argumentsText(const spec::LayerSpec& layer) {
    const spec::TypeInfo* type = spec::findType(spec::Kind::Layer, layer.type);
    if (!type)
        return {};
    const LayerReader reader{*type, layer};
    QStringList words;
    for (const FieldInfo& field : type->fields) {
        if (!reader.known(field))
            continue;
        if (field.name == "kernel") // people name the window first
            words.prepend(pairText(spec::pairOf(*type, layer.values, field.name)));
        else if (const QString word = reader.argument(field); !word.isEmpty())
            words << word;
    }
    return words.join(u", ");
}

QString batchArithmetic(std::int64_t batch, const spec::ParallelSpec& parallel) {
    const QLocale locale;
    const auto number = [&](std::int64_t value) {
        return locale.toString(static_cast<qlonglong>(value));
    };
    const auto ranks = static_cast<int>(parallel.data);
    if (ranks < 1 || batch < 1)
        return {};
    if (ranks > 1 && parallel.balance == "measured")
        return QCoreApplication::translate("Fields", "%1, shared by measured speed")
            .arg(number(batch));
    std::vector<double> ends = plan::shareEndsOf(parallel.shares);
    if (ends.size() != static_cast<std::size_t>(ranks))
        ends.clear(); // none, or too few, which is said elsewhere
    QStringList parts;
    std::map<std::int64_t, int, std::greater<>> alike; // rows -> ranks that have so many
    for (int rank = 0; rank < ranks; ++rank) {
        const std::int64_t rows = plan::rowsOfShare(batch, rank, ranks, ends).count;
        parts << number(rows);
        ++alike[rows];
    }
    if (ranks > kMaxWrittenRanks) {
        parts.clear();
        for (const auto& [rows, count] : alike)
            parts << number(count) + u" × " + number(rows);
    }
    return number(batch) + u" = " + parts.join(u" + ");
}

bool hasEffect(std::string_view path, const spec::ParallelSpec& parallel) {
    const bool measured = parallel.balance == "measured";
    if (path == "parallel.balance")
        return parallel.data > 1 || parallel.pipeline > 1;
    if (path == "parallel.shares")
        return parallel.data > 1 && !measured;
    if (path == "parallel.cuts")
        return parallel.pipeline > 1 && !measured;
    if (path == "parallel.zero" || path == "parallel.compression" ||
        path == "parallel.bucket_bytes")
        return parallel.data > 1;
    if (path == "parallel.compression_rank" || path == "parallel.compression_warmup")
        return parallel.data > 1 && parallel.compression == "powersgd";
    if (path == "parallel.transport")
        return parallel.ranks() > 1;
    if (path == "parallel.stages_per_rank")
        return parallel.pipeline > 1 && parallel.schedule == "interleaved";
    if (path == "parallel.micro_batches" || path == "parallel.schedule")
        return parallel.pipeline > 1;
    return true;
}

QString shapeText(const Shape& shape) {
    return QString::fromStdString(describe(shape));
}

} // namespace trainyard::app
