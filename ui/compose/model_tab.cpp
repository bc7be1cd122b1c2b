// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/model_tab.h"

#include "ui/compose/form_field.h"
#include "ui/compose/inputs_field.h"
#include "ui/compose/layer_inspector.h"
#include "ui/compose/layer_palette.h"
#include "ui/compose/layer_view.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QFrame>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QPushButton>
#include <QResizeEvent>
#include <QSplitter>
#include <QVBoxLayout>

namespace trainyard::ui {

namespace {

constexpr int kPaletteWidth = 208;
constexpr int kInspectorWidth = 284;
constexpr int kPanelLeast = 200;
constexpr int kPanelMost = 480;
/// Below this width of the tab the palette shows icons only.
constexpr int kNarrow = 1024;

/// Closes the list when a layer was chosen or Esc pressed; Qt closes it on a click elsewhere.
class AddList : public QFrame {
public:
    AddList(const Theme& theme, QWidget* parent) : QFrame(parent, Qt::Popup) {
        setAttribute(Qt::WA_DeleteOnClose);
        setProperty("region", QStringLiteral("readout"));
        auto* layout = new QVBoxLayout(this);
        layout->setContentsMargins(1, 1, 1, 1);
        palette = new LayerPalette(theme, this);
        layout->addWidget(palette);
        setFixedSize(theme.px(228), theme.px(300));
        setFocusProxy(palette->search());
    }
    LayerPalette* palette;
};

} // namespace

ModelTab::ModelTab(const Theme& theme, app::ExperimentDocument& document,
                   app::LayerListModel& layers, QWidget* parent)
    : QWidget(parent), m_theme(theme), m_palette(new LayerPalette(theme, this)),
      m_view(new LayerView(theme, document, layers, this)),
      m_inspector(new LayerInspector(theme, document, layers, this)),
      m_splitter(new QSplitter(Qt::Horizontal, this)) {
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_splitter);
    auto* panel = new QFrame(this);
    panel->setProperty("region", QStringLiteral("surface"));
    panel->setMinimumWidth(theme.px(kPanelLeast));
    panel->setMaximumWidth(theme.px(kPanelMost));
    auto* inside = new QVBoxLayout(panel);
    inside->setContentsMargins(0, 0, 0, 0);
    inside->addWidget(m_inspector);
    m_splitter->setHandleWidth(1);
    m_splitter->setChildrenCollapsible(false);
    m_splitter->addWidget(m_palette);
    m_splitter->addWidget(m_view);
    m_splitter->addWidget(panel);
    m_splitter->setStretchFactor(1, 1);
    m_splitter->setSizes({theme.px(kPaletteWidth), theme.px(800), theme.px(kInspectorWidth)});
    connectParts();
    m_view->choose(std::min(1, layers.rowCount() - 1));
}

void ModelTab::connectParts() {
    connect(m_palette, &LayerPalette::typeChosen, m_view, &LayerView::addLayer);
    connect(m_view, &LayerView::rowChosen, m_inspector, &LayerInspector::showRow);
    connect(m_view, &LayerView::editRequested, m_inspector, &LayerInspector::focusFirstValue);
    connect(m_view, &LayerView::addRequested, this, &ModelTab::showAddList);
    connect(m_inspector, &LayerInspector::duplicateRequested, m_view, &LayerView::duplicateChosen);
    connect(m_inspector, &LayerInspector::removeRequested, m_view, &LayerView::removeChosen);
}

void ModelTab::showAddList() {
    auto* list = new AddList(m_theme, this);
    connect(list->palette, &LayerPalette::typeChosen, this, [this, list](const QString& type) {
        list->close();
        m_view->addLayer(type);
        m_view->setFocus(Qt::PopupFocusReason);
    });
    list->move(m_view->mapToGlobal(m_view->addPosition()));
    list->show();
    list->palette->search()->setFocus(Qt::PopupFocusReason);
}

void ModelTab::visit(int node, const std::string& path) {
    m_view->choose(node);
    if (FormField* field = findField(m_inspector, path))
        field->focusInput();
    else if (path.ends_with(".from") && m_inspector->inputsField())
        m_inspector->inputsField()->button()->setFocus(Qt::TabFocusReason);
    else if (FormField* loss = findField(m_inspector, "model.loss.type");
             loss && path.starts_with("model.loss"))
        loss->focusInput();
    else if (path.ends_with(".id") && m_inspector->nameField())
        m_inspector->nameField()->setFocus(Qt::TabFocusReason);
    else
        m_view->setFocus(Qt::TabFocusReason);
}

void ModelTab::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    const bool narrow = event->size().width() < m_theme.px(kNarrow);
    if (narrow == m_palette->isIconsOnly())
        return;
    m_palette->setIconsOnly(narrow);
    const int palette = narrow ? m_palette->maximumWidth() : m_theme.px(kPaletteWidth);
    const int inspector = m_theme.px(kInspectorWidth);
    m_splitter->setSizes({palette, width() - palette - inspector, inspector});
}

} // namespace trainyard::ui

#include "moc_model_tab.cpp"
