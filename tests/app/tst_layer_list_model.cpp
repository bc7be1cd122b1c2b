// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The list of layers as views see it, and the edits that go through it.
#include "app/models/experiment_fields.h"
#include "app/models/layer_list_model.h"
#include "app/models/model_edit.h"

#include <QAbstractItemModelTester>
#include <QMimeData>
#include <QSignalSpy>
#include <QTest>

using namespace trainyard;
using namespace trainyard::app;
using Node = LayerListModel::Node;

namespace {

spec::Experiment experimentOf(const std::vector<spec::LayerSpec>& layers) {
    spec::Experiment e;
    e.model.inputShape = {1, 28, 28};
    e.model.layers = layers;
    return e;
}

spec::LayerSpec layer(const char* id, const char* type, spec::Values values = {}) {
    return {.id = id, .type = type, .from = {}, .values = std::move(values)};
}

spec::LayerSpec conv(const char* id, std::int64_t filters) {
    return layer(id, "conv2d", {{"out_channels", filters}});
}

spec::LayerSpec dense(const char* id, std::int64_t outputs) {
    return layer(id, "linear", {{"out_features", outputs}});
}

/// "conv1 relu1 ..."
QString ids(const ExperimentDocument& document) {
    QStringList words;
    for (const spec::LayerSpec& each : document.experiment().model.layers)
        words << QString::fromStdString(each.id);
    return words.join(u' ');
}

} // namespace

class LayerListModelTest : public QObject {
    Q_OBJECT
private slots:
    void init();
    void cleanup();
    void rowsAreInputLayersLoss();
    void describesEachNode();
    void argumentsOfEachType();
    void badEdges();
    void insertsBehindTheChosenRow();
    void newLayersSuitTheirPlace();
    void movesWithinTheLayers();
    void duplicatesAndRenames();
    void removedLayersAreSteppedOver();
    void namedInputsFollow();
    void branchesStayWhole();
    void joinsTakeWhatFits();
    void dragsAndDrops();
    void onlyTheChangedRowsAreTold();
    void survivesRandomEdits();

private:
    QString text(int row, int role) const { return m_model->index(row).data(role).toString(); }

    std::unique_ptr<ExperimentDocument> m_document;
    std::unique_ptr<LayerListModel> m_model;
    std::unique_ptr<QAbstractItemModelTester> m_tester;
};

void LayerListModelTest::init() {
    m_document = std::make_unique<ExperimentDocument>();
    m_document->openExperiment(experimentOf({conv("conv1", 16), layer("relu1", "relu"),
                                             layer("flatten", "flatten"), dense("dense", 10)}));
    m_model = std::make_unique<LayerListModel>(*m_document);
    m_tester = std::make_unique<QAbstractItemModelTester>(
        m_model.get(), QAbstractItemModelTester::FailureReportingMode::QtTest);
}

void LayerListModelTest::cleanup() {
    m_tester.reset();
    m_model.reset();
    m_document.reset();
}

void LayerListModelTest::rowsAreInputLayersLoss() {
    QCOMPARE(m_model->rowCount(), 6);
    QCOMPARE(m_model->nodeAt(0), Node::Input);
    QCOMPARE(m_model->nodeAt(1), Node::Layer);
    QCOMPARE(m_model->nodeAt(5), Node::Loss);
    QCOMPARE(m_model->layerAt(0), -1);
    QCOMPARE(m_model->layerAt(4), 3);
    QCOMPARE(m_model->layerAt(5), -1);
    QCOMPARE(LayerListModel::rowOfLayer(3), 4);
}

