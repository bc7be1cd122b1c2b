// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Compose by clicks and keys: what is edited shows in shapes, problems and prices at once, and
// comes back from the file as it was.
#include "app/models/device_model.h"
#include "app/models/experiment_document.h"
#include "app/models/experiment_path.h"
#include "app/models/message_text.h"
#include "engine/spec/catalogue.h"
#include "engine/spec/experiment_json.h"
#include "ui/compose/class_balance.h"
#include "ui/compose/compose_page.h"
#include "ui/compose/data_facts_view.h"
#include "ui/compose/data_preview_view.h"
#include "ui/compose/data_tab.h"
#include "ui/compose/file_field.h"
#include "ui/compose/form_field.h"
#include "ui/compose/inputs_field.h"
#include "ui/compose/layer_inspector.h"
#include "ui/compose/layer_palette.h"
#include "ui/compose/layer_view.h"
#include "ui/compose/memory_cell.h"
#include "ui/compose/model_tab.h"
#include "ui/compose/page_tabs.h"
#include "ui/compose/parallelism_tab.h"
#include "ui/compose/price_strip.h"
#include "ui/compose/problem_list.h"
#include "ui/compose/rank_tiles.h"
#include "ui/compose/run_arithmetic.h"
#include "ui/compose/sample_card.h"
#include "ui/compose/shape_callout.h"
#include "ui/compose/start_view.h"
#include "ui/compose/training_tab.h"
#include "ui/theme/theme.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/empty_state.h"
#include "ui/widgets/figure_cell.h"
#include "ui/widgets/number_field.h"
#include "ui/widgets/segmented_control.h"

#include <QAccessible>
#include <QAction>
#include <QApplication>
#include <QComboBox>
#include <QDragEnterEvent>
#include <QFile>
#include <QFileDialog>
#include <QLabel>
#include <QLayout>
#include <QLineEdit>
#include <QMenu>
#include <QMessageBox>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>

using namespace trainyard;
using namespace trainyard::ui;
using app::LayerListModel;
using app::Section;

namespace {

app::DataFacts fashion() {
    app::DataFacts facts;
    facts.training.samples = 60000;
    facts.training.sampleShape = {1, 28, 28};
    facts.training.classes = 10;
    facts.training.classCounts.assign(10, 6000);
    facts.validation = facts.training;
    facts.validation->samples = 10000;
    facts.validation->classCounts.assign(10, 1000);
    return facts;
}

QByteArray content(const QString& file) {
    QFile source(file);
    return source.open(QIODevice::ReadOnly) ? source.readAll() : QByteArray();
}

QPushButton* button(QWidget* root, const QString& text) {
    for (QPushButton* each : root->findChildren<QPushButton*>())
        if (each->text() == text && each->isVisibleTo(root->window()))
            return each;
    return nullptr;
}

/// Those that are seen; others may be about to go.
template <class T>
QList<T*> seen(QWidget* root) {
    QList<T*> all = root->findChildren<T*>();
    all.removeIf([root](T* each) { return !each->isVisibleTo(root); });
    return all;
}

/// Types over what stands in the field.
void type(QWidget* input, const QString& text) {
    auto* line = qobject_cast<QLineEdit*>(input);
    if (!line)
        line = input->findChild<QLineEdit*>();
    QVERIFY(line);
    input->setFocus();
    line->selectAll();
    QTest::keyClicks(line, text);
}

/// Arrow keys to the choice with this text.
void chooseByKeys(FormField* field, const QString& text) {
    QVERIFY(field);
    auto* box = qobject_cast<QComboBox*>(field->input());
    QVERIFY(box);
    const int target = box->findText(text);
    QVERIFY2(target >= 0, qPrintable(text));
    field->focusInput();
    QCOMPARE(QApplication::focusWidget(), box);
    while (box->currentIndex() != target)
        QTest::keyClick(box, box->currentIndex() < target ? Qt::Key_Down : Qt::Key_Up);
}

/// The action of the open menu whose text starts so.
QAction* menuAction(QMenu* menu, const QString& text) {
    for (QAction* action : menu->actions())
        if (action->text().startsWith(text))
            return action;
    return nullptr;
}

bool hasColor(const QImage& image, const QColor& color) {
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            if (image.pixelColor(x, y).rgb() == color.rgb())
                return true;
    return false;
}

} // namespace

class ComposePageTest : public QObject {
    Q_OBJECT
private slots:
    void init();
    void cleanup();
    void samplesOpenFromTheStart();
    void emptyModelIsDrawnLayerByLayer();
    void aNumberChangesTheShapes();
    void wrongTextIsKeptAndNotTaken();
    void denseAfterAPictureIsRedAndCured();
    void theInputReshapesTheModel();
    void batchSmallerThanTheRanks();
    void undoAndRedoByKeys();
    void savesAndReloadsTheSameBytes_data();
    void savesAndReloadsTheSameBytes();
    void layersByKeys();
    void layersByPaletteAndDrop();
    void renamesInTheInspector();
    void problemsLeadToTheirPlace();
    void changesAreNotDropped();
    void badFilesAreExplained();
    void aFileIsDroppedOnThePage();
    void foreignChangesAreNotOverwritten();
    void trainsWithAbsolutePaths();
    void dataIsLookedInto();
    void validationIsChosen();
    void filesAreBrowsed();
    void optimizerBringsItsFields();
    void earlyStoppingBringsItsFields();
    void theLossIsChosen();
    void aShapeIsTyped();
    void weightsAreShared();
    void aSkipIsDrawnByKeys();
    void inputsAreChecked();
    void everyFormatHasItsFiles();
    void factsOfNumbersAndOfText();
    void firstSamplesAreShown();
    void planFollowsTheRanks();
    void compressionSaysWhatItSavesAndCosts();
    void pricesSayWhatTheyAssume();
    void aStepHasAPrice();
    void narrowWindowsFit();
    void everythingHasAName();
    void theKeyboardReachesEverything();
    void looksRightInTheDark();

private:
    void start(const QLocale& locale);
    void openCnn();
    QString cell(int row, int role) const {
        return view()->model()->index(row, 0).data(role).toString();
    }
    LayerView* view() const { return m_page->modelTab()->view(); }
    FormField* inspected(const char* field) const {
        return findField(m_page->modelTab()->inspector(),
                         "model.layers[" + std::to_string(view()->chosenRow() - 1) + "]." + field);
    }
    FigureCell* figure(QWidget* root, const QString& caption) const {
        for (FigureCell* each : root->findChildren<FigureCell*>())
            if (each->accessibleName().startsWith(caption))
                return each;
        return nullptr;
    }
    void clickTab(Section section) {
        QTest::mouseClick(m_page->header()->tabs()->tab(static_cast<int>(section)), Qt::LeftButton);
    }

    std::unique_ptr<QTemporaryDir> m_folder;
    std::unique_ptr<Theme> m_theme;
    std::unique_ptr<app::LocalLauncher> m_launcher;
    std::unique_ptr<app::DeviceModel> m_devices;
    std::unique_ptr<app::ExperimentDocument> m_document;
    std::unique_ptr<ComposePage> m_page;
};

void ComposePageTest::init() {
    start(QLocale(QLocale::English, QLocale::UnitedStates));
}

void ComposePageTest::start(const QLocale& locale) {
    QLocale::setDefault(locale);
    m_folder = std::make_unique<QTemporaryDir>();
    m_theme = std::make_unique<Theme>(*qApp, Theme::Setting::Light);
    QFile worker(m_folder->filePath(QStringLiteral("worker")));
    QVERIFY(worker.open(QIODevice::WriteOnly));
    worker.write("#!/bin/sh\necho '{\"cores\": 4, \"memory\": {\"total\": 8589934592}}'\n");
    worker.setPermissions(QFileDevice::ReadOwner | QFileDevice::ExeOwner);
    worker.close();
    m_launcher = std::make_unique<app::LocalLauncher>(worker.fileName(), m_folder->path());
    m_devices = std::make_unique<app::DeviceModel>(*m_launcher);
    m_document = std::make_unique<app::ExperimentDocument>();
    m_page = std::make_unique<ComposePage>(*m_theme, *m_document, *m_devices, app::samples());
    m_page->resize(1364, 860); // a window of 1440 x 900 without its frame
    m_page->show();
    QVERIFY(QTest::qWaitForWindowActive(m_page.get()));
}

