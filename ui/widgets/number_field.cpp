// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Built on QAbstractSpinBox for its buttons and its place among the accessible widgets; the base
// class keeps no value of its own here, so nothing that is typed is ever corrected behind the
// person's back.
#include "ui/widgets/number_field.h"

#include "ui/theme/theme.h"
#include "ui/widgets/number_text.h"

#include <QKeyEvent>
#include <QLineEdit>
#include <QStyle>
#include <QStyleOptionSpinBox>
#include <QTimer>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>
#include <limits>

namespace trainyard::ui {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Drops the digits that only binary arithmetic has added: 0.0011000000000000001 becomes 0.0011.
double withoutNoise(double value) {
    return QString::number(value, 'g', 12).toDouble();
}

/// A tenth of the value's power of ten. Downwards from a power itself the next smaller one counts:
/// 0.001 is followed by 0.00099, not by 0.0009 and then by 0.
double adaptiveStep(double from, bool down) {
    const double magnitude = std::abs(from);
    if (magnitude == 0)
        return 0.1;
    double power = std::pow(10, std::floor(std::log10(magnitude) + 1e-9));
    if (down == (from > 0) && withoutNoise(magnitude) == withoutNoise(power))
        power /= 10;
    return power / 10;
}

} // namespace

NumberField::NumberField(const Theme& theme, Kind kind, const QString& name, QWidget* parent)
    : QAbstractSpinBox(parent), m_theme(theme), m_kind(kind),
      m_minimum(kind == Kind::Whole ? 0 : -kInfinity), m_maximum(kInfinity),
      m_step(kind == Kind::Whole ? 1 : 0) {
    setAccessibleName(name);
    setFocusPolicy(Qt::StrongFocus);
    setCorrectionMode(QAbstractSpinBox::CorrectToPreviousValue);
    connect(lineEdit(), &QLineEdit::textEdited, this, &NumberField::readText);
    connect(this, &QAbstractSpinBox::editingFinished, this, &NumberField::finishEditing);
    setValue(0.0);
}

void NumberField::setRange(double minimum, double maximum, bool excludeMinimum) {
    m_minimum = minimum;
    m_maximum = maximum;
    m_excludeMinimum = excludeMinimum;
}

void NumberField::setOptional(const QString& emptyWord) {
    m_optional = true;
    lineEdit()->setPlaceholderText(emptyWord);
}

void NumberField::setUnit(const QString& unit) {
    if (!m_unit) {
        m_unit = new QLabel(this);
        m_unit->setProperty("tone", QStringLiteral("text3"));
        m_unit->setFont(m_theme.font(TypeStyle::Small));
        m_unit->setAttribute(Qt::WA_TransparentForMouseEvents);
    }
    m_unit->setText(unit);
    m_unit->adjustSize();
    lineEdit()->setTextMargins(0, 0, m_unit->width() + m_theme.px(space::kXs), 0);
    setAccessibleDescription(unit);
    placeUnit();
}

void NumberField::setValue(std::optional<double> value) {
    m_value = value;
    lineEdit()->setText(value ? editText(*value, locale()) : QString());
    setProblem({});
}

QVariant NumberField::valueForReaders() const {
    return m_value ? QVariant(*m_value) : QVariant();
}

QString NumberField::rangeSentence() const {
    const bool low = std::isfinite(m_minimum), high = std::isfinite(m_maximum);
    const QString least = editText(m_minimum, locale()), most = editText(m_maximum, locale());
    const bool whole = m_kind == Kind::Whole;
    if (low && high) {
        if (m_excludeMinimum)
            return tr("Write a number above %1 and up to %2.").arg(least, most);
        return (whole ? tr("Write a whole number from %1 to %2.")
                      : tr("Write a number from %1 to %2."))
            .arg(least, most);
    }
    if (low && m_excludeMinimum)
        return tr("Write a number above %1.").arg(least);
    if (low)
        return (whole ? tr("Write a whole number of at least %1.")
                      : tr("Write a number of at least %1."))
            .arg(least);
    if (high)
        return tr("Write a number of at most %1.").arg(most);
    return whole ? tr("Write a whole number.") : tr("Write a number.");
}

QString NumberField::checkRange(double value) const {
    const bool tooSmall = value < m_minimum || (m_excludeMinimum && value == m_minimum);
    if (!tooSmall && value <= m_maximum)
        return {};
    return (tooSmall ? tr("%1 is too small.") : tr("%1 is too large."))
               .arg(editText(value, locale())) +
           u' ' + rangeSentence();
}

