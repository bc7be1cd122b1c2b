// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The board of ranks and the drawn schedule of a pipeline: tiles lie where the mesh has them, at
// any width; the schedule has a block for each micro-batch each way.
#include "tests/support/experiments.h"
#include "ui/compose/rank_tiles.h"
#include "ui/compose/schedule_view.h"
#include "ui/theme/theme.h"

#include <QHelpEvent>
#include <QToolTip>
#include <QtTest>

#include <memory>

using namespace trainyard;
using namespace trainyard::ui;

namespace {

plan::Plan planOf(int data, int tensor, int pipeline, const test::Settings& more = {}) {
    test::Settings settings = {{"parallel.data", std::to_string(data)},
                               {"parallel.tensor", std::to_string(tensor)},
                               {"parallel.pipeline", std::to_string(pipeline)},
                               {"parallel.micro_batches", "4"}};
    settings.insert(settings.end(), more.begin(), more.end());
    return plan::makePlan(test::smallExperiment(settings), {1000, 100, {1, 28, 28}, 10}, {}).plan;
}

} // namespace

class MeshBoardTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { m_theme = std::make_unique<Theme>(*qApp, Theme::Setting::Light); }
    void tilesLieAsTheMesh_data();
    void tilesLieAsTheMesh();
    void tilesSayWhatTheyHold();
    void scheduleHasEveryMicroBatch();
    void scheduleIsOnlyThereForPipelines();
    void looksRight_data();
    void looksRight();

private:
    std::unique_ptr<Theme> m_theme;
};

void MeshBoardTest::tilesLieAsTheMesh_data() {
    QTest::addColumn<int>("width");
    for (const int width : {240, 500, 700, 1000, 1600})
        QTest::addRow("%d pixels", width) << width;
}

void MeshBoardTest::tilesLieAsTheMesh() {
    QFETCH(int, width);
    const plan::Plan plan = planOf(2, 2, 3);
    RankTiles tiles(*m_theme);
    tiles.setPlan(plan, 1, 0);
    tiles.resize(width, tiles.heightForWidth(width));
    QCOMPARE(tiles.count(), 12);
    for (int a = 0; a < tiles.count(); ++a) {
        const QRect tile = tiles.tileRect(a);
        QVERIFY(tile.top() >= 0 && tile.bottom() < tiles.height());
        for (int b = 0; b < a; ++b) {
            QVERIFY(!tile.intersects(tiles.tileRect(b)));
            // Later stages are below, copies of one stage in the same columns.
            if (plan.ranks[static_cast<std::size_t>(a)].place.pipeline >
                plan.ranks[static_cast<std::size_t>(b)].place.pipeline)
                QVERIFY(tile.top() > tiles.tileRect(b).bottom());
        }
        if (a >= 4)
            QCOMPARE(tile.left(), tiles.tileRect(a - 4).left());
    }
    if (width >= 700) // parts of a layer side by side
        QCOMPARE(tiles.tileRect(0).top(), tiles.tileRect(1).top());
}

void MeshBoardTest::tilesSayWhatTheyHold() {
    RankTiles tiles(*m_theme);
    tiles.setPlan(planOf(1, 2, 2), 1, 0);
    QCOMPARE(tiles.describe(0).section(QStringLiteral(", "), -2),
             QStringLiteral("Stage 0: conv1, part 1 of 2 of its layers"));
    QVERIFY(tiles.describe(3).contains(QStringLiteral("Stage 1: relu1 – classes")));
    QVERIFY(
        tiles.describe(2).endsWith(QStringLiteral("part 1 of 2 of its layers, classes 1–5 of 10")));
    QVERIFY(tiles.describe(3).endsWith(QStringLiteral("classes 6–10 of 10")));
    QVERIFY(tiles.accessibleDescription().contains(QStringLiteral("Rank 3 on local/cpu:3")));
    tiles.setPlan(
        planOf(1, 1, 2, {{"parallel.schedule", "interleaved"}, {"parallel.stages_per_rank", "2"}}),
        1, 0);
    QVERIFY(tiles.describe(1).contains(QStringLiteral("Stages 1, 3")));
    tiles.setPlan(planOf(2, 1, 1), 1, 0);
    QVERIFY(!tiles.describe(1).contains(QStringLiteral("Stage")));
}