void ComposePageTest::cleanup() {
    m_page.reset();
    m_document.reset();
    m_devices.reset();
    m_launcher.reset();
    m_theme.reset();
    m_folder.reset();
}

void ComposePageTest::openCnn() {
    for (const app::Sample& sample : app::samples())
        if (sample.name == QStringLiteral("fashion-cnn"))
            m_page->openSample(sample);
    QVERIFY(m_document->isOpen());
    m_document->setDataFacts(m_document->dataQuestion(), fashion());
    m_page->showSection(Section::Model);
    view()->choose(1);
    view()->setFocus();
}

void ComposePageTest::samplesOpenFromTheStart() {
    QVERIFY(m_page->startView()->isVisible());
    QVERIFY(!m_page->actions().train->isEnabled());
    SampleCard* card = m_page->startView()->card(0);
    QVERIFY(!sketchOf(app::samples().front().json).empty());
    QTest::mouseClick(card, Qt::LeftButton);
    QVERIFY(!m_page->startView()->isVisible());
    QCOMPARE(m_document->name(), app::samples().front().name);
    QVERIFY(!m_document->isModified());
    // New shows the start again; what is open stays open.
    QTest::keyClick(m_page.get(), Qt::Key_N, Qt::ControlModifier);
    QVERIFY(m_page->startView()->isVisible());
    QPushButton* back = button(m_page->startView(), QStringLiteral("Back to fashion-mlp"));
    QVERIFY(back);
    QTest::mouseClick(back, Qt::LeftButton);
    QVERIFY(!m_page->startView()->isVisible());
    // And by keys.
    m_page->showStart();
    m_page->startView()->card(1)->setFocus();
    QTest::keyClick(m_page->startView()->card(1), Qt::Key_Return);
    QCOMPARE(m_document->name(), app::samples()[1].name);
}

void ComposePageTest::emptyModelIsDrawnLayerByLayer() {
    for (QAbstractButton* each : m_page->startView()->findChildren<QAbstractButton*>())
        if (each->text() == QStringLiteral("Empty model"))
            QTest::mouseClick(each, Qt::LeftButton);
    QVERIFY(m_document->isOpen());
    QVERIFY(m_document->experiment().model.layers.empty());
    QVERIFY(!m_page->header()->trainButton()->isEnabled());
    // The problem of the empty model has a cure.
    QPushButton* cure = button(m_page->strip(), QStringLiteral("Add flatten and dense"));
    QVERIFY(cure);
    QTest::mouseClick(cure, Qt::LeftButton);
    QCOMPARE(m_document->experiment().model.layers.size(), std::size_t{2});
    QCOMPARE(cell(2, LayerListModel::OutputShapeRole), QStringLiteral("10"));
}

void ComposePageTest::aNumberChangesTheShapes() {
    openCnn();
    QTest::mouseClick(view()->viewport(), Qt::LeftButton, {},
                      view()->visualRect(view()->model()->index(1, 0)).center());
    QCOMPARE(view()->chosenRow(), 1);
    FormField* filters = inspected("out_channels");
    QVERIFY(filters);
    const QString parameters = figure(m_page->strip(), QStringLiteral("Parameters"))->figure();
    QCOMPARE(cell(3, LayerListModel::InputShapeRole), QStringLiteral("32 × 28 × 28"));
    type(filters->input(), QStringLiteral("64"));
    QCOMPARE(cell(3, LayerListModel::InputShapeRole), QStringLiteral("64 × 28 × 28"));
    QCOMPARE(cell(1, LayerListModel::ArgumentsRole), QStringLiteral("3 × 3, 64"));
    QVERIFY(figure(m_page->strip(), QStringLiteral("Parameters"))->figure() != parameters);
    QVERIFY(m_document->isModified());
    // Both numbers of a pair.
    FormField* kernel = inspected("kernel");
    const auto numbers = seen<NumberField>(kernel);
    QCOMPARE(numbers.size(), 2);
    type(numbers[1], QStringLiteral("5"));
    QCOMPARE(cell(1, LayerListModel::ArgumentsRole), QStringLiteral("3 × 5, 64"));
    QCOMPARE(cell(3, LayerListModel::InputShapeRole), QStringLiteral("64 × 28 × 26"));
    // Typing is one step: 6, 64 and not more.
    m_document->undo();
    m_document->undo();
    QVERIFY(!m_document->history().canUndo());
    QCOMPARE(filters->input()->property("value").toDouble(), 32);
}

void ComposePageTest::wrongTextIsKeptAndNotTaken() {
    openCnn();
    FormField* filters = inspected("out_channels");
    type(filters->input(), QStringLiteral("0"));
    QVERIFY(filters->problem().contains(u'0'));
    QCOMPARE(cell(1, LayerListModel::ArgumentsRole), QStringLiteral("3 × 3, 32"));
    QCOMPARE(filters->input()->findChild<QLineEdit*>()->text(), QStringLiteral("0"));
    QVERIFY(filters->input()->property("invalid").toBool());
    type(filters->input(), QStringLiteral("8"));
    QVERIFY(filters->problem().isEmpty());
    QVERIFY(!filters->input()->property("invalid").toBool());
}

void ComposePageTest::denseAfterAPictureIsRedAndCured() {
    openCnn();
    const QColor red = m_theme->tone(State::Failed).solid;
    const auto grabRow = [this](int row) {
        QRect rect = view()->visualRect(view()->model()->index(row, 0));
        rect.setRight(view()->callout()->x() - 1); // which stands before the rows
        return view()->viewport()->grab(rect).toImage();
    };
    QVERIFY(!hasColor(view()->viewport()->grab().toImage(), red));
    view()->choose(7); // flatten
    QTest::keyClick(view(), Qt::Key_Delete);
    QCOMPARE(cell(8, LayerListModel::IdRole), QStringLiteral("dense"));
    QVERIFY(hasColor(grabRow(8), red));
    QVERIFY(!hasColor(grabRow(7), red));
    // Both shapes, the sentence, and why Train cannot be pressed.
    QCOMPARE(cell(8, LayerListModel::InputShapeRole), QStringLiteral("64 × 7 × 7"));
    QCOMPARE(cell(8, LayerListModel::WantedRole), QStringLiteral("vector"));
    ShapeCallout* callout = view()->callout();
    QVERIFY(callout->isVisible());
    QCOMPARE(callout->sentence(), QStringLiteral("dense needs a vector; it gets 64 × 7 × 7."));
    QVERIFY(view()->viewport()->rect().contains(callout->geometry()));
    QVERIFY(!m_page->header()->trainButton()->isEnabled());
    QCOMPARE(m_page->header()->reason(), QStringLiteral("Fix 1 problem to train"));
    QCOMPARE(m_page->header()->tabs()->tab(1)->problems(), 1);
    QSignalSpy trained(m_page.get(), &ComposePage::trainRequested);
    QTest::keyClick(view(), Qt::Key_Return, Qt::ControlModifier);
    QCOMPARE(trained.count(), 0);

    QPushButton* cure = button(callout, QStringLiteral("Insert flatten"));
    QVERIFY(cure);
    QTest::mouseClick(cure, Qt::LeftButton);
    QVERIFY(!callout->isVisible());
    QVERIFY(!hasColor(view()->viewport()->grab().toImage(), red));
    QVERIFY(m_page->header()->trainButton()->isEnabled());
    QVERIFY(m_page->header()->reason().isEmpty());
    QCOMPARE(cell(8, LayerListModel::TypeRole), QStringLiteral("flatten"));
}

void ComposePageTest::theInputReshapesTheModel() {
    openCnn();
    view()->choose(0);
    const auto numbers = seen<NumberField>(m_page->modelTab()->inspector());
    QCOMPARE(numbers.size(), 3);
    type(numbers[1], QStringLiteral("32"));
    type(numbers[2], QStringLiteral("32"));
    QCOMPARE(cell(1, LayerListModel::OutputShapeRole), QStringLiteral("32 × 32 × 32"));
    QCOMPARE(cell(7, LayerListModel::OutputShapeRole), QStringLiteral("4096"));
    // The data has another shape; one click takes it.
    QPushButton* cure =
        button(m_page->modelTab()->inspector(), QStringLiteral("Set the input to 1 × 28 × 28"));
    QVERIFY(cure);
    QTest::mouseClick(cure, Qt::LeftButton);
    QVERIFY(m_document->problems().empty());
}

