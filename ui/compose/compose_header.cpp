// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/compose_header.h"

#include "ui/compose/form_field.h"
#include "ui/compose/page_tabs.h"
#include "ui/theme/theme.h"
#include "ui/widgets/button.h"
#include "ui/widgets/separator.h"

#include <QAction>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QPushButton>
#include <QResizeEvent>
#include <QStyle>

#include <algorithm>

namespace trainyard::ui {

namespace {

constexpr int kNameLeast = 72;
constexpr int kNameMost = 260;
constexpr int kNameNarrow = 120;
constexpr int kLeastWidth = 640;
/// What is left out first: words of the actions, then room around the tabs, their ticks, last the
/// long end of the name.
constexpr int kLevels = 4;

/// A button with words, or of the kind that is only an icon.
void setWords(QPushButton* button, const QAction* action, bool words) {
    const QString kind = words ? QStringLiteral("quiet") : QStringLiteral("icon");
    if (button->property("kind").toString() == kind)
        return;
    button->setText(words ? action->text() : QString());
    button->setProperty("kind", kind);
    button->style()->unpolish(button);
    button->style()->polish(button);
}

/// "There are changes that are not saved."
class ModifiedDot : public QWidget {
public:
    ModifiedDot(const Theme& theme, QWidget* parent) : QWidget(parent), m_theme(theme) {
        setFixedSize(theme.px(space::kL), theme.px(space::kL));
        setToolTip(QWidget::tr("Not saved"));
        setAccessibleName(QWidget::tr("Not saved"));
        followTheme(this, theme);
    }

protected:
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(Qt::NoPen);
        painter.setBrush(m_theme.color(Color::Text3));
        painter.drawEllipse(QRectF(rect()).center(), 3.5, 3.5);
    }

private:
    const Theme& m_theme;
};

} // namespace

ComposeHeader::ComposeHeader(const Theme& theme, app::ExperimentDocument& document,
                             app::ProblemListModel& problems, const ComposeActions& actions,
                             QWidget* parent)
    : QFrame(parent), m_theme(theme), m_document(document), m_problems(problems),
      m_name(new QLineEdit(this)), m_dot(new ModifiedDot(theme, this)),
      m_tabs(new PageTabs(theme, tr("Parts of the experiment"), this)), m_reason(new QLabel(this)),
      m_train(makeButton(theme, ButtonKind::Primary, tr("Train"), QStringLiteral("train"), this)) {
    setProperty("region", QStringLiteral("pageHeader"));
    setFixedHeight(theme.px(height::kPageHeader));
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(theme.px(space::kS), 0, theme.px(space::kL), 0);
    layout->setSpacing(theme.px(space::kXs));
    addName();
    for (const QString& tab : {tr("Data"), tr("Model"), tr("Training"), tr("Parallelism")})
        m_tabs->addTab(tab);
    layout->addWidget(m_tabs);
    layout->addStretch(1);
    addActions(actions);
    connect(&document, &app::ExperimentDocument::changed, this, &ComposeHeader::refresh);
    connect(&document, &app::ExperimentDocument::modifiedChanged, this, &ComposeHeader::refresh);
    connect(&problems, &QAbstractItemModel::modelReset, this, &ComposeHeader::refresh);
    connect(&theme, &Theme::themeChanged, this, &ComposeHeader::styleName);
    styleName();
    refresh();
}

void ComposeHeader::addName() {
    auto* row = static_cast<QHBoxLayout*>(layout());
    m_name->setAccessibleName(tr("Name of the experiment"));
    m_name->setToolTip(tr("Name of the experiment"));
    m_name->setMaxLength(200);
    shareUndo(m_name);
    row->addWidget(m_name);
    row->addWidget(m_dot);
    connect(m_name, &QLineEdit::textChanged, this, &ComposeHeader::fit);
    connect(m_name, &QLineEdit::editingFinished, this, [this] {
        const QString name = m_name->text().trimmed();
        m_document.finishStep();
        if (!name.isEmpty())
            m_document.setValue("name", spec::Value(name.toStdString()));
        m_name->setText(m_document.name());
    });
}

