// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// trainyard-ui-gallery [light|dark] [en|ru|zh] [monitor|components] [FILE.png [WIDTHxHEIGHT]]
// Shows the parts of the studio; with a file it takes their picture and ends.
#include "tests/ui/gallery/gallery_pages.h"

#include "ui/plots/plot_widget.h"
#include "ui/theme/theme.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/button.h"
#include "ui/widgets/empty_state.h"
#include "ui/widgets/mesh_tag.h"
#include "ui/widgets/number_field.h"
#include "ui/widgets/number_label.h"
#include "ui/widgets/rail.h"
#include "ui/widgets/segmented_control.h"
#include "ui/widgets/separator.h"
#include "ui/widgets/state_chip.h"
#include "ui/widgets/text_label.h"
#include "ui/widgets/toggle_switch.h"
#include "ui/widgets/top_bar.h"

#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QGridLayout>
#include <QLineEdit>
#include <QMainWindow>
#include <QMenuBar>
#include <QPainter>
#include <QPushButton>
#include <QSlider>
#include <QTimer>

#include <cmath>

namespace trainyard::ui {

QString sample(SampleText text, const QString& english, const QString& russian,
               const QString& chinese) {
    return text == SampleText::Russian ? russian : text == SampleText::Chinese ? chinese : english;
}

namespace {

QHBoxLayout* rowOf(const std::vector<QWidget*>& widgets) {
    auto* row = new QHBoxLayout;
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(8);
    for (QWidget* widget : widgets)
        row->addWidget(widget);
    row->addStretch(1);
    return row;
}

QWidget* caption(const Theme& theme, const QString& text) {
    auto* label = new TextLabel(theme, TypeStyle::Caption, Color::Text3);
    label->setText(text);
    return label;
}

class TagsSample : public QWidget {
public:
    explicit TagsSample(const Theme& theme) : m_theme(theme) { setFixedSize(220, 20); }

protected:
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        drawMeshTags(painter, m_theme, rect(),
                     {{MeshAxis::Data, 2},
                      {MeshAxis::Pipeline, 2},
                      {MeshAxis::Tensor, 2},
                      {MeshAxis::Data, 11},
                      {MeshAxis::Tensor, 10}});
    }

private:
    const Theme& m_theme;
};

void addButtons(const Theme& theme, QVBoxLayout* column, SampleText text) {
    column->addWidget(
        caption(theme, QStringLiteral("Buttons: primary, normal, quiet, danger, on, disabled")));
    auto* on = makeButton(theme, ButtonKind::Normal, QStringLiteral("Log"));
    on->setCheckable(true);
    on->setChecked(true);
    auto* off =
        makeButton(theme, ButtonKind::Primary, QStringLiteral("Train"), QStringLiteral("train"));
    off->setEnabled(false);
    column->addLayout(rowOf(
        {makeButton(theme, ButtonKind::Primary,
                    sample(text, QStringLiteral("Train"), QStringLiteral("Обучить"),
                           QStringLiteral("训练")),
                    QStringLiteral("train")),
         makeButton(
             theme, ButtonKind::Normal,
             sample(text, QStringLiteral("Pause"), QStringLiteral("Пауза"), QStringLiteral("暂停")),
             QStringLiteral("pause")),
         makeButton(theme, ButtonKind::Quiet,
                    sample(text, QStringLiteral("Summary"), QStringLiteral("Сводка"),
                           QStringLiteral("摘要")),
                    QStringLiteral("table")),
         makeButton(theme, ButtonKind::Danger,
                    sample(text, QStringLiteral("Stop"), QStringLiteral("Остановить"),
                           QStringLiteral("停止")),
                    QStringLiteral("stop")),
         on, off, makeButton(theme, ButtonKind::Link, QStringLiteral("use linear")),
         makeButton(theme, ButtonKind::Icon, QStringLiteral("Close"), QStringLiteral("close"))}));
}

void addFields(const Theme& theme, QVBoxLayout* column) {
    column->addWidget(
        caption(theme, QStringLiteral("Fields: text, number, unit, refused, disabled, choice")));
    auto* name = new QLineEdit(QStringLiteral("conv1"));
    name->setFixedWidth(90);
    auto* filters = new NumberField(theme, NumberField::Kind::Whole, QStringLiteral("Filters"));
    filters->setRange(1, 4096);
    filters->setValue(128);
    filters->setFixedWidth(84);
    filters->setObjectName(QStringLiteral("focusMe"));
    auto* speed = new NumberField(theme, NumberField::Kind::Real, QStringLiteral("Speed"));
    speed->setValue(2.5);
    speed->setUnit(QStringLiteral("GB/s"));
    speed->setFixedWidth(120);
    auto* bad = new NumberField(theme, NumberField::Kind::Real, QStringLiteral("Rate"));
    bad->setRange(0, 1, true);
    bad->setFixedWidth(90);
    auto* message = new FieldMessage(theme);
    message->follow(bad);
    auto* off = new NumberField(theme, NumberField::Kind::Whole, QStringLiteral("Maximum"));
    off->setOptional(QStringLiteral("auto"));
    off->setValue(std::nullopt);
    off->setEnabled(false);
    off->setFixedWidth(80);
    auto* choice = new QComboBox;
    choice->addItems({QStringLiteral("Adam"), QStringLiteral("SGD")});
    column->addLayout(rowOf({name, filters, speed, bad, off, choice}));
    column->addWidget(message);
    auto* edit = bad->findChild<QLineEdit*>();
    edit->setText(QStringLiteral("0,0.1"));
    emit edit->textEdited(edit->text());
}

void addChoices(const Theme& theme, QVBoxLayout* column, SampleText text) {
    column->addWidget(caption(theme, QStringLiteral("Choice of one, switch, check, slider")));
    auto* degree = new SegmentedControl(theme, QStringLiteral("Stage"));
    for (const char* word : {"Off", "1", "2", "3"})
        degree->addSegment(QLatin1String(word));
    degree->setCurrent(1);
    auto* what = new SegmentedControl(theme, QStringLiteral("Show"));
    what->addSegment(
        sample(text, QStringLiteral("Load"), QStringLiteral("Нагрузка"), QStringLiteral("负载")));
    what->addSegment(
        sample(text, QStringLiteral("Memory"), QStringLiteral("Память"), QStringLiteral("内存")));
    what->addSegment(
        sample(text, QStringLiteral("Power"), QStringLiteral("Мощность"), QStringLiteral("功率")));
    column->addLayout(rowOf({degree, what}));
    auto* on = new ToggleSwitch(theme, QStringLiteral("Bias"));
    on->setChecked(true);
    auto* disabled = new ToggleSwitch(theme, QStringLiteral("Bias"));
    disabled->setEnabled(false);
    auto* check = new QCheckBox(QStringLiteral("Shuffle"));
    check->setChecked(true);
    auto* slider = new QSlider(Qt::Horizontal);
    slider->setValue(70);
    slider->setFixedWidth(120);
    column->addLayout(rowOf({on, new ToggleSwitch(theme, QStringLiteral("Bias")), disabled, check,
                             new QCheckBox(QStringLiteral("Drop last")), slider}));
}

void addStates(const Theme& theme, QVBoxLayout* column, SampleText text) {
    column->addWidget(caption(theme, QStringLiteral("States and axes of the mesh")));
    std::vector<QWidget*> chips;
    const QStringList russian{QStringLiteral("В очереди"), QStringLiteral("Выполняется"),
                              QStringLiteral("На паузе"),  QStringLiteral("Завершён"),
                              QStringLiteral("Ошибка"),    QStringLiteral("Внимание"),
                              QStringLiteral("Остановлен")};
    const QStringList chinese{QStringLiteral("排队"),   QStringLiteral("运行中"),
                              QStringLiteral("已暂停"), QStringLiteral("完成"),
                              QStringLiteral("失败"),   QStringLiteral("警告"),
                              QStringLiteral("已停止")};
    for (int i = 0; i < kStateCount; ++i) {
        auto* chip = new StateChip(theme);
        const State state = static_cast<State>(i);
        chip->setState(state, sample(text, stateWord(state), russian[i], chinese[i]));
        chips.push_back(chip);
    }
    column->addLayout(rowOf({chips.begin(), chips.begin() + 4}));
    column->addLayout(rowOf({chips.begin() + 4, chips.end()}));
    column->addWidget(new TagsSample(theme));
}

void addBanners(const Theme& theme, QVBoxLayout* column) {
    const std::pair<Banner::Kind, QString> banners[] = {
        {Banner::Kind::Information,
         QStringLiteral("Two hosts share this plan. It is checked again before launch.")},
        {Banner::Kind::Warning, QStringLiteral("GPU 2 on yard-02 is used by anna (31 GB).")},
        {Banner::Kind::Error, QStringLiteral("Rank 3 on yard-01 ended by signal 9 at step 1,204.")},
        {Banner::Kind::Done, QStringLiteral("Saved to ~/experiments/vision.")}};
    column->addWidget(caption(theme, QStringLiteral("Banners")));
    for (const auto& [kind, words] : banners) {
        auto* banner = new Banner(theme, kind);
        banner->setMessage({}, words);
        column->addWidget(banner);
    }
}

PlotWidget* makeSeriesPlot(const Theme& theme, QWidget* owner) {
    auto* axis = new TimeAxis(owner);
    axis->setUnit(TimeAxis::Unit::Samples);
    axis->setGutters(56, 190);
    auto* plot = new PlotWidget(theme, *axis);
    plot->setBottomAxis(true);
    plot->setMinimumHeight(theme.px(330));
    for (int slot = 0; slot < kSeriesCount; ++slot) {
        const int id = plot->addSeries({QStringLiteral("run #%1").arg(198 + slot), slot});
        for (int i = 0; i < 400; ++i) {
            const double noise = std::sin(i * 12.9898 + slot * 78.233) * 0.006;
            float y = static_cast<float>(0.85 - slot * 0.06 -
                                         0.6 * std::exp(-i / (40.0 + slot * 6)) + noise);
            if (slot == 3 && i > 150)
                y = std::nanf("");
            plot->append(id, i * 28125.0, y);
        }
    }
    plot->setSmoothing(0.7);
    return plot;
}

PlotWidget* makeLogPlot(const Theme& theme, QWidget* owner, bool empty) {
    auto* axis = new TimeAxis(owner);
    axis->setGutters(56, 16);
    auto* plot = new PlotWidget(theme, *axis);
    plot->setBottomAxis(true);
    plot->setLegendVisible(false);
    plot->setLogarithmic(true);
    plot->setMinimumHeight(theme.px(150));
    const int id = plot->addSeries({QStringLiteral("gradient norm"), 4});
    if (!empty) {
        for (int i = 0; i < 60; ++i)
            plot->append(id, i, i % 20 == 13 ? 0.f : static_cast<float>(std::pow(10, -i / 12.0)));
    }
    return plot;
}

} // namespace

