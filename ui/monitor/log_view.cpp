// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/monitor/log_view.h"

#include "app/base/format.h"
#include "app/models/message_text.h"
#include "ui/theme/theme.h"
#include "ui/widgets/button.h"
#include "ui/widgets/text_label.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QPlainTextEdit>
#include <QScrollBar>

namespace trainyard::ui {

namespace {

/// Older lines stay in the store; the exports have all of them.
constexpr int kMostLines = 5000;

QString levelWord(spec::LogLevel level) {
    switch (level) {
    case spec::LogLevel::Debug:
        return LogView::tr("debug");
    case spec::LogLevel::Info:
        return {};
    case spec::LogLevel::Warning:
        return LogView::tr("warning");
    case spec::LogLevel::Error:
        return LogView::tr("error");
    }
    return {};
}

} // namespace

LogView::LogView(const Theme& theme, QWidget* parent)
    : QFrame(parent), m_theme(theme), m_level(new QComboBox), m_lines(new QPlainTextEdit) {
    auto* title = new TextLabel(theme, TypeStyle::Strong);
    title->setText(tr("Log"));
    m_level->addItem(tr("All lines"), static_cast<int>(spec::LogLevel::Debug));
    m_level->addItem(tr("Info and up"), static_cast<int>(spec::LogLevel::Info));
    m_level->addItem(tr("Warnings"), static_cast<int>(spec::LogLevel::Warning));
    m_level->setCurrentIndex(1);
    m_level->setAccessibleName(tr("Least level shown"));
    setCompact(m_level);
    connect(m_level, &QComboBox::currentIndexChanged, this, &LogView::rebuild);
    m_lines->setReadOnly(true);
    m_lines->setProperty("plain", true);
    m_lines->setFrameShape(QFrame::NoFrame);
    m_lines->setMaximumBlockCount(kMostLines);
    m_lines->setLineWrapMode(QPlainTextEdit::WidgetWidth);
    m_lines->setObjectName(QStringLiteral("logLines"));
    m_lines->setPlaceholderText(tr("Nothing yet"));
    m_lines->setAccessibleName(tr("Log"));
    const auto style = [this] {
        m_lines->setFont(m_theme.font(TypeStyle::Small));
    };
    style();
    connect(&theme, &Theme::themeChanged, this, [this, style] {
        style();
        rebuild();
    });

    auto* head = new QHBoxLayout;
    head->setContentsMargins(space::kL, space::kS, space::kL, space::kXs);
    head->addWidget(title, 1);
    head->addWidget(m_level);
    setProperty("region", QStringLiteral("surface"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addLayout(head);
    layout->addWidget(m_lines, 1);
}

void LogView::setCurves(const app::RunCurves* curves) {
    if (m_curves == curves)
        return;
    if (m_curves)
        disconnect(m_curves, nullptr, this, nullptr);
    m_curves = curves;
    if (m_curves)
        connect(m_curves, &app::RunCurves::appended, this, &LogView::appendNew);
    rebuild();
}

QString LogView::text() const {
    return m_lines->toPlainText();
}

void LogView::rebuild() {
    m_lines->clear();
    m_shown = 0;
    appendNew();
}

void LogView::appendNew() {
    if (!m_curves)
        return;
    QScrollBar* bar = m_lines->verticalScrollBar();
    const bool atEnd = bar->value() >= bar->maximum() - 4;
    const int least = m_level->currentData().toInt();
    for (; m_shown < m_curves->log().size(); ++m_shown) {
        const app::LogLine& line = m_curves->log()[m_shown];
        if (static_cast<int>(line.level) >= least)
            appendLine(line);
    }
    if (atEnd)
        bar->setValue(bar->maximum());
}

void LogView::appendLine(const app::LogLine& line) {
    QTextCharFormat plain;
    plain.setForeground(m_theme.color(Color::Text2));
    QTextCharFormat time = plain;
    time.setForeground(m_theme.color(Color::Text3));
    QTextCharFormat loud = plain;
    if (line.level >= spec::LogLevel::Warning)
        loud.setForeground(
            m_theme.tone(line.level == spec::LogLevel::Error ? State::Failed : State::Warning)
                .text);
    QTextCursor cursor(m_lines->document());
    cursor.movePosition(QTextCursor::End);
    if (!m_lines->document()->isEmpty())
        cursor.insertBlock();
    cursor.insertText(app::formatTimeOfDay(line.utcUs) + QStringLiteral("  "), time);
    const QString word = levelWord(line.level);
    if (!word.isEmpty())
        cursor.insertText(word + QStringLiteral("  "), loud);
    if (line.rank >= 0)
        cursor.insertText(tr("rank %1").arg(line.rank) + QStringLiteral("  "), time);
    cursor.insertText(app::text(line.text), loud);
}

} // namespace trainyard::ui

#include "moc_log_view.cpp"
