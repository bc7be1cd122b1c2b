// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/form_field.h"

#include "app/models/message_text.h"
#include "ui/compose/cure_row.h"
#include "ui/theme/theme.h"
#include "ui/widgets/number_field.h"
#include "ui/widgets/segmented_control.h"
#include "ui/widgets/text_label.h"
#include "ui/widgets/toggle_switch.h"

#include <QAbstractItemView>
#include <QComboBox>
#include <QGridLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QRegularExpression>
#include <QStyle>

#include <cmath>

namespace trainyard::ui {

using spec::FieldKind;
using spec::Value;

namespace {

/// More choices than these are a list that opens.
constexpr std::size_t kMaxSegments = 3;
constexpr int kMaxSegmentLetters = 18;
constexpr int kInputWidth = 168;

std::optional<double> asNumber(const Value& value) {
    if (const auto* whole = std::get_if<std::int64_t>(&value))
        return static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&value))
        return *real;
    return std::nullopt;
}

std::vector<std::int64_t> asPair(const Value& value) {
    if (const auto* both = std::get_if<std::int64_t>(&value))
        return {*both, *both};
    const auto* list = std::get_if<std::vector<std::int64_t>>(&value);
    return list && list->size() == 2 ? *list : std::vector<std::int64_t>{};
}

bool fitsSegments(const app::EditorField& field) {
    int letters = 0;
    for (const std::string& choice : field.info.choices)
        letters += static_cast<int>(app::choiceText(field, choice).size());
    // Types and names may become more: they are a list from the first on.
    return !field.typesOf && !field.choicesAreNames && field.info.choices.size() <= kMaxSegments &&
           letters <= kMaxSegmentLetters;
}

QString listText(const std::vector<std::int64_t>& numbers) {
    QStringList words;
    for (const std::int64_t number : numbers)
        words << QString::number(number);
    return words.join(u", ");
}

/// "64, 8, 8", also with × or spaces between the numbers; nothing where it is anything else.
std::optional<std::vector<std::int64_t>> asList(const QString& text) {
    static const QRegularExpression between(QStringLiteral("[\\s,;x×]+"));
    std::vector<std::int64_t> numbers;
    for (const QString& word : text.split(between, Qt::SkipEmptyParts)) {
        bool whole = false;
        numbers.push_back(word.toLongLong(&whole));
        if (!whole)
            return std::nullopt;
    }
    return numbers.empty() ? std::nullopt : std::optional(numbers);
}

/// A ring in the colour of failure, as the style sheet draws it.
void setInvalid(QWidget* input, bool invalid) {
    if (input->property("invalid").toBool() == invalid)
        return;
    input->setProperty("invalid", invalid);
    input->style()->unpolish(input);
    input->style()->polish(input);
}

/// Takes the room there is, up to a width.
void growUpTo(QHBoxLayout* row, QWidget* input, int most) {
    input->setMaximumWidth(most);
    input->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    row->setStretchFactor(input, 100);
    row->addStretch(1);
}

/// A spin box asks its line itself, past filters on the line: so both are watched.
class UndoFilter : public QObject {
public:
    UndoFilter(QWidget* input, QLineEdit* line) : QObject(input), m_line(line) {
        input->installEventFilter(this);
        line->installEventFilter(this);
    }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override {
        if (event->type() == QEvent::ShortcutOverride) {
            const auto* key = static_cast<QKeyEvent*>(event);
            const bool undo = key->matches(QKeySequence::Undo) && !m_line->isUndoAvailable();
            const bool redo = key->matches(QKeySequence::Redo) && !m_line->isRedoAvailable();
            if (undo || redo) {
                event->ignore();
                return true; // the line does not claim the key
            }
        }
        return QObject::eventFilter(watched, event);
    }

private:
    QLineEdit* m_line;
};

} // namespace

void shareUndo(QWidget* input) {
    auto* line = qobject_cast<QLineEdit*>(input);
    if (!line)
        line = input->findChild<QLineEdit*>();
    if (line)
        new UndoFilter(input, line);
}

FormField* findField(const QWidget* root, std::string_view path) {
    for (FormField* field : root->findChildren<FormField*>())
        if (field->path() == path && field->isVisibleTo(root)) // others are about to go
            return field;
    return nullptr;
}

