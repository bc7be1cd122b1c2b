// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/shape_callout.h"

#include "app/models/message_text.h"
#include "ui/theme/theme.h"
#include "ui/widgets/button.h"
#include "ui/widgets/text_label.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>

namespace trainyard::ui {

ShapeCallout::ShapeCallout(const Theme& theme, app::ExperimentDocument& document, QWidget* parent)
    : QFrame(parent), m_theme(theme), m_document(document),
      m_text(makeParagraph(theme, TypeStyle::Body, {}, {}, this)), m_cures(new QHBoxLayout) {
    auto* layout = new QVBoxLayout(this);
    const int icon = theme.px(icon_size::kControl + space::kS);
    layout->setContentsMargins(theme.px(space::kM) + icon, theme.px(space::kS), theme.px(space::kM),
                               theme.px(space::kM));
    layout->setSpacing(theme.px(space::kXs));
    layout->addWidget(m_text);
    m_text->setTextFormat(Qt::RichText);
    m_cures->setContentsMargins(0, theme.px(space::kXs), 0, 0);
    m_cures->setSpacing(theme.px(space::kS));
    layout->addLayout(m_cures);
    followTheme(this, theme);
    hide();
}

const Error* ShapeCallout::problem() const {
    for (const Error& each : m_document.problems())
        if (each.where == m_path)
            return &each;
    return nullptr;
}

void ShapeCallout::follow(const std::string& path) {
    m_path = path;
    const Error* now = problem();
    if (!now)
        return;
    m_sentence = app::whatText(*now);
    const QString title = tr("Shapes do not fit.");
    m_text->setText(
        QStringLiteral("<b>%1</b> %2").arg(title.toHtmlEscaped(), m_sentence.toHtmlEscaped()));
    setAccessibleName(title + u' ' + m_sentence);
    QStringList labels;
    for (const app::Cure& cure : m_document.cures(*now))
        labels << cure.label;
    if (labels == m_labels)
        return;
    m_labels = labels;
    while (QLayoutItem* item = m_cures->takeAt(0)) {
        if (QWidget* button = item->widget()) {
            button->hide();
            button->deleteLater(); // it may be the caller
        }
        delete item;
    }
    for (int i = 0; i < labels.size(); ++i) {
        QPushButton* button = makeButton(m_theme, ButtonKind::Normal, labels[i], {}, this);
        setCompact(button);
        m_cures->addWidget(button);
        connect(button, &QPushButton::clicked, this, [this, i] {
            const Error* current = problem();
            const std::vector<app::Cure> cures =
                current ? m_document.cures(*current) : std::vector<app::Cure>();
            if (static_cast<std::size_t>(i) < cures.size())
                m_document.apply(cures[static_cast<std::size_t>(i)]);
        });
    }
    m_cures->addStretch(1);
}

void ShapeCallout::fit(int width) {
    setFixedSize(width, layout()->totalHeightForWidth(width));
}

void ShapeCallout::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(m_theme.tone(State::Failed).solid, 1));
    painter.setBrush(m_theme.color(Color::Surface));
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), radius::kControl,
                            radius::kControl);
    const int size = m_theme.px(icon_size::kControl);
    painter.drawPixmap(m_theme.px(space::kM), m_theme.px(space::kS + 2),
                       m_theme.pixmap(QStringLiteral("error"), m_theme.tone(State::Failed).text,
                                      size, devicePixelRatioF()));
}

} // namespace trainyard::ui

#include "moc_shape_callout.cpp"