void ComposePageTest::batchSmallerThanTheRanks() {
    openCnn();
    clickTab(Section::Training);
    FormField* batch = findField(m_page->trainingTab(), "training.batch");
    QVERIFY(batch && batch->isVisible());
    QCOMPARE(batch->note(), QStringLiteral("128 = 64 + 64, one part for each copy"));
    type(batch->input(), QStringLiteral("2"));
    clickTab(Section::Parallelism);
    FormField* ranks = findField(m_page->parallelismTab(), "parallel.data");
    type(ranks->input(), QStringLiteral("4"));
    QVERIFY(!m_page->header()->trainButton()->isEnabled());
    QCOMPARE(m_page->header()->tabs()->tab(2)->problems(), 1);
    clickTab(Section::Training);
    QVERIFY2(batch->problem().contains(u"A batch of 2 cannot be shared by 4 ranks."),
             qPrintable(batch->problem()));
    QPushButton* four = button(batch, QStringLiteral("Use a batch of 4"));
    QPushButton* two = button(batch, QStringLiteral("Use 2 ranks"));
    QVERIFY(four && two);
    QTest::mouseClick(two, Qt::LeftButton);
    QVERIFY(m_document->problems().empty());
    QVERIFY(batch->problem().isEmpty());
    QCOMPARE(m_document->experiment().parallel.data, 2);
    // 10 on 4 is uneven, not wrong.
    type(batch->input(), QStringLiteral("10"));
    m_document->setValue("parallel.data", std::int64_t{4});
    QVERIFY(m_document->problems().empty());
    QCOMPARE(batch->note(), QStringLiteral("10 = 3 + 3 + 2 + 2, one part for each copy"));
}

