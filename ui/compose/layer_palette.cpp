// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/layer_palette.h"

#include "app/models/layer_list_model.h"
#include "app/models/message_text.h"
#include "engine/spec/catalogue.h"
#include "ui/theme/theme.h"

#include <QAction>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMimeData>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

#include <algorithm>

namespace trainyard::ui {

namespace {

constexpr int kHeadingHeight = 28;
constexpr int kTypeHeight = 26;
constexpr int kIconsOnlyWidth = 44;
constexpr int kWordsLeast = 160;

bool isHeading(const QModelIndex& index) {
    return !index.data(LayerTypeModel::TypeRole).isValid();
}

class PaletteDelegate : public QStyledItemDelegate {
public:
    PaletteDelegate(const Theme& theme, const LayerPalette* palette, QObject* parent)
        : QStyledItemDelegate(parent), m_theme(theme), m_palette(palette) {}

    QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex& index) const override {
        if (isHeading(index))
            return {0, m_theme.px(m_palette->isIconsOnly() ? space::kS : kHeadingHeight)};
        return {0, m_theme.px(m_palette->isIconsOnly() ? 32 : kTypeHeight)};
    }

    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override {
        painter->save();
        if (isHeading(index))
            paintHeading(*painter, option.rect, index);
        else
            paintType(*painter, option, index);
        painter->restore();
    }

private:
    void paintHeading(QPainter& painter, const QRect& rect, const QModelIndex& index) const {
        if (m_palette->isIconsOnly()) {
            if (index.row() > 0)
                painter.fillRect(QRect(rect.left() + m_theme.px(space::kS), rect.center().y(),
                                       rect.width() - 2 * m_theme.px(space::kS), 1),
                                 m_theme.color(Color::Border));
            return;
        }
        QFont font = m_theme.font(TypeStyle::Caption);
        font.setWeight(QFont::DemiBold);
        painter.setFont(font);
        painter.setPen(m_theme.color(Color::Text2));
        painter.drawText(rect.adjusted(m_theme.px(space::kM), m_theme.px(space::kXs), 0, 0),
                         Qt::AlignVCenter, index.data().toString());
    }

    void paintType(QPainter& painter, const QStyleOptionViewItem& option,
                   const QModelIndex& index) const {
        const QRect row =
            option.rect.adjusted(m_theme.px(space::kXs), 0, -m_theme.px(space::kXs), 0);
        const bool hovered = option.state.testFlag(QStyle::State_MouseOver);
        const bool current = option.state.testFlag(QStyle::State_Selected);
        painter.setRenderHint(QPainter::Antialiasing);
        if (hovered || current) {
            painter.setPen(Qt::NoPen);
            painter.setBrush(m_theme.color(hovered ? Color::Hover : Color::Selected));
            painter.drawRoundedRect(row, radius::kControl, radius::kControl);
        }
        if (current && option.state.testFlag(QStyle::State_HasFocus))
            drawFocusRing(painter, m_theme, row, radius::kControl);
        const int size = m_theme.px(icon_size::kControl);
        const int icon = m_palette->isIconsOnly() ? row.center().x() - size / 2 + 1
                                                  : row.left() + m_theme.px(space::kS);
        const auto draw = [&](const QString& name, int x, Color color) {
            painter.drawPixmap(x, row.center().y() - size / 2 + 1,
                               m_theme.pixmap(name, m_theme.color(color), size,
                                              painter.device()->devicePixelRatioF()));
        };
        draw(index.data(LayerTypeModel::IconRole).toString(), icon, Color::Text2);
        if (m_palette->isIconsOnly())
            return;
        painter.setFont(m_theme.font(TypeStyle::Body));
        painter.setPen(m_theme.color(Color::Text));
        painter.drawText(row.adjusted(icon + size + m_theme.px(space::kXs), 0, 0, 0),
                         Qt::AlignVCenter, index.data().toString());
        if (hovered)
            draw(QStringLiteral("plus"), row.right() - size - m_theme.px(space::kXs), Color::Text2);
    }

    const Theme& m_theme;
    const LayerPalette* m_palette;
};

} // namespace

LayerTypeModel::LayerTypeModel(QObject* parent) : QStandardItemModel(parent) {
    setFilter({});
}

void LayerTypeModel::setFilter(const QString& text) {
    clear();
    std::string group;
    for (const spec::TypeInfo& type : spec::catalogue()) {
        if (type.kind != spec::Kind::Layer)
            continue;
        const QString label = app::catalogueText(type.label);
        const QString category = app::catalogueText(type.category);
        const QString words = label + u' ' + category + u' ' + QString::fromStdString(type.type);
        if (!words.contains(text, Qt::CaseInsensitive))
            continue;
        if (type.category != group) {
            group = type.category;
            auto* heading = new QStandardItem(category);
            heading->setFlags(Qt::NoItemFlags);
            appendRow(heading);
        }
        auto* item = new QStandardItem(label);
        item->setData(QString::fromStdString(type.type), TypeRole);
        item->setData(QString::fromStdString(type.icon), IconRole);
        item->setToolTip(label + u'\n' + app::catalogueText(type.help));
        item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsDragEnabled);
        appendRow(item);
    }
}