void NumberField::readText(const QString& text) {
    if (m_optional && text.trimmed().isEmpty()) {
        setProblem({});
        take(std::nullopt);
        return;
    }
    const ParsedNumber parsed =
        m_kind == Kind::Whole ? parseWhole(text, locale()) : parseReal(text, locale());
    const QString problem = parsed.ok() ? checkRange(parsed.value) : parsed.problem;
    setProblem(problem);
    if (problem.isEmpty())
        take(parsed.value);
}

void NumberField::finishEditing() {
    // Typed text is brought into the usual form only when it was understood.
    if (m_problem.isEmpty() && m_value)
        lineEdit()->setText(editText(*m_value, locale()));
}

void NumberField::setProblem(const QString& problem) {
    if (problem == m_problem)
        return;
    const bool ringChanges = problem.isEmpty() != m_problem.isEmpty();
    m_problem = problem;
    if (ringChanges) {
        setProperty("invalid", !problem.isEmpty());
        style()->unpolish(this);
        style()->polish(this);
    }
    emit problemChanged(problem);
}

void NumberField::take(std::optional<double> value) {
    if (value == m_value)
        return;
    m_value = value;
    emit valueChanged(value);
}

void NumberField::takeStepped(double value) {
    value = std::clamp(m_kind == Kind::Whole ? std::round(value) : withoutNoise(value), m_minimum,
                       m_maximum);
    if (m_excludeMinimum && value <= m_minimum)
        return;
    lineEdit()->setText(editText(value, locale()));
    lineEdit()->selectAll();
    setProblem({});
    take(value);
}

void NumberField::stepBy(int steps) {
    const double from = m_value.value_or(std::isfinite(m_minimum) ? m_minimum : 0);
    const double step = m_step > 0 ? m_step : adaptiveStep(from, steps < 0);
    takeStepped(from + steps * step);
}

QAbstractSpinBox::StepEnabled NumberField::stepEnabled() const {
    if (isReadOnly())
        return StepNone;
    StepEnabled enabled = StepNone;
    if (!m_value || *m_value < m_maximum)
        enabled |= StepUpEnabled;
    if (!m_value || *m_value > m_minimum)
        enabled |= StepDownEnabled;
    return enabled;
}

QValidator::State NumberField::validate(QString&, int&) const {
    // Everything may be typed; readText() tells what is wrong with it.
    return QValidator::Acceptable;
}

void NumberField::keyPressEvent(QKeyEvent* event) {
    const int key = event->key();
    const bool vertical = key == Qt::Key_Up || key == Qt::Key_Down;
    const bool page = key == Qt::Key_PageUp || key == Qt::Key_PageDown;
    if ((!vertical && !page) || isReadOnly()) {
        QAbstractSpinBox::keyPressEvent(event);
        return;
    }
    const int direction = key == Qt::Key_Up || key == Qt::Key_PageUp ? 1 : -1;
    if (vertical && event->modifiers().testFlag(Qt::ControlModifier)) {
        if (m_value)
            takeStepped(direction > 0 ? *m_value * 2 : *m_value / 2);
    } else {
        stepBy(direction * (page ? 10 : 1));
    }
    event->accept();
}

void NumberField::wheelEvent(QWheelEvent* event) {
    // Unfocused, the wheel belongs to the page that scrolls.
    if (!hasFocus() || event->angleDelta().y() == 0) {
        event->ignore();
        return;
    }
    stepBy(event->angleDelta().y() > 0 ? 1 : -1);
    event->accept();
}

void NumberField::focusInEvent(QFocusEvent* event) {
    QAbstractSpinBox::focusInEvent(event);
    // After the press that gave the focus has placed its cursor.
    QTimer::singleShot(0, this, [this] {
        if (hasFocus() && !lineEdit()->hasSelectedText())
            selectAll();
    });
}

void NumberField::resizeEvent(QResizeEvent* event) {
    QAbstractSpinBox::resizeEvent(event);
    placeUnit();
}

void NumberField::placeUnit() {
    if (!m_unit)
        return;
    const QRect edit = lineEdit()->geometry();
    m_unit->move(edit.right() - m_unit->width() + 1, edit.center().y() - m_unit->height() / 2 + 1);
    m_unit->raise();
}

FieldMessage::FieldMessage(const Theme& theme, QWidget* parent) : QLabel(parent) {
    setProperty("tone", QStringLiteral("failed"));
    setFont(theme.font(TypeStyle::Small));
    setWordWrap(true);
    setTextFormat(Qt::PlainText);
    hide();
}

void FieldMessage::follow(NumberField* field) {
    connect(field, &NumberField::problemChanged, this, &FieldMessage::setMessage);
    setMessage(field->problem());
}

void FieldMessage::setMessage(const QString& message) {
    setText(message);
    setVisible(!message.isEmpty());
}

} // namespace trainyard::ui

#include "moc_number_field.cpp"
