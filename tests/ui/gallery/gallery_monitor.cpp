// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// A monitor as a page would build it from the parts: header cells, progress, alert, chart, events,
// lanes and axis on one time axis.
#include "tests/ui/gallery/gallery_pages.h"

#include "ui/plots/axis_widget.h"
#include "ui/plots/event_strip.h"
#include "ui/plots/lane_widget.h"
#include "ui/plots/plot_widget.h"
#include "ui/theme/theme.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/button.h"
#include "ui/widgets/figure_cell.h"
#include "ui/widgets/format.h"
#include "ui/widgets/progress_strip.h"
#include "ui/widgets/segmented_control.h"
#include "ui/widgets/state_chip.h"
#include "ui/widgets/text_label.h"

#include <QHBoxLayout>
#include <QPushButton>
#include <QSlider>
#include <QVBoxLayout>

#include <cmath>
#include <random>

namespace trainyard::ui {

namespace {

constexpr int kSteps = 18420;
constexpr double kSecondsPerStep = 3.05;

QHBoxLayout* makeRow(int margin, int spacing) {
    auto* row = new QHBoxLayout;
    row->setContentsMargins(margin, 0, margin, 0);
    row->setSpacing(spacing);
    return row;
}

QWidget* makeHeader(const Theme& theme, SampleText text) {
    auto* header = new QFrame;
    header->setProperty("region", QStringLiteral("pageHeader"));
    header->setFixedHeight(theme.px(height::kPageHeader));
    auto* row = makeRow(theme.px(space::kL), theme.px(space::kS));
    header->setLayout(row);
    auto* chip = new StateChip(theme);
    chip->setState(State::Running, sample(text, stateWord(State::Running),
                                          QStringLiteral("Выполняется"), QStringLiteral("运行中")));
    row->addWidget(chip);
    auto* name = new TextLabel(theme, TypeStyle::Title);
    name->setText(QStringLiteral("gpt-1.3b-owt"));
    row->addWidget(name);
    auto* number = new TextLabel(theme, TypeStyle::Small, Color::Text3);
    number->setText(QStringLiteral("#214"));
    row->addWidget(number);
    row->addStretch(1);
    row->addWidget(
        makeButton(theme, ButtonKind::Normal,
                   sample(text, QStringLiteral("Checkpoint now"),
                          QStringLiteral("Сохранить сейчас"), QStringLiteral("立即保存")),
                   QStringLiteral("checkpoint")));
    row->addWidget(makeButton(
        theme, ButtonKind::Normal,
        sample(text, QStringLiteral("Pause"), QStringLiteral("Пауза"), QStringLiteral("暂停")),
        QStringLiteral("pause")));
    row->addWidget(makeButton(
        theme, ButtonKind::Danger,
        sample(text, QStringLiteral("Stop"), QStringLiteral("Остановить"), QStringLiteral("停止")),
        QStringLiteral("stop")));
    return header;
}

QWidget* makeCells(const Theme& theme, SampleText text) {
    auto* box = new QFrame;
    box->setProperty("region", QStringLiteral("surface"));
    auto* row = makeRow(0, 0);
    box->setLayout(row);
    const auto add = [&](const QString& caption, const QString& figure, const QString& unit,
                         const QString& detail) {
        auto* cell = new FigureCell(theme, caption);
        cell->setFigure(figure, unit);
        cell->setDetail(detail);
        row->addWidget(cell);
        return cell;
    };
    add(sample(text, QStringLiteral("Step"), QStringLiteral("Шаг"), QStringLiteral("步")),
        formatCount(kSteps),
        sample(text, QStringLiteral("of 40,000"), QStringLiteral("из 40 000"),
               QStringLiteral("共 40,000")),
        sample(text, QStringLiteral("epoch 0.27, 46 % done"),
               QStringLiteral("эпоха 0,27, готово 46 %"), QStringLiteral("第 0.27 轮,完成 46 %")));
    add(sample(text, QStringLiteral("Loss"), QStringLiteral("Потери"), QStringLiteral("损失")),
        QStringLiteral("2.871"), {},
        sample(text, QStringLiteral("validation 2.934, best so far"),
               QStringLiteral("проверка 2,934, лучшее"), QStringLiteral("验证 2.934,目前最佳")));
    add(sample(text, QStringLiteral("Speed"), QStringLiteral("Скорость"), QStringLiteral("速度")),
        QStringLiteral("42,560"), QStringLiteral("tokens/s"),
        QStringLiteral("step 3.08 s, predicted 2.94"));
    add(sample(text, QStringLiteral("Elapsed"), QStringLiteral("Прошло"), QStringLiteral("已用")),
        formatClock(15 * 3600 + 32 * 60 + 5), {}, QStringLiteral("22 min paused"));
    add(sample(text, QStringLiteral("Left"), QStringLiteral("Осталось"), QStringLiteral("剩余")),
        formatDuration(18 * 3600 + 44 * 60), {},
        QStringLiteral("Tue 09:20, with validation and saving"));
    FigureCell* devices = add(sample(text, QStringLiteral("Devices"), QStringLiteral("Устройства"),
                                     QStringLiteral("设备")),
                              QStringLiteral("8"), QStringLiteral("× RTX A6000"),
                              QStringLiteral("yard-01 and yard-02"));
    devices->setTags({{MeshAxis::Data, 2}, {MeshAxis::Pipeline, 2}, {MeshAxis::Tensor, 2}});
    devices->setSeparator(false);
    row->addStretch(1);
    return box;
}

/// A training loss over hours with a pause and one spike, and its validation.
void fillLoss(PlotWidget& plot) {
    const int training = plot.addSeries({QStringLiteral("training"), 0, SeriesKind::Line});
    const int validation = plot.addSeries({QStringLiteral("validation"), 1, SeriesKind::Points});
    std::mt19937 random(7);
    std::normal_distribution<double> noise(0, 1);
    std::vector<double> xs;
    std::vector<float> ys;
    double seconds = 0;
    for (int step = 1; step <= kSteps; ++step) {
        seconds += kSecondsPerStep;
        if (step == 6150)
            seconds += 22 * 60;
        const double progress = step / double(kSteps);
        double loss = 2.75 + 6.6 * std::exp(-progress * 38) + 1.9 * std::exp(-progress * 5);
        loss *= 1 + 0.035 * noise(random);
        if (step == 8755)
            loss = 7.42;
        xs.push_back(seconds);
        ys.push_back(static_cast<float>(loss));
        if (step % 1050 == 0)
            plot.append(validation, seconds,
                        static_cast<float>(2.82 + 6.6 * std::exp(-progress * 38) +
                                           1.9 * std::exp(-progress * 5)));
    }
    plot.append(training, xs, ys);
}

void fillLane(LaneWidget& lane, int number, bool hot) {
    std::mt19937 random(static_cast<unsigned>(number));
    std::normal_distribution<double> noise(91, 1.2);
    for (double t = 0; t < 57500; t += 20) {
        const bool paused = t > 18760 && t < 20080;
        double load = paused ? 0 : std::min(100.0, noise(random));
        if (!paused && random() % 400 == 0)
            load -= 35;
        if (hot && t > 46500)
            load = 99;
        lane.append(t, static_cast<float>(load));
    }
}

} // namespace

QWidget* makeMonitorPage(const Theme& theme, SampleText text) {
    auto* page = new QFrame;
    page->setProperty("region", QStringLiteral("surface"));
    auto* column = new QVBoxLayout(page);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(makeHeader(theme, text));
    column->addWidget(makeCells(theme, text));
    auto* progress = new ProgressStrip(theme);
    progress->setFraction(0.46);
    progress->setSegments(20);
    column->addWidget(progress);
    auto* banner = new Banner(theme, Banner::Kind::Warning);
    banner->setMessage(
        sample(text, QStringLiteral("GPU 2 on yard-02 is too hot."),
               QStringLiteral("GPU 2 на yard-02 перегрелась."),
               QStringLiteral("yard-02 的 GPU 2 过热。")),
        sample(text,
               QStringLiteral("88 °C since 12:40, clock 1,665 of 1,800 MHz. The others wait for "
                              "it: 0.14 s a step."),
               QStringLiteral(
                   "88 °C с 12:40, частота 1 665 из 1 800 МГц. Остальные ждут: 0,14 с на шаг."),
               QStringLiteral(
                   "自 12:40 起 88 °C,频率 1,665 / 1,800 MHz。其他设备在等待:每步 0.14 秒。")));
    banner->addAction(QStringLiteral("Why"));
    banner->addAction(QStringLiteral("Mute for 1 h"), true);
    banner->setDismissable(true);
    column->addWidget(banner);

    auto* toolRow = makeRow(theme.px(space::kL), theme.px(space::kS));
    auto* metric = new SegmentedControl(theme, QStringLiteral("Metric"));
    for (const auto& word :
         {sample(text, QStringLiteral("Loss"), QStringLiteral("Потери"), QStringLiteral("损失")),
          sample(text, QStringLiteral("Learning rate"), QStringLiteral("Скорость обучения"),
                 QStringLiteral("学习率")),
          sample(text, QStringLiteral("Gradient norm"), QStringLiteral("Норма градиента"),
                 QStringLiteral("梯度范数"))})
        metric->addSegment(word);
    toolRow->addWidget(metric);
    toolRow->addStretch(1);
    auto* smoothing = new TextLabel(theme, TypeStyle::Small, Color::Text2);
    smoothing->setText(sample(text, QStringLiteral("Smoothing"), QStringLiteral("Сглаживание"),
                              QStringLiteral("平滑")));
    toolRow->addWidget(smoothing);
    auto* slider = new QSlider(Qt::Horizontal);
    slider->setFixedWidth(theme.px(84));
    slider->setValue(90);
    toolRow->addWidget(slider);
    auto* log = makeButton(theme, ButtonKind::Normal, QStringLiteral("Log"));
    log->setCheckable(true);
    log->setChecked(true);
    toolRow->addWidget(log);
    auto* follow = makeButton(theme, ButtonKind::Normal, QStringLiteral("Follow"));
    follow->setCheckable(true);
    follow->setChecked(true);
    toolRow->addWidget(follow);
    setCompact(log);
    setCompact(follow);
    auto* toolbar = new QWidget;
    toolbar->setFixedHeight(theme.px(40));
    toolbar->setLayout(toolRow);
    column->addWidget(toolbar);

    auto* axis = new TimeAxis(page);
    axis->setUnit(TimeAxis::Unit::Duration);
    auto* marks = new TimeMarks(page);
    marks->addSpan({18760, 20080, State::Paused});
    for (int i = 1; i < 10; ++i)
        marks->addMark({i * 6050.0, MarkKind::Checkpoint, QStringLiteral("Checkpoint saved")});
    marks->addMark({19400, MarkKind::Paused, QStringLiteral("Paused")});
    marks->addMark({28020, MarkKind::Warning, QStringLiteral("Loss 7.42")});
    marks->addMark({46500, MarkKind::Heat, QStringLiteral("GPU 2 is too hot")});

    auto* plot = new PlotWidget(theme, *axis);
    plot->setTitle(
        sample(text, QStringLiteral("Loss"), QStringLiteral("Потери"), QStringLiteral("损失")));
    plot->setMarks(marks);
    plot->setLogarithmic(true);
    plot->setSmoothing(0.98);
    fillLoss(*plot);
    QObject::connect(log, &QPushButton::toggled, plot, &PlotWidget::setLogarithmic);
    QObject::connect(plot, &PlotWidget::logarithmicChanged, log, &QPushButton::setChecked);
    QObject::connect(slider, &QSlider::valueChanged, plot,
                     [plot](int value) { plot->setSmoothing(value / 100.0); });
    QObject::connect(follow, &QPushButton::toggled, axis, &TimeAxis::setFollow);
    QObject::connect(axis, &TimeAxis::followChanged, follow, &QPushButton::setChecked);
    column->addWidget(plot, 1);
    column->addWidget(new EventStrip(theme, *axis, marks));

    const std::vector<LaneColumn> columns{{QStringLiteral("Load"), QStringLiteral("100 %")},
                                          {QStringLiteral("Memory"), QStringLiteral("48.0")},
                                          {QStringLiteral("Temp."), QStringLiteral("100 °C")},
                                          {QStringLiteral("Power"), QStringLiteral("300 W")}};
    for (int host = 0; host < 2; ++host) {
        auto* head = new LaneHead(theme, *axis, QStringLiteral("yard-0%1").arg(host + 1), columns);
        head->setTitlesVisible(host == 0);
        column->addWidget(head);
        for (int gpu = 0; gpu < 3; ++gpu) {
            auto* lane = new LaneWidget(theme, *axis, QStringLiteral("GPU %1").arg(gpu), columns);
            const bool hot = host == 1 && gpu == 1;
            const bool lost = host == 1 && gpu == 2;
            lane->setTags({{MeshAxis::Data, gpu / 2},
                           {MeshAxis::Pipeline, host},
                           {MeshAxis::Tensor, gpu % 2}});
            lane->setMarks(marks);
            fillLane(*lane, host * 4 + gpu, hot);
            lane->setEmphasized(hot);
            lane->setValues({{QStringLiteral("%1 %").arg(hot ? 99 : 91)},
                             {QStringLiteral("14.0")},
                             {QStringLiteral("%1 °C").arg(hot ? 88 : 74 + gpu), hot},
                             {QStringLiteral("281 W")}});
            if (hot)
                lane->setWarningSpan(AxisRange{46500, 1e9});
            if (lost)
                lane->setUnknownFrom(50000);
            column->addWidget(lane);
        }
    }
    column->addWidget(new AxisWidget(theme, *axis));
    page->setProperty("cursor", 28020);
    QObject::connect(page, &QObject::objectNameChanged, axis, [axis] {
        axis->setCursor(8754 * kSecondsPerStep + 22 * 60 + kSecondsPerStep);
    });
    return page;
}

} // namespace trainyard::ui