QWidget* makeComponentsPage(const Theme& theme, SampleText text) {
    auto* page = new QFrame;
    page->setProperty("region", QStringLiteral("surface"));
    auto* row = new QHBoxLayout(page);
    row->setContentsMargins(20, 16, 20, 16);
    row->setSpacing(20);
    auto* left = new QVBoxLayout;
    left->setSpacing(8);
    addButtons(theme, left, text);
    addFields(theme, left);
    addChoices(theme, left, text);
    addStates(theme, left, text);
    addBanners(theme, left);
    auto* empty = new EmptyState(theme, QStringLiteral("history"));
    empty->setMessage(sample(text, QStringLiteral("No runs yet"),
                             QStringLiteral("Запусков пока нет"), QStringLiteral("还没有运行")),
                      sample(text, QStringLiteral("Train something; it appears here."),
                             QStringLiteral("Обучите модель, и она появится здесь."),
                             QStringLiteral("训练后会显示在这里。")));
    empty->setButton(QStringLiteral("New experiment"), QStringLiteral("plus"));
    left->addWidget(empty, 1);
    row->addLayout(left, 1);
    row->addWidget(new Separator(theme, Qt::Vertical));
    auto* right = new QVBoxLayout;
    right->setSpacing(8);
    right->addWidget(caption(theme, QStringLiteral("Ten series, smoothed, one not finite")));
    right->addWidget(makeSeriesPlot(theme, page), 2);
    right->addWidget(
        caption(theme, QStringLiteral("Logarithmic with values that are not positive")));
    right->addWidget(makeLogPlot(theme, page, false), 1);
    right->addWidget(makeLogPlot(theme, page, true), 1);
    row->addLayout(right, 1);
    return page;
}

} // namespace trainyard::ui