/// Looks like a title until it is edited.
void ComposeHeader::styleName() {
    m_name->setFont(m_theme.font(TypeStyle::Title));
    m_name->setStyleSheet(
        QStringLiteral("QLineEdit { border: 1px solid transparent; background: transparent; "
                       "padding: 0 7px; font-weight: 600; font-size: %1px; }"
                       "QLineEdit:hover { border-color: %2; }"
                       "QLineEdit:focus { border: 2px solid %3; padding: 0 6px; background: %4; }")
            .arg(m_theme.font(TypeStyle::Title).pixelSize())
            .arg(m_theme.color(Color::BorderStrong).name(), m_theme.color(Color::Focus).name(),
                 m_theme.color(Color::Field).name()));
    fit();
}

void ComposeHeader::fitName(int most) {
    const int text = QFontMetrics(m_theme.font(TypeStyle::Title)).horizontalAdvance(m_name->text());
    m_name->setFixedWidth(
        std::clamp(text + m_theme.px(space::kXl), m_theme.px(kNameLeast), m_theme.px(most)));
}

void ComposeHeader::leaveOut(int level) {
    for (const auto& [button, action] : m_wordy)
        setWords(button, action, level < 1);
    m_tabs->setTight(level >= 2, level >= 3);
    fitName(level < 4 ? kNameMost : kNameNarrow);
}

void ComposeHeader::fit() {
    for (int level = 0; level <= kLevels; ++level) {
        leaveOut(level);
        layout()->invalidate();
        if (layout()->sizeHint().width() <= width())
            return;
    }
}

QSize ComposeHeader::minimumSizeHint() const {
    return {m_theme.px(kLeastWidth), m_theme.px(height::kPageHeader)};
}

QPushButton* ComposeHeader::addAction(QAction* action, bool iconOnly) {
    const QString icon = action->property("iconName").toString();
    QPushButton* button = makeButton(m_theme, iconOnly ? ButtonKind::Icon : ButtonKind::Quiet,
                                     action->text(), icon, this);
    const auto follow = [button, action] {
        button->setEnabled(action->isEnabled());
        const QString keys = action->shortcut().toString(QKeySequence::NativeText);
        QString tip = action->toolTip();
        if (!keys.isEmpty())
            tip += u" (" + keys + u')';
        button->setToolTip(tip);
        button->setAccessibleName(action->toolTip());
    };
    connect(action, &QAction::changed, button, follow);
    connect(button, &QPushButton::clicked, action, &QAction::trigger);
    follow();
    layout()->addWidget(button);
    return button;
}

void ComposeHeader::addActions(const ComposeActions& actions) {
    auto* row = static_cast<QHBoxLayout*>(layout());
    const auto line = [&] {
        auto* separator = new Separator(m_theme, Qt::Vertical, this);
        separator->setFixedHeight(m_theme.px(20));
        row->addSpacing(m_theme.px(space::kXs));
        row->addWidget(separator);
        row->addSpacing(m_theme.px(space::kXs));
    };
    addAction(actions.undo, true);
    addAction(actions.redo, true);
    line();
    for (QAction* action : {actions.start, actions.open, actions.save})
        m_wordy.emplace_back(addAction(action, false), action);
    line();
    m_reason->setProperty("tone", QStringLiteral("failed"));
    row->addWidget(m_reason);
    row->addSpacing(m_theme.px(space::kXs));
    row->addWidget(m_train);
    const auto follow = [this, train = actions.train] {
        m_train->setEnabled(train->isEnabled());
    };
    connect(actions.train, &QAction::changed, m_train, follow);
    connect(m_train, &QPushButton::clicked, actions.train, &QAction::trigger);
    follow();
}

void ComposeHeader::refresh() {
    if (m_name->text() != m_document.name() && !(m_name->hasFocus() && m_name->isModified()))
        m_name->setText(m_document.name());
    m_dot->setVisible(m_document.isModified());
    for (int tab = 0; tab < m_tabs->count(); ++tab)
        m_tabs->tab(tab)->setProblems(m_problems.countOf(static_cast<app::Section>(tab)));
    const int count = m_problems.rowCount();
    m_reason->setVisible(count > 0);
    m_reason->setText(count == 1 ? tr("Fix 1 problem to train")
                                 : tr("Fix %n problems to train", nullptr, count));
    fit();
}

QString ComposeHeader::reason() const {
    return m_problems.rowCount() > 0 ? m_reason->text() : QString();
}

void ComposeHeader::resizeEvent(QResizeEvent* event) {
    QFrame::resizeEvent(event);
    fit();
}

} // namespace trainyard::ui

#include "moc_compose_header.cpp"