void LayerListModelTest::describesEachNode() {
    QCOMPARE(text(0, LayerListModel::LabelRole), QStringLiteral("Pictures"));
    QCOMPARE(text(0, LayerListModel::OutputShapeRole), QStringLiteral("1 × 28 × 28"));
    QCOMPARE(text(1, LayerListModel::LabelRole), QStringLiteral("Convolution"));
    QCOMPARE(text(1, LayerListModel::IconRole), QStringLiteral("conv"));
    QCOMPARE(text(1, LayerListModel::ArgumentsRole), QStringLiteral("3 × 3, 16"));
    QCOMPARE(text(1, LayerListModel::InputShapeRole), QStringLiteral("1 × 28 × 28"));
    QCOMPARE(text(1, LayerListModel::OutputShapeRole), QStringLiteral("16 × 26 × 26"));
    QCOMPARE(m_model->index(1).data(LayerListModel::ParametersRole).toLongLong(), 16 * 9 + 16);
    QVERIFY(m_model->index(2).data(LayerListModel::JoinsBlockRole).toBool());
    QVERIFY(!m_model->index(3).data(LayerListModel::JoinsBlockRole).toBool());
    QCOMPARE(text(5, LayerListModel::LabelRole), QStringLiteral("Cross-entropy"));
    QCOMPARE(text(5, LayerListModel::ArgumentsRole), QStringLiteral("10 classes"));
    QCOMPARE(text(1, Qt::DisplayRole),
             QStringLiteral("Convolution, conv1, 3 × 3, 16, gives 16 × 26 × 26"));
}

void LayerListModelTest::argumentsOfEachType() {
    QCOMPARE(argumentsText(layer("c", "conv2d",
                                 {{"out_channels", std::int64_t{64}},
                                  {"kernel", std::int64_t{7}},
                                  {"stride", std::int64_t{2}}})),
             QStringLiteral("7 × 7, 64, /2"));
    QCOMPARE(argumentsText(layer("p", "max_pool")), QStringLiteral("2 × 2"));
    QCOMPARE(argumentsText(layer("p", "max_pool",
                                 {{"kernel", std::vector<std::int64_t>{3, 1}},
                                  {"stride", std::vector<std::int64_t>{2, 1}}})),
             QStringLiteral("3 × 1, /2 × 1"));
    QCOMPARE(argumentsText(layer("d", "dropout")), QStringLiteral("0.5"));
    QCOMPARE(argumentsText(layer("r", "relu")), QString());
    QCOMPARE(argumentsText(dense("d", 1000)), QStringLiteral("1,000"));
    QCOMPARE(argumentsText(layer("d", "linear")), QString()); // the required value is missing
    QCOMPARE(argumentsText(layer("d", "magic")), QString());
}

void LayerListModelTest::badEdges() {
    m_model->removeLayer(3);
    QCOMPARE(ids(*m_document), QStringLiteral("conv1 relu1 dense"));
    QVERIFY(m_model->index(3).data(LayerListModel::BadInputRole).toBool());
    QVERIFY(!m_model->index(2).data(LayerListModel::BadInputRole).toBool());
    QCOMPARE(text(3, LayerListModel::InputShapeRole), QStringLiteral("16 × 26 × 26"));
    QCOMPARE(text(3, LayerListModel::ProblemRole),
             QStringLiteral("dense needs a vector; it gets 16 × 26 × 26."));
    QCOMPARE(text(3, LayerListModel::OutputShapeRole), QString());
    QCOMPARE(text(3, LayerListModel::WantedRole), QStringLiteral("vector"));
    m_model->insertAfter(0, "flatten"); // now the convolution gets a vector
    QVERIFY(m_model->index(2).data(LayerListModel::BadInputRole).toBool());
    QCOMPARE(text(2, LayerListModel::WantedRole), QStringLiteral("picture"));
    m_document->undo();
    // A wrong value is the layer's fault, not the edge's.
    m_document->undo();
    m_document->setValue("model.layers[0].kernel", std::int64_t{99});
    QVERIFY(!m_model->index(1).data(LayerListModel::BadInputRole).toBool());
    QVERIFY(!text(1, LayerListModel::ProblemRole).isEmpty());
    // A picture at the loss.
    m_document->openExperiment(experimentOf({conv("conv1", 16)}));
    QVERIFY(m_model->index(2).data(LayerListModel::BadInputRole).toBool());
}

void LayerListModelTest::insertsBehindTheChosenRow() {
    QCOMPARE(m_model->insertAfter(1, "max_pool"), 2);
    QCOMPARE(ids(*m_document), QStringLiteral("conv1 max_pool1 relu1 flatten dense"));
    QCOMPARE(m_model->insertAfter(0, "dropout"), 1);
    QCOMPARE(ids(*m_document), QStringLiteral("dropout1 conv1 max_pool1 relu1 flatten dense"));
    QCOMPARE(m_model->insertAfter(m_model->lossRow(), "relu"), 7);
    QCOMPARE(ids(*m_document),
             QStringLiteral("dropout1 conv1 max_pool1 relu1 flatten dense relu2"));
    QCOMPARE(m_document->history().undoText(), QStringLiteral("Add ReLU"));
    QVERIFY(m_document->problems().size() == 2); // only the missing data files
}

