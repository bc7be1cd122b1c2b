// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/layer_inspector.h"

#include "app/models/experiment_fields.h"
#include "app/models/message_text.h"
#include "engine/spec/catalogue.h"
#include "ui/compose/cure_row.h"
#include "ui/compose/figure_text.h"
#include "ui/compose/form_field.h"
#include "ui/compose/form_group.h"
#include "ui/compose/input_shape_form.h"
#include "ui/compose/inputs_field.h"
#include "ui/theme/theme.h"
#include "ui/widgets/button.h"
#include "ui/widgets/format.h"
#include "ui/widgets/number_field.h"
#include "ui/widgets/number_label.h"
#include "ui/widgets/separator.h"
#include "ui/widgets/text_label.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>

namespace trainyard::ui {

using Model = app::LayerListModel;

namespace {

constexpr int kInspectorLabelWidth = 92;

/// One part of the inspector: its own margins, a line below.
QVBoxLayout* addPart(const Theme& theme, QVBoxLayout* column, bool line = true) {
    auto* part = new QVBoxLayout;
    const int side = theme.px(space::kL);
    part->setContentsMargins(side, theme.px(space::kM), side, theme.px(space::kM));
    part->setSpacing(theme.px(space::kS));
    column->addLayout(part);
    if (line)
        column->addWidget(new Separator(theme, Qt::Horizontal));
    return part;
}

/// The icon of a node, in the colour of text.
class NodeIcon : public QWidget {
public:
    NodeIcon(const Theme& theme, QString name) : m_theme(theme), m_name(std::move(name)) {
        setFixedSize(theme.px(icon_size::kRail), theme.px(icon_size::kRail));
        followTheme(this, theme);
    }

protected:
    void paintEvent(QPaintEvent*) override {
        QPainter(this).drawPixmap(
            0, 0, m_theme.pixmap(m_name, m_theme.color(Color::Text), width(), devicePixelRatioF()));
    }

private:
    const Theme& m_theme;
    QString m_name;
};

QString shareText(double part, double whole) {
    if (whole <= 0)
        return notAvailable();
    return withUnit(formatFixed(100 * part / whole, 1), QStringLiteral("%"));
}

} // namespace

LayerInspector::LayerInspector(const Theme& theme, app::ExperimentDocument& document,
                               app::LayerListModel& layers, QWidget* parent)
    : ScrollPanel(parent), m_theme(theme), m_document(document), m_layers(layers) {
    setAccessibleName(tr("Inspector"));
    connect(&m_layers, &QAbstractItemModel::dataChanged, this, &LayerInspector::refresh);
    connect(&m_layers, &QAbstractItemModel::rowsRemoved, this, &LayerInspector::refresh);
    showRow(0);
}

QVariant LayerInspector::word(int role) const {
    return m_layers.index(m_subject.row).data(role);
}

LayerInspector::Subject LayerInspector::subjectOf(int row) const {
    const spec::ModelSpec& model = m_document.experiment().model;
    Subject subject{.row = row, .node = m_layers.nodeAt(row), .type = {}, .offered = {}};
    const int layer = m_layers.layerAt(row);
    if (subject.node == Model::Node::Input)
        subject.rank = model.inputShape.size();
    if (layer < 0 || layer >= static_cast<int>(model.layers.size()))
        return subject;
    subject.type = m_layers.index(row).data(Model::TypeRole).toString();
    for (const app::EditorField& field : app::layerFields(m_document.experiment(), layer))
        if (field.choicesAreNames)
            subject.offered = field.info.choices;
    return subject;
}

void LayerInspector::showRow(int row) {
    if (row < 0 || row >= m_layers.rowCount() || subjectOf(row) == m_subject)
        return;
    m_document.finishStep();
    m_subject = subjectOf(row);
    rebuild();
}

void LayerInspector::refresh() {
    if (m_subject.row >= m_layers.rowCount())
        return showRow(m_layers.lossRow());
    if (subjectOf(m_subject.row) != m_subject)
        return showRow(m_subject.row);
    for (const auto& refresher : m_refreshers)
        refresher();
}

void LayerInspector::rebuild() {
    m_refreshers.clear();
    m_values.clear();
    m_name = nullptr;
    m_inputs = nullptr;
    auto* content = new QWidget;
    auto* column = new QVBoxLayout(content);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    addHeader(column);
    addShapes(column);
    addValues(column);
    addCosts(column);
    addHelp(column);
    column->addStretch(1);
    setContent(content);
    for (const auto& refresher : m_refreshers)
        refresher();
}

void LayerInspector::addHeader(QVBoxLayout* column) {
    auto* row = new QHBoxLayout;
    row->setSpacing(m_theme.px(space::kM));
    row->addWidget(new NodeIcon(m_theme, word(Model::IconRole).toString()));
    auto* names = new QVBoxLayout;
    names->setSpacing(0);
    auto* label = new TextLabel(m_theme, TypeStyle::Strong, Color::Text);
    m_refreshers.push_back([this, label] { label->setText(word(Model::LabelRole).toString()); });
    auto* id = new TextLabel(m_theme, TypeStyle::Small, Color::Text3);
    names->addWidget(label);
    names->addWidget(id);
    row->addLayout(names, 1);
    const auto place = [this] {
        switch (m_subject.node) {
        case Model::Node::Input:
            return tr("what the model takes");
        case Model::Node::Loss:
            return tr("what is made small");
        case Model::Node::Layer:
            break;
        }
        return word(Model::IdRole).toString();
    };
    m_refreshers.push_back([id, place] { id->setText(place()); });
    if (m_subject.node == Model::Node::Layer) {
        QPushButton* copy =
            makeButton(m_theme, ButtonKind::Icon, tr("Duplicate (Ctrl+D)"), QStringLiteral("copy"));
        QPushButton* remove =
            makeButton(m_theme, ButtonKind::Icon, tr("Delete (Del)"), QStringLiteral("trash"));
        connect(copy, &QPushButton::clicked, this, &LayerInspector::duplicateRequested);
        connect(remove, &QPushButton::clicked, this, &LayerInspector::removeRequested);
        row->addWidget(copy);
        row->addWidget(remove);
    }
    addPart(m_theme, column)->addLayout(row);
}

void LayerInspector::addShapes(QVBoxLayout* column) {
    if (m_subject.node == Model::Node::Input)
        return;
    auto* row = new QHBoxLayout;
    row->setSpacing(m_theme.px(space::kS));
    const auto addShape = [&](const QString& caption, int role) {
        auto* shape = new QVBoxLayout;
        shape->setSpacing(0);
        auto* title = new TextLabel(m_theme, TypeStyle::Small, Color::Text3);
        title->setText(caption);
        auto* value = new NumberLabel(m_theme, TypeStyle::Body);
        shape->addWidget(title);
        shape->addWidget(value);
        row->addLayout(shape, 1);
        m_refreshers.push_back([this, value, role] {
            value->setNumber(word(role).toString());
            value->setAccessibleName(word(role).toString());
        });
    };
    addShape(tr("In"), Model::InputShapeRole);
    if (m_subject.node == Model::Node::Layer)
        addShape(tr("Out"), Model::OutputShapeRole);
    addPart(m_theme, column)->addLayout(row);
}

void LayerInspector::addValues(QVBoxLayout* column) {
    QVBoxLayout* part = addPart(m_theme, column);
    if (m_subject.node == Model::Node::Input) {
        auto* shape = new InputShapeForm(m_theme, m_document, m_theme.px(kInspectorLabelWidth));
        part->addWidget(shape);
        m_values.push_back(shape->firstInput());
        return;
    }
    if (m_subject.node == Model::Node::Loss) {
        auto* loss = new TypedGroup(m_theme, m_document, {}, spec::Kind::Loss, "model.loss.type",
                                    app::lossFields, m_theme.px(kInspectorLabelWidth));
        part->addWidget(loss);
        m_values.push_back(loss->typeField()->input());
    } else {
        addName(part);
        const int layer = m_layers.layerAt(m_subject.row);
        m_inputs = new InputsField(m_theme, m_document, layer, m_theme.px(kInspectorLabelWidth));
        part->addWidget(m_inputs);
        for (const app::EditorField& field : app::layerFields(m_document.experiment(), layer)) {
            auto* row = new FormField(m_theme, m_document, field, m_theme.px(kInspectorLabelWidth));
            part->addWidget(row);
            m_values.push_back(row->input());
        }
    }
    addProblem(part);
}

/// What is wrong with the node itself; values have theirs below them.
void LayerInspector::addProblem(QVBoxLayout* column) {
    auto* message = new FieldMessage(m_theme);
    column->addWidget(message);
    const std::string path = m_layers.pathOf(m_subject.row);
    column->addWidget(new CureRow(m_theme, m_document, path));
    m_refreshers.push_back([this, message, path] {
        QString sentence;
        for (const Error& problem : m_document.problems())
            if (problem.where == path)
                sentence = app::sentenceText(problem);
        message->setMessage(sentence);
    });
}

void LayerInspector::addName(QVBoxLayout* column) {
    auto* row = new QHBoxLayout;
    row->setSpacing(m_theme.px(space::kS));
    auto* label = new QLabel(tr("Name"));
    label->setProperty("tone", QStringLiteral("text2"));
    label->setFixedWidth(m_theme.px(kInspectorLabelWidth));
    m_name = new QLineEdit;
    m_name->setAccessibleName(tr("Name"));
    m_name->setMaxLength(64);
    label->setBuddy(m_name);
    shareUndo(m_name);
    row->addWidget(label);
    row->addWidget(m_name, 1);
    column->addLayout(row);
    connect(m_name, &QLineEdit::editingFinished, this, [this] {
        m_layers.renameLayer(m_subject.row, m_name->text());
        m_name->setText(word(Model::IdRole).toString()); // a taken name gets a number
    });
    m_refreshers.push_back([this] {
        if (!m_name->hasFocus() || !m_name->isModified())
            m_name->setText(word(Model::IdRole).toString());
    });
    const auto message = new FieldMessage(m_theme);
    column->addWidget(message);
    m_refreshers.push_back([this, message] {
        const std::string path = m_layers.pathOf(m_subject.row) + ".id";
        QString sentence;
        for (const Error& problem : m_document.problems())
            if (problem.where == path)
                sentence = app::sentenceText(problem);
        message->setMessage(sentence);
    });
}

void LayerInspector::addCosts(QVBoxLayout* column) {
    if (m_subject.node != Model::Node::Layer)
        return;
    QVBoxLayout* part = addPart(m_theme, column);
    part->setSpacing(m_theme.px(space::kXs));
    part->addWidget(makeHeading(m_theme, tr("Cost of this layer")));
    const auto addCost = [&](const QString& name, auto text) {
        auto* row = new QHBoxLayout;
        auto* label = new TextLabel(m_theme, TypeStyle::Body, Color::Text2);
        label->setText(name);
        auto* value = new NumberLabel(m_theme, TypeStyle::Body);
        value->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
        row->addWidget(label, 1);
        row->addWidget(value);
        part->addLayout(row);
        m_refreshers.push_back([value, text, name] {
            value->setNumber(text());
            value->setAccessibleName(name + u": " + text());
        });
    };
    const auto shapes = [this]() -> const graph::LayerShapes* {
        const auto layer = static_cast<std::size_t>(m_layers.layerAt(m_subject.row));
        const auto& all = m_document.analysis().layers;
        return layer < all.size() && !all[layer].output.empty() ? &all[layer] : nullptr;
    };
    addCost(tr("Parameters"),
            [shapes] { return shapes() ? formatCount(shapes()->parameters) : QString(); });
    addCost(tr("Forward, one sample"),
            [shapes] { return shapes() ? formatFlops(shapes()->flops) : QString(); });
    addCost(tr("Output, one sample"), [this, shapes] {
        if (!shapes())
            return QString();
        const std::size_t element = bytesOf(plan::valueType(m_document.experiment().precision));
        return formatBytes(static_cast<double>(elementCount(shapes()->output)) *
                           static_cast<double>(element));
    });
    addCost(tr("Share of the work"), [this, shapes] {
        double all = 0;
        for (const graph::LayerShapes& each : m_document.analysis().layers)
            all += each.flops;
        return shapes() ? shareText(shapes()->flops, all) : QString();
    });
}

void LayerInspector::addHelp(QVBoxLayout* column) {
    auto* text = makeParagraph(m_theme, TypeStyle::Small, QStringLiteral("text2"));
    text->setTextFormat(Qt::RichText);
    addPart(m_theme, column, false)->addWidget(text);
    m_refreshers.push_back([this, text] {
        const spec::Kind kind =
            m_subject.node == Model::Node::Loss ? spec::Kind::Loss : spec::Kind::Layer;
        const spec::TypeInfo* type =
            spec::findType(kind, word(Model::TypeRole).toString().toStdString());
        const QString title = type ? tr("What it does.") : tr("What it is.");
        const QString help = type ? app::catalogueText(type->help)
                                  : tr("The shape of one sample of the data. Every shape below "
                                       "follows from it.");
        text->setText(
            QStringLiteral("<b>%1</b> %2").arg(title.toHtmlEscaped(), help.toHtmlEscaped()));
    });
}

void LayerInspector::focusFirstValue() {
    QWidget* target = !m_values.empty() ? m_values.front() : m_name;
    if (target)
        target->setFocus(Qt::TabFocusReason);
}

} // namespace trainyard::ui

#include "moc_layer_inspector.cpp"
