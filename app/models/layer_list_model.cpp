// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/models/layer_list_model.h"

#include "app/models/experiment_fields.h"
#include "app/models/experiment_path.h"
#include "app/models/message_text.h"
#include "app/models/model_edit.h"
#include "app/models/problem_place.h"
#include "engine/spec/catalogue.h"

#include <QMimeData>

#include <algorithm>

namespace trainyard::app {

using spec::Experiment;
using spec::LayerSpec;

namespace {

const graph::LayerShapes* shapesOf(const ExperimentAnalysis& analysis, int layer) {
    const auto index = static_cast<std::size_t>(layer);
    return layer >= 0 && index < analysis.layers.size() ? &analysis.layers[index] : nullptr;
}

QString textOrNone(const Shape& shape) {
    return shape.empty() ? QString() : shapeText(shape);
}

QString classesText(std::int64_t classes) {
    return classes == 1 ? LayerListModel::tr("one class")
                        : LayerListModel::tr("%n classes", nullptr, static_cast<int>(classes));
}

/// Layers of this group of the catalogue stand in one block with what they work on.
constexpr std::string_view kJoiningCategory = "Normalise and activate";

/// A row of this list, as a number.
QString rowMime() {
    return QStringLiteral("application/x-trainyard-layer-row");
}

/// What the layer takes instead of `input`; empty when it is none of the usual things.
QString wantedText(const LayerSpec& layer, const Shape& input) {
    constexpr std::int64_t kLarge = 4096; // larger than windows are
    if (accepts(layer, {elementCount(input)}))
        return LayerListModel::tr("vector");
    if (accepts(layer, {1, kLarge, kLarge}) || layer.type == "conv2d")
        return LayerListModel::tr("picture");
    return accepts(layer, {16, kLarge}) ? LayerListModel::tr("sequence") : QString();
}

/// "16 × 8 × 8", or "16 × 8 × 8 + 4 × 8 × 8" where the branches differ.
QString inputsText(const std::vector<Shape>& inputs) {
    QStringList words;
    for (const Shape& shape : inputs)
        words << textOrNone(shape);
    if (words.contains(QString()))
        return {};
    if (std::all_of(words.begin(), words.end(),
                    [&](const QString& word) { return word == words[0]; }))
        words = words.mid(0, 1);
    return words.join(u" + ");
}

QString numbersText(std::int64_t numbers) {
    return LayerListModel::tr("%n numbers", nullptr, static_cast<int>(numbers));
}

/// The first layer looks up words or characters.
bool takesTokens(const spec::ModelSpec& model) {
    return !model.layers.empty() && model.layers.front().type == "embedding";
}

template <class T>
QVariant orInvalid(const std::optional<T>& value) {
    return value ? QVariant(*value) : QVariant();
}

} // namespace

LayerListModel::LayerListModel(ExperimentDocument& document, QObject* parent)
    : QAbstractListModel(parent), m_document(document), m_rows(readRows()) {
    connect(&m_document, &ExperimentDocument::changed, this, &LayerListModel::follow);
    connect(&m_document, &ExperimentDocument::problemsChanged, this, &LayerListModel::follow);
}

/// What differs between the list the views know and the one there is lies between a common front
/// and a common back; only those rows go and come. Then every row is told to have changed: shapes
/// below an edit do.
void LayerListModel::follow() {
    std::vector<Row> now = readRows();
    const auto same = [](const Row& a, const Row& b) {
        return a.node == b.node && a.id == b.id;
    };
    const std::size_t shorter = std::min(now.size(), m_rows.size());
    std::size_t front = 0, back = 0;
    while (front < shorter && same(now[front], m_rows[front]))
        ++front;
    while (back < shorter - front &&
           same(now[now.size() - 1 - back], m_rows[m_rows.size() - 1 - back]))
        ++back;
    const auto at = [](auto& rows, std::size_t index) {
        return rows.begin() + static_cast<std::ptrdiff_t>(index);
    };
    const std::size_t gone = m_rows.size() - front - back, come = now.size() - front - back;
    // As many gone as come: renamed, or others in the same places.
    if (gone != come) {
        const int first = static_cast<int>(front);
        if (gone > 0) {
            beginRemoveRows({}, first, first + static_cast<int>(gone) - 1);
            m_rows.erase(at(m_rows, front), at(m_rows, front + gone));
            endRemoveRows();
        }
        if (come > 0) {
            beginInsertRows({}, first, first + static_cast<int>(come) - 1);
            m_rows.insert(at(m_rows, front), at(now, front), at(now, front + come));
            endInsertRows();
        }
    }
    m_rows = std::move(now);
    emit dataChanged(index(0), index(rowCount() - 1));
}

int LayerListModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

LayerListModel::Node LayerListModel::nodeAt(int row) const {
    return row <= 0 ? Node::Input : row >= lossRow() ? Node::Loss : Node::Layer;
}

int LayerListModel::layerAt(int row) const {
    return row > 0 && row < lossRow() ? row - 1 : -1;
}

std::string LayerListModel::pathOf(int row) const {
    switch (nodeAt(row)) {
    case Node::Input:
        return "model.input.shape";
    case Node::Loss:
        return "model.loss";
    case Node::Layer:
        break;
    }
    return layerPath(layerAt(row));
}

QVariant LayerListModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid))
        return {};
    const Row& row = m_rows[static_cast<std::size_t>(index.row())];
    switch (role) {
    case Qt::DisplayRole:
    case Qt::AccessibleTextRole:
        return describe(row);
    case NodeRole:
        return static_cast<int>(row.node);
    case IdRole:
        return row.id;
    case TypeRole:
        return row.type;
    case LabelRole:
        return row.label;
    case IconRole:
        return row.icon;
    case ArgumentsRole:
        return row.arguments;
    case InputShapeRole:
        return row.inputShape;
    case OutputShapeRole:
        return row.outputShape;
    case ParametersRole:
        return orInvalid(row.parameters);
    case FlopsRole:
        return orInvalid(row.flops);
    case JoinsBlockRole:
        return row.joinsBlock;
    case ProblemRole:
        return row.problem;
    case BadInputRole:
        return row.badInput;
    case InputsRole:
        return row.inputs;
    case SourceRowsRole:
        return QVariant::fromValue(row.sources);
    case WantedRole:
        return row.wanted;
    default:
        return {};
    }
}