FormField::FormField(const Theme& theme, app::ExperimentDocument& document,
                     const app::EditorField& field, int labelWidth, QWidget* parent)
    : QWidget(parent), m_theme(theme), m_document(document), m_field(field) {
    build(labelWidth);
    connect(&m_document, &app::ExperimentDocument::changed, this, &FormField::refresh);
    connect(&m_document, &app::ExperimentDocument::problemsChanged, this,
            &FormField::refreshProblem);
    refresh();
    refreshProblem();
}

void FormField::build(int labelWidth) {
    m_layout = new QGridLayout(this);
    m_layout->setContentsMargins(0, 0, 0, 0);
    m_layout->setHorizontalSpacing(m_theme.px(space::kS));
    m_layout->setVerticalSpacing(m_theme.px(space::kXs));
    m_layout->setColumnMinimumWidth(0, labelWidth);
    m_layout->setColumnStretch(1, 1);

    auto* label = new QLabel(app::catalogueText(m_field.info.label), this);
    label->setProperty("tone", QStringLiteral("text2"));
    label->setWordWrap(true);
    label->setFixedWidth(labelWidth);
    label->setToolTip(app::catalogueText(m_field.info.help));
    m_layout->addWidget(label, 0, 0, Qt::AlignLeft | Qt::AlignVCenter);

    auto* row = new QHBoxLayout;
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(m_theme.px(space::kXs));
    buildInput(row);
    m_layout->addLayout(row, 0, 1);
    label->setBuddy(input());

    m_message = new FieldMessage(m_theme, this);
    m_layout->addWidget(m_message, 2, 0, 1, 2);
    m_cures = new CureRow(m_theme, m_document, m_field.path, this);
    m_layout->addWidget(m_cures, 3, 0, 1, 2);
    for (NumberField* number : m_numbers)
        connect(number, &NumberField::problemChanged, this, &FormField::refreshProblem);
}

void FormField::buildInput(QHBoxLayout* row) {
    switch (m_field.info.kind) {
    case FieldKind::Switch:
        return buildSwitch(row);
    case FieldKind::Integer:
    case FieldKind::Real:
        return buildNumber(row);
    case FieldKind::IntegerPair:
        return buildPair(row);
    case FieldKind::IntegerList:
        return buildList(row);
    case FieldKind::Choice:
        return buildChoice(row);
    case FieldKind::Text:
        return buildText(row);
    }
}

void FormField::addInput(QHBoxLayout* row, QWidget* input) {
    input->setToolTip(app::catalogueText(m_field.info.help));
    m_inputs.push_back(input);
    row->addWidget(input);
}

NumberField* FormField::addNumber(QHBoxLayout* row, const QString& name) {
    const bool real = m_field.info.kind == FieldKind::Real;
    auto* number = new NumberField(
        m_theme, real ? NumberField::Kind::Real : NumberField::Kind::Whole, name, this);
    const double maximum =
        m_field.info.openMaximum ? std::nextafter(m_field.info.maximum, 0) : m_field.info.maximum;
    number->setRange(m_field.info.minimum, maximum, m_field.info.openMinimum);
    connect(number, &QAbstractSpinBox::editingFinished, &m_document,
            &app::ExperimentDocument::finishStep);
    shareUndo(number);
    m_numbers.push_back(number);
    addInput(row, number);
    return number;
}

FormField::MaybeValue FormField::numberValue(double number) const {
    return m_field.info.kind == FieldKind::Real ? Value(number)
                                                : Value(static_cast<std::int64_t>(number));
}

void FormField::buildNumber(QHBoxLayout* row) {
    NumberField* number = addNumber(row, app::catalogueText(m_field.info.label));
    growUpTo(row, number, m_theme.px(kInputWidth));
    if (!m_field.emptyWord.empty())
        number->setOptional(app::catalogueText(m_field.emptyWord));
    connect(number, &NumberField::valueChanged, this, [this](std::optional<double> value) {
        set(value ? numberValue(*value) : std::nullopt);
    });
    m_show = [number](const MaybeValue& value) {
        const auto shown = value ? asNumber(*value) : std::nullopt;
        if (shown != number->value())
            number->setValue(shown);
    };
}

