// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/history/predict_results.h"

#include "app/models/message_text.h"
#include "ui/theme/theme.h"
#include "ui/widgets/class_bars.h"
#include "ui/widgets/empty_state.h"
#include "ui/widgets/format.h"
#include "ui/widgets/picture_view.h"
#include "ui/widgets/text_label.h"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QPlainTextEdit>
#include <QStackedWidget>
#include <QTableWidget>

#include <algorithm>

namespace trainyard::ui {

using Answer = app::PredictionJob::State;

namespace {

/// More rows are for programs: trainyard predict --json has all.
constexpr std::size_t kAnswersMost = 2000;

QString answerShare(double share) {
    return withUnit(formatFixed(100 * share, 1), QStringLiteral("%"));
}

QString answerNumbers(const std::vector<double>& numbers) {
    QStringList words;
    for (const double number : numbers)
        words << formatSignificant(number, 4);
    return words.join(u", ");
}

QString sampleName(const app::PredictedSample& sample) {
    return sample.input.isEmpty() ? formatCount(sample.sample) : QFileInfo(sample.input).fileName();
}

QTableWidgetItem* answerCell(const QString& text, Qt::Alignment side = Qt::AlignLeft) {
    auto* item = new QTableWidgetItem(text);
    item->setTextAlignment(side | Qt::AlignVCenter);
    item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable);
    return item;
}

} // namespace

PredictResults::PredictResults(const Theme& theme, app::PredictionJob& job, QWidget* parent)
    : QWidget(parent), m_theme(theme), m_job(job), m_stack(new QStackedWidget),
      m_state(new EmptyState(theme, QStringLiteral("wand"))) {
    m_state->setObjectName(QStringLiteral("predictState"));
    m_stack->addWidget(m_state);
    m_stack->addWidget(makeSamples());
    m_stack->addWidget(makeText());
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_stack);
    connect(&job, &app::PredictionJob::changed, this, &PredictResults::update);
    connect(&job, &app::PredictionJob::grown, this, [this](const QString& piece) {
        m_text->moveCursor(QTextCursor::End);
        m_text->insertPlainText(piece);
    });
    update();
}

QWidget* PredictResults::makeSamples() {
    auto* page = new QWidget;
    m_summary = new TextLabel(m_theme, TypeStyle::Small, Color::Text2);
    m_summary->setObjectName(QStringLiteral("predictSummary"));
    m_table = new QTableWidget;
    m_table->setObjectName(QStringLiteral("predictTable"));
    m_table->setAccessibleName(tr("Predictions"));
    m_table->setFrameShape(QFrame::NoFrame);
    m_table->setShowGrid(false);
    m_table->setWordWrap(false);
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->verticalHeader()->hide();
    m_table->verticalHeader()->setDefaultSectionSize(m_theme.px(height::kRowCompact));
    m_table->horizontalHeader()->setHighlightSections(false);
    m_table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    m_detail = new QWidget;
    m_picture = new PictureView(m_theme);
    m_name = new TextLabel(m_theme, TypeStyle::Strong);
    m_bars = new ClassBars(m_theme);
    auto* beside = new QVBoxLayout;
    beside->addWidget(m_name);
    beside->addWidget(m_bars);
    beside->addStretch(1);
    auto* detail = new QHBoxLayout(m_detail);
    detail->setContentsMargins(0, 0, 0, 0);
    detail->setSpacing(m_theme.px(space::kL));
    detail->addWidget(m_picture);
    detail->addLayout(beside);
    detail->addStretch(1);
    auto* row = new QHBoxLayout;
    row->setSpacing(m_theme.px(space::kL));
    row->addWidget(m_table, 1);
    row->addWidget(m_detail, 1);
    auto* column = new QVBoxLayout(page);
    const int margin = m_theme.px(space::kL);
    column->setContentsMargins(margin, m_theme.px(space::kS), margin, m_theme.px(space::kM));
    column->addWidget(m_summary);
    column->addLayout(row, 1);
    connect(m_table, &QTableWidget::currentCellChanged, this,
            [this](int current) { showSample(current); });
    return page;
}

QWidget* PredictResults::makeText() {
    m_text = new QPlainTextEdit;
    m_text->setObjectName(QStringLiteral("predictText"));
    m_text->setAccessibleName(tr("What the model goes on with"));
    m_text->setReadOnly(true);
    m_text->setProperty("plain", true);
    m_text->setFrameShape(QFrame::NoFrame);
    const auto style = [this] {
        m_text->setFont(m_theme.font(TypeStyle::Mono));
    };
    style();
    connect(&m_theme, &Theme::themeChanged, this, style);
    return m_text;
}

void PredictResults::setHint(const QString& title, const QString& sentence) {
    m_hintTitle = title;
    m_hint = sentence;
    update();
}

void PredictResults::beginText(const QString& prompt) {
    m_isText = true;
    m_prompt = prompt;
    m_text->setPlainText(prompt);
}

