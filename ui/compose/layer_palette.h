// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The layers of the catalogue to choose from, by group, with a search. Click, Enter or drag. In
// narrow windows only the icons are shown.
#pragma once

#include <QFrame>
#include <QListView>
#include <QStandardItemModel>

class QLineEdit;

namespace trainyard::ui {

class Theme;

/// The types as rows, groups as headings between them.
class LayerTypeModel : public QStandardItemModel {
    Q_OBJECT
public:
    enum Role { TypeRole = Qt::UserRole, IconRole };

    explicit LayerTypeModel(QObject* parent = nullptr);
    /// Shows types whose name, label or group contains the text.
    void setFilter(const QString& text);
    QStringList mimeTypes() const override;
    QMimeData* mimeData(const QModelIndexList& indexes) const override;
};

class LayerPalette : public QFrame {
    Q_OBJECT
public:
    explicit LayerPalette(const Theme& theme, QWidget* parent = nullptr);

    /// Only icons, 44 wide.
    void setIconsOnly(bool iconsOnly);
    bool isIconsOnly() const { return m_iconsOnly; }
    QLineEdit* search() const { return m_search; }
    QListView* list() const { return m_list; }

signals:
    /// The user wants a layer of this type.
    void typeChosen(const QString& type);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void filter(const QString& text);
    void choose(const QModelIndex& index);
    bool handleSearchKey(int key);

    const Theme& m_theme;
    LayerTypeModel* m_types;
    QLineEdit* m_search;
    QListView* m_list;
    bool m_iconsOnly = false;
};

} // namespace trainyard::ui