void MeshBoardTest::scheduleHasEveryMicroBatch() {
    ScheduleView view(*m_theme);
    for (const char* schedule : {"gpipe", "1f1b", "interleaved"}) {
        view.setPlan(planOf(1, 1, 2, {{"parallel.schedule", schedule}}));
        const int stages = QByteArray(schedule) == "interleaved" ? 4 : 2;
        QCOMPARE(view.blockCount(), 2 * 4 * stages); // forward and backward
        QVERIFY2(view.verdict().contains(u'%'), qPrintable(view.verdict()));
    }
    view.resize(600, view.sizeHint().height());
    view.show();
    QHelpEvent help(QEvent::ToolTip, QPoint(50, view.height() - 50),
                    view.mapToGlobal(QPoint(50, view.height() - 50)));
    QApplication::sendEvent(&view, &help);
    QCOMPARE(QToolTip::text(), QStringLiteral("Micro-batch 1, stage 0, forward"));
}

void MeshBoardTest::scheduleIsOnlyThereForPipelines() {
    QWidget window;
    ScheduleView view(*m_theme, &window);
    view.setPlan(planOf(2, 1, 1));
    QVERIFY(view.isHidden());
    view.setPlan(planOf(1, 1, 2));
    QVERIFY(!view.isHidden());
    view.setPlan(planOf(1, 1, 2, {{"parallel.micro_batches", "100"}})); // too fine to draw
    QVERIFY(view.isHidden());
}

void MeshBoardTest::looksRight_data() {
    QTest::addColumn<int>("scheme");
    QTest::newRow("light") << static_cast<int>(Theme::Setting::Light);
    QTest::newRow("dark") << static_cast<int>(Theme::Setting::Dark);
}

/// Something of each axis' colour is there. TRAINYARD_TEST_PICTURES names a folder to look at them.
void MeshBoardTest::looksRight() {
    QFETCH(int, scheme);
    m_theme->setSetting(static_cast<Theme::Setting>(scheme));
    QWidget board;
    board.setAutoFillBackground(true);
    RankTiles tiles(*m_theme, &board);
    ScheduleView schedule(*m_theme, &board);
    const plan::Plan plan = planOf(2, 2, 2,
                                   {{"parallel.schedule", "interleaved"},
                                    {"parallel.stages_per_rank", "2"},
                                    {"parallel.micro_batches", "4"}});
    tiles.setPlan(plan, 1, 16e9);
    schedule.setPlan(plan);
    tiles.setGeometry(16, 16, 1000, tiles.heightForWidth(1000));
    schedule.setGeometry(0, tiles.height() + 24, 1032, schedule.sizeHint().height());
    board.resize(1032, tiles.height() + schedule.height() + 32);
    const QImage picture = board.grab().toImage();
    for (const MeshAxis axis : {MeshAxis::Data, MeshAxis::Tensor, MeshAxis::Pipeline}) {
        const QRgb wanted = m_theme->tone(axis).solid.rgb();
        bool found = false;
        for (int y = 0; y < picture.height() && !found; ++y)
            for (int x = 0; x < picture.width() && !found; ++x)
                found = picture.pixel(x, y) == wanted;
        QVERIFY(found);
    }
    if (const QString folder = qEnvironmentVariable("TRAINYARD_TEST_PICTURES"); !folder.isEmpty())
        picture.save(folder + u"/mesh-" + QLatin1StringView(QTest::currentDataTag()) + u".png");
}

QTEST_MAIN(MeshBoardTest)
#include "tst_mesh_board.moc"