QStringList LayerTypeModel::mimeTypes() const {
    return {app::LayerListModel::typeMime()};
}

QMimeData* LayerTypeModel::mimeData(const QModelIndexList& indexes) const {
    auto* data = new QMimeData;
    if (!indexes.isEmpty())
        data->setData(app::LayerListModel::typeMime(),
                      indexes.front().data(TypeRole).toString().toUtf8());
    return data;
}

LayerPalette::LayerPalette(const Theme& theme, QWidget* parent)
    : QFrame(parent), m_theme(theme), m_types(new LayerTypeModel(this)),
      m_search(new QLineEdit(this)), m_list(new QListView(this)) {
    setProperty("region", QStringLiteral("surface"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, theme.px(space::kM), 0, 0);
    layout->setSpacing(theme.px(space::kXs));
    auto* searchRow = new QHBoxLayout;
    searchRow->setContentsMargins(theme.px(space::kM), 0, theme.px(space::kM), 0);
    searchRow->addWidget(m_search);
    layout->addLayout(searchRow);
    layout->addWidget(m_list, 1);

    m_search->setPlaceholderText(tr("Find a layer"));
    m_search->setAccessibleName(tr("Find a layer"));
    m_search->addAction(theme.icon(QStringLiteral("search"), Color::Text3),
                        QLineEdit::LeadingPosition);
    m_search->installEventFilter(this);
    connect(m_search, &QLineEdit::textChanged, this, &LayerPalette::filter);

    m_list->setModel(m_types);
    m_list->setItemDelegate(new PaletteDelegate(theme, this, this));
    m_list->setAccessibleName(tr("Layers to add"));
    m_list->setFrameShape(QFrame::NoFrame);
    m_list->setMouseTracking(true);
    m_list->setEditTriggers(QAbstractItemView::NoEditTriggers);
    m_list->setDragEnabled(true);
    m_list->setDragDropMode(QAbstractItemView::DragOnly);
    m_list->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    m_list->installEventFilter(this);
    connect(m_list, &QListView::clicked, this, &LayerPalette::choose);
    connect(&theme, &Theme::themeChanged, m_list, &QListView::doItemsLayout);
}

void LayerPalette::setIconsOnly(bool iconsOnly) {
    if (iconsOnly == m_iconsOnly)
        return;
    m_iconsOnly = iconsOnly;
    m_search->clear();
    m_search->setVisible(!iconsOnly);
    setMinimumWidth(m_theme.px(iconsOnly ? kIconsOnlyWidth : kWordsLeast));
    setMaximumWidth(iconsOnly ? m_theme.px(kIconsOnlyWidth) : QWIDGETSIZE_MAX);
    m_list->setVerticalScrollBarPolicy(iconsOnly ? Qt::ScrollBarAlwaysOff : Qt::ScrollBarAsNeeded);
    m_list->doItemsLayout();
}

void LayerPalette::filter(const QString& text) {
    m_types->setFilter(text);
    // While searching the first hit is what Enter takes.
    if (text.isEmpty())
        return;
    for (int row = 0; row < m_types->rowCount(); ++row)
        if (const QModelIndex index = m_types->index(row, 0); !isHeading(index)) {
            m_list->setCurrentIndex(index);
            return;
        }
}

void LayerPalette::choose(const QModelIndex& index) {
    if (index.isValid() && !isHeading(index))
        emit typeChosen(index.data(LayerTypeModel::TypeRole).toString());
}

bool LayerPalette::handleSearchKey(int key) {
    switch (key) {
    case Qt::Key_Return:
    case Qt::Key_Enter:
        choose(m_list->currentIndex());
        return true;
    case Qt::Key_Down:
    case Qt::Key_Up: {
        const int step = key == Qt::Key_Down ? 1 : -1;
        int row = m_list->currentIndex().isValid() ? m_list->currentIndex().row() + step : 0;
        while (row >= 0 && row < m_types->rowCount() && isHeading(m_types->index(row, 0)))
            row += step;
        if (row >= 0 && row < m_types->rowCount())
            m_list->setCurrentIndex(m_types->index(row, 0));
        return true;
    }
    default:
        return false;
    }
}

bool LayerPalette::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        if (watched == m_search && handleSearchKey(key))
            return true;
        const bool enter = key == Qt::Key_Return || key == Qt::Key_Enter || key == Qt::Key_Space;
        if (watched == m_list && enter) {
            choose(m_list->currentIndex());
            return true;
        }
    }
    return QFrame::eventFilter(watched, event);
}

} // namespace trainyard::ui

#include "moc_layer_palette.cpp"
