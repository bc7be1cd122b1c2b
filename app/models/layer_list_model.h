// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The model as an ordered list: the input, each layer, the loss. Every change goes through the
// document and is undoable. When rows come or go only those are told, so that views keep their
// place.
#pragma once

#include "app/models/experiment_document.h"

#include <QAbstractListModel>

#include <optional>
#include <string>
#include <vector>

namespace trainyard::app {

class LayerListModel : public QAbstractListModel {
    Q_OBJECT
public:
    enum class Node { Input, Layer, Loss };
    enum Role {
        NodeRole = Qt::UserRole, ///< Node as int
        IdRole,                  ///< empty for input and loss
        TypeRole,
        LabelRole,       ///< "Convolution"
        IconRole,        ///< name in resources/icons
        ArgumentsRole,   ///< "3 × 3, 32"
        InputShapeRole,  ///< "32 × 28 × 28"; empty where not known
        OutputShapeRole, ///< of the input: the shape the model takes
        ParametersRole,  ///< count; invalid where not known
        FlopsRole,       ///< forward, one sample; invalid where not known
        JoinsBlockRole,  ///< only normalises or activates what the row above gives
        ProblemRole,     ///< the first problem of this node as a sentence, without the cure
        BadInputRole,    ///< what comes in does not fit: the edge above is wrong
        InputsRole,      ///< "conv1, relu2"; empty: only the row above
        SourceRowsRole,  ///< QList<int>: the rows whose output comes in
        WantedRole       ///< with a bad input: what it takes, "vector"
    };

    explicit LayerListModel(ExperimentDocument& document, QObject* parent = nullptr);

    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;

    /// Layers can be dragged to another place; a type dragged from the palette becomes a new layer.
    Qt::ItemFlags flags(const QModelIndex& index) const override;
    Qt::DropActions supportedDropActions() const override {
        return Qt::CopyAction | Qt::MoveAction;
    }
    QStringList mimeTypes() const override;
    QMimeData* mimeData(const QModelIndexList& indexes) const override;
    bool canDropMimeData(const QMimeData* data, Qt::DropAction action, int row, int column,
                         const QModelIndex& parent) const override;
    bool dropMimeData(const QMimeData* data, Qt::DropAction action, int row, int column,
                      const QModelIndex& parent) override;
    /// The type of a layer, as a text.
    static QString typeMime();

    Node nodeAt(int row) const;
    /// Index in the model's layers; -1 for input and loss.
    int layerAt(int row) const;
    /// The path that problems of the node name: "model.layers[2]".
    std::string pathOf(int row) const;
    static int rowOfLayer(int layer) { return layer + 1; }
    int lossRow() const { return static_cast<int>(m_rows.size()) - 1; }

    /// Puts a new layer behind the row (of the loss: before it). Returns its row.
    int insertAfter(int row, const std::string& type);
    bool canRemove(int row) const { return layerAt(row) >= 0; }
    void removeLayer(int row);
    /// `by` -1 up, 1 down. False where there is no further.
    bool canMove(int row, int by) const;
    void moveLayer(int row, int by);
    /// Moves to before the row `beforeRow`. Returns the row afterwards.
    int moveLayerBefore(int row, int beforeRow);
    /// Before the row `beforeRow`; returns the row it has then.
    int insertBefore(int beforeRow, const std::string& type);
    int duplicateLayer(int row);
    void renameLayer(int row, const QString& id);

signals:
    /// A drop has put a layer into this row.
    void dropped(int row);

private:
    /// What the views have been told of a row. Kept, because while rows come and go the document is
    /// already ahead.
    struct Row {
        Node node = Node::Layer;
        QString id, type, label, icon, arguments, inputShape, outputShape, problem, wanted, inputs;
        QList<int> sources;
        std::optional<qlonglong> parameters;
        std::optional<double> flops;
        bool joinsBlock = false;
        bool badInput = false;
    };

    std::vector<Row> readRows() const;
    Row inputRow() const;
    Row lossRowNow() const;
    Row layerRow(int layer) const;
    void readSources(Row& row, int layer) const;
    bool lossSuitsData() const;
    void readProblem(Row& row, int index) const;
    static QString describe(const Row& row);
    void follow();

    ExperimentDocument& m_document;
    std::vector<Row> m_rows;
};

} // namespace trainyard::app
