// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/data_tab.h"

#include "app/models/experiment_fields.h"
#include "ui/compose/data_facts_view.h"
#include "ui/compose/file_field.h"
#include "ui/compose/form_field.h"
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

constexpr int kFormWidth = 320;
constexpr int kLabelWidth = 92;
constexpr double kUsualShare = 0.1;

TextLabel* heading(const Theme& theme, const QString& text) {
    auto* label = new TextLabel(theme, TypeStyle::Strong, Color::Text);
    label->setText(text);
    return label;
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
    connect(facts, &DataFactsView::browseRequested, this,
            [this] { m_trainFiles.front()->browse(); });
    connect(&document, &app::ExperimentDocument::changed, this, &DataTab::refreshForm);
    refreshForm();
}

QWidget* DataTab::makeForm() {
    auto* panel = new QFrame(this);
    panel->setProperty("region", QStringLiteral("panelLeft"));
    panel->setFixedWidth(m_theme.px(kFormWidth));
    auto* scroll = new ScrollPanel(panel);
    auto* outer = new QVBoxLayout(panel);
    outer->setContentsMargins(0, 0, 1, 0);
    outer->addWidget(scroll);

    auto* content = new QWidget;
    auto* column = new QVBoxLayout(content);
    const int side = m_theme.px(space::kL);
    column->setContentsMargins(side, side, side, side);
    column->setSpacing(m_theme.px(space::kS));
    column->addWidget(heading(m_theme, tr("Training data")));
    column->addWidget(makeParagraph(m_theme, TypeStyle::Small, QStringLiteral("text3"),
                                    tr("IDX files, plain or gzip: pictures and their labels.")));
    addFiles(column, "train");
    column->addSpacing(m_theme.px(space::kM));
    column->addWidget(heading(m_theme, tr("Validation data")));
    m_validation = new SegmentedControl(m_theme, tr("Validation data"), content);
    for (const QString& kind : {tr("Files"), tr("Share"), tr("None")})
        m_validation->addSegment(kind);
    column->addWidget(m_validation, 0, Qt::AlignLeft);
    addFiles(column, "validation");
    m_share = new FormField(m_theme, m_document, app::fixedField("data.validation.fraction"),
                            m_theme.px(kLabelWidth), content);
    column->addWidget(m_share);
    column->addSpacing(m_theme.px(space::kM));
    column->addWidget(heading(m_theme, tr("Preparation")));
    column->addWidget(new FormField(m_theme, m_document, app::fixedField("data.normalize"),
                                    m_theme.px(kLabelWidth), content));
    column->addStretch(1);
    scroll->setContent(content);
    connect(m_validation, &SegmentedControl::chosen, this, &DataTab::chooseValidation);
    return panel;
}

void DataTab::addFiles(QVBoxLayout* column, const std::string& part) {
    const std::pair<const char*, QString> roles[] = {{"images", tr("Images")},
                                                     {"labels", tr("Labels")}};
    for (const auto& [role, label] : roles) {
        auto* field = new FileField(m_theme, m_document, "data." + part + "." + role, label);
        column->addWidget(field);
        (part == "train" ? m_trainFiles : m_validationFiles).push_back(field);
    }
}

DataTab::ValidationKind DataTab::validationNow() const {
    const spec::DataSpec& now = m_document.experiment().data;
    return !now.validation.empty() ? Files : now.validationFraction > 0 ? Share : None;
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
            next.validation = m_lastValidation.empty()
                                  ? spec::FileSet{{"images", ""}, {"labels", ""}}
                                  : m_lastValidation;
        else if (kind == Share)
            next.validationFraction = kUsualShare;
    });
}

void DataTab::refreshForm() {
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
    else
        m_trainFiles.front()->line()->setFocus(Qt::TabFocusReason);
}

} // namespace trainyard::ui
