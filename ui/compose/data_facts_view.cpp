// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/data_facts_view.h"

#include "app/models/experiment_fields.h"
#include "app/models/message_text.h"
#include "ui/compose/class_balance.h"
#include "ui/compose/data_preview_view.h"
#include "ui/compose/scroll_panel.h"
#include "ui/theme/theme.h"
#include "ui/widgets/button.h"
#include "ui/widgets/empty_state.h"
#include "ui/widgets/figure_cell.h"
#include "ui/widgets/format.h"
#include "ui/widgets/separator.h"
#include "ui/widgets/text_label.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QStackedWidget>
#include <QVBoxLayout>

#include <algorithm>

namespace trainyard::ui {

using DataState = app::ExperimentDocument::DataState;

namespace {

/// Columns of a table are too many to be named one by one.
constexpr std::size_t kMostChannels = 4;

QString perChannel(const std::vector<double>& values) {
    if (values.size() > kMostChannels) {
        const auto [least, most] = std::minmax_element(values.begin(), values.end());
        return DataFactsView::tr("%1 to %2")
            .arg(formatSignificant(*least, 3), formatSignificant(*most, 3));
    }
    QStringList words;
    for (const double value : values)
        words << formatSignificant(value, 3);
    return words.join(u", ");
}

} // namespace

DataFactsView::DataFactsView(const Theme& theme, app::ExperimentDocument& document, QWidget* parent)
    : QFrame(parent), m_theme(theme), m_document(document), m_stack(new QStackedWidget(this)) {
    setProperty("region", QStringLiteral("surface"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_stack);
    m_stack->addWidget(makeState());
    m_stack->addWidget(makeFacts());
    connect(&document, &app::ExperimentDocument::dataChanged, this, &DataFactsView::refresh);
    connect(&document, &app::ExperimentDocument::changed, this, &DataFactsView::refresh);
    refresh();
}

QWidget* DataFactsView::makeState() {
    m_state = new EmptyState(m_theme, QStringLiteral("file"), m_stack);
    m_stateButton = m_state->setButton(tr("Look again"));
    connect(m_stateButton, &QPushButton::clicked, this, [this] {
        if (m_document.dataState() == DataState::Unknown)
            emit browseRequested();
        else
            m_document.inspectAgain();
    });
    return m_state;
}

QHBoxLayout* DataFactsView::makeFigures() {
    auto* figures = new QHBoxLayout;
    figures->setSpacing(0);
    m_samples = new FigureCell(m_theme, tr("Training samples"));
    m_held = new FigureCell(m_theme, tr("Validation samples"));
    m_shape = new FigureCell(m_theme, tr("One sample"));
    m_vocabulary = new FigureCell(m_theme, tr("Vocabulary"));
    m_targets = new FigureCell(m_theme, tr("Classes"));
    for (FigureCell* cell : {m_samples, m_held, m_shape, m_vocabulary, m_targets})
        figures->addWidget(cell);
    m_targets->setSeparator(false);
    figures->addStretch(1);
    QPushButton* again =
        makeButton(m_theme, ButtonKind::Quiet, tr("Look again"), QStringLiteral("refresh"));
    figures->addWidget(again);
    figures->addSpacing(m_theme.px(space::kL));
    connect(again, &QPushButton::clicked, &m_document, &app::ExperimentDocument::inspectAgain);
    return figures;
}

QWidget* DataFactsView::makeFacts() {
    auto* content = new QWidget(m_stack);
    auto* column = new QVBoxLayout(content);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addLayout(makeFigures());
    column->addWidget(new Separator(m_theme, Qt::Horizontal));
    auto* scroll = new ScrollPanel;
    auto* balance = new QWidget;
    auto* rows = new QVBoxLayout(balance);
    const int side = m_theme.px(space::kL);
    rows->setContentsMargins(side, side, side, side);
    rows->setSpacing(m_theme.px(space::kXs));
    const auto addTitle = [this](QVBoxLayout* layout, const QString& text) {
        auto* title = new TextLabel(m_theme, TypeStyle::Strong, Color::Text);
        title->setText(text);
        layout->addWidget(title);
        return title;
    };
    m_notes = new QWidget;
    auto* notes = new QVBoxLayout(m_notes);
    notes->setContentsMargins(0, 0, 0, m_theme.px(space::kL));
    notes->setSpacing(m_theme.px(space::kXs));
    addTitle(notes, tr("What the reader noticed"));
    m_noteRows = new QVBoxLayout;
    m_noteRows->setSpacing(m_theme.px(space::kXs));
    notes->addLayout(m_noteRows);
    m_preview = new DataPreviewView(m_theme);
    rows->addWidget(m_preview);
    rows->addWidget(m_notes);
    m_balanceTitle = addTitle(rows, tr("Samples of each class"));
    m_balanceText = new TextLabel(m_theme, TypeStyle::Small, Color::Text3);
    m_balance = new ClassBalance(m_theme);
    rows->addWidget(m_balanceText);
    rows->addWidget(m_balance);
    rows->addStretch(1);
    scroll->setContent(balance);
    column->addWidget(scroll, 1);
    return content;
}

void DataFactsView::showState(const QString& title, const QString& sentence, bool failed,
                              const QString& button) {
    m_state->setMessage(title, sentence,
                        failed ? EmptyState::Kind::Failed : EmptyState::Kind::Empty);
    m_stateButton->setText(button);
    m_stateButton->setVisible(!button.isEmpty());
    m_stack->setCurrentIndex(0);
}

void DataFactsView::refresh() {
    const app::DataFacts* facts = m_document.dataFacts();
    switch (m_document.dataState()) {
    case DataState::Unknown:
        return showState(tr("No data yet"), tr("Choose the format and the files to learn from."),
                         false, tr("Browse…"));
    case DataState::Looking:
        return showState(tr("Looking into the files"), tr("Large files take a moment."), false, {});
    case DataState::Failed:
        return showState(tr("The files could not be looked into"),
                         m_document.dataError() ? app::sentenceText(*m_document.dataError())
                                                : QString(),
                         true, tr("Look again"));
    case DataState::Known:
        break;
    }
    if (facts->usable())
        return showFacts(*facts);
    showState(tr("These files cannot be used"),
              facts->problems.empty() ? tr("They hold no samples.")
                                      : app::sentenceText(facts->problems.front()),
              true, tr("Look again"));
}

void DataFactsView::showFacts(const app::DataFacts& facts) {
    m_stack->setCurrentIndex(1);
    m_samples->setFigure(formatCount(facts.training.samples));
    m_held->setFigure(facts.validation ? formatCount(facts.validation->samples) : tr("none"));
    const bool split = facts.validation && m_document.experiment().data.validation.empty();
    m_held->setDetail(split ? tr("held back from the training files") : QString());
    showShape(facts.training);
    showTargets(facts.training);
    m_preview->setFacts(facts);
    showNotes(facts);
    showBalance(facts);
}

void DataFactsView::showShape(const app::PartFacts& part) {
    m_shape->setFigure(app::shapeText(part.sampleShape));
    m_shape->setDetail(
        part.mean.empty()
            ? QString()
            : tr("mean %1, deviation %2").arg(perChannel(part.mean), perChannel(part.deviation)));
}

void DataFactsView::showTargets(const app::PartFacts& part) {
    m_vocabulary->setVisible(part.vocabulary > 0);
    m_vocabulary->setFigure(formatCount(part.vocabulary));
    // Where the next word is predicted the classes are the words.
    const bool words = part.vocabulary > 0 && part.classes == part.vocabulary;
    m_vocabulary->setDetail(words ? tr("predicted one after another") : QString());
    m_vocabulary->setSeparator(!words);
    m_targets->setVisible(!words);
    m_targets->setCaption(part.numbers > 0 ? tr("Numbers to predict") : tr("Classes"));
    m_targets->setFigure(formatCount(part.numbers > 0 ? part.numbers : part.classes));
}

void DataFactsView::showNotes(const app::DataFacts& facts) {
    QStringList notes;
    for (const Message& note : facts.training.notes)
        notes << app::text(note);
    if (facts.validation)
        for (const Message& note : facts.validation->notes)
            if (const QString text = app::text(note); !notes.contains(text))
                notes << tr("Validation: %1").arg(text);
    while (QLayoutItem* item = m_noteRows->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    for (const QString& note : notes)
        m_noteRows->addWidget(
            makeParagraph(m_theme, TypeStyle::Body, QStringLiteral("text2"), u"• " + note));
    m_notes->setVisible(!notes.isEmpty());
}

void DataFactsView::showBalance(const app::DataFacts& facts) {
    const bool counted = !facts.training.classCounts.empty();
    m_balance->setCounts(facts.training.classCounts,
                         facts.validation ? facts.validation->classCounts
                                          : std::vector<std::int64_t>(),
                         facts.training.classNames);
    m_balanceText->setText(m_balance->sentence());
    m_balanceTitle->setVisible(counted);
    m_balanceText->setVisible(counted);
    m_balance->setVisible(counted);
}

} // namespace trainyard::ui

#include "moc_data_facts_view.cpp"