void LayerListModelTest::newLayersSuitTheirPlace() {
    DataFacts facts;
    facts.training.samples = 100;
    facts.training.sampleShape = {1, 28, 28};
    facts.training.classes = 7;
    spec::Experiment e = experimentOf({layer("flatten", "flatten")});
    e.data.train = {{"images", "a"}, {"labels", "b"}};
    m_document->openExperiment(e);
    m_document->setDataFacts(m_document->dataQuestion(), facts);
    m_model->insertAfter(1, "linear");
    QCOMPARE(text(2, LayerListModel::ArgumentsRole), QStringLiteral("7")); // the data's classes
    m_model->insertAfter(1, "linear");
    QCOMPARE(text(2, LayerListModel::ArgumentsRole), QStringLiteral("128"));
    QVERIFY(m_document->problems().empty());
}

void LayerListModelTest::movesWithinTheLayers() {
    QVERIFY(!m_model->canMove(0, 1));
    QVERIFY(!m_model->canMove(1, -1));
    QVERIFY(!m_model->canMove(4, 1));
    m_model->moveLayer(1, 1);
    QCOMPARE(ids(*m_document), QStringLiteral("relu1 conv1 flatten dense"));
    m_model->moveLayer(4, -1);
    QCOMPARE(ids(*m_document), QStringLiteral("relu1 conv1 dense flatten"));
    m_document->undo();
    m_document->undo();
    QCOMPARE(m_model->moveLayerBefore(1, 4), 3); // dropped between flatten and dense
    QCOMPARE(ids(*m_document), QStringLiteral("relu1 flatten conv1 dense"));
    QCOMPARE(m_model->moveLayerBefore(3, 1), 1);
    QCOMPARE(ids(*m_document), QStringLiteral("conv1 relu1 flatten dense"));
    QCOMPARE(m_model->moveLayerBefore(1, 99), 4); // not behind the loss
    QCOMPARE(m_model->moveLayerBefore(4, 0), 1);  // not before the input
}

void LayerListModelTest::duplicatesAndRenames() {
    QCOMPARE(m_model->duplicateLayer(1), 2);
    QCOMPARE(ids(*m_document), QStringLiteral("conv1 conv2 relu1 flatten dense"));
    m_model->renameLayer(2, QStringLiteral("second"));
    QCOMPARE(ids(*m_document), QStringLiteral("conv1 second relu1 flatten dense"));
    m_model->renameLayer(2, QStringLiteral("conv1")); // taken
    QCOMPARE(ids(*m_document), QStringLiteral("conv1 conv2 relu1 flatten dense"));
    m_model->renameLayer(2, QStringLiteral("input")); // means something else
    QCOMPARE(ids(*m_document), QStringLiteral("conv1 input2 relu1 flatten dense"));
    m_model->renameLayer(2, QString());
    QCOMPARE(ids(*m_document), QStringLiteral("conv1 input2 relu1 flatten dense"));
}

void LayerListModelTest::removedLayersAreSteppedOver() {
    m_model->removeLayer(0);
    m_model->removeLayer(m_model->lossRow());
    QCOMPARE(m_document->experiment().model.layers.size(), std::size_t{4});
    while (m_document->experiment().model.layers.size() > 0)
        m_model->removeLayer(1);
    QCOMPARE(m_model->rowCount(), 2);
    QCOMPARE(m_model->nodeAt(1), Node::Loss);
}

void LayerListModelTest::namedInputsFollow() {
    spec::Experiment e =
        experimentOf({conv("a", 4), layer("b", "relu"), layer("c", "relu"), layer("f", "flatten")});
    e.model.layers[0].from = {"input"}; // says what holds anyway
    e.model.layers[3].from = {"b"};     // skips c
    m_document->openExperiment(e);
    m_model->insertAfter(0, "dropout");
    QVERIFY(m_document->experiment().model.layers[1].from.empty()); // "a" takes the new layer
    m_model->renameLayer(3, QStringLiteral("bee"));
    QCOMPARE(m_document->experiment().model.layers[4].from, std::vector<std::string>{"bee"});
    m_model->removeLayer(3);
    QCOMPARE(m_document->experiment().model.layers[3].from, std::vector<std::string>{"a"});
}

