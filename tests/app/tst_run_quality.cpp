// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// How good a run is, as lists, terminals and programs are told: of models with an accuracy and of
// those without.
#include "app/base/format.h"
#include "app/cli/progress_text.h"
#include "app/cli/run_text.h"
#include "app/models/run_list_model.h"
#include "engine/base/check.h"
#include "tests/app/store_support.h"

#include <QTemporaryDir>
#include <QTest>

using namespace trainyard;
using namespace trainyard::app;
using namespace trainyard::test;

class RunQualityTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() { QLocale::setDefault(QLocale::c()); }
    void init();
    void qualityIsWhatThereIs();
    void valuesAreSaidInTheirWay();
    void theListShowsTheBest();
    void theBestSortsAccuraciesFirst();
    void theTerminalNamesEachMetric();
    void programsGetWhatWasMeasured();

private:
    RunId add(const QString& name, const std::vector<std::vector<spec::NamedValue>>& validations);
    QString shown(RunListModel& runs, RunId run, int column, int role = Qt::DisplayRole) {
        return runs.indexOf(run, column).data(role).toString();
    }

    std::unique_ptr<QTemporaryDir> m_folder;
    std::unique_ptr<RunStore> m_store;
};

void RunQualityTest::init() {
    m_store.reset();
    m_folder = std::make_unique<QTemporaryDir>();
    m_store = std::move(RunStore::open(m_folder->path())).value();
}

RunId RunQualityTest::add(const QString& name,
                          const std::vector<std::vector<spec::NamedValue>>& validations) {
    const RunId run = m_store->createRun(newRun(name, name)).value().id;
    JournalBuilder journal;
    std::int64_t step = 0;
    for (const auto& values : validations)
        journal.metrics(++step * 10, values);
    m_store->ingest({run, u"node"_qs}, journal.frames());
    TRAINYARD_CHECK(m_store->flush().get().ok());
    return run;
}

void RunQualityTest::qualityIsWhatThereIs() {
    QVERIFY(!qualityOf({{"val_loss", 1.0}}));
    QCOMPARE(qualityOf({{"val_loss", 1.0}, {"val_accuracy", 0.5}})->first,
             std::string("val_accuracy"));
    QCOMPARE(qualityOf({{"val_mae", 2.0}, {"val_r2", 0.5}})->second, 2.0);
    QCOMPARE(qualityOf({{"val_accuracy", 0.5}, {"val_perplexity", 4.0}})->second, 4.0);
    ProgressMeter meter;
    meter.take(spec::Metrics{10, 0.5, 640, {{"train_loss", 1.0}, {"val_mae", 0.25}}}, 1);
    QCOMPARE(meter.progress().validated.size(), std::size_t{1});
    QCOMPARE(meter.progress().validated.at("val_mae"), 0.25);
}

void RunQualityTest::valuesAreSaidInTheirWay() {
    const QLocale locale = QLocale::c();
    QCOMPARE(metricValueText(u"val_accuracy"_qs, 0.9125, locale), u"91.25 %"_qs);
    QCOMPARE(metricValueText(u"val_top5"_qs, 1.0, locale), u"100.00 %"_qs);
    QCOMPARE(metricValueText(u"val_r2"_qs, 0.5, locale), u"0.5000"_qs);
    QCOMPARE(metricText(u"val_mae"_qs), u"mean absolute error"_qs);
    QCOMPARE(metricText(u"my_metric"_qs), u"my_metric"_qs);
}

