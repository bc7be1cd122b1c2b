// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/data_tab.h"

#include "app/models/experiment_fields.h"
#include "app/models/message_text.h"
#include "ui/compose/data_facts_view.h"
#include "ui/compose/file_field.h"
#include "ui/compose/form_field.h"
#include "ui/compose/form_group.h"
#include "ui/compose/scroll_panel.h"
#include "ui/theme/theme.h"
#include "ui/widgets/segmented_control.h"
#include "ui/widgets/text_label.h"

#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QVBoxLayout>

namespace trainyard::ui {

namespace {

constexpr int kDataFormWidth = 320;
constexpr int kDataLabelWidth = 92;
constexpr double kUsualShare = 0.1;

QVBoxLayout* addBox(const Theme& theme, QVBoxLayout* column) {
    auto* box = new QVBoxLayout;
    box->setSpacing(theme.px(space::kS));
    column->addLayout(box);
    return box;
}

/// How files of the known formats are usually called.
QStringList nameFilters(const spec::TypeInfo& format) {
    constexpr std::pair<std::string_view, const char*> kUsual[] = {
        {"idx", "*ubyte *ubyte.gz *.idx *.gz"},
        {"csv", "*.csv *.tsv *.txt"},
        {"text", "*.txt *.md"},
        {"npy", "*.npy *.npz"},
        {"tokens", "*.bin"}};
    QStringList filters;
    for (const auto& [type, patterns] : kUsual)
        if (format.type == type)
            filters << DataTab::tr("%1 (%2)").arg(app::catalogueText(format.label),
                                                  QLatin1StringView(patterns));
    return filters << DataTab::tr("All files (*)");
}

void takeOut(QVBoxLayout* box) {
    while (QLayoutItem* item = box->takeAt(0)) {
        item->widget()->hide();
        item->widget()->deleteLater(); // one of them may be the caller
        delete item;
    }
}

} // namespace

DataTab::DataTab(const Theme& theme, app::ExperimentDocument& document, QWidget* parent)
    : QWidget(parent), m_theme(theme), m_document(document) {
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(makeForm());
    auto* facts = new DataFactsView(theme, document, this);
    layout->addWidget(facts, 1);
    connect(facts, &DataFactsView::browseRequested, this, [this] {
        if (!m_trainFiles.empty())
            m_trainFiles.front()->browse();
    });
    connect(&document, &app::ExperimentDocument::changed, this, &DataTab::refreshForm);
    connect(&document, &app::ExperimentDocument::dataChanged, this, &DataTab::refreshForm);
    refreshForm();
}

QWidget* DataTab::makeForm() {
    auto* panel = new QFrame(this);
    panel->setProperty("region", QStringLiteral("panelLeft"));
    panel->setFixedWidth(m_theme.px(kDataFormWidth));
    auto* scroll = new ScrollPanel(panel);
    auto* outer = new QVBoxLayout(panel);
    outer->setContentsMargins(0, 0, 1, 0);
    outer->addWidget(scroll);
    auto* content = new QWidget;
    auto* column = new QVBoxLayout(content);
    const int side = m_theme.px(space::kL);
    column->setContentsMargins(side, side, side, side);
    column->setSpacing(m_theme.px(space::kS));
    makeParts(column);
    column->addStretch(1);
    scroll->setContent(content);
    connect(m_validation, &SegmentedControl::chosen, this, &DataTab::chooseValidation);
    return panel;
}

void DataTab::makeParts(QVBoxLayout* column) {
    const int label = m_theme.px(kDataLabelWidth);
    const auto addHeading = [&](const QString& text) {
        column->addSpacing(m_theme.px(space::kM));
        auto* head = makeHeading(m_theme, text, Color::Text);
        column->addWidget(head);
        return head;
    };
    column->addWidget(makeHeading(m_theme, tr("Training data"), Color::Text));
    app::EditorField format = app::typeField("data.format", spec::Kind::DataFormat);
    format.info.label = "Format";
    column->addWidget(new FormField(m_theme, m_document, format, label));
    m_help = makeParagraph(m_theme, TypeStyle::Small, QStringLiteral("text3"));
    column->addWidget(m_help);
    m_trainBox = addBox(m_theme, column);
    m_values = new FormGroup(m_theme, m_document, {}, label);
    column->addWidget(m_values);

    addHeading(tr("Validation data"));
    m_validation = new SegmentedControl(m_theme, tr("Validation data"));
    for (const QString& kind : {tr("Files"), tr("Share"), tr("None")})
        m_validation->addSegment(kind);
    column->addWidget(m_validation, 0, Qt::AlignLeft);
    m_validationBox = addBox(m_theme, column);
    m_share =
        new FormField(m_theme, m_document, app::fixedField("data.validation.fraction"), label);
    column->addWidget(m_share);

    m_preparation = addHeading(tr("Preparation"));
    m_normalize = new FormField(m_theme, m_document, app::fixedField("data.normalize"), label);
    column->addWidget(m_normalize);
    m_augmentHead = addHeading(tr("Augmentation"));
    m_augment = new FormGroup(m_theme, m_document, {}, label);
    column->addWidget(m_augment);
}

const spec::TypeInfo* DataTab::format() const {
    return spec::findType(spec::Kind::DataFormat, m_document.experiment().data.format);
}

void DataTab::addFiles(QVBoxLayout* column, const std::string& part,
                       std::vector<FileField*>& fields) {
    takeOut(column);
    fields.clear();
    const spec::TypeInfo* now = format();
    for (const spec::FileRole& role : now ? now->roles : std::vector<spec::FileRole>()) {
        fields.push_back(new FileField(m_theme, m_document, part, role, nameFilters(*now), this));
        column->addWidget(fields.back());
        fields.back()->show(); // the layout would do so later
    }
}

/// Other files and values for another format.
void DataTab::followFormat() {
    const std::string& chosen = m_document.experiment().data.format;
    if (chosen == m_shownFormat)
        return;
    m_shownFormat = chosen;
    m_lastValidation.clear();
    const spec::TypeInfo* now = format();
    m_help->setText(now ? app::catalogueText(now->help) : QString());
    m_help->setVisible(!m_help->text().isEmpty());
    addFiles(m_trainBox, "data.train", m_trainFiles);
    addFiles(m_validationBox, "data.validation", m_validationFiles);
    const auto fill = [](FormGroup* group, const std::vector<app::EditorField>& fields) {
        group->clear();
        for (const app::EditorField& field : fields)
            group->addField(field);
        group->setVisible(!fields.empty());
    };
    fill(m_values, app::dataFields(m_document.experiment()));
    const std::vector<app::EditorField> augment = app::augmentFields(m_document.experiment());
    fill(m_augment, augment);
    m_augmentHead->setVisible(!augment.empty());
}

DataTab::ValidationKind DataTab::validationNow() const {
    const spec::DataSpec& now = m_document.experiment().data;
    return !now.validation.empty() ? Files : now.validationFraction > 0 ? Share : None;
}

/// The roles that must have a file, with none yet.
spec::FileSet DataTab::noFiles() const {
    spec::FileSet files;
    const spec::TypeInfo* now = format();
    for (const spec::FileRole& role : now ? now->roles : std::vector<spec::FileRole>())
        if (!role.optional)
            files[role.name] = "";
    return files;
}

void DataTab::chooseValidation(int kind) {
    const spec::FileSet now = m_document.experiment().data.validation;
    if (!now.empty())
        m_lastValidation = now;
    m_document.finishStep();
    m_document.edit(tr("Change validation data"), [&](spec::Experiment& experiment) {
        spec::DataSpec& next = experiment.data;
        next.validation.clear();
        next.validationFraction = 0;
        if (kind == Files)
            next.validation = m_lastValidation.empty() ? noFiles() : m_lastValidation;
        else if (kind == Share)
            next.validationFraction = kUsualShare;
    });
}

void DataTab::refreshForm() {
    followFormat();
    // Words and characters are numbered, not measured.
    const app::DataFacts* facts = m_document.dataFacts();
    const bool measured = !facts || facts->training.vocabulary == 0;
    m_preparation->setVisible(measured);
    m_normalize->setVisible(measured);
    const ValidationKind kind = validationNow();
    m_validation->setCurrent(kind);
    for (FileField* field : m_validationFiles)
        field->setVisible(kind == Files);
    m_share->setVisible(kind == Share);
}

FileField* DataTab::fileField(const std::string& path) const {
    for (const auto* fields : {&m_trainFiles, &m_validationFiles})
        for (FileField* field : *fields)
            if (field->path() == path)
                return field;
    return nullptr;
}

void DataTab::visit(const std::string& path) {
    if (FileField* file = fileField(path))
        file->line()->setFocus(Qt::TabFocusReason);
    else if (FormField* field = findField(this, path))
        field->focusInput();
    else if (!m_trainFiles.empty())
        m_trainFiles.front()->line()->setFocus(Qt::TabFocusReason);
}

} // namespace trainyard::ui

#include "moc_data_tab.cpp"
