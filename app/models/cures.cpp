// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/models/cures.h"

#include "app/models/experiment_path.h"
#include "app/models/model_edit.h"
#include "engine/spec/catalogue.h"

#include <QCoreApplication>
#include <QLocale>

#include <algorithm>

namespace trainyard::app {

using spec::Experiment;
using spec::LayerSpec;

namespace {

/// Cures that cure each other's problems for ever would not end; real ones need one or two.
constexpr int kMaxCures = 8;

struct Cures {
    Q_DECLARE_TR_FUNCTIONS(Cures)

public:
    const Error& problem;
    const Experiment& experiment;
    const ExperimentAnalysis& analysis;
    const DataFacts* facts;
    std::vector<Cure> found;

    const std::vector<LayerSpec>& layers() const { return experiment.model.layers; }
    int layerCount() const { return static_cast<int>(layers().size()); }
    std::int64_t classes() const { return facts ? facts->training.classes : 0; }
    std::int64_t numbers() const { return facts ? facts->training.numbers : 0; }
    std::int64_t vocabulary() const { return facts ? facts->training.vocabulary : 0; }
    LayerHints hints() const { return hintsOf(experiment, analysis, facts); }
    const LayerSpec& layerAt(int index) const { return layers()[static_cast<std::size_t>(index)]; }
    QString idOf(int index) const { return QString::fromStdString(layerAt(index).id); }

    void add(QString label, std::function<void(Experiment&)> apply) {
        found.push_back({std::move(label), std::move(apply)});
    }

    void find() {
        const std::string& where = problem.where;
        const int layer = layerOfPath(where);
        if (layer >= 0 && layer < layerCount())
            ofLayer(layer);
        else if (where == "training.batch")
            ofBatch();
        else if (where == "model.layers" && layers().empty())
            ofEmptyModel();
        else if (where == "model.loss" || where == "model.loss.type")
            ofLoss();
        else if (where == "model.input.shape")
            ofInput();
        else if (where.starts_with("devices"))
            add(tr("Take the local devices in order"), [](Experiment& e) { e.devices.clear(); });
    }

    void ofBatch() {
        const std::int64_t batch = experiment.training.batch;
        const std::int64_t ranks = experiment.parallel.data;
        if (batch < 1 || ranks <= batch)
            return;
        add(tr("Use a batch of %1").arg(QLocale().toString(static_cast<qlonglong>(ranks))),
            [ranks](Experiment& e) { e.training.batch = ranks; });
        add(batch == 1 ? tr("Use one rank") : tr("Use %n ranks", nullptr, static_cast<int>(batch)),
            [batch](Experiment& e) { e.parallel.data = batch; });
    }

    /// Shape at the input of a layer; empty where it is not known.
    Shape inputOf(int layer) const {
        const auto index = static_cast<std::size_t>(layer);
        if (index >= analysis.layers.size() || analysis.layers[index].inputs.size() != 1)
            return {};
        return analysis.layers[index].inputs.front();
    }

    void ofLayer(int index) {
        const std::string_view field = fieldOfLayerPath(problem.where);
        if (field == "id")
            ofId(index);
        else if (field == "from")
            ofInputs(index);
        else if (field == "vocabulary" && vocabulary() > 0)
            add(tr("Set it to %1").arg(QLocale().toString(static_cast<qlonglong>(vocabulary()))),
                [index, size = vocabulary()](Experiment& e) {
                    setValueAt(e, layerPath(index, "vocabulary"), spec::Value(size));
                });
        else if (field.empty())
            ofPlace(index);
    }

    /// The layer is right, but does not stand where it can work.
    void ofPlace(int index) {
        const LayerSpec& layer = layerAt(index);
        const Shape input = inputOf(index);
        const auto place = static_cast<std::size_t>(index);
        const bool works = place < analysis.layers.size() && !analysis.layers[place].output.empty();
        if (index == 0 && vocabulary() > 0 && layer.type != "embedding") {
            add(tr("Insert an embedding"), [hints = hints()](Experiment& e) {
                insertLayer(e.model, 0, makeLayer(e.model, "embedding", 0, hints));
            });
        } else if (works) { // and nothing uses it
            addRemoval(index);
        } else if (input.size() > 1 && accepts(layer, {elementCount(input)})) {
            add(tr("Insert flatten"), [index](Experiment& e) {
                insertLayer(e.model, index, makeLayer(e.model, "flatten", index));
            });
        } else if (const int flatten = flattenBefore(index);
                   flatten >= 0 && !input.empty() && accepts(layer, inputOf(flatten))) {
            add(tr("Move before %1").arg(idOf(flatten)),
                [index, flatten](Experiment& e) { moveLayer(e.model, index, flatten); });
        }
    }

    void addRemoval(int index) {
        add(tr("Remove %1").arg(idOf(index)),
            [index](Experiment& e) { removeLayer(e.model, index); });
    }