void FormField::buildPair(QHBoxLayout* row) {
    const QString label = app::catalogueText(m_field.info.label);
    NumberField* height = addNumber(row, tr("%1, height").arg(label));
    auto* times = new TextLabel(m_theme, TypeStyle::Body, Color::Text3, this);
    times->setText(QStringLiteral("×"));
    times->setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    row->addWidget(times);
    NumberField* width = addNumber(row, tr("%1, width").arg(label));
    for (NumberField* number : {height, width}) {
        number->setMinimumWidth(m_theme.px(56));
        number->setMaximumWidth(m_theme.px(76));
        connect(number, &NumberField::valueChanged, this, [this, height, width] {
            if (!height->value() || !width->value())
                return;
            const auto h = static_cast<std::int64_t>(*height->value());
            const auto w = static_cast<std::int64_t>(*width->value());
            set(h == w ? Value(h) : Value(std::vector<std::int64_t>{h, w}));
        });
    }
    row->addStretch(1);
    m_show = [height, width](const MaybeValue& value) {
        const std::vector<std::int64_t> pair = value ? asPair(*value) : std::vector<std::int64_t>();
        for (std::size_t i = 0; i < 2 && pair.size() == 2; ++i) {
            NumberField* number = i == 0 ? height : width;
            const auto shown = static_cast<double>(pair[i]);
            if (number->value() != shown)
                number->setValue(shown);
        }
    };
}

/// What can be read goes into the document, too large numbers and all: it says what is wrong with
/// them. The rest stays here.
void FormField::buildList(QHBoxLayout* row) {
    auto* line = new QLineEdit(this);
    line->setAccessibleName(app::catalogueText(m_field.info.label));
    line->setPlaceholderText(tr("64, 8, 8"));
    shareUndo(line);
    addInput(row, line);
    growUpTo(row, line, m_theme.px(kInputWidth));
    connect(line, &QLineEdit::textEdited, this, [this](const QString& text) {
        const auto numbers = asList(text);
        m_listProblem = numbers ? QString() : tr("Whole numbers with commas, for example 64, 8, 8");
        if (numbers)
            set(Value(*numbers));
        refreshProblem();
    });
    connect(line, &QLineEdit::editingFinished, &m_document, &app::ExperimentDocument::finishStep);
    m_show = [this, line](const MaybeValue& value) {
        const auto* list = value ? std::get_if<std::vector<std::int64_t>>(&*value) : nullptr;
        const auto* single = value ? std::get_if<std::int64_t>(&*value) : nullptr;
        const std::vector<std::int64_t> now = list     ? *list
                                              : single ? std::vector{*single}
                                                       : std::vector<std::int64_t>();
        if (line->hasFocus() && (!m_listProblem.isEmpty() || asList(line->text()) == now))
            return; // as it was typed
        line->setText(listText(now));
        m_listProblem.clear();
    };
}

void FormField::buildSwitch(QHBoxLayout* row) {
    auto* toggle = new ToggleSwitch(m_theme, app::catalogueText(m_field.info.label), this);
    addInput(row, toggle);
    row->addStretch(1);
    connect(toggle, &QAbstractButton::clicked, this, [this](bool on) {
        m_document.finishStep();
        set(Value(on));
    });
    m_show = [toggle](const MaybeValue& value) {
        const auto* on = value ? std::get_if<bool>(&*value) : nullptr;
        toggle->setChecked(on && *on);
    };
}