int main(int argc, char** argv) {
    using namespace trainyard::ui;
    QApplication application(argc, argv);
    const QStringList arguments = QCoreApplication::arguments();
    QFont font = QApplication::font();
    font.setFamilies({qEnvironmentVariable("GALLERY_FONT", QStringLiteral("Inter")),
                      QStringLiteral("Noto Sans")});
    font.setPixelSize(qEnvironmentVariableIntValue("GALLERY_PIXELS") > 0
                          ? qEnvironmentVariableIntValue("GALLERY_PIXELS")
                          : 13);
    QApplication::setFont(font);
    Theme theme(application, arguments.value(1) == QLatin1String("dark") ? Theme::Setting::Dark
                                                                         : Theme::Setting::Light);
    const QString language = arguments.value(2);
    const SampleText text = language == QLatin1String("ru")   ? SampleText::Russian
                            : language == QLatin1String("zh") ? SampleText::Chinese
                                                              : SampleText::English;
    if (text == SampleText::Chinese)
        theme.setTextLocale(QLocale(QLocale::Chinese));

    QMainWindow window;
    auto* bar = new TopBar(theme);
    for (const char* word : {"File", "Edit", "View", "Experiment", "Run", "Help"})
        bar->menuBar()->addMenu(QLatin1String(word));
    auto* running = new Ticker(theme, QStringLiteral("running"), State::Running);
    running->setWords(QStringLiteral("1 running"), true);
    auto* queued = new Ticker(theme, QStringLiteral("queued"), State::Queued);
    queued->setWords(QStringLiteral("1 queued"), false);
    auto* bell = new BellButton(theme);
    bell->setCount(1);
    bar->addRight(running);
    bar->addRight(queued);
    bar->addRight(bell);
    window.setMenuWidget(bar);
    auto* centre = new QWidget;
    auto* row = new QHBoxLayout(centre);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(0);
    auto* rail = new Rail(theme);
    rail->addPlace(
        QStringLiteral("compose"),
        sample(text, QStringLiteral("Compose"), QStringLiteral("Сборка"), QStringLiteral("搭建")));
    rail->addPlace(
        QStringLiteral("cluster"),
        sample(text, QStringLiteral("Cluster"), QStringLiteral("Кластер"), QStringLiteral("集群")));
    rail->addPlace(
        QStringLiteral("monitor"),
        sample(text, QStringLiteral("Monitor"), QStringLiteral("Монитор"), QStringLiteral("监控")));
    rail->addPlace(
        QStringLiteral("history"),
        sample(text, QStringLiteral("History"), QStringLiteral("История"), QStringLiteral("历史")));
    rail->addFootAction(QStringLiteral("help"), QStringLiteral("Help"));
    rail->addFootAction(QStringLiteral("settings"), QStringLiteral("Settings"));
    rail->setCurrent(2);
    row->addWidget(rail);
    const bool components = arguments.value(3) == QLatin1String("components");
    QWidget* page = components ? makeComponentsPage(theme, text) : makeMonitorPage(theme, text);
    row->addWidget(page, 1);
    window.setCentralWidget(centre);
    const QStringList size = arguments.value(5, QStringLiteral("1440x900")).split(u'x');
    window.resize(size.value(0).toInt(), size.value(1).toInt());
    window.show();
    page->setFocus();
    const QString file = arguments.value(4);
    if (!file.isEmpty()) {
        QTimer::singleShot(300, &window, [&] {
            // The page shows its cursor when it is named.
            page->setObjectName(QStringLiteral("shown"));
            if (auto* field = window.findChild<QWidget*>(QStringLiteral("focusMe")))
                field->setFocus();
            QTimer::singleShot(200, &window, [&] {
                const bool saved = window.grab().save(file);
                QCoreApplication::exit(saved ? 0 : 1);
            });
        });
    }
    return QApplication::exec();
}