    void ofInputs(int index) {
        const std::vector<std::string> now = sourcesOf(experiment.model, index);
        const auto take = [&](const QString& label, const std::vector<std::string>& sources) {
            add(label, [index, sources](Experiment& e) { setSources(e.model, index, sources); });
        };
        std::vector<std::string> known;
        for (const std::string& source : now)
            if (source == "input" || isBefore(source, index))
                known.push_back(source);
        if (joinsBranches(layerAt(index).type)) {
            const auto branches =
                fittingBranches(experiment.model, layerAt(index).type, index, hints());
            if (known.size() > 1 && known != now)
                take(tr("Leave it out"), known);
            else if (branches.size() > 1 && branches != now)
                take(tr("Join %1 and %2")
                         .arg(QString::fromStdString(branches[0]),
                              QString::fromStdString(branches[1])),
                     branches);
            addRemoval(index);
        } else {
            take(tr("Take the layer before"), {});
        }
    }

    bool isBefore(const std::string& id, int index) const {
        return std::any_of(layers().begin(), layers().begin() + index,
                           [&](const LayerSpec& layer) { return layer.id == id; });
    }

    /// The flatten that made a vector out of the picture which `layer` needs.
    int flattenBefore(int layer) const {
        for (int i = layer - 1; i >= 0; --i)
            if (layers()[static_cast<std::size_t>(i)].type == "flatten")
                return i;
        return -1;
    }

    void ofId(int index) {
        const LayerSpec& layer = layers()[static_cast<std::size_t>(index)];
        const bool taken = std::count_if(layers().begin(), layers().end(),
                                         [&](const LayerSpec& l) { return l.id == layer.id; }) > 1;
        if (!taken)
            return;
        const std::string free = uniqueLayerId(experiment.model, layer.id);
        add(tr("Rename to %1").arg(QString::fromStdString(free)), [index, free](Experiment& e) {
            e.model.layers[static_cast<std::size_t>(index)].id = free;
        });
    }

    void ofEmptyModel() {
        const bool picture = experiment.model.inputShape.size() > 1;
        add(picture ? tr("Add flatten and dense") : tr("Add a dense layer"),
            [picture, hints = hints()](Experiment& e) { appendDense(e, picture, hints.outputs); });
    }

    bool lossTakesLabels() const { return takesLabels(experiment.model.loss); }

    void ofLoss() {
        if (analysis.layers.size() != layers().size() || layers().empty())
            return;
        const Shape output = analysis.layers.back().output;
        if (lossTakesLabels() ? numbers() > 0 : classes() > 0)
            return ofOtherLoss();
        if (output.size() > (lossTakesLabels() ? 2u : 1u)) {
            add(tr("Add flatten and dense"),
                [hints = hints()](Experiment& e) { appendDense(e, true, hints.outputs); });
            return;
        }
        const LayerSpec& last = layers().back();
        const std::int64_t wanted = std::max(classes(), numbers());
        if (!output.empty() && wanted > 0 && wanted != output.back() && last.type == "linear")
            add(tr("Give %1 %n outputs", nullptr, static_cast<int>(wanted))
                    .arg(idOf(layerCount() - 1)),
                [wanted](Experiment& e) { e.model.layers.back().values["out_features"] = wanted; });
    }

    /// The data has classes where the loss takes numbers, or the other way round.
    void ofOtherLoss() {
        const std::string type = lossTakesLabels() ? "mse" : "cross_entropy";
        add(lossTakesLabels() ? tr("Use the mean squared error") : tr("Use cross-entropy"),
            [type](Experiment& e) { setValueAt(e, "model.loss.type", spec::Value(type)); });
    }

    static void appendDense(Experiment& e, bool flatten, std::int64_t outputs) {
        const auto append = [&](std::string_view type) {
            const int end = static_cast<int>(e.model.layers.size());
            insertLayer(e.model, end,
                        makeLayer(e.model, type, end, {.outputs = outputs, .shapes = {}}));
        };
        if (flatten)
            append("flatten");
        append("linear");
    }

    void ofInput() {
        if (!facts || facts->training.sampleShape.empty())
            return;
        const Shape shape = facts->training.sampleShape;
        add(tr("Set the input to %1").arg(QString::fromStdString(describe(shape))),
            [shape](Experiment& e) { e.model.inputShape = shape; });
    }
};

} // namespace

std::vector<Cure> curesOf(const Error& problem, const Experiment& experiment,
                          const ExperimentAnalysis& analysis, const DataFacts* facts) {
    Cures cures{problem, experiment, analysis, facts, {}};
    cures.find();
    return std::move(cures.found);
}

std::optional<Experiment> priceable(const Experiment& experiment,
                                    const ExperimentAnalysis& analysis, const DataFacts* facts,
                                    const plan::MachineFacts& machine) {
    Experiment candidate = experiment;
    ExperimentAnalysis now = analysis;
    for (int i = 0; i < kMaxCures; ++i) {
        if (now.prices)
            return candidate;
        std::vector<Cure> cures;
        for (std::size_t p = 0; p < now.problems.size() && cures.empty(); ++p)
            cures = curesOf(now.problems[p], candidate, now, facts);
        if (cures.empty())
            return std::nullopt;
        cures.front().apply(candidate);
        now = analyse(candidate, facts, machine);
    }
    return std::nullopt;
}

} // namespace trainyard::app