void LayerListModelTest::branchesStayWhole() {
    // conv1 -> relu1 -> conv2 -> add(conv2, relu1) -> flatten
    const auto open = [this] {
        spec::Experiment e =
            experimentOf({conv("conv1", 4), layer("relu1", "relu"), conv("conv2", 4),
                          layer("add1", "add"), layer("f", "flatten")});
        e.model.layers[0].values["padding"] = std::int64_t{1};
        e.model.layers[2].values["padding"] = std::int64_t{1};
        e.model.layers[3].from = {"conv2", "relu1"};
        m_document->openExperiment(e);
    };
    const auto from = [this](std::size_t index) {
        return m_document->experiment().model.layers[index].from;
    };
    using Names = std::vector<std::string>;
    open();
    QCOMPARE(text(4, LayerListModel::InputsRole), QStringLiteral("conv2, relu1"));
    QCOMPARE(m_model->index(4).data(LayerListModel::SourceRowsRole).value<QList<int>>(),
             (QList<int>{3, 2}));
    QCOMPARE(text(4, LayerListModel::InputShapeRole), QStringLiteral("4 × 28 × 28"));
    QVERIFY(text(4, Qt::DisplayRole).contains(u"from conv2, relu1"));
    QCOMPARE(text(5, LayerListModel::InputsRole), QString());
    // What is put before a join comes between it and the layer before.
    m_model->insertAfter(3, "batch_norm");
    QCOMPARE(from(4), (Names{"batch_norm1", "relu1"}));
    QVERIFY(!m_model->index(4).data(LayerListModel::ProblemRole).toString().contains(u"uses"));
    m_model->removeLayer(4);
    QCOMPARE(from(3), (Names{"conv2", "relu1"}));
    m_model->renameLayer(2, QStringLiteral("act"));
    QCOMPARE(from(3), (Names{"conv2", "act"}));
    // A layer that moves away leaves no hole.
    m_model->moveLayer(3, -1);
    QCOMPARE(ids(*m_document), QStringLiteral("conv1 conv2 act add1 f"));
    QCOMPARE(from(3), Names{}); // nothing is left to go around
    open();
    m_model->removeLayer(3); // both branches are the same then: named once
    QCOMPARE(from(2), Names{});
    QCOMPARE(text(3, LayerListModel::ProblemRole),
             QStringLiteral("add1 joins two or more inputs; one is given."));
    const auto cures = m_document->cures(m_document->problems().back());
    QVERIFY(!cures.empty());
    QCOMPARE(cures.back().label, QStringLiteral("Remove add1"));
    open();
    m_model->duplicateLayer(4);
    QCOMPARE(from(4), (Names{"add1", "relu1"}));
    // A branch that begins elsewhere hands its source on when its first layer goes.
    spec::Experiment e = experimentOf({layer("a", "relu"), layer("b", "relu"), layer("c", "relu"),
                                       layer("d", "relu"), layer("s", "add")});
    e.model.layers[2].from = {"a"};
    e.model.layers[4].from = {"d", "b"};
    m_document->openExperiment(e);
    m_model->removeLayer(3);
    QCOMPARE(ids(*m_document), QStringLiteral("a b d s"));
    QCOMPARE(from(2), Names{"a"});
}

void LayerListModelTest::joinsTakeWhatFits() {
    m_model->insertAfter(2, "add");
    const auto from = [this](std::size_t index) {
        return m_document->experiment().model.layers[index].from;
    };
    QCOMPARE(from(2), (std::vector<std::string>{"relu1", "conv1"}));
    m_model->insertAfter(0, "concat"); // nothing but the input is there yet
    QVERIFY(from(0).empty());
    QCOMPARE(text(1, LayerListModel::ProblemRole),
             QStringLiteral("concat1 joins two or more inputs; one is given."));
    QVERIFY(!joinsBranches("linear"));
}