void RunQualityTest::theListShowsTheBest() {
    const RunId pictures = add(u"pictures"_qs, {{{"val_loss", 0.5}, {"val_accuracy", 0.75}},
                                                {{"val_loss", 0.75}, {"val_accuracy", 0.875}}});
    const RunId houses = add(u"houses"_qs, {{{"val_loss", 4.0}, {"val_mae", 1.5}},
                                            {{"val_loss", 0.25}, {"val_mae", 0.5}},
                                            {{"val_loss", 0.5}, {"val_mae", 0.75}}});
    const RunId young = add(u"young"_qs, {{{"train_loss", 3.0}}});
    RunListModel runs(*m_store);
    QCOMPARE(shown(runs, pictures, RunListModel::BestColumn), u"0.8750"_qs);
    QCOMPARE(shown(runs, houses, RunListModel::BestColumn), u"loss 0.2500"_qs);
    QCOMPARE(shown(runs, houses, RunListModel::LossColumn), u"0.2500"_qs);
    QCOMPARE(shown(runs, young, RunListModel::BestColumn), unknownText());
    QVERIFY(!runs.indexOf(young, RunListModel::BestColumn).data(RunListModel::SortRole).isValid());
    const auto curve = [&](RunId run) {
        return runs.indexOf(run, RunListModel::CurveColumn)
            .data(RunListModel::SparklineRole)
            .value<QList<float>>();
    };
    QVERIFY(curve(pictures).contains(0.875f)); // the accuracy, where there is one
    QVERIFY(!curve(pictures).contains(0.5f));
    QVERIFY(curve(houses).contains(0.25f));
}

void RunQualityTest::theBestSortsAccuraciesFirst() {
    const RunId bad = add(u"bad"_qs, {{{"val_loss", 4.0}}});
    const RunId good = add(u"good"_qs, {{{"val_loss", 0.25}}});
    const RunId poor = add(u"poor"_qs, {{{"val_loss", 9.0}, {"val_accuracy", 0.0}}});
    const RunId sharp = add(u"sharp"_qs, {{{"val_loss", 9.5}, {"val_accuracy", 1.0}}});
    RunListModel runs(*m_store);
    RunFilterModel sorted;
    sorted.setSourceModel(&runs);
    sorted.sort(RunListModel::BestColumn, Qt::DescendingOrder);
    QList<qint64> order, wanted;
    for (int row = 0; row < sorted.rowCount(); ++row)
        order << sorted.index(row, 0).data(RunListModel::RunIdRole).toLongLong();
    for (const RunId run : {sharp, poor, good, bad})
        wanted << static_cast<qint64>(run);
    QCOMPARE(order, wanted);
}

void RunQualityTest::theTerminalNamesEachMetric() {
    RunProgress progress;
    progress.step = progress.steps = 10;
    progress.stepsPerEpoch = 10;
    progress.epochs = 1;
    progress.validationLoss = 1.5;
    progress.validated = {{"val_loss", 1.5}, {"val_mae", 0.5}, {"val_r2", 0.25}};
    QVERIFY2(epochLine(progress).endsWith(u"val_loss 1.500  val_mae 0.5000  val_r2 0.2500"),
             qPrintable(epochLine(progress)));
    progress.validationAccuracy = 0.5;
    progress.validated = {{"val_loss", 1.5}, {"val_accuracy", 0.5}, {"val_perplexity", 4.5}};
    QVERIFY(epochLine(progress).endsWith(u"val_loss 1.500  val_accuracy 0.5000  "
                                         "val_perplexity 4.500"));
    QString line;
    for (const Span& span : progressLine(progress, 160))
        line += span.text;
    QVERIFY2(line.contains(u"val perplexity 4.500"), qPrintable(line));
}

void RunQualityTest::programsGetWhatWasMeasured() {
    add(u"houses"_qs, {{{"val_loss", 0.25}, {"val_mae", 0.5}, {"val_r2", 0.75}}});
    add(u"pictures"_qs, {{{"val_loss", 0.5}, {"val_accuracy", 0.75}}});
    StoreReader& reader = m_store->reader();
    const RunFigures figures(reader);
    const std::vector<RunRecord> runs = reader.changesSince(0).value().changed;
    QCOMPARE(runs.size(), std::size_t{2});
    for (const RunRecord& run : runs) {
        const QJsonObject json = runAsJson(run, figures);
        const bool numbers = run.name == u"houses";
        QCOMPARE(json.contains(u"val_mae"_qs), numbers);
        QCOMPARE(json.contains(u"val_perplexity"_qs), false);
        if (numbers)
            QCOMPARE(json[u"val_r2"_qs].toDouble(), 0.75);
        QCOMPARE(json[u"val_accuracy"_qs].isNull(), numbers);
    }
    const QString table = runTable(runs, figures);
    QVERIFY2(table.contains(u"loss 0.2500") && table.contains(u"acc 75.00 %"), qPrintable(table));
}

QTEST_GUILESS_MAIN(RunQualityTest)
#include "tst_run_quality.moc"