// --- reading the document ---

std::vector<LayerListModel::Row> LayerListModel::readRows() const {
    std::vector<Row> rows{inputRow()};
    const int layers = static_cast<int>(m_document.experiment().model.layers.size());
    for (int layer = 0; layer < layers; ++layer)
        rows.push_back(layerRow(layer));
    rows.push_back(lossRowNow());
    for (int i = 0; i < static_cast<int>(rows.size()); ++i)
        readProblem(rows[static_cast<std::size_t>(i)], i);
    return rows;
}

LayerListModel::Row LayerListModel::inputRow() const {
    const Shape& shape = m_document.experiment().model.inputShape;
    const bool picture = shape.size() == 3, tokens = takesTokens(m_document.experiment().model);
    Row row;
    row.node = Node::Input;
    row.label = picture ? tr("Pictures") : tokens ? tr("Tokens") : tr("Input");
    row.icon = picture  ? QStringLiteral("image")
               : tokens ? QStringLiteral("text")
                        : QStringLiteral("input");
    row.outputShape = textOrNone(shape);
    return row;
}

LayerListModel::Row LayerListModel::lossRowNow() const {
    const spec::ModelSpec& model = m_document.experiment().model;
    const spec::TypeInfo* type = spec::findType(spec::Kind::Loss, model.loss.type);
    const graph::LayerShapes* last =
        shapesOf(m_document.analysis(), static_cast<int>(model.layers.size()) - 1);
    Row row;
    row.node = Node::Loss;
    row.type = QString::fromStdString(model.loss.type);
    row.label = type ? catalogueText(type->label) : row.type;
    row.icon = QStringLiteral("loss");
    if (last)
        row.inputShape = textOrNone(last->output);
    if (!model.layers.empty())
        row.sources = {static_cast<int>(model.layers.size())};
    if (last && !last->output.empty() && last->output.size() < 3)
        row.arguments = takesLabels(model.loss) ? classesText(last->output.back())
                                                : numbersText(last->output.back());
    return row;
}

