// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/cure_row.h"

#include "ui/theme/theme.h"
#include "ui/widgets/button.h"

#include <QBoxLayout>
#include <QPushButton>

namespace trainyard::ui {

namespace {

/// Words of the cures together that fit into the narrowest form beside one another.
constexpr int kMaxLetters = 28;

} // namespace

CureRow::CureRow(const Theme& theme, app::ExperimentDocument& document, std::string path,
                 QWidget* parent)
    : QWidget(parent), m_theme(theme), m_document(document), m_path(std::move(path)),
      m_layout(new QBoxLayout(QBoxLayout::LeftToRight, this)) {
    m_layout->setContentsMargins(0, 0, 0, 0);
    m_layout->setSpacing(theme.px(space::kXs));
    connect(&document, &app::ExperimentDocument::problemsChanged, this, &CureRow::refresh);
    hide();
    refresh();
}

const Error* CureRow::problem() const {
    for (const Error& problem : m_document.problems())
        if (problem.where == m_path)
            return &problem;
    return nullptr;
}

void CureRow::setShown(bool shown) {
    m_shown = shown;
    refresh();
}

void CureRow::refresh() {
    QStringList labels;
    if (const Error* now = m_shown ? problem() : nullptr)
        for (const app::Cure& cure : m_document.cures(*now))
            labels << cure.label;
    if (labels == m_labels)
        return;
    m_labels = labels;
    while (QLayoutItem* item = m_layout->takeAt(0)) {
        if (QWidget* button = item->widget()) {
            button->hide();
            button->deleteLater(); // one of them may be the caller
        }
        delete item;
    }
    setVisible(!labels.isEmpty());
    const bool wide = labels.join(QString()).size() > kMaxLetters;
    m_layout->setDirection(wide ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
    for (int i = 0; i < labels.size(); ++i) {
        QPushButton* button = makeButton(m_theme, ButtonKind::Normal, labels[i], {}, this);
        setCompact(button);
        m_layout->addWidget(button, 0, wide ? Qt::AlignLeft : Qt::Alignment());
        button->show(); // the layout would do so later
        connect(button, &QPushButton::clicked, this, [this, i] {
            const Error* now = problem();
            const std::vector<app::Cure> cures =
                now ? m_document.cures(*now) : std::vector<app::Cure>();
            if (static_cast<std::size_t>(i) < cures.size())
                m_document.apply(cures[static_cast<std::size_t>(i)]);
        });
    }
    if (!wide)
        m_layout->addStretch(1);
}

} // namespace trainyard::ui

#include "moc_cure_row.cpp"
