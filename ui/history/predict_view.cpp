// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/history/predict_view.h"

#include "engine/spec/experiment_json.h"
#include "ui/history/predict_results.h"
#include "ui/theme/theme.h"
#include "ui/widgets/button.h"
#include "ui/widgets/number_field.h"
#include "ui/widgets/text_label.h"

#include <QDir>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QStackedWidget>

#include <limits>

namespace trainyard::ui {

namespace {

constexpr int kAskWidth = 320;
constexpr int kTokensMost = 1'000'000;

QStringList filesIn(const QMimeData* data) {
    QStringList files;
    for (const QUrl& url : data->urls())
        if (url.isLocalFile())
            files << url.toLocalFile();
    return files;
}

} // namespace

PredictView::PredictView(const Theme& theme, app::RunStore& store,
                         const app::LocalLauncher& launcher, QWidget* parent)
    : QWidget(parent), m_theme(theme), m_store(store), m_job(launcher), m_folder(QDir::homePath()),
      m_toolbar(new QWidget(this)), m_results(new PredictResults(theme, m_job)) {
    setObjectName(QStringLiteral("predictView"));
    setAcceptDrops(true);
    makeToolbar();
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(0);
    row->addWidget(makeForm());
    row->addWidget(m_results, 1);
    connect(&m_job, &app::PredictionJob::changed, this, &PredictView::updateButtons);
    updateForm();
}

void PredictView::makeToolbar() {
    m_toolbar->hide(); // until somebody gives it a place
    m_title = new TextLabel(m_theme, TypeStyle::Small, Color::Text2);
    m_title->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    auto* row = new QHBoxLayout(m_toolbar);
    row->setContentsMargins(0, 0, 0, 0);
    row->addWidget(m_title, 1);
}

QWidget* PredictView::makeForm() {
    auto* form = new QFrame;
    form->setProperty("region", QStringLiteral("panelLeft"));
    form->setFixedWidth(m_theme.px(kAskWidth));
    m_forms = new QStackedWidget;
    m_forms->addWidget(makeFilesForm());
    m_forms->addWidget(makeTextForm());
    m_ask = makeButton(m_theme, ButtonKind::Normal, tr("Predict"), QStringLiteral("wand"));
    m_ask->setObjectName(QStringLiteral("askButton"));
    m_cancel = makeButton(m_theme, ButtonKind::Quiet, tr("Cancel"), QStringLiteral("stop"));
    m_cancel->setObjectName(QStringLiteral("cancelPrediction"));
    connect(m_ask, &QPushButton::clicked, this, &PredictView::ask);
    connect(m_cancel, &QPushButton::clicked, &m_job, &app::PredictionJob::cancel);
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(m_theme.px(space::kS));
    buttons->addWidget(m_ask);
    buttons->addWidget(m_cancel);
    buttons->addStretch(1);
    auto* column = new QVBoxLayout(form);
    const int margin = m_theme.px(space::kL);
    column->setContentsMargins(margin, m_theme.px(space::kM), margin, m_theme.px(space::kM));
    column->setSpacing(m_theme.px(space::kM));
    column->addWidget(m_forms, 1);
    column->addLayout(buttons);
    return form;
}

QWidget* PredictView::makeFilesForm() {
    auto* page = new QWidget;
    m_filesHint = makeParagraph(m_theme, TypeStyle::Body, QStringLiteral("text2"));
    m_browse = makeButton(m_theme, ButtonKind::Normal, {}, QStringLiteral("folder"));
    m_browse->setObjectName(QStringLiteral("browsePrediction"));
    connect(m_browse, &QPushButton::clicked, this, &PredictView::browse);
    m_rowLabel = makeParagraph(m_theme, TypeStyle::Small, QStringLiteral("text2"),
                               tr("Or one row, its values with commas between:"));
    m_row = new QLineEdit;
    m_row->setObjectName(QStringLiteral("predictRow"));
    m_row->setAccessibleName(tr("Values of one row"));
    connect(m_row, &QLineEdit::textChanged, this, &PredictView::updateButtons);
    connect(m_row, &QLineEdit::returnPressed, this, &PredictView::askAboutRow);
    auto* column = new QVBoxLayout(page);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(m_theme.px(space::kS));
    column->addWidget(m_filesHint);
    column->addWidget(m_browse, 0, Qt::AlignLeft);
    column->addSpacing(m_theme.px(space::kS));
    column->addWidget(m_rowLabel);
    column->addWidget(m_row);
    column->addStretch(1);
    return page;
}

QWidget* PredictView::makeTextForm() {
    auto* page = new QWidget;
    m_prompt = new QPlainTextEdit;
    m_prompt->setObjectName(QStringLiteral("predictPrompt"));
    m_prompt->setAccessibleName(tr("The begin of a text"));
    m_prompt->setTabChangesFocus(true);
    m_prompt->setMinimumHeight(m_theme.px(48));
    connect(m_prompt, &QPlainTextEdit::textChanged, this, &PredictView::updateButtons);
    m_temperature = new NumberField(m_theme, NumberField::Kind::Real, tr("Temperature"));
    m_temperature->setRange(0, std::numeric_limits<double>::infinity());
    m_temperature->setObjectName(QStringLiteral("predictTemperature"));
    m_temperature->setStep(0.1);
    m_temperature->setValue(1);
    m_temperature->setToolTip(tr("Below 1 likelier tokens, above 1 bolder ones, 0 always the most "
                                 "likely one"));
    m_topK = new NumberField(m_theme, NumberField::Kind::Whole, tr("Top-k"));
    m_topK->setRange(0, kTokensMost);
    m_topK->setValue(0);
    m_topK->setToolTip(tr("Draw from so many of the most likely tokens only; 0: from all"));
    m_tokens = new NumberField(m_theme, NumberField::Kind::Whole, tr("Length"));
    m_tokens->setObjectName(QStringLiteral("predictTokens"));
    m_tokens->setRange(1, kTokensMost);
    m_tokens->setValue(200);
    m_tokens->setUnit(tr("tokens"));
    auto* fields = new QFormLayout;
    fields->setHorizontalSpacing(m_theme.px(space::kM));
    fields->setVerticalSpacing(m_theme.px(space::kXs));
    fields->addRow(tr("Temperature"), m_temperature);
    fields->addRow(tr("Top-k"), m_topK);
    fields->addRow(tr("Length"), m_tokens);
    auto* column = new QVBoxLayout(page);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(m_theme.px(space::kS));
    column->addWidget(m_prompt, 1);
    column->addLayout(fields);
    return page;
}

bool PredictView::takesFiles() const {
    return m_input == app::PredictionInput::Pictures || m_input == app::PredictionInput::Rows;
}

void PredictView::showRun(const app::RunRecord* run) {
    if (run && m_run && run->id == m_run->id)
        return;
    if (m_job.state() != app::PredictionJob::State::Idle)
        m_job.cancel();
    m_run = run ? std::optional(*run) : std::nullopt;
    if (m_run) {
        const Result<QByteArray> json = m_store.reader().configuration(m_run->id);
        const spec::ParsedExperiment parsed =
            spec::parseExperiment(json ? json->toStdString() : std::string());
        m_input = app::predictionInputOf(parsed.experiment);
    }
    updateForm();
}

void PredictView::updateForm() {
    m_title->setText(
        m_run ? tr("The model of run #%1 %2").arg(static_cast<qint64>(m_run->id)).arg(m_run->name)
              : QString());
    const bool pictures = m_input == app::PredictionInput::Pictures;
    m_forms->setCurrentIndex(takesFiles() ? 0 : 1);
    m_browse->setText(pictures ? tr("Choose pictures…") : tr("Choose a file…"));
    m_filesHint->setText(pictures
                             ? tr("Drop pictures here (JPEG, PNG, or an IDX file of many).")
                             : tr("Drop a CSV file here. Its columns are found by their names."));
    m_rowLabel->setVisible(!pictures);
    m_row->setVisible(!pictures);
    m_prompt->setPlaceholderText(m_input == app::PredictionInput::Tokens
                                     ? tr("The first tokens: 5, 17, 3")
                                     : tr("The begin of a text"));
    if (!m_run)
        m_results->setHint(tr("No model to ask"),
                           tr("Choose a run that has finished or was stopped; others keep no "
                              "weights."));
    else if (takesFiles())
        m_results->setHint(tr("Nothing asked yet"),
                           pictures ? tr("Choose pictures that the model has not seen.")
                                    : tr("Choose a file, or write the values of a row."));
    else
        m_results->setHint(tr("Nothing asked yet"),
                           tr("Write how a text begins; the model goes on with it."));
    updateButtons();
}

void PredictView::updateButtons() {
    const bool running = m_job.state() == app::PredictionJob::State::Running;
    const bool ready =
        takesFiles() ? !m_row->text().trimmed().isEmpty() : !m_prompt->toPlainText().isEmpty();
    m_forms->setEnabled(m_run.has_value());
    m_ask->setVisible(m_input != app::PredictionInput::Pictures);
    m_ask->setEnabled(m_run && ready && !running);
    m_cancel->setVisible(running);
}

void PredictView::ask() {
    if (takesFiles())
        askAboutRow();
    else
        goOn();
}

void PredictView::askAboutRow() {
    if (m_run && !m_row->text().trimmed().isEmpty())
        m_job.askAbout(*m_run, {m_row->text().trimmed()});
}

void PredictView::goOn() {
    m_results->beginText(m_prompt->toPlainText());
    m_job.goOnWith(*m_run, m_prompt->toPlainText(),
                   {.tokens = static_cast<int>(m_tokens->value().value_or(200)),
                    .temperature = m_temperature->value().value_or(1),
                    .topK = static_cast<int>(m_topK->value().value_or(0))});
}

void PredictView::askAbout(const QStringList& files) {
    if (!m_run || files.isEmpty() || !takesFiles())
        return;
    m_folder = QFileInfo(files.front()).absolutePath();
    m_job.askAbout(*m_run, files);
}

QFileDialog* PredictView::browse() {
    const bool pictures = m_input == app::PredictionInput::Pictures;
    auto* dialog =
        new QFileDialog(this, pictures ? tr("Choose pictures") : tr("Choose a file"), m_folder);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(pictures ? QFileDialog::ExistingFiles : QFileDialog::ExistingFile);
    dialog->setNameFilters({pictures ? tr("Pictures (*.jpg *.jpeg *.png *ubyte *.gz)")
                                     : tr("Tables (*.csv *.tsv *.txt)"),
                            tr("All files (*)")});
    connect(dialog, &QFileDialog::filesSelected, this, &PredictView::askAbout);
    dialog->open();
    return dialog;
}

void PredictView::dragEnterEvent(QDragEnterEvent* event) {
    if (m_run && takesFiles() && !filesIn(event->mimeData()).isEmpty())
        event->acceptProposedAction();
}

void PredictView::dropEvent(QDropEvent* event) {
    askAbout(filesIn(event->mimeData()));
    event->acceptProposedAction();
}

} // namespace trainyard::ui

#include "moc_predict_view.cpp"
