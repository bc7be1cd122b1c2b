// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/problem_list.h"

#include "ui/theme/theme.h"
#include "ui/widgets/button.h"
#include "ui/widgets/text_label.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QMouseEvent>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>

namespace trainyard::ui {

namespace {

constexpr int kIcon = icon_size::kControl;

/// Icon, then whatever stands beside it; the icon is painted by the owner at iconPosition().
QVBoxLayout* besideIcon(const Theme& theme, QWidget* owner) {
    auto* layout = new QVBoxLayout(owner);
    layout->setContentsMargins(theme.px(space::kL + kIcon + space::kS), theme.px(2),
                               theme.px(space::kS), theme.px(2));
    layout->setSpacing(theme.px(space::kXs));
    return layout;
}

void drawRowIcon(QPainter& painter, const Theme& theme, const QWidget* owner, const QString& name,
                 State state) {
    const int size = theme.px(kIcon);
    const int top = theme.px(2) + (theme.lineHeight(TypeStyle::Body) - size) / 2;
    painter.drawPixmap(
        theme.px(space::kL), top,
        theme.pixmap(name, theme.tone(state).text, size, owner->devicePixelRatioF()));
}

/// "None. Ready to train", with what was checked.
class ReadyRow : public QWidget {
public:
    ReadyRow(const Theme& theme, const QString& title, const QString& detail) : m_theme(theme) {
        QVBoxLayout* layout = besideIcon(theme, this);
        layout->setSpacing(0);
        layout->addWidget(makeParagraph(theme, TypeStyle::Body, QStringLiteral("finished"), title));
        layout->addWidget(makeParagraph(theme, TypeStyle::Small, QStringLiteral("text3"), detail));
        layout->addStretch(1);
    }

protected:
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        drawRowIcon(painter, m_theme, this, QStringLiteral("finished"), State::Finished);
    }

private:
    const Theme& m_theme;
};

} // namespace

ProblemRow::ProblemRow(const Theme& theme, const QModelIndex& problem, QWidget* parent)
    : QFrame(parent), m_theme(theme) {
    setFocusPolicy(Qt::TabFocus);
    setCursor(Qt::PointingHandCursor);
    setAttribute(Qt::WA_Hover);
    const QString sentence = problem.data().toString();
    setAccessibleName(problem.data(Qt::AccessibleTextRole).toString());
    setToolTip(problem.data(Qt::ToolTipRole).toString());
    QVBoxLayout* layout = besideIcon(theme, this);
    auto* label = makeParagraph(theme, TypeStyle::Body, {}, sentence, this);
    label->setAttribute(Qt::WA_TransparentForMouseEvents);
    layout->addWidget(label);
    const QStringList cures = problem.data(app::ProblemListModel::CureLabelsRole).toStringList();
    if (cures.isEmpty()) {
        const QString cure = problem.data(app::ProblemListModel::CureRole).toString();
        auto* advice = makeParagraph(theme, TypeStyle::Small, QStringLiteral("text3"), cure, this);
        advice->setAttribute(Qt::WA_TransparentForMouseEvents);
        advice->setVisible(!cure.isEmpty());
        layout->addWidget(advice);
        return;
    }
    auto* row = new QHBoxLayout;
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(theme.px(space::kS));
    for (int i = 0; i < cures.size(); ++i) {
        QPushButton* button = makeButton(theme, ButtonKind::Normal, cures[i], {}, this);
        setCompact(button);
        button->setCursor(Qt::ArrowCursor);
        connect(button, &QPushButton::clicked, this, [this, i] { emit cureRequested(i); });
        row->addWidget(button);
    }
    row->addStretch(1);
    layout->addLayout(row);
}

void ProblemRow::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (underMouse())
        painter.fillRect(rect(), m_theme.color(Color::Hover));
    drawRowIcon(painter, m_theme, this, QStringLiteral("error"), State::Failed);
    if (hasFocus())
        drawFocusRing(painter, m_theme, rect().adjusted(2, 0, -2, 0), radius::kControl);
}

void ProblemRow::mouseReleaseEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton && rect().contains(event->position().toPoint()))
        emit visitRequested();
}

void ProblemRow::keyPressEvent(QKeyEvent* event) {
    switch (event->key()) {
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Space:
        emit visitRequested();
        break;
    case Qt::Key_Down:
        focusNextChild();
        break;
    case Qt::Key_Up:
        focusPreviousChild();
        break;
    default:
        QFrame::keyPressEvent(event);
    }
}

bool ProblemRow::event(QEvent* event) {
    if (event->type() == QEvent::FocusIn || event->type() == QEvent::FocusOut)
        update();
    return QFrame::event(event);
}

ProblemList::ProblemList(const Theme& theme, app::ProblemListModel& problems, QWidget* parent)
    : ScrollPanel(parent), m_theme(theme), m_problems(problems) {
    setAccessibleName(tr("Problems"));
    connect(&m_problems, &QAbstractItemModel::modelReset, this, &ProblemList::rebuild);
    rebuild();
}

void ProblemList::setReadyText(const QString& title, const QString& detail) {
    if (title == m_readyTitle && detail == m_readyDetail)
        return;
    m_readyTitle = title;
    m_readyDetail = detail;
    if (m_problems.rowCount() == 0)
        rebuild();
}

void ProblemList::rebuild() {
    m_rows.clear();
    auto* content = new QWidget;
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(m_theme.px(space::kXs));
    for (int row = 0; row < m_problems.rowCount(); ++row) {
        auto* line = new ProblemRow(m_theme, m_problems.index(row), content);
        connect(line, &ProblemRow::visitRequested, this,
                [this, row] { emit visitRequested(m_problems.placeAt(row)); });
        connect(line, &ProblemRow::cureRequested, this,
                [this, row](int cure) { m_problems.applyCure(row, cure); });
        layout->addWidget(line);
        m_rows.push_back(line);
    }
    if (m_rows.empty())
        layout->addWidget(new ReadyRow(m_theme, m_readyTitle, m_readyDetail));
    layout->addStretch(1);
    setContent(content);
}

void ProblemList::focusRow(int row) {
    if (row < 0 || row >= static_cast<int>(m_rows.size()))
        return;
    ensureWidgetVisible(m_rows[static_cast<std::size_t>(row)], 0, 0);
    m_rows[static_cast<std::size_t>(row)]->setFocus(Qt::TabFocusReason);
}

} // namespace trainyard::ui

#include "moc_problem_list.cpp"