void ComposePageTest::undoAndRedoByKeys() {
    openCnn();
    const auto layers = [this] {
        return m_document->experiment().model.layers.size();
    };
    QTest::keyClick(view(), Qt::Key_D, Qt::ControlModifier);
    QTest::keyClick(view(), Qt::Key_D, Qt::ControlModifier);
    QCOMPARE(layers(), std::size_t{13});
    QTest::keyClick(view(), Qt::Key_Z, Qt::ControlModifier);
    QTest::keyClick(view(), Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(layers(), std::size_t{11});
    QVERIFY(!m_page->actions().undo->isEnabled());
    QTest::keyClick(view(), Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
    QCOMPARE(layers(), std::size_t{12});
    // A field with nothing of its own to take back lets the key through.
    view()->choose(1);
    inspected("out_channels")->focusInput();
    QTest::keyClick(inspected("out_channels")->input(), Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(layers(), std::size_t{11});
}

void ComposePageTest::savesAndReloadsTheSameBytes_data() {
    QTest::addColumn<QString>("locale");
    QTest::addColumn<QString>("typed");
    QTest::newRow("C") << QStringLiteral("C") << QStringLiteral("0.002");
    QTest::newRow("German") << QStringLiteral("de_DE") << QStringLiteral("0,002");
    QTest::newRow("Russian") << QStringLiteral("ru_RU") << QStringLiteral("0,002");
}

void ComposePageTest::savesAndReloadsTheSameBytes() {
    QFETCH(QString, locale);
    QFETCH(QString, typed);
    cleanup();
    start(QLocale(locale));
    openCnn();
    clickTab(Section::Training);
    FormField* rate = findField(m_page->trainingTab(), "training.optimizer.learning_rate");
    type(rate->input(), typed);
    QVERIFY2(rate->problem().isEmpty(), qPrintable(rate->problem()));
    QVERIFY(m_document->value("training.optimizer.learning_rate") == spec::Value(0.002));

    const QString file = m_folder->filePath(QStringLiteral("mine.json"));
    QTest::keyClick(rate->input(), Qt::Key_S, Qt::ControlModifier);
    auto* dialog = m_page->findChild<QFileDialog*>();
    QVERIFY(dialog);
    dialog->selectFile(file);
    QMetaObject::invokeMethod(dialog, "accept");
    QTRY_VERIFY(QFile::exists(file));
    QVERIFY(!m_document->isModified());
    const QByteArray bytes = content(file);
    spec::Experiment expected =
        spec::parseExperiment(app::samples()[1].json.toStdString()).experiment;
    expected.training.optimizer.values["learning_rate"] = 0.002;
    QCOMPARE(bytes, QByteArray::fromStdString(spec::toJson(expected)));

    m_document->setValue("training.batch", std::int64_t{60});
    m_document->setValue("training.batch", std::int64_t{128});
    QVERIFY(m_document->save().ok());
    QCOMPARE(content(file), bytes);
    m_page->openFile(file);
    QCOMPARE(m_document->filePath(), file);
    QVERIFY(m_document->saveAs(m_folder->filePath(QStringLiteral("again.json"))).ok());
    QCOMPARE(content(m_folder->filePath(QStringLiteral("again.json"))), bytes);
}

void ComposePageTest::layersByKeys() {
    openCnn();
    QTest::keyClick(view(), Qt::Key_Down);
    QTest::keyClick(view(), Qt::Key_Down);
    QCOMPARE(cell(view()->chosenRow(), LayerListModel::IdRole), QStringLiteral("pool1"));
    // A opens the list, letters search it, Enter adds behind the chosen node.
    QTest::keyClick(view(), Qt::Key_A);
    QWidget* popup = QApplication::activePopupWidget();
    QVERIFY(popup);
    auto* search = popup->findChild<QLineEdit*>();
    QTest::keyClicks(search, QStringLiteral("drop"));
    QTest::keyClick(search, Qt::Key_Return);
    QVERIFY(!QApplication::activePopupWidget());
    QCOMPARE(view()->chosenRow(), 4);
    QCOMPARE(cell(4, LayerListModel::IdRole), QStringLiteral("dropout1"));
    QTest::keyClick(view(), Qt::Key_Up, Qt::AltModifier);
    QCOMPARE(view()->chosenRow(), 3);
    QCOMPARE(cell(3, LayerListModel::IdRole), QStringLiteral("dropout1"));
    QTest::keyClick(view(), Qt::Key_Down, Qt::AltModifier);
    QTest::keyClick(view(), Qt::Key_Down, Qt::AltModifier);
    QCOMPARE(cell(5, LayerListModel::IdRole), QStringLiteral("dropout1"));
    QTest::keyClick(view(), Qt::Key_D, Qt::ControlModifier);
    QCOMPARE(cell(6, LayerListModel::IdRole), QStringLiteral("dropout2"));
    QCOMPARE(view()->chosenRow(), 6);
    QTest::keyClick(view(), Qt::Key_Delete);
    QTest::keyClick(view(), Qt::Key_Home);
    QCOMPARE(view()->chosenRow(), 0);
    QTest::keyClick(view(), Qt::Key_Delete); // the input stays
    QCOMPARE(m_document->experiment().model.layers.size(), std::size_t{12});
    // Enter edits in the inspector.
    QTest::keyClick(view(), Qt::Key_Down);
    QTest::keyClick(view(), Qt::Key_Return);
    QVERIFY(m_page->modelTab()->inspector()->isAncestorOf(QApplication::focusWidget()));
    QCOMPARE(QApplication::focusWidget(), inspected("out_channels")->input());
}

void ComposePageTest::layersByPaletteAndDrop() {
    openCnn();
    LayerPalette* palette = m_page->modelTab()->palettePanel();
    QTest::keyClicks(palette->search(), QStringLiteral("flat"));
    QListView* list = palette->list();
    QCOMPARE(list->model()->rowCount(), 2); // its group and itself
    QTest::mouseClick(list->viewport(), Qt::LeftButton, {},
                      list->visualRect(list->model()->index(1, 0)).center());
    QCOMPARE(cell(2, LayerListModel::IdRole), QStringLiteral("flatten1"));
    QVERIFY(view()->callout()->isVisible()); // relu keeps it a vector, pool needs a picture
    m_document->undo();
    palette->search()->clear();
    QVERIFY(list->model()->rowCount() > 6);

    // Dropped on the edge above pool1.
    QMimeData data;
    data.setData(LayerListModel::typeMime(), "dropout");
    const QRect row = view()->visualRect(view()->model()->index(3, 0));
    const QPoint edge(row.center().x(), row.top() + 4);
    QDragEnterEvent enter(edge, Qt::CopyAction, &data, Qt::LeftButton, {});
    QApplication::sendEvent(view()->viewport(), &enter);
    QDragMoveEvent move(edge, Qt::CopyAction, &data, Qt::LeftButton, {});
    QApplication::sendEvent(view()->viewport(), &move);
    QVERIFY(move.isAccepted());
    QDropEvent drop(edge, Qt::CopyAction, &data, Qt::LeftButton, {});
    QApplication::sendEvent(view()->viewport(), &drop);
    QCOMPARE(cell(3, LayerListModel::IdRole), QStringLiteral("dropout1"));
    QCOMPARE(view()->chosenRow(), 3);
}

void ComposePageTest::renamesInTheInspector() {
    openCnn();
    QLineEdit* name = m_page->modelTab()->inspector()->nameField();
    QCOMPARE(name->text(), QStringLiteral("conv1"));
    type(name, QStringLiteral("stem"));
    QTest::keyClick(name, Qt::Key_Return);
    QCOMPARE(cell(1, LayerListModel::IdRole), QStringLiteral("stem"));
    type(name, QStringLiteral("conv2"));
    QTest::keyClick(name, Qt::Key_Return);
    QCOMPARE(name->text(), QStringLiteral("conv3")); // conv2 is taken
    // The experiment's own name.
    QLineEdit* title = m_page->header()->nameField();
    type(title, QStringLiteral("my net"));
    QTest::keyClick(title, Qt::Key_Return);
    QCOMPARE(m_document->name(), QStringLiteral("my net"));
    type(title, QStringLiteral(" "));
    QTest::keyClick(title, Qt::Key_Return);
    QCOMPARE(title->text(), QStringLiteral("my net"));
}

void ComposePageTest::problemsLeadToTheirPlace() {
    openCnn();
    m_document->setValue("training.batch", std::int64_t{1});
    m_document->setValue("parallel.transport", std::string("pigeon"));
    m_document->setValue("model.layers[0].out_channels", std::int64_t{0});
    QCOMPARE(m_document->problems().size(), std::size_t{3});
    const auto rows = seen<ProblemRow>(m_page->strip());
    QCOMPARE(rows.size(), 3);
    QTest::mouseClick(rows[1], Qt::LeftButton, {}, QPoint(40, 8));
    QCOMPARE(m_page->section(), Section::Training);
    QCOMPARE(QApplication::focusWidget(),
             findField(m_page->trainingTab(), "training.batch")->input());
    QTest::keyClick(m_page.get(), Qt::Key_F8);
    QCOMPARE(m_page->section(), Section::Model);
    QCOMPARE(view()->chosenRow(), 1);
    QCOMPARE(QApplication::focusWidget(), inspected("out_channels")->input());
    QTest::keyClick(m_page.get(), Qt::Key_F8);
    QTest::keyClick(m_page.get(), Qt::Key_F8);
    QCOMPARE(m_page->section(), Section::Parallelism);
    QTest::keyClick(m_page.get(), Qt::Key_F8, Qt::ShiftModifier);
    QCOMPARE(m_page->section(), Section::Training);
    m_page->strip()->problemList()->focusRow(0);
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
    QCOMPARE(m_page->section(), Section::Model);
}

void ComposePageTest::changesAreNotDropped() {
    openCnn();
    m_document->setValue("training.batch", std::int64_t{64});
    const auto press = [this](QMessageBox::StandardButton which) {
        auto* question = m_page->findChild<QMessageBox*>();
        QVERIFY(question);
        QVERIFY(question->text().contains(m_document->name()));
        QTest::mouseClick(question->button(which), Qt::LeftButton);
        QTRY_VERIFY(!m_page->findChild<QMessageBox*>());
    };
    m_page->openSample(app::samples().front());
    press(QMessageBox::Cancel);
    QCOMPARE(m_document->name(), QStringLiteral("fashion-cnn"));
    QVERIFY(m_document->isModified());
    // What is asked once is not asked again by what follows.
    m_page->keepChanges([this] { m_page->openSample(app::samples().front()); });
    press(QMessageBox::Discard);
    QCOMPARE(m_document->name(), QStringLiteral("fashion-mlp"));
    QVERIFY(!m_page->findChild<QMessageBox*>());

    // Saved first, then replaced.
    const QString file = m_folder->filePath(QStringLiteral("kept.json"));
    QVERIFY(m_document->saveAs(file).ok());
    m_document->setValue("training.batch", std::int64_t{32});
    m_page->openSample(app::samples()[1]);
    press(QMessageBox::Save);
    QCOMPARE(m_document->name(), QStringLiteral("fashion-cnn"));
    QVERIFY(content(file).contains("\"batch\": 32"));
}

void ComposePageTest::badFilesAreExplained() {
    openCnn();
    const QString file = m_folder->filePath(QStringLiteral("bad.json"));
    QFile bad(file);
    QVERIFY(bad.open(QIODevice::WriteOnly));
    bad.write(QByteArray(app::samples()[1].json).replace("\"epochs\"", "\"epoches\""));
    bad.close();
    m_page->openFile(file);
    QVERIFY(m_page->banner()->isVisible());
    const QString sentence = m_page->banner()->message();
    QVERIFY2(sentence.contains(file) && sentence.contains(u"training.epoches"),
             qPrintable(sentence));
    QVERIFY(m_document->filePath().isEmpty());
    m_page->openFile(m_folder->filePath(QStringLiteral("missing.json")));
    QVERIFY(m_page->banner()->message().contains(QStringLiteral("missing.json")));
    m_page->openSample(app::samples().front());
    QVERIFY(!m_page->banner()->isVisible());
}

void ComposePageTest::aFileIsDroppedOnThePage() {
    const QString file = m_folder->filePath(QStringLiteral("dropped.json"));
    QFile target(file);
    QVERIFY(target.open(QIODevice::WriteOnly));
    target.write(app::samples().front().json);
    target.close();
    QMimeData data;
    data.setUrls({QUrl::fromLocalFile(file)});
    QDragEnterEvent enter({50, 50}, Qt::CopyAction, &data, Qt::LeftButton, {});
    QApplication::sendEvent(m_page.get(), &enter);
    QVERIFY(enter.isAccepted());
    QDropEvent drop({50, 50}, Qt::CopyAction, &data, Qt::LeftButton, {});
    QApplication::sendEvent(m_page.get(), &drop);
    QCOMPARE(m_document->filePath(), file);
    QMimeData picture;
    picture.setUrls({QUrl::fromLocalFile(QStringLiteral("/a/picture.png"))});
    QDragEnterEvent other({50, 50}, Qt::CopyAction, &picture, Qt::LeftButton, {});
    other.ignore();
    QApplication::sendEvent(m_page.get(), &other);
    QVERIFY(!other.isAccepted());
}

void ComposePageTest::foreignChangesAreNotOverwritten() {
    openCnn();
    const QString file = m_folder->filePath(QStringLiteral("shared.json"));
    QVERIFY(m_document->saveAs(file).ok());
    QFile foreign(file);
    QVERIFY(foreign.open(QIODevice::Append));
    foreign.write("\n");
    foreign.close();
    m_document->setValue("training.batch", std::int64_t{64});
    QTest::keyClick(view(), Qt::Key_S, Qt::ControlModifier);
    auto* question = m_page->findChild<QMessageBox*>();
    QVERIFY(question);
    QVERIFY(!content(file).contains("\"batch\": 64"));
    for (QAbstractButton* each : question->buttons())
        if (question->buttonRole(each) == QMessageBox::DestructiveRole)
            QTest::mouseClick(each, Qt::LeftButton);
    QVERIFY(content(file).contains("\"batch\": 64"));
    QVERIFY(!m_document->isModified());
}

void ComposePageTest::trainsWithAbsolutePaths() {
    openCnn();
    QVERIFY(m_document->saveAs(m_folder->filePath(QStringLiteral("net.json"))).ok());
    m_document->setValue("data.train.images", std::string("images.gz"));
    QSignalSpy trained(m_page.get(), &ComposePage::trainRequested);
    QTest::mouseClick(m_page->header()->trainButton(), Qt::LeftButton);
    QCOMPARE(trained.count(), 1);
    const auto experiment = trained.front().front().value<spec::Experiment>();
    QCOMPARE(QString::fromStdString(experiment.data.train.at("images")),
             m_folder->filePath(QStringLiteral("images.gz")));
    QTest::keyClick(m_page.get(), Qt::Key_Return, Qt::ControlModifier);
    QCOMPARE(trained.count(), 2);
}

void ComposePageTest::dataIsLookedInto() {
    openCnn();
    clickTab(Section::Data);
    DataTab* tab = m_page->dataTab();
    QCOMPARE(figure(tab, QStringLiteral("Training samples"))->figure(), QStringLiteral("60,000"));
    QCOMPARE(figure(tab, QStringLiteral("One sample"))->figure(), QStringLiteral("1 × 28 × 28"));
    QVERIFY(tab->findChild<ClassBalance*>()->sentence().contains(QStringLiteral("6,000")));
    // Looked at again.
    QSignalSpy wanted(m_document.get(), &app::ExperimentDocument::inspectionWanted);
    QTest::mouseClick(button(tab, QStringLiteral("Look again")), Qt::LeftButton);
    QCOMPARE(wanted.count(), 1);
    auto* state = tab->findChild<EmptyState*>();
    QVERIFY(state->isVisible());
    QCOMPARE(state->accessibleName(), QStringLiteral("Looking into the files"));
    m_document->setDataError(m_document->dataQuestion(), Error({"The worker is gone."}));
    QVERIFY(state->accessibleDescription().contains(QStringLiteral("The worker is gone.")));
    app::DataFacts broken;
    broken.problems = {Error({"The file ends early."}, "data.train.images")};
    m_document->setDataFacts(m_document->dataQuestion(), broken);
    QCOMPARE(tab->fileField("data.train.images")->problem(),
             QStringLiteral("The file ends early."));
    QCOMPARE(m_page->header()->tabs()->tab(0)->problems(), 1);
    QVERIFY(!m_page->header()->trainButton()->isEnabled());
    app::DataFacts uneven = fashion();
    uneven.training.classCounts[3] = 12;
    m_document->setDataFacts(m_document->dataQuestion(), uneven);
    QVERIFY(tab->findChild<ClassBalance*>()->sentence().contains(
        QStringLiteral("From 12 training samples (class 3)")));
}

void ComposePageTest::validationIsChosen() {
    openCnn();
    clickTab(Section::Data);
    DataTab* tab = m_page->dataTab();
    FileField* images = tab->fileField("data.validation.images");
    QVERIFY(images->isVisible() && !findField(tab, "data.validation.fraction"));
    const spec::FileSet files = m_document->experiment().data.validation;
    QTest::mouseClick(tab->validationKind()->segment(1), Qt::LeftButton);
    FormField* share = findField(tab, "data.validation.fraction");
    QVERIFY(!images->isVisible() && share);
    QVERIFY(m_document->experiment().data.validation.empty());
    type(share->input(), QStringLiteral("0.25"));
    QCOMPARE(m_document->experiment().data.validationFraction, 0.25);
    QTest::mouseClick(tab->validationKind()->segment(2), Qt::LeftButton);
    QCOMPARE(m_document->experiment().data.validationFraction, 0.0);
    QTest::mouseClick(tab->validationKind()->segment(0), Qt::LeftButton);
    QVERIFY(m_document->experiment().data.validation == files);
}

void ComposePageTest::filesAreBrowsed() {
    openCnn();
    clickTab(Section::Data);
    const QString file = m_folder->filePath(QStringLiteral("train.gz"));
    QVERIFY(QFile(file).open(QIODevice::WriteOnly));
    FileField* field = m_page->dataTab()->fileField("data.train.images");
    QFileDialog* dialog = field->browse();
    dialog->setDirectory(m_folder->path());
    dialog->selectFile(file);
    QMetaObject::invokeMethod(dialog, "accept");
    QTRY_COMPARE(QString::fromStdString(m_document->experiment().data.train.at("images")), file);
    QCOMPARE(field->line()->text(), file);
    // Typed paths count when the field is left.
    type(field->line(), QStringLiteral("/elsewhere/images"));
    QTest::keyClick(field->line(), Qt::Key_Return);
    QCOMPARE(m_document->experiment().data.train.at("images"), std::string("/elsewhere/images"));
}

void ComposePageTest::optimizerBringsItsFields() {
    openCnn();
    clickTab(Section::Training);
    TrainingTab* tab = m_page->trainingTab();
    QVERIFY(findField(tab, "training.optimizer.beta1"));
    auto* types = findField(tab, "training.optimizer.type")->findChild<QComboBox*>();
    QVERIFY(types);
    QTest::keyClick(types, Qt::Key_Home); // SGD
    QCOMPARE(m_document->experiment().training.optimizer.type, std::string("sgd"));
    QTRY_VERIFY(!findField(tab, "training.optimizer.beta1"));
    FormField* momentum = findField(tab, "training.optimizer.momentum");
    QVERIFY(momentum);
    type(momentum->input(), QStringLiteral("0.9"));
    QVERIFY(m_document->value("training.optimizer.momentum") == spec::Value(0.9));
    m_document->undo();
    m_document->undo();
    QVERIFY(findField(tab, "training.optimizer.beta1"));
    // Optional numbers can be emptied.
    FormField* clip = findField(tab, "training.clip_norm");
    type(clip->input(), QStringLiteral("1.5"));
    QVERIFY(m_document->value("training.clip_norm") == spec::Value(1.5));
    clip->input()->findChild<QLineEdit*>()->selectAll();
    QTest::keyClick(clip->input(), Qt::Key_Delete);
    QVERIFY(!m_document->value("training.clip_norm"));
    auto* arithmetic = tab->findChild<RunArithmetic*>();
    QCOMPARE(arithmetic->value(QStringLiteral("Steps in all")), QStringLiteral("2,345"));
    QCOMPARE(arithmetic->value(QStringLiteral("Last step of an epoch")),
             QStringLiteral("96 samples"));
    QVERIFY(arithmetic->value(QStringLiteral("Warm-up")).startsWith(QStringLiteral("100 steps")));
    m_document->setValue("training.schedule.type", std::string("one_cycle"));
    QVERIFY(arithmetic->value(QStringLiteral("Warm-up")).endsWith(QStringLiteral("of the run")));
}

void ComposePageTest::earlyStoppingBringsItsFields() {
    openCnn();
    clickTab(Section::Training);
    TrainingTab* tab = m_page->trainingTab();
    const auto patience = [tab] {
        return findField(tab, "training.early_stopping.patience"); // null while it is hidden
    };
    QVERIFY(!patience());
    auto* metrics = findField(tab, "training.early_stopping.metric")->findChild<QComboBox*>();
    QVERIFY(metrics);
    QTest::keyClick(metrics, Qt::Key_Down);
    QVERIFY(m_document->experiment().training.earlyStopping == spec::EarlyStopping());
    QVERIFY(patience());
    type(patience()->input(), QStringLiteral("3"));
    QVERIFY(m_document->experiment().training.earlyStopping->patience == 3);
    m_document->undo();
    m_document->undo();
    QVERIFY(!m_document->experiment().training.earlyStopping);
    QVERIFY(!patience());
    // The rate that follows from the batch is shown.
    FormField* fits = findField(tab, "training.learning_rate_batch");
    QCOMPARE(fits->note(), QString());
    type(fits->input(), QStringLiteral("64"));
    QCOMPARE(fits->note(), QStringLiteral("rate × 2 = 0.002"));
}

void ComposePageTest::theLossIsChosen() {
    openCnn();
    view()->choose(view()->model()->rowCount() - 1);
    LayerInspector* inspector = m_page->modelTab()->inspector();
    FormField* smoothing = findField(inspector, "model.loss.label_smoothing");
    QVERIFY(smoothing);
    type(smoothing->input(), QStringLiteral("0.1"));
    QVERIFY(m_document->value("model.loss.label_smoothing") == spec::Value(0.1));
    QVERIFY(m_document->problems().empty());
    // The pictures have classes: numbers cannot be predicted of them.
    FormField* types = findField(inspector, "model.loss.type");
    chooseByKeys(types, QStringLiteral("Huber"));
    QCOMPARE(m_document->experiment().model.loss.type, std::string("huber"));
    QVERIFY(findField(inspector, "model.loss.delta"));
    QTRY_VERIFY(!findField(inspector, "model.loss.label_smoothing"));
    QCOMPARE(QApplication::focusWidget(),
             types->input()); // what is chosen with keys stays in reach
    QCOMPARE(cell(view()->chosenRow(), LayerListModel::ArgumentsRole),
             QStringLiteral("10 numbers"));
    QPushButton* cure = button(inspector, QStringLiteral("Use cross-entropy"));
    QVERIFY(cure);
    // The problem leads here from another page.
    clickTab(Section::Training);
    QTest::keyClick(m_page.get(), Qt::Key_F8);
    QCOMPARE(m_page->section(), Section::Model);
    QCOMPARE(QApplication::focusWidget(), findField(inspector, "model.loss.type")->input());
    QTest::mouseClick(cure, Qt::LeftButton);
    QVERIFY(m_document->problems().empty());
    QCOMPARE(m_document->experiment().model.loss.type, std::string("cross_entropy"));
    m_document->undo();
    QCOMPARE(m_document->experiment().model.loss.type, std::string("huber"));
    QVERIFY(findField(inspector, "model.loss.delta"));
}

void ComposePageTest::aShapeIsTyped() {
    openCnn();
    view()->choose(1);
    view()->addLayer(QStringLiteral("reshape"));
    QCOMPARE(cell(2, LayerListModel::ArgumentsRole), QStringLiteral("32 × 28 × 28"));
    FormField* shape = inspected("shape");
    auto* line = qobject_cast<QLineEdit*>(shape->input());
    QVERIFY(line);
    QCOMPARE(line->text(), QStringLiteral("32, 28, 28"));
    type(line, QStringLiteral("32, 14, 56"));
    QCOMPARE(cell(2, LayerListModel::OutputShapeRole), QStringLiteral("32 × 14 × 56"));
    type(line, QStringLiteral("32, x"));
    QVERIFY(!shape->problem().isEmpty());
    QVERIFY(line->property("invalid").toBool());
    QCOMPARE(line->text(), QStringLiteral("32, x")); // kept as typed, and not taken
    type(line, QStringLiteral("7 × 64 × 56"));
    QVERIFY(shape->problem().isEmpty());
    QVERIFY(m_document->value("model.layers[1].shape") ==
            spec::Value(std::vector<std::int64_t>{7, 64, 56}));
    type(line, QStringLiteral("7, 7"));
    QVERIFY2(shape->problem().contains(u"49"), qPrintable(shape->problem())); // elements
}

void ComposePageTest::weightsAreShared() {
    openCnn();
    view()->choose(view()->model()->rowCount() - 2);
    view()->addLayer(QStringLiteral("linear"));
    const QString id = cell(view()->chosenRow(), LayerListModel::IdRole);
    FormField* tied = inspected("tied_to");
    chooseByKeys(tied, QStringLiteral("dense"));
    QVERIFY(m_document->value(app::layerPath(view()->chosenRow() - 1, "tied_to")) ==
            spec::Value(std::string("dense")));
    // The name follows when that layer is renamed, and goes when it is removed.
    const int dense = view()->chosenRow() - 1;
    QVERIFY(!tied->problem().isEmpty()); // the shapes differ
    view()->choose(dense);
    while (cell(view()->chosenRow(), LayerListModel::IdRole) != QStringLiteral("dense"))
        view()->choose(view()->chosenRow() - 1);
    QLineEdit* name = m_page->modelTab()->inspector()->nameField();
    type(name, QStringLiteral("words"));
    QTest::keyClick(name, Qt::Key_Return);
    const auto tiedTo = [&] {
        for (const spec::LayerSpec& layer : m_document->experiment().model.layers)
            if (QString::fromStdString(layer.id) == id)
                return layer.values.contains("tied_to")
                           ? std::get<std::string>(layer.values.at("tied_to"))
                           : std::string("none");
        return std::string("gone");
    };
    QCOMPARE(tiedTo(), std::string("words"));
    view()->removeChosen();
    QCOMPARE(tiedTo(), std::string("none"));
}

void ComposePageTest::aSkipIsDrawnByKeys() {
    openCnn();
    view()->choose(2); // relu1
    QTest::keyClick(view(), Qt::Key_D, Qt::ControlModifier);
    view()->addLayer(QStringLiteral("add"));
    QCOMPARE(view()->chosenRow(), 4);
    const auto from = [this] {
        return m_document->experiment().model.layers[3].from;
    };
    // It joins what fits: the two activations.
    QCOMPARE(from(), (std::vector<std::string>{"relu4", "relu1"}));
    QVERIFY(m_document->problems().empty());
    QCOMPARE(cell(4, LayerListModel::InputsRole), QStringLiteral("relu4, relu1"));
    InputsField* inputs = m_page->modelTab()->inspector()->inputsField();
    QVERIFY(inputs);
    QCOMPARE(inputs->button()->text(), QStringLiteral("relu4, relu1"));
    // Space opens the menu, arrows and Space check; it stays open.
    inputs->button()->setFocus(Qt::TabFocusReason);
    QTest::keyClick(inputs->button(), Qt::Key_Space);
    auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    QVERIFY(menu);
    QVERIFY(menuAction(menu, QStringLiteral("relu1"))->isChecked());
    QTest::keyClick(menu, Qt::Key_Down); // relu1
    QTest::keyClick(menu, Qt::Key_Space);
    QCOMPARE(from(), std::vector<std::string>{}); // only the layer before
    QVERIFY(menu->isVisible());
    QVERIFY2(inputs->problem().contains(u"two or more"), qPrintable(inputs->problem()));
    QTest::keyClick(menu, Qt::Key_Down); // conv1
    QTest::keyClick(menu, Qt::Key_Space);
    QTest::keyClick(menu, Qt::Key_Escape);
    QCOMPARE(from(), (std::vector<std::string>{"relu4", "conv1"}));
    QVERIFY(m_document->problems().empty());
    m_document->undo();
    m_document->undo();
    QCOMPARE(from(), (std::vector<std::string>{"relu4", "relu1"}));
    QCOMPARE(inputs->button()->text(), QStringLiteral("relu4, relu1"));
    // The way around is drawn beside the nodes.
    const QRect node = view()->visualRect(view()->model()->index(4, 0));
    const QImage with = view()->viewport()->grab().toImage();
    m_document->setValue("model.layers[3].from", std::string("relu4, input"));
    QVERIFY(with != view()->viewport()->grab().toImage());
    QVERIFY(node.isValid());
}

void ComposePageTest::inputsAreChecked() {
    openCnn();
    view()->choose(3); // pool1
    InputsField* inputs = m_page->modelTab()->inspector()->inputsField();
    QCOMPARE(inputs->button()->text(), QStringLiteral("the layer before"));
    QTest::mouseClick(inputs->button(), Qt::LeftButton);
    auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    QVERIFY(menu);
    QVERIFY(menuAction(menu, QStringLiteral("the layer before: relu1"))->isChecked());
    QTest::mouseClick(menu, Qt::LeftButton, {},
                      menu->actionGeometry(menuAction(menu, QStringLiteral("conv1"))).center());
    QVERIFY(!menu->isVisible()); // one of them, so that is all
    QVERIFY(m_document->value("model.layers[2].from") == spec::Value(std::string("conv1")));
    QCOMPARE(inputs->button()->text(), QStringLiteral("conv1"));
    // Now nothing uses the activation: the problem says so and offers to remove it.
    QCOMPARE(m_document->problems().size(), std::size_t{1});
    QPushButton* cure = button(m_page->strip(), QStringLiteral("Remove relu1"));
    QVERIFY(cure);
    QTest::mouseClick(cure, Qt::LeftButton);
    QVERIFY(m_document->problems().empty());
    QVERIFY(m_document->value("model.layers[1].from") == spec::Value(std::string()));
    // A name that is not there leads to the field.
    m_document->setValue("model.layers[1].from", std::string("nowhere"));
    QTest::keyClick(m_page.get(), Qt::Key_F8);
    inputs = m_page->modelTab()->inspector()->inputsField();
    QCOMPARE(QApplication::focusWidget(), inputs->button());
    QVERIFY(inputs->problem().contains(u"nowhere"));
    QPushButton* before = button(inputs, QStringLiteral("Take the layer before"));
    QVERIFY(before);
    QTest::mouseClick(before, Qt::LeftButton);
    QVERIFY(m_document->problems().empty());
}

void ComposePageTest::everyFormatHasItsFiles() {
    openCnn();
    clickTab(Section::Data);
    DataTab* tab = m_page->dataTab();
    for (const spec::TypeInfo& format : spec::catalogue()) {
        if (format.kind != spec::Kind::DataFormat)
            continue;
        const spec::FileSet before = m_document->experiment().data.train;
        const std::string formatBefore = m_document->experiment().data.format;
        chooseByKeys(findField(tab, "data.format"), app::catalogueText(format.label));
        QCOMPARE(m_document->experiment().data.format, format.type);
        for (const spec::FileRole& role : format.roles) {
            FileField* file = tab->fileField("data.train." + role.name);
            QVERIFY2(file && file->isVisibleTo(tab), role.name.c_str());
            QFileDialog* dialog = file->browse();
            QCOMPARE(dialog->fileMode() == QFileDialog::Directory, role.folder);
            dialog->reject();
        }
        for (const spec::FieldInfo& field : format.fields)
            QVERIFY2(findField(tab, "data." + field.name), field.name.c_str());
        const spec::TypeInfo* augment =
            spec::findType(spec::Kind::Augmentation, spec::kPictureAugmentation);
        for (const spec::FieldInfo& field : augment->fields)
            QCOMPARE(findField(tab, "data.augment." + field.name) != nullptr, format.pictures);
        // Files of a role that both have stay, others go.
        for (const auto& [role, file] : m_document->experiment().data.train)
            QVERIFY(file.empty() || before.at(role) == file);
        if (format.type != formatBefore) {
            m_document->undo();
            QVERIFY(m_document->experiment().data.train == before);
            m_document->redo();
        }
    }
}

void ComposePageTest::factsOfNumbersAndOfText() {
    openCnn();
    clickTab(Section::Data);
    DataTab* tab = m_page->dataTab();
    app::DataFacts houses;
    houses.training.samples = 400;
    houses.training.sampleShape = {8};
    houses.training.numbers = 2;
    houses.training.notes = {{"Line %1 has no number and was left out.", {"17"}}};
    m_document->setDataFacts(m_document->dataQuestion(), houses);
    FigureCell* targets = figure(tab, QStringLiteral("Numbers to predict"));
    QVERIFY(targets && targets->isVisible());
    QCOMPARE(targets->figure(), QStringLiteral("2"));
    QVERIFY(!tab->findChild<ClassBalance*>()->isVisible());
    QVERIFY(!figure(tab, QStringLiteral("Vocabulary"))->isVisible());
    const auto says = [tab](const QString& text) {
        for (QLabel* label : seen<QLabel>(tab))
            if (label->text().contains(text))
                return true;
        return false;
    };
    QVERIFY(says(QStringLiteral("Line 17 has no number and was left out.")));
    app::DataFacts text;
    text.training.samples = 1000;
    text.training.sampleShape = {64};
    text.training.vocabulary = text.training.classes = 65;
    m_document->setDataFacts(m_document->dataQuestion(), text);
    QCOMPARE(figure(tab, QStringLiteral("Vocabulary"))->figure(), QStringLiteral("65"));
    QVERIFY(!figure(tab, QStringLiteral("Classes"))->isVisible());
    QVERIFY(!says(QStringLiteral("left out")));
    app::DataFacts pets = fashion();
    pets.training.classCounts = {7, 5};
    pets.training.classNames = {"cat", "dog"};
    m_document->setDataFacts(m_document->dataQuestion(), pets);
    QCOMPARE(tab->findChild<ClassBalance*>()->sentence(),
             QStringLiteral("From 5 training samples (class dog) to 7 (class cat)."));
}

void ComposePageTest::firstSamplesAreShown() {
    openCnn();
    clickTab(Section::Data);
    DataTab* tab = m_page->dataTab();
    auto* preview = tab->findChild<DataPreviewView*>();
    app::DataFacts facts = fashion();
    m_document->setDataFacts(m_document->dataQuestion(), facts);
    QVERIFY(!preview->isVisible()); // nothing to look at

    facts.training.sampleShape = {3, 1, 2};
    facts.training.classNames = {"cat", "dog"};
    facts.preview.pictures = {{1, std::string("\xff\x00\x10\x20\x00\xff", 6)},
                              {7, std::string(6, '\x40')},
                              {std::nullopt, std::string(6, '\0')}};
    m_document->setDataFacts(m_document->dataQuestion(), facts);
    auto* strip = preview->findChild<PictureStrip*>();
    QVERIFY(preview->isVisible() && strip->isVisible());
    QCOMPARE(strip->count(), 3);
    QCOMPARE(strip->picture(0).pixel(0, 0), qRgb(255, 16, 0));
    QCOMPARE(strip->picture(0).pixel(1, 0), qRgb(0, 32, 255));
    QCOMPARE(strip->label(0), QStringLiteral("dog"));
    QCOMPARE(strip->label(1), QStringLiteral("7")); // a class without a name
    QCOMPARE(strip->label(2), QString());
    QVERIFY(strip->heightForWidth(100) > strip->heightForWidth(1000));
    strip->grab();

    facts.training.sampleShape = {2};
    facts.preview = {};
    facts.preview.columns = {
        {"size", "number", 1, {"1.5", "2.5", "NA"}, {}, 2.0, 0.5},
        {"kind", "class", 0, {"a", "b", "a"}, {"a", "b"}, std::nullopt, std::nullopt}};
    m_document->setDataFacts(m_document->dataQuestion(), facts);
    QVERIFY(!strip->isVisible());
    auto* table = preview->findChild<QTableWidget*>();
    QVERIFY(table->isVisible());
    const auto line = [&](int row) {
        QStringList cells;
        for (int column = 0; column < table->columnCount(); ++column)
            cells << table->item(row, column)->text();
        return cells.join(u'|');
    };
    QCOMPARE(line(0), QStringLiteral("size|number|1.5|2.5|NA|1|2.000|0.5000|"));
    QCOMPARE(line(1), QStringLiteral("kind|class to predict|a|b|a|0|||a, b"));

    facts.preview = {};
    facts.preview.text = "Мой дядя";
    m_document->setDataFacts(m_document->dataQuestion(), facts);
    QVERIFY(!table->isVisible());
    auto* text = preview->findChild<QPlainTextEdit*>();
    QVERIFY(text->isVisible());
    QCOMPARE(text->toPlainText(), QStringLiteral("Мой дядя"));
}

void ComposePageTest::planFollowsTheRanks() {
    openCnn();
    clickTab(Section::Parallelism);
    ParallelismTab* tab = m_page->parallelismTab();
    QCOMPARE(tab->tiles()->count(), 2);
    m_devices->probe();
    QTRY_COMPARE(m_devices->state(), app::DeviceModel::State::Ready);
    FormField* ranks = findField(tab, "parallel.data");
    type(ranks->input(), QStringLiteral("3"));
    QCOMPARE(tab->tiles()->count(), 3);
    QCOMPARE(ranks->note(), QStringLiteral("3 copies: 128 = 43 + 43 + 42"));
    QCOMPARE(figure(tab, QStringLiteral("Threads per rank"))->figure(), QStringLiteral("1"));
    QVERIFY(tab->verdict().contains(QStringLiteral("3 of 4 cores")));
    type(ranks->input(), QStringLiteral("8"));
    QVERIFY(tab->verdict().contains(QStringLiteral("8 ranks share 4 cores")));
    QCOMPARE(tab->tiles()->count(), 8);
    QVERIFY(!tab->tiles()->tileRect(7).isEmpty());
    QTRY_VERIFY(tab->tiles()->height() > tab->tiles()->tileRect(7).bottom());
    // The head is the second of a pair, unless the first cannot be cut.
    m_document->setValue("parallel.tensor", std::int64_t{2});
    QVERIFY(findField(tab, "parallel.tensor")->note().isEmpty());
    m_document->setValue("model.layers[8].out_features", std::int64_t{127});
    QCOMPARE(findField(tab, "parallel.tensor")->note(),
             QStringLiteral("each scores a part of the classes of classes"));
}

/// Fields of PowerSGD come with it; what is saved stands under the choice, what it costs below.
void ComposePageTest::compressionSaysWhatItSavesAndCosts() {
    openCnn();
    clickTab(Section::Parallelism);
    ParallelismTab* tab = m_page->parallelismTab();
    FormField* form = findField(tab, "parallel.compression");
    const char* rank = "parallel.compression_rank";
    const char* warmUp = "parallel.compression_warmup";
    QVERIFY(!findField(tab, rank) && !findField(tab, warmUp)); // none that is seen
    QVERIFY(form->note().isEmpty() && tab->compressionCosts().isEmpty());

    m_document->setValue("parallel.compression", std::string("fp16"));
    QVERIFY(!findField(tab, rank));
    QVERIFY2(form->note().endsWith(QStringLiteral(": 50 % saved")), qPrintable(form->note()));
    QVERIFY(tab->compressionCosts().contains(QStringLiteral("shared memory")));

    m_document->setValue("parallel.compression", std::string("powersgd"));
    m_document->setValue("parallel.transport", std::string("gloo"));
    QVERIFY(findField(tab, rank) && findField(tab, warmUp));
    QVERIFY(!form->note().isEmpty() && !form->note().endsWith(QStringLiteral(": 50 % saved")));
    QVERIFY(!tab->compressionCosts().contains(QStringLiteral("shared memory")));
    QVERIFY2(tab->compressionCosts().contains(QStringLiteral("6 % higher with rank 4")),
             qPrintable(tab->compressionCosts()));
    type(findField(tab, rank)->input(), QStringLiteral("2"));
    QVERIFY(tab->compressionCosts().contains(QStringLiteral("24 % higher with rank 2")));
}

void ComposePageTest::pricesSayWhatTheyAssume() {
    openCnn();
    auto* memory = m_page->strip()->findChild<MemoryCell*>();
    FigureCell* steps = figure(m_page->strip(), QStringLiteral("Steps"));
    QVERIFY(!memory->figure().isEmpty());
    QCOMPARE(steps->figure(), QStringLiteral("2,345"));
    m_document->inspectAgain(); // not known for a moment
    QVERIFY(steps->figure().isEmpty());
    QCOMPARE(steps->detail(), QStringLiteral("needs the data"));
    QVERIFY(!memory->figure().isEmpty());
    view()->choose(7);
    view()->removeChosen();
    bool said = false;
    for (const QWidget* each : m_page->strip()->findChildren<QWidget*>())
        said = said || each->accessibleName() ==
                           QStringLiteral("figures at the right assume the first cure");
    QVERIFY(said);
    QVERIFY(!memory->figure().isEmpty());
}

/// The worker of a machine that is not measured until it is asked to.
void ComposePageTest::aStepHasAPrice() {
    plan::Calibration made;
    made.key = {"1", "made up", 1};
    made.measuredAt = "2026-01-31T12:00:00Z";
    for (const char* table : {"linear/forward/fp32", "linear/backward/fp32"})
        made.settings.resize(1), made.settings[0].tables[table] = {{{5, 5, 5}, 1e-3, 1e-12}};
    made.exchanges["shared_memory/all_reduce"] = {{{5}, 1e-3, 1e-12}};
    QFile worker(m_folder->filePath(QStringLiteral("worker")));
    worker.setPermissions(QFileDevice::ReadOwner | QFileDevice::WriteOwner | QFileDevice::ExeOwner);
    QVERIFY(worker.open(QIODevice::WriteOnly));
    worker.write("#!/bin/sh\ncase \"$2\" in --kept) echo '{\"answer\": \"refused\", \"error\": "
                 "\"Not yet.\"}';; *) echo '" +
                 QByteArray::fromStdString(plan::toJson(made)) + "';; esac\n");
    worker.close();
    openCnn();
    FigureCell* step = figure(m_page->strip(), QStringLiteral("Predicted step"));
    QVERIFY(step);
    QVERIFY(step->figure().isEmpty());
    QPushButton* measure = button(m_page->strip(), QStringLiteral("Measure this computer"));
    m_devices->lookForCalibration();
    QTRY_VERIFY((measure = button(m_page->strip(), QStringLiteral("Measure this computer"))) &&
                measure->isVisible());
    QCOMPARE(step->detail(), QStringLiteral("not measured yet"));
    measure->setFocus(Qt::TabFocusReason);
    QTest::keyClick(measure, Qt::Key_Space);
    QVERIFY(!measure->isEnabled());
    QTRY_VERIFY2(!step->figure().isEmpty(), qPrintable(step->detail() + step->toolTip()));
    QVERIFY(!measure->isVisible());
    QVERIFY2(step->detail().contains(QStringLiteral("±")), qPrintable(step->detail()));
    QVERIFY(step->toolTip().contains(QStringLiteral("2026-01-31")));
    const QString before = step->figure();
    m_document->setValue("training.batch", std::int64_t{1024});
    QVERIFY(step->figure() != before);
}

void ComposePageTest::narrowWindowsFit() {
    openCnn();
    view()->choose(7);
    view()->removeChosen(); // the header with its longest words
    m_document->setValue("training.epochs", std::int64_t{6});
    m_page->resize(948, 660); // a window of 1024 x 700
    for (int section = 0; section < app::kSectionCount; ++section) {
        m_page->showSection(static_cast<Section>(section));
        QVERIFY2(m_page->minimumSizeHint().width() <= 948,
                 qPrintable(QString::number(m_page->minimumSizeHint().width())));
    }
    m_page->showSection(Section::Model);
    QTRY_VERIFY(m_page->modelTab()->palettePanel()->isIconsOnly());
    QCOMPARE(m_page->modelTab()->palettePanel()->width(), 44);
    QVERIFY(view()->viewport()->rect().contains(view()->callout()->geometry()));
    ComposeHeader* header = m_page->header();
    QTRY_COMPARE(header->width(), 948);
    const int wanted = header->layout()->sizeHint().width();
    QVERIFY2(wanted <= 948, qPrintable(QString::number(wanted))); // nothing is squeezed
    QVERIFY(header->trainButton()->geometry().right() < 948);
    QVERIFY(button(header, QStringLiteral("Train")));
    m_page->resize(1364, 860);
    QTRY_VERIFY(!m_page->modelTab()->palettePanel()->isIconsOnly());
    QVERIFY(button(header, QStringLiteral("Save")));
}

void ComposePageTest::everythingHasAName() {
    openCnn();
    m_document->setValue("parallel.data", std::int64_t{2});
    for (int section = 0; section < app::kSectionCount; ++section) {
        m_page->showSection(static_cast<Section>(section));
        for (QWidget* widget : m_page->findChildren<QWidget*>()) {
            const bool reachable = widget->focusPolicy() & Qt::TabFocus;
            if (!reachable || !widget->isVisible() || widget->focusProxy())
                continue;
            QAccessibleInterface* face = QAccessible::queryAccessibleInterface(widget);
            QVERIFY(face);
            QVERIFY2(!face->text(QAccessible::Name).isEmpty(),
                     qPrintable(QStringLiteral("%1 in section %2")
                                    .arg(QLatin1StringView(widget->metaObject()->className()))
                                    .arg(section)));
        }
    }
}

void ComposePageTest::theKeyboardReachesEverything() {
    openCnn();
    m_document->setValue("training.epochs", std::int64_t{6});
    for (int section = 0; section < app::kSectionCount; ++section) {
        m_page->showSection(static_cast<Section>(section));
        QSet<QWidget*> reached;
        m_page->header()->nameField()->setFocus();
        for (int i = 0; i < 200; ++i) {
            reached.insert(QApplication::focusWidget());
            QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
        }
        for (QWidget* widget : m_page->findChildren<QWidget*>()) {
            const bool stop = (widget->focusPolicy() & Qt::TabFocus) && widget->isVisible() &&
                              widget->isEnabled() && !widget->focusProxy();
            QVERIFY2(!stop || reached.contains(widget),
                     qPrintable(QStringLiteral("%1 \"%2\" in section %3")
                                    .arg(QLatin1StringView(widget->metaObject()->className()),
                                         widget->accessibleName())
                                    .arg(section)));
        }
        QVERIFY(reached.contains(m_page->header()->trainButton()));
    }
    QVERIFY(m_page->section() == Section::Parallelism);
    QTest::keyClick(m_page.get(), Qt::Key_Tab, Qt::ControlModifier);
    QCOMPARE(m_page->section(), Section::Data);
}

void ComposePageTest::looksRightInTheDark() {
    openCnn();
    m_theme->setSetting(Theme::Setting::Dark);
    const QImage image = m_page->grab().toImage();
    QVERIFY(hasColor(image, m_theme->color(Color::Canvas)));
    QVERIFY(hasColor(image, m_theme->color(Color::Surface)));
    QVERIFY(!hasColor(image, tokenColor(Scheme::Light, Color::Canvas)));
}

QTEST_MAIN(ComposePageTest)
#include "tst_compose_page.moc"