LayerListModel::Row LayerListModel::layerRow(int layer) const {
    const LayerSpec& spec = m_document.experiment().model.layers[static_cast<std::size_t>(layer)];
    const spec::TypeInfo* type = spec::findType(spec::Kind::Layer, spec.type);
    Row row;
    row.id = QString::fromStdString(spec.id);
    row.type = QString::fromStdString(spec.type);
    row.label = type ? catalogueText(type->label) : row.type;
    row.icon = type ? QString::fromStdString(type->icon) : QStringLiteral("error");
    row.arguments = argumentsText(spec);
    readSources(row, layer);
    const graph::LayerShapes* shapes = shapesOf(m_document.analysis(), layer);
    if (!shapes)
        return row;
    const bool oneInput = shapes->inputs.size() == 1;
    row.inputShape = inputsText(shapes->inputs);
    if (shapes->output.empty())
        return row;
    row.outputShape = textOrNone(shapes->output);
    row.parameters = shapes->parameters;
    row.flops = shapes->flops;
    row.joinsBlock = layer > 0 && row.inputs.isEmpty() && type &&
                     type->category == kJoiningCategory && oneInput &&
                     shapes->inputs.front() == shapes->output;
    return row;
}

void LayerListModel::readSources(Row& row, int layer) const {
    const spec::ModelSpec& model = m_document.experiment().model;
    QStringList names;
    for (const std::string& source : sourcesOf(model, layer)) {
        names << QString::fromStdString(source);
        const auto found = std::find_if(model.layers.begin(), model.layers.begin() + layer,
                                        [&](const LayerSpec& each) { return each.id == source; });
        if (source == "input")
            row.sources << 0;
        else if (found != model.layers.begin() + layer)
            row.sources << rowOfLayer(static_cast<int>(found - model.layers.begin()));
    }
    if (!model.layers[static_cast<std::size_t>(layer)].from.empty())
        row.inputs = names.join(u", ");
}

/// False where the loss is of the wrong kind, whatever comes in.
bool LayerListModel::lossSuitsData() const {
    const DataFacts* facts = m_document.dataFacts();
    if (!facts)
        return true;
    return takesLabels(m_document.experiment().model.loss) ? facts->training.numbers == 0
                                                           : facts->training.classes == 0;
}

void LayerListModel::readProblem(Row& row, int index) const {
    const int layers = static_cast<int>(m_document.experiment().model.layers.size());
    for (const Error& problem : m_document.problems()) {
        if (placeOf(problem.where, layers).node != index)
            continue;
        row.problem = whatText(problem);
        const bool ofEdge = row.node == Node::Layer && !row.inputShape.isEmpty() &&
                            row.outputShape.isEmpty() && fieldOfLayerPath(problem.where).empty();
        const bool ofLoss =
            row.node == Node::Loss && problem.where == "model.loss" && lossSuitsData();
        row.badInput = ofEdge || (ofLoss && !row.inputShape.isEmpty());
        if (ofEdge) {
            const auto layer = static_cast<std::size_t>(index - 1);
            row.wanted = wantedText(m_document.experiment().model.layers[layer],
                                    m_document.analysis().layers[layer].inputs.front());
        } else if (row.badInput) {
            row.wanted = takesLabels(m_document.experiment().model.loss) ? tr("one score per class")
                                                                         : tr("vector");
        }
        return;
    }
}

/// One sentence with what the row shows, for lists and screen readers.
QString LayerListModel::describe(const Row& row) {
    QString text = row.label;
    for (const QString& more : {row.id, row.arguments})
        if (!more.isEmpty())
            text += u", " + more;
    if (!row.inputs.isEmpty())
        text += u", " + tr("from %1").arg(row.inputs);
    if (!row.outputShape.isEmpty())
        text += u", " + tr("gives %1").arg(row.outputShape);
    if (!row.problem.isEmpty())
        text += u". " + row.problem;
    return text;
}

// --- drag and drop ---

QString LayerListModel::typeMime() {
    return QStringLiteral("application/x-trainyard-layer-type");
}

QStringList LayerListModel::mimeTypes() const {
    return {typeMime(), rowMime()};
}