void PredictResults::update() {
    switch (m_job.state()) {
    case Answer::Idle:
        m_isText = false;
        m_state->setMessage(m_hintTitle, m_hint);
        m_stack->setCurrentIndex(0);
        break;
    case Answer::Running:
        m_state->setMessage(tr("Asking the model"), tr("A large model takes a moment."));
        m_stack->setCurrentIndex(m_isText ? 2 : 0);
        break;
    case Answer::Failed:
        m_isText = false;
        m_state->setMessage(tr("The model gave no answer"),
                            m_job.error() ? app::sentenceText(*m_job.error()) : QString(),
                            EmptyState::Kind::Failed);
        m_stack->setCurrentIndex(0);
        break;
    case Answer::Done:
        if (!m_isText)
            return showSamples();
        m_text->setPlainText(m_prompt + m_job.prediction().text);
        m_text->moveCursor(QTextCursor::End);
        m_stack->setCurrentIndex(2);
        m_isText = false;
        break;
    }
}

QString PredictResults::summaryOf(const app::Prediction& prediction) const {
    QStringList parts;
    const auto count = static_cast<qint64>(prediction.samples.size());
    if (prediction.accuracy)
        parts << tr("accuracy %1 over %2 samples")
                     .arg(answerShare(*prediction.accuracy), formatCount(count));
    if (prediction.meanAbsoluteError)
        parts << tr("mean absolute error %1 over %2 samples")
                     .arg(formatSignificant(*prediction.meanAbsoluteError, 4), formatCount(count));
    if (prediction.samples.size() > kAnswersMost)
        parts << tr("the first %1 of %2; trainyard predict --json has all")
                     .arg(formatCount(kAnswersMost), formatCount(count));
    QString text = parts.join(u"; ");
    if (!text.isEmpty())
        text.front() = text.front().toUpper();
    return text;
}

void PredictResults::showSamples() {
    const app::Prediction& prediction = m_job.prediction();
    const QString summary = summaryOf(prediction);
    m_summary->setText(summary);
    m_summary->setVisible(!summary.isEmpty());
    fillTable(prediction);
    // One picture, or one row, needs no table beside what is said of it.
    m_table->setVisible(prediction.samples.size() > 1 || !prediction.classes);
    m_detail->setVisible(prediction.classes && !prediction.samples.empty());
    m_table->setCurrentCell(0, 0);
    showSample(0);
    m_stack->setCurrentIndex(1);
}

void PredictResults::fillTable(const app::Prediction& prediction) {
    const bool known = !prediction.samples.empty() && (prediction.samples.front().label ||
                                                       !prediction.samples.front().targets.empty());
    QStringList heads{tr("Sample")};
    if (known)
        heads << (prediction.classes ? tr("Label") : tr("Target"));
    heads << tr("Predicted");
    if (prediction.classes)
        heads << tr("Probability");
    const QSignalBlocker quiet(m_table);
    m_table->clear();
    m_table->setColumnCount(static_cast<int>(heads.size()));
    m_table->setHorizontalHeaderLabels(heads);
    m_table->horizontalHeader()->setSectionResizeMode(QHeaderView::Interactive);
    m_table->horizontalHeader()->setStretchLastSection(true);
    const int rows = static_cast<int>(std::min(prediction.samples.size(), kAnswersMost));
    m_table->setRowCount(rows);
    for (int row = 0; row < rows; ++row) {
        const app::PredictedSample& sample = prediction.samples[static_cast<std::size_t>(row)];
        int column = 0;
        m_table->setItem(row, column++, answerCell(sampleName(sample)));
        if (known)
            m_table->setItem(row, column++,
                             answerCell(sample.label ? prediction.className(*sample.label)
                                                     : answerNumbers(sample.targets)));
        if (!prediction.classes) {
            m_table->setItem(row, column++, answerCell(answerNumbers(sample.values)));
            continue;
        }
        if (sample.top.empty())
            continue;
        m_table->setItem(row, column++, answerCell(prediction.className(sample.top.front().index)));
        m_table->setItem(row, column++, answerCell(answerShare(sample.top.front().probability)));
    }
    m_table->resizeColumnsToContents();
    for (int column = 0; column < m_table->columnCount() - 1; ++column)
        m_table->setColumnWidth(column, m_table->columnWidth(column) + m_theme.px(space::kM));
}

void PredictResults::showSample(int row) {
    const app::Prediction& prediction = m_job.prediction();
    if (row < 0 || static_cast<std::size_t>(row) >= prediction.samples.size())
        return;
    const app::PredictedSample& sample = prediction.samples[static_cast<std::size_t>(row)];
    m_picture->setVisible(!sample.input.isEmpty() && m_picture->openFile(sample.input));
    QString name =
        sample.input.isEmpty() ? tr("Sample %1").arg(sampleName(sample)) : sampleName(sample);
    if (sample.label)
        name += tr(", the label is %1").arg(prediction.className(*sample.label));
    m_name->setText(name);
    m_name->setVisible(prediction.samples.size() > 1 || !sample.input.isEmpty() || sample.label);
    std::vector<ClassBars::Bar> bars;
    for (const app::ClassShare& share : sample.top)
        bars.push_back({prediction.className(share.index), share.probability});
    m_bars->setBars(std::move(bars));
}

} // namespace trainyard::ui

#include "moc_predict_results.cpp"
