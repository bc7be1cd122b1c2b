// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The tab Model: palette, the column of layers, inspector.
#pragma once

#include "app/models/layer_list_model.h"

#include <QWidget>

class QFrame;
class QSplitter;

namespace trainyard::ui {

class LayerInspector;
class LayerPalette;
class LayerView;
class Theme;

class ModelTab : public QWidget {
    Q_OBJECT
public:
    ModelTab(const Theme& theme, app::ExperimentDocument& document, app::LayerListModel& layers,
             QWidget* parent = nullptr);

    LayerView* view() const { return m_view; }
    LayerPalette* palettePanel() const { return m_palette; }
    LayerInspector* inspector() const { return m_inspector; }
    /// Chooses the node and puts the keyboard into the value that `path` names.
    void visit(int node, const std::string& path);

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void connectParts();
    void showAddList();

    const Theme& m_theme;
    LayerPalette* m_palette;
    LayerView* m_view;
    LayerInspector* m_inspector;
    QSplitter* m_splitter;
};

} // namespace trainyard::ui