Qt::ItemFlags LayerListModel::flags(const QModelIndex& index) const {
    if (!index.isValid())
        return Qt::ItemIsDropEnabled; // between rows
    Qt::ItemFlags flags = Qt::ItemIsEnabled | Qt::ItemIsSelectable;
    if (nodeAt(index.row()) == Node::Layer)
        flags |= Qt::ItemIsDragEnabled;
    return flags;
}

QMimeData* LayerListModel::mimeData(const QModelIndexList& indexes) const {
    auto* data = new QMimeData;
    if (!indexes.isEmpty())
        data->setData(rowMime(), QByteArray::number(indexes.front().row()));
    return data;
}

bool LayerListModel::canDropMimeData(const QMimeData* data, Qt::DropAction, int row, int,
                                     const QModelIndex& parent) const {
    return !parent.isValid() && row > 0 && row <= lossRow() &&
           (data->hasFormat(typeMime()) || data->hasFormat(rowMime()));
}

bool LayerListModel::dropMimeData(const QMimeData* data, Qt::DropAction action, int row, int column,
                                  const QModelIndex& parent) {
    if (!canDropMimeData(data, action, row, column, parent))
        return false;
    const QByteArray type = data->data(typeMime());
    emit dropped(type.isEmpty() ? moveLayerBefore(data->data(rowMime()).toInt(), row)
                                : insertBefore(row, type.toStdString()));
    return true;
}

// --- commands ---

int LayerListModel::insertAfter(int row, const std::string& type) {
    return insertBefore(row + 1, type);
}

int LayerListModel::insertBefore(int beforeRow, const std::string& type) {
    const int layers = static_cast<int>(m_document.experiment().model.layers.size());
    const int at = std::clamp(beforeRow - 1, 0, layers);
    const spec::TypeInfo* info = spec::findType(spec::Kind::Layer, type);
    if (!info)
        return beforeRow;
    const LayerHints hints =
        hintsOf(m_document.experiment(), m_document.analysis(), m_document.dataFacts());
    m_document.edit(tr("Add %1").arg(catalogueText(info->label)), [&](Experiment& experiment) {
        spec::ModelSpec& model = experiment.model;
        insertLayer(model, at, makeLayer(model, type, at, hints));
    });
    return rowOfLayer(at);
}

void LayerListModel::removeLayer(int row) {
    if (!canRemove(row))
        return;
    m_document.edit(
        tr("Remove %1").arg(data(index(row), IdRole).toString()),
        [&](Experiment& experiment) { app::removeLayer(experiment.model, layerAt(row)); });
}

bool LayerListModel::canMove(int row, int by) const {
    return layerAt(row) >= 0 && layerAt(row + by) >= 0;
}

void LayerListModel::moveLayer(int row, int by) {
    if (canMove(row, by))
        moveLayerBefore(row, by > 0 ? row + by + 1 : row + by);
}

int LayerListModel::moveLayerBefore(int row, int beforeRow) {
    const int from = layerAt(row);
    if (from < 0)
        return row;
    const int last = lossRow() - 2;
    const int to = std::clamp(beforeRow - 1 - (beforeRow > row ? 1 : 0), 0, last);
    if (from != to)
        m_document.edit(
            tr("Move %1").arg(data(index(row), IdRole).toString()),
            [&](Experiment& experiment) { app::moveLayer(experiment.model, from, to); });
    return rowOfLayer(to);
}

int LayerListModel::duplicateLayer(int row) {
    const int layer = layerAt(row);
    if (layer < 0)
        return row;
    m_document.edit(tr("Duplicate %1").arg(data(index(row), IdRole).toString()),
                    [&](Experiment& experiment) { app::duplicateLayer(experiment.model, layer); });
    return rowOfLayer(layer + 1);
}

void LayerListModel::renameLayer(int row, const QString& id) {
    const int layer = layerAt(row);
    if (layer < 0 || id.isEmpty())
        return;
    m_document.edit(tr("Rename %1").arg(data(index(row), IdRole).toString()),
                    [&](Experiment& experiment) {
                        app::renameLayer(experiment.model, layer, id.toStdString());
                    });
}

} // namespace trainyard::app

#include "moc_layer_list_model.cpp"
