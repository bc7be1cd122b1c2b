// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/inputs_field.h"

#include "app/models/experiment_fields.h"
#include "app/models/experiment_path.h"
#include "app/models/message_text.h"
#include "app/models/model_edit.h"
#include "ui/compose/cure_row.h"
#include "ui/theme/theme.h"
#include "ui/widgets/number_field.h"

#include <QGridLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QMenu>
#include <QMouseEvent>
#include <QPainter>
#include <QPushButton>

#include <algorithm>

namespace trainyard::ui {

namespace {

/// A button that looks like a field with a list to open.
class ListButton : public QPushButton {
public:
    ListButton(const Theme& theme, QWidget* parent) : QPushButton(parent), m_theme(theme) {
        setProperty("kind", QStringLiteral("list"));
        setFocusPolicy(Qt::TabFocus);
        followTheme(this, theme);
    }

protected:
    void paintEvent(QPaintEvent* event) override {
        QPushButton::paintEvent(event);
        const int size = m_theme.px(14);
        QPainter painter(this);
        painter.drawPixmap(width() - size - m_theme.px(5), (height() - size) / 2,
                           m_theme.pixmap(QStringLiteral("chevron-down"),
                                          m_theme.color(Color::Text2), size, devicePixelRatioF()));
    }
    void keyPressEvent(QKeyEvent* event) override {
        if (event->key() == Qt::Key_Down || event->key() == Qt::Key_Return ||
            event->key() == Qt::Key_Enter)
            click();
        else
            QPushButton::keyPressEvent(event);
    }

private:
    const Theme& m_theme;
};

/// Stays open while one after the other is checked.
class CheckMenu : public QMenu {
public:
    using QMenu::QMenu;

protected:
    bool toggleActive() {
        QAction* action = activeAction();
        if (!action || !action->isCheckable() || !action->isEnabled())
            return false;
        action->trigger();
        return true;
    }
    void mouseReleaseEvent(QMouseEvent* event) override {
        const bool inside = rect().contains(event->position().toPoint());
        if (!inside || !toggleActive())
            QMenu::mouseReleaseEvent(event);
    }
    void keyPressEvent(QKeyEvent* event) override {
        const bool toggles = event->key() == Qt::Key_Space || event->key() == Qt::Key_Return ||
                             event->key() == Qt::Key_Enter;
        if (!toggles || !toggleActive())
            QMenu::keyPressEvent(event);
    }
};

QString sourceText(const std::string& source) {
    return source == "input" ? InputsField::tr("the input") : QString::fromStdString(source);
}

} // namespace

InputsField::InputsField(const Theme& theme, app::ExperimentDocument& document, int layer,
                         int labelWidth, QWidget* parent)
    : QWidget(parent), m_theme(theme), m_document(document), m_layer(layer),
      m_button(new ListButton(theme, this)), m_message(new FieldMessage(theme, this)) {
    auto* layout = new QGridLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setHorizontalSpacing(theme.px(space::kS));
    layout->setVerticalSpacing(theme.px(space::kXs));
    layout->setColumnStretch(1, 1);
    auto* label = new QLabel(tr("Inputs"), this);
    label->setProperty("tone", QStringLiteral("text2"));
    label->setFixedWidth(labelWidth);
    label->setBuddy(m_button);
    m_button->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    layout->addWidget(label, 0, 0);
    layout->addWidget(m_button, 0, 1);
    layout->addWidget(m_message, 1, 0, 1, 2);
    auto* cures = new CureRow(theme, document, app::layerPath(layer, "from"), this);
    layout->addWidget(cures, 2, 0, 1, 2);
    connect(m_button, &QPushButton::clicked, this, &InputsField::open);
    connect(&document, &app::ExperimentDocument::changed, this, &InputsField::refresh);
    connect(&document, &app::ExperimentDocument::problemsChanged, this, &InputsField::refresh);
    refresh();
}

/// False while the layer has been removed and this is about to go, too.
bool InputsField::isThere() const {
    return m_layer < static_cast<int>(m_document.experiment().model.layers.size());
}

/// The input and the layers before.
std::vector<std::string> InputsField::offered() const {
    std::vector<std::string> names{"input"};
    for (int i = 0; i < m_layer; ++i)
        names.push_back(m_document.experiment().model.layers[static_cast<std::size_t>(i)].id);
    return names;
}

QMenu* InputsField::open() {
    const spec::ModelSpec& model = m_document.experiment().model;
    const bool joins = app::joinsBranches(model.layers[static_cast<std::size_t>(m_layer)].type);
    const std::vector<std::string> names = offered();
    auto* menu = joins ? new CheckMenu(this) : new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->setProperty("checks", true);
    menu->setMinimumWidth(m_button->width());
    const std::string before = names.back();
    if (!joins) {
        addSource(menu, before, tr("the layer before: %1").arg(sourceText(before)));
        if (names.size() > 1)
            menu->addSeparator();
    }
    // The nearest first: long models have it near the pointer.
    for (auto name = names.rbegin(); name != names.rend(); ++name)
        if (joins || *name != before)
            addSource(menu, *name, sourceText(*name));
    menu->popup(m_button->mapToGlobal(QPoint(0, m_button->height())));
    if (!menu->actions().empty())
        menu->setActiveAction(menu->actions().front());
    return menu;
}

void InputsField::addSource(QMenu* menu, const std::string& source, const QString& text) {
    const std::vector<std::string> now = app::sourcesOf(m_document.experiment().model, m_layer);
    const std::vector<std::string> names = offered();
    const auto place =
        static_cast<std::size_t>(std::find(names.begin(), names.end(), source) - names.begin());
    const auto& shapes =
        app::hintsOf(m_document.experiment(), m_document.analysis(), nullptr).shapes;
    const bool known = place < shapes.size() && !shapes[place].empty();
    QAction* action = menu->addAction(known ? text + u'\t' + app::shapeText(shapes[place]) : text);
    action->setCheckable(true);
    action->setChecked(std::find(now.begin(), now.end(), source) != now.end());
    connect(action, &QAction::triggered, this,
            [this, source](bool taken) { choose(source, taken); });
}

void InputsField::choose(const std::string& source, bool taken) {
    const spec::ModelSpec& model = m_document.experiment().model;
    if (!isThere())
        return;
    if (!app::joinsBranches(model.layers[static_cast<std::size_t>(m_layer)].type))
        return set({source});
    std::vector<std::string> sources = app::sourcesOf(model, m_layer);
    std::erase(sources, source);
    if (taken)
        sources.push_back(source);
    if (!sources.empty())
        set(sources);
    else
        refresh();
}

void InputsField::set(const std::vector<std::string>& sources) {
    std::string text;
    for (const std::string& source : sources)
        text += (text.empty() ? "" : ", ") + source;
    m_document.finishStep();
    m_document.setValue(app::layerPath(m_layer, "from"), spec::Value(text));
    m_document.finishStep();
}

void InputsField::refresh() {
    if (!isThere())
        return;
    const spec::ModelSpec& model = m_document.experiment().model;
    const bool implied = model.layers[static_cast<std::size_t>(m_layer)].from.empty();
    QStringList names;
    for (const std::string& source : app::sourcesOf(model, m_layer))
        names << sourceText(source);
    m_text = implied && m_layer > 0 ? tr("the layer before") : names.join(u", ");
    m_button->setAccessibleName(tr("Inputs: %1").arg(names.join(u", ")));
    m_button->setToolTip(names.join(u", "));
    showText();
    QString sentence;
    for (const Error& problem : m_document.problems())
        if (problem.where == app::layerPath(m_layer, "from") && sentence.isEmpty())
            sentence = app::sentenceText(problem);
    m_message->setMessage(sentence);
}

void InputsField::showText() {
    const int room = m_button->width() - m_theme.px(34);
    m_button->setText(
        m_button->fontMetrics().elidedText(m_text, Qt::ElideRight, std::max(room, 20)));
}

QString InputsField::problem() const {
    return m_message->text();
}

void InputsField::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    showText();
}

} // namespace trainyard::ui

#include "moc_inputs_field.cpp"