void LayerListModelTest::dragsAndDrops() {
    QVERIFY(!m_model->index(0).flags().testFlag(Qt::ItemIsDragEnabled));
    QVERIFY(m_model->index(1).flags().testFlag(Qt::ItemIsDragEnabled));
    QVERIFY(!m_model->index(5).flags().testFlag(Qt::ItemIsDragEnabled));
    QSignalSpy dropped(m_model.get(), &LayerListModel::dropped);
    const std::unique_ptr<QMimeData> row(m_model->mimeData({m_model->index(1)}));
    const auto drop = [&](const QMimeData& data, int before) {
        return m_model->dropMimeData(&data, Qt::MoveAction, before, 0, {});
    };
    QVERIFY(drop(*row, 4));
    QCOMPARE(ids(*m_document), QStringLiteral("relu1 flatten conv1 dense"));
    QCOMPARE(dropped.takeFirst().front().toInt(), 3);
    QVERIFY(!drop(*row, 0));  // before the input
    QVERIFY(!drop(*row, 6));  // behind the loss
    QVERIFY(!drop(*row, -1)); // on nothing
    QMimeData type;
    type.setData(LayerListModel::typeMime(), "max_pool");
    QVERIFY(drop(type, 5));
    QCOMPARE(ids(*m_document), QStringLiteral("relu1 flatten conv1 dense max_pool1"));
    QCOMPARE(dropped.takeFirst().front().toInt(), 5);
    QMimeData other;
    other.setText(QStringLiteral("conv2d"));
    QVERIFY(!drop(other, 2));
}

void LayerListModelTest::onlyTheChangedRowsAreTold() {
    QSignalSpy inserted(m_model.get(), &QAbstractItemModel::rowsInserted);
    QSignalSpy removed(m_model.get(), &QAbstractItemModel::rowsRemoved);
    QSignalSpy reset(m_model.get(), &QAbstractItemModel::modelReset);
    const QPersistentModelIndex last(m_model->index(4));
    m_model->insertAfter(1, "relu");
    QCOMPARE(inserted.count(), 1);
    QCOMPARE(inserted.front().at(1).toInt(), 2);
    QCOMPARE(inserted.front().at(2).toInt(), 2);
    QCOMPARE(last.row(), 5);
    m_document->setValue("training.batch", std::int64_t{7});
    m_document->setValue("model.layers[0].out_channels", std::int64_t{7});
    m_model->renameLayer(1, QStringLiteral("other"));
    QCOMPARE(inserted.count(), 1);
    m_document->undo();
    m_document->undo();
    m_document->undo();
    m_document->undo();
    QCOMPARE(removed.count(), 1);
    QCOMPARE(last.row(), 4);
    QCOMPARE(reset.count(), 0);
}

void LayerListModelTest::survivesRandomEdits() {
    // The tester checks each signal; a fixed seed keeps a failure repeatable.
    std::uint32_t state = 1;
    const auto random = [&](int below) {
        state = state * 1664525u + 1013904223u;
        return static_cast<int>((state >> 8) % static_cast<std::uint32_t>(below));
    };
    const std::vector<std::string> types = spec::typeNames(spec::Kind::Layer);
    for (int i = 0; i < 400; ++i) {
        const int row = random(m_model->rowCount());
        switch (random(6)) {
        case 0:
        case 1:
            m_model->insertAfter(
                row, types[static_cast<std::size_t>(random(static_cast<int>(types.size())))]);
            break;
        case 2:
            m_model->removeLayer(row);
            break;
        case 3:
            m_model->moveLayerBefore(row, random(m_model->rowCount() + 2));
            break;
        case 4:
            m_model->duplicateLayer(row);
            break;
        default:
            if (random(2) == 0)
                m_document->undo();
            else
                m_document->redo();
        }
        const auto& layers = m_document->experiment().model.layers;
        QCOMPARE(m_model->rowCount(), static_cast<int>(layers.size()) + 2);
        for (std::size_t l = 0; l < layers.size(); ++l)
            QCOMPARE(text(static_cast<int>(l) + 1, LayerListModel::IdRole),
                     QString::fromStdString(layers[l].id));
    }
}

QTEST_GUILESS_MAIN(LayerListModelTest)
#include "tst_layer_list_model.moc"