void FormField::buildChoice(QHBoxLayout* row) {
    const std::vector<std::string> choices = m_field.info.choices;
    const QString label = app::catalogueText(m_field.info.label);
    const auto choose = [this, choices](int index) {
        m_document.finishStep();
        set(Value(choices[static_cast<std::size_t>(index)]));
    };
    const auto indexOf = [choices](const MaybeValue& value) {
        const auto* text = value ? std::get_if<std::string>(&*value) : nullptr;
        const auto found = text ? std::find(choices.begin(), choices.end(), *text) : choices.end();
        return found == choices.end() ? -1 : static_cast<int>(found - choices.begin());
    };
    if (fitsSegments(m_field)) {
        auto* segments = new SegmentedControl(m_theme, label, this);
        for (const std::string& choice : choices)
            segments->addSegment(app::choiceText(m_field, choice));
        addInput(row, segments);
        row->addStretch(1);
        connect(segments, &SegmentedControl::chosen, this, choose);
        m_show = [segments, indexOf](const MaybeValue& value) {
            segments->setCurrent(indexOf(value));
        };
        return;
    }
    auto* box = new QComboBox(this);
    box->setAccessibleName(label);
    for (const std::string& choice : choices)
        box->addItem(app::choiceText(m_field, choice));
    // The longest choice decides how wide the list is, not the field.
    box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    box->setMinimumContentsLength(6);
    box->view()->setMinimumWidth(box->view()->sizeHintForColumn(0) + m_theme.px(space::kXl));
    addInput(row, box);
    growUpTo(row, box, m_theme.px(kInputWidth));
    connect(box, &QComboBox::activated, this, choose);
    m_show = [box, indexOf](const MaybeValue& value) {
        box->setCurrentIndex(indexOf(value));
    };
}

void FormField::buildText(QHBoxLayout* row) {
    auto* line = new QLineEdit(this);
    line->setAccessibleName(app::catalogueText(m_field.info.label));
    shareUndo(line);
    addInput(row, line);
    growUpTo(row, line, m_theme.px(kInputWidth));
    connect(line, &QLineEdit::editingFinished, this, [this, line] {
        m_document.finishStep();
        const bool none = line->text().isEmpty() && !m_field.emptyWord.empty();
        set(none ? MaybeValue() : MaybeValue(Value(line->text().toStdString())));
        refresh(); // what was refused is not shown
    });
    if (!m_field.emptyWord.empty())
        line->setPlaceholderText(app::catalogueText(m_field.emptyWord));
    m_show = [line](const MaybeValue& value) {
        const auto* text = value ? std::get_if<std::string>(&*value) : nullptr;
        const QString shown = text ? QString::fromStdString(*text) : QString();
        if (line->text() != shown)
            line->setText(shown);
    };
}

void FormField::set(const MaybeValue& value) {
    m_document.setValue(m_field.path, value);
}

void FormField::refresh() {
    m_show(m_document.value(m_field.path));
}

const Error* FormField::documentProblem() const {
    for (const Error& problem : m_document.problems())
        if (problem.where == m_field.path)
            return &problem;
    return nullptr;
}

void FormField::refreshProblem() {
    QString own = m_listProblem;
    for (const NumberField* number : m_numbers)
        if (own.isEmpty())
            own = number->problem();
    const Error* problem = own.isEmpty() ? documentProblem() : nullptr;
    m_message->setMessage(problem ? app::sentenceText(*problem) : own);
    for (std::size_t i = 0; i < m_inputs.size(); ++i) {
        const bool ownRing = !m_listProblem.isEmpty() ||
                             (i < m_numbers.size() && !m_numbers[i]->problem().isEmpty());
        setInvalid(m_inputs[i], problem != nullptr || ownRing);
    }
    // What is wrong with the typed text comes first.
    m_cures->setShown(own.isEmpty());
}

void FormField::setNote(const QString& note) {
    if (!m_note) {
        m_note = makeParagraph(m_theme, TypeStyle::Small, QStringLiteral("text3"), {}, this);
        m_layout->addWidget(m_note, 1, 0, 1, 2);
    }
    m_note->setText(note);
    m_note->setVisible(!note.isEmpty());
}

QString FormField::note() const {
    return m_note ? m_note->text() : QString();
}

QString FormField::problem() const {
    return m_message->text();
}

void FormField::focusInput() {
    QWidget* target = input();
    // A choice of several buttons has one that the keyboard reaches.
    if (target->focusPolicy() == Qt::NoFocus)
        for (QWidget* child : target->findChildren<QWidget*>())
            if (child->focusPolicy() != Qt::NoFocus)
                target = child;
    target->setFocus(Qt::TabFocusReason);
}

} // namespace trainyard::ui

#include "moc_form_field.cpp"
