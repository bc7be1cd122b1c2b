// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// An input for one number. What is typed stays as typed; only valid values are told, so the model
// keeps the last good one. Accepts decimal point and comma in every locale (number_text.h).
// Keys: up and down one step, Page up and down ten, Ctrl+up doubles, Ctrl+down halves. The wheel
// counts only while the field has the focus.
#pragma once

#include "ui/theme/tokens.h"

#include <QAbstractSpinBox>
#include <QLabel>

#include <optional>

namespace trainyard::ui {

class Theme;

class NumberField : public QAbstractSpinBox {
    Q_OBJECT
    // Screen readers ask for these by name.
    Q_PROPERTY(QVariant value READ valueForReaders)
    Q_PROPERTY(double minimum READ minimum)
    Q_PROPERTY(double maximum READ maximum)
public:
    enum class Kind { Whole, Real };

    /// name: what the number is, for screen readers.
    NumberField(const Theme& theme, Kind kind, const QString& name, QWidget* parent = nullptr);

    /// Both ends belong to the range unless excluded; infinities leave an end open.
    void setRange(double minimum, double maximum, bool excludeMinimum = false);
    double minimum() const { return m_minimum; }
    double maximum() const { return m_maximum; }
    /// 0, the default of Real: a tenth of the value's power of ten.
    void setStep(double step) { m_step = step; }
    /// Allows no number at all, shown as this word ("auto", "none").
    void setOptional(const QString& emptyWord);
    /// Shown inside at the right.
    void setUnit(const QString& unit);

    /// The last good value; none only where setOptional() allows it.
    std::optional<double> value() const { return m_value; }
    /// Shows the value and clears any problem. Emits nothing.
    void setValue(std::optional<double> value);

    /// Why the typed text is refused; empty while it is good.
    QString problem() const { return m_problem; }
    /// "Write a whole number from 1 to 999."
    QString rangeSentence() const;

    void stepBy(int steps) override;

signals:
    /// The user gave another valid value.
    void valueChanged(std::optional<double> value);
    void problemChanged(const QString& problem);

protected:
    StepEnabled stepEnabled() const override;
    QValidator::State validate(QString& input, int& position) const override;
    void keyPressEvent(QKeyEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    QVariant valueForReaders() const;
    void readText(const QString& text);
    void finishEditing();
    QString checkRange(double value) const;
    void setProblem(const QString& problem);
    /// Takes a value that is in range and tells about it if it differs.
    void take(std::optional<double> value);
    void takeStepped(double value);
    void placeUnit();

    const Theme& m_theme;
    Kind m_kind;
    double m_minimum;
    double m_maximum;
    bool m_excludeMinimum = false;
    double m_step = 0;
    bool m_optional = false;
    std::optional<double> m_value;
    QString m_problem;
    QLabel* m_unit = nullptr;
};

/// The sentence under a field, in the colour of failure; takes no room while there is none.
class FieldMessage : public QLabel {
    Q_OBJECT
public:
    FieldMessage(const Theme& theme, QWidget* parent = nullptr);
    /// Shows the problems of this field from now on.
    void follow(NumberField* field);
    void setMessage(const QString& message);
};

} // namespace trainyard::ui
