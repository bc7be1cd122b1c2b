// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/form_group.h"

#include "ui/compose/form_field.h"
#include "ui/theme/theme.h"
#include "ui/widgets/text_label.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

namespace trainyard::ui {

FormGroup::FormGroup(const Theme& theme, app::ExperimentDocument& document, const QString& title,
                     int labelWidth, QWidget* parent)
    : QWidget(parent), m_theme(theme), m_document(document), m_labelWidth(labelWidth),
      m_layout(new QVBoxLayout(this)) {
    m_layout->setContentsMargins(0, 0, 0, 0);
    m_layout->setSpacing(theme.px(space::kS));
    if (title.isEmpty())
        return;
    auto* label = new TextLabel(theme, TypeStyle::Strong, Color::Text, this);
    label->setText(title);
    m_layout->addWidget(label);
    setAccessibleName(title);
}

FormField* FormGroup::addField(const app::EditorField& field) {
    auto* row = new FormField(m_theme, m_document, field, m_labelWidth, this);
    addWidget(row);
    return row;
}

FormField* FormGroup::addField(std::string_view path) {
    return addField(app::fixedField(path));
}

void FormGroup::addWidget(QWidget* widget) {
    m_layout->addWidget(widget);
    widget->show(); // the layout would do so later
    m_rows.push_back(widget);
}

void FormGroup::addRow(const QString& label, QWidget* widget) {
    auto* row = new QWidget(this);
    auto* layout = new QHBoxLayout(row);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(m_theme.px(space::kS));
    auto* name = new QLabel(label, row);
    name->setProperty("tone", QStringLiteral("text2"));
    name->setFixedWidth(m_labelWidth);
    name->setBuddy(widget);
    layout->addWidget(name);
    layout->addWidget(widget);
    layout->addStretch(1);
    addWidget(row);
}

void FormGroup::clear() {
    for (QWidget* row : m_rows) {
        m_layout->removeWidget(row);
        row->hide();
        row->deleteLater(); // one of them may be the caller
    }
    m_rows.clear();
}

TypedGroup::TypedGroup(const Theme& theme, app::ExperimentDocument& document, const QString& title,
                       spec::Kind kind, const std::string& typePath, Fields fields, int labelWidth,
                       QWidget* parent)
    : FormGroup(theme, document, title, labelWidth, parent), m_experiment(document),
      m_typePath(typePath), m_fields(fields),
      m_values(new FormGroup(theme, document, {}, labelWidth, this)) {
    m_typeField = addField(app::typeField(typePath, kind));
    addWidget(m_values);
    connect(&document, &app::ExperimentDocument::changed, this, &TypedGroup::followType);
    followType();
}

void TypedGroup::followType() {
    const std::optional<spec::Value> value = m_experiment.value(m_typePath);
    const auto* type = value ? std::get_if<std::string>(&*value) : nullptr;
    if (!type || *type == m_type)
        return;
    m_type = *type;
    m_values->clear();
    for (const app::EditorField& field : m_fields(m_experiment.experiment()))
        m_values->addField(field);
}

} // namespace trainyard::ui

#include "moc_form_group.cpp"
