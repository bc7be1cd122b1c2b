// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/file_field.h"

#include "app/models/message_text.h"
#include "ui/compose/form_field.h"
#include "ui/theme/theme.h"
#include "ui/widgets/button.h"
#include "ui/widgets/number_field.h"

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QStyle>

namespace trainyard::ui {

FileField::FileField(const Theme& theme, app::ExperimentDocument& document, const std::string& part,
                     const spec::FileRole& role, QStringList filters, QWidget* parent)
    : QWidget(parent), m_theme(theme), m_document(document), m_path(part + "." + role.name),
      m_label(app::catalogueText(role.label)), m_folder(role.folder), m_filters(std::move(filters)),
      m_line(new QLineEdit(this)), m_message(new FieldMessage(theme, this)) {
    auto* layout = new QGridLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setHorizontalSpacing(theme.px(space::kXs));
    layout->setVerticalSpacing(2);
    auto* name = new QLabel(role.optional ? tr("%1 (optional)").arg(m_label) : m_label, this);
    name->setProperty("tone", QStringLiteral("text2"));
    name->setFont(theme.font(TypeStyle::Small));
    name->setBuddy(m_line);
    QPushButton* browseButton =
        makeButton(theme, ButtonKind::Icon, tr("Browse for %1").arg(m_label.toLower()),
                   QStringLiteral("folder"), this);
    layout->addWidget(name, 0, 0, 1, 2);
    layout->addWidget(m_line, 1, 0);
    layout->addWidget(browseButton, 1, 1);
    layout->addWidget(m_message, 2, 0, 1, 2);
    m_line->setAccessibleName(m_label);
    m_line->setPlaceholderText(m_folder ? tr("choose a folder") : tr("choose a file"));
    shareUndo(m_line);
    connect(m_line, &QLineEdit::editingFinished, this, [this] { set(m_line->text()); });
    connect(browseButton, &QPushButton::clicked, this, &FileField::browse);
    connect(&document, &app::ExperimentDocument::changed, this, &FileField::refresh);
    connect(&document, &app::ExperimentDocument::problemsChanged, this, &FileField::refresh);
    refresh();
}

void FileField::set(const QString& file) {
    m_document.finishStep();
    m_document.setValue(m_path, spec::Value(file.toStdString()));
    m_document.finishStep();
}

void FileField::refresh() {
    const std::optional<spec::Value> value = m_document.value(m_path);
    const auto* file = value ? std::get_if<std::string>(&*value) : nullptr;
    const QString shown = file ? QString::fromStdString(*file) : QString();
    if (m_line->text() != shown && !(m_line->hasFocus() && m_line->isModified())) {
        m_line->setText(shown);
        m_line->setCursorPosition(static_cast<int>(shown.size())); // the name tells most
    }
    m_line->setToolTip(shown);
    QString sentence;
    for (const Error& problem : m_document.problems())
        if (problem.where == m_path && sentence.isEmpty())
            sentence = app::whatText(problem);
    m_message->setMessage(sentence);
    const bool invalid = !sentence.isEmpty();
    if (m_line->property("invalid").toBool() != invalid) {
        m_line->setProperty("invalid", invalid);
        m_line->style()->unpolish(m_line);
        m_line->style()->polish(m_line);
    }
}

QString FileField::problem() const {
    return m_message->text();
}

QString FileField::startFolder() const {
    const QFileInfo chosen(m_line->text());
    if (chosen.dir().exists() && !m_line->text().isEmpty())
        return chosen.absolutePath();
    const QString file = m_document.filePath();
    return file.isEmpty() ? QDir::homePath() : QFileInfo(file).absolutePath();
}

QFileDialog* FileField::browse() {
    auto* dialog = new QFileDialog(this, tr("Choose %1").arg(m_label.toLower()), startFolder());
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(m_folder ? QFileDialog::Directory : QFileDialog::ExistingFile);
    if (m_folder)
        dialog->setOption(QFileDialog::ShowDirsOnly);
    else
        dialog->setNameFilters(m_filters);
    connect(dialog, &QFileDialog::fileSelected, this, &FileField::set);
    dialog->open();
    return dialog;
}

} // namespace trainyard::ui

#include "moc_file_field.cpp"
