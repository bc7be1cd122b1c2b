// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/input_shape_form.h"

#include "app/models/message_text.h"
#include "ui/compose/form_field.h"
#include "ui/theme/theme.h"
#include "ui/widgets/button.h"
#include "ui/widgets/number_field.h"
#include "ui/widgets/segmented_control.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

namespace trainyard::ui {

namespace {

const std::string kPath = "model.input.shape";
constexpr double kMaxExtent = 1 << 20;
/// What a vector becomes when it is made a picture or a sequence.
const trainyard::Shape kUsualPicture = {1, 28, 28};
const trainyard::Shape kUsualSequence = {128, 64};

enum Kind { Picture, Vector, Sequence };

Kind inputKindOf(const trainyard::Shape& shape) {
    return shape.size() == 3 ? Picture : shape.size() == 2 ? Sequence : Vector;
}

} // namespace

InputShapeForm::InputShapeForm(const Theme& theme, app::ExperimentDocument& document,
                               int labelWidth, QWidget* parent)
    : QWidget(parent), m_theme(theme), m_document(document) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(theme.px(space::kS));
    addKind();
    for (const QString& name : extentNames())
        addExtent(name, labelWidth);
    addCure();
    connect(&document, &app::ExperimentDocument::changed, this, &InputShapeForm::refresh);
    connect(&document, &app::ExperimentDocument::problemsChanged, this, &InputShapeForm::refresh);
    refresh();
}

QStringList InputShapeForm::extentNames() const {
    const spec::ModelSpec& model = m_document.experiment().model;
    switch (inputKindOf(model.inputShape)) {
    case Picture:
        return {tr("Channels"), tr("Height"), tr("Width")};
    case Sequence:
        return {tr("Positions"), tr("Features")};
    case Vector:
        break;
    }
    const bool tokens = !model.layers.empty() && model.layers.front().type == "embedding";
    return {tokens ? tr("Positions") : tr("Features")};
}

QWidget* InputShapeForm::firstInput() const {
    return m_extents.front();
}

void InputShapeForm::addKind() {
    auto* kind = new SegmentedControl(m_theme, tr("Kind of input"), this);
    kind->addSegment(tr("Picture"));
    kind->addSegment(tr("Vector"));
    kind->addSegment(tr("Sequence"));
    kind->setCurrent(inputKindOf(m_document.experiment().model.inputShape));
    static_cast<QVBoxLayout*>(layout())->addWidget(kind, 0, Qt::AlignLeft);
    connect(kind, &SegmentedControl::chosen, this, [this](int index) {
        const trainyard::Shape vector = {elementCount(m_document.experiment().model.inputShape)};
        m_document.finishStep();
        m_document.setValue(kPath, spec::Value(index == Picture    ? kUsualPicture
                                               : index == Sequence ? kUsualSequence
                                                                   : vector));
    });
}

void InputShapeForm::addExtent(const QString& name, int labelWidth) {
    auto* row = new QHBoxLayout;
    row->setSpacing(m_theme.px(space::kS));
    auto* label = new QLabel(name, this);
    label->setProperty("tone", QStringLiteral("text2"));
    label->setFixedWidth(labelWidth);
    auto* number = new NumberField(m_theme, NumberField::Kind::Whole, name, this);
    number->setRange(1, kMaxExtent);
    label->setBuddy(number);
    shareUndo(number);
    auto* message = new FieldMessage(m_theme, this);
    message->follow(number);
    row->addWidget(label);
    row->addWidget(number, 1);
    auto* column = static_cast<QVBoxLayout*>(layout());
    column->addLayout(row);
    column->addWidget(message);
    connect(number, &NumberField::valueChanged, this, &InputShapeForm::setShape);
    connect(number, &QAbstractSpinBox::editingFinished, &m_document,
            &app::ExperimentDocument::finishStep);
    m_extents.push_back(number);
}

void InputShapeForm::addCure() {
    m_message = new FieldMessage(m_theme, this);
    m_cure = makeButton(m_theme, ButtonKind::Normal, {}, {}, this);
    setCompact(m_cure);
    auto* column = static_cast<QVBoxLayout*>(layout());
    column->addWidget(m_message);
    column->addWidget(m_cure, 0, Qt::AlignLeft);
    connect(m_cure, &QPushButton::clicked, this, [this] {
        const Error* now = problem();
        if (now && !m_document.cures(*now).empty())
            m_document.apply(m_document.cures(*now).front());
    });
}

const Error* InputShapeForm::problem() const {
    for (const Error& each : m_document.problems())
        if (each.where == kPath)
            return &each;
    return nullptr;
}

void InputShapeForm::setShape() {
    trainyard::Shape shape;
    for (const NumberField* number : m_extents)
        if (number->value())
            shape.push_back(static_cast<std::int64_t>(*number->value()));
    if (shape.size() == m_extents.size())
        m_document.setValue(kPath, spec::Value(shape));
}

void InputShapeForm::refresh() {
    const trainyard::Shape& shape = m_document.experiment().model.inputShape;
    if (shape.size() != m_extents.size())
        return; // about to be replaced
    for (std::size_t i = 0; i < shape.size(); ++i)
        if (m_extents[i]->value() != static_cast<double>(shape[i]))
            m_extents[i]->setValue(static_cast<double>(shape[i]));
    const Error* now = problem();
    const std::vector<app::Cure> cures = now ? m_document.cures(*now) : std::vector<app::Cure>();
    m_message->setMessage(now ? app::whatText(*now) : QString());
    m_cure->setVisible(!cures.empty());
    if (!cures.empty())
        m_cure->setText(cures.front().label);
}

} // namespace trainyard::ui

#include "moc_input_shape_form.cpp"
