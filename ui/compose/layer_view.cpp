// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/layer_view.h"

#include "ui/compose/layer_delegate.h"
#include "ui/compose/shape_callout.h"
#include "ui/theme/theme.h"

#include <QContextMenuEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QPainter>
#include <QPainterPath>
#include <QScrollBar>

#include <algorithm>

namespace trainyard::ui {

namespace {

constexpr int kDotStep = 20;
constexpr int kCalloutWidth = 300;
constexpr int kCalloutGap = 40;
constexpr int kBranchGap = 14; ///< from the nodes to the first lane of branches
constexpr int kLaneWidth = 10;

} // namespace

LayerView::LayerView(const Theme& theme, app::ExperimentDocument& document,
                     app::LayerListModel& layers, QWidget* parent)
    : QListView(parent), m_theme(theme), m_document(document), m_layers(layers),
      m_delegate(new LayerDelegate(theme, this)),
      m_callout(new ShapeCallout(theme, document, viewport())) {
    setAccessibleName(tr("Layers of the model"));
    setFrameShape(QFrame::NoFrame);
    setModel(&m_layers);
    setItemDelegate(m_delegate);
    setMouseTracking(true);
    setEditTriggers(NoEditTriggers);
    setSelectionMode(SingleSelection);
    setVerticalScrollMode(ScrollPerPixel);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setDragEnabled(true);
    setAcceptDrops(true);
    setDragDropMode(DragDrop);
    setDefaultDropAction(Qt::MoveAction);
    setDropIndicatorShown(false); // a line of our own
    viewport()->setAutoFillBackground(false);
    verticalScrollBar()->setSingleStep(theme.px(24));
    connect(&m_layers, &QAbstractItemModel::dataChanged, this, &LayerView::followModel);
    connect(&m_layers, &QAbstractItemModel::rowsInserted, this, &LayerView::followModel);
    connect(&m_layers, &QAbstractItemModel::rowsRemoved, this, &LayerView::followModel);
    connect(&m_layers, &app::LayerListModel::dropped, this, &LayerView::choose);
    // A chosen row that moves because others come or go is another one for who goes by its number.
    connect(&m_layers, &QAbstractItemModel::dataChanged, this, [this] {
        if (currentIndex().isValid())
            emit rowChosen(chosenRow());
    });
    connect(&theme, &Theme::themeChanged, this, &LayerView::placeNodes);
    placeNodes();
    followModel();
}

void LayerView::choose(int row) {
    setCurrentIndex(m_layers.index(std::clamp(row, 0, m_layers.rowCount() - 1)));
    scrollTo(currentIndex());
}

void LayerView::currentChanged(const QModelIndex& current, const QModelIndex& previous) {
    QListView::currentChanged(current, previous);
    emit rowChosen(current.row());
}

void LayerView::followModel() {
    double parameters = 0, flops = 0;
    for (int row = 0; row < m_layers.rowCount(); ++row) {
        parameters += m_layers.index(row).data(app::LayerListModel::ParametersRole).toDouble();
        flops += m_layers.index(row).data(app::LayerListModel::FlopsRole).toDouble();
    }
    m_delegate->setTotals(parameters, flops);
    if (const int bad = badRow(); bad >= 0)
        m_callout->follow(m_layers.pathOf(bad));
    scheduleDelayedItemsLayout(); // rows that join a block are lower
    viewport()->update();
    placeCallout();
}

// --- commands ---

void LayerView::addLayer(const QString& type) {
    const int after = currentIndex().isValid() ? chosenRow() : m_layers.lossRow() - 1;
    choose(m_layers.insertAfter(after, type.toStdString()));
}

void LayerView::removeChosen() {
    const int row = chosenRow();
    if (!m_layers.canRemove(row))
        return;
    m_layers.removeLayer(row);
    choose(std::min(row, m_layers.lossRow() - 1));
}

void LayerView::duplicateChosen() {
    if (m_layers.canRemove(chosenRow()))
        choose(m_layers.duplicateLayer(chosenRow()));
}

void LayerView::moveChosen(int by) {
    const int row = chosenRow();
    if (!m_layers.canMove(row, by))
        return;
    m_layers.moveLayer(row, by);
    choose(row + by);
}

// --- keys and mouse ---

bool LayerView::handleKey(const QKeyEvent& event) {
    const bool alt = event.modifiers() == Qt::AltModifier;
    const bool control = event.modifiers() == Qt::ControlModifier;
    switch (event.key()) {
    case Qt::Key_Up:
    case Qt::Key_Down:
        if (!alt)
            return false;
        moveChosen(event.key() == Qt::Key_Up ? -1 : 1);
        return true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        emit editRequested();
        return true;
    case Qt::Key_Delete:
    case Qt::Key_Backspace:
        removeChosen();
        return true;
    case Qt::Key_D:
        if (control)
            duplicateChosen();
        return control;
    case Qt::Key_A:
        if (event.modifiers() == Qt::NoModifier)
            emit addRequested();
        return true; // Ctrl+A has nothing to select more
    default:
        return false;
    }
}

void LayerView::keyPressEvent(QKeyEvent* event) {
    if (handleKey(*event)) {
        event->accept();
        return;
    }
    // Letters are no search here: they are commands, or nothing.
    const bool plainLetter = event->modifiers() == Qt::NoModifier && !event->text().isEmpty() &&
                             event->text().front().isLetterOrNumber();
    if (plainLetter)
        event->ignore();
    else
        QListView::keyPressEvent(event);
}

void LayerView::mouseDoubleClickEvent(QMouseEvent* event) {
    if (indexAt(event->position().toPoint()).isValid())
        emit editRequested();
}

void LayerView::contextMenuEvent(QContextMenuEvent* event) {
    const QModelIndex index =
        event->reason() == QContextMenuEvent::Mouse ? indexAt(event->pos()) : currentIndex();
    if (!index.isValid())
        return;
    choose(index.row());
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    const bool layer = m_layers.canRemove(index.row());
    const auto add = [&](const QString& icon, const QString& text, const QKeySequence& keys,
                         bool enabled, auto what) {
        QAction* action = menu->addAction(m_theme.icon(icon), text, this, what);
        action->setShortcut(keys);
        action->setEnabled(enabled);
    };
    add(QStringLiteral("plus"), tr("Add a layer…"), Qt::Key_A, true,
        [this] { emit addRequested(); });
    add(QStringLiteral("copy"), tr("Duplicate"), Qt::CTRL | Qt::Key_D, layer,
        [this] { duplicateChosen(); });
    add(QStringLiteral("chevron-up"), tr("Move up"), Qt::ALT | Qt::Key_Up,
        m_layers.canMove(index.row(), -1), [this] { moveChosen(-1); });
    add(QStringLiteral("chevron-down"), tr("Move down"), Qt::ALT | Qt::Key_Down,
        m_layers.canMove(index.row(), 1), [this] { moveChosen(1); });
    menu->addSeparator();
    add(QStringLiteral("trash"), tr("Delete"), Qt::Key_Delete, layer, [this] { removeChosen(); });
    const QPoint place = event->reason() == QContextMenuEvent::Mouse
                             ? event->globalPos()
                             : viewport()->mapToGlobal(nodeAt(index.row()).center());
    menu->popup(place);
}

// --- places ---

void LayerView::placeNodes() {
    // Nodes and what stands beside them are centred together.
    const int node = m_delegate->nodeWidth();
    const int beside =
        std::max(m_theme.px(kCalloutGap + kCalloutWidth) - node / 2, m_delegate->figuresWidth());
    const int room = viewport()->width() - node - beside;
    const int left = std::max(m_theme.px(space::kXl), room / 2);
    m_delegate->setGeometry(left, viewport()->width());
    scheduleDelayedItemsLayout();
    placeCallout();
}

void LayerView::resizeEvent(QResizeEvent* event) {
    QListView::resizeEvent(event);
    placeNodes();
}

void LayerView::updateGeometries() {
    QListView::updateGeometries();
    placeCallout();
}

void LayerView::scrollContentsBy(int dx, int dy) {
    QListView::scrollContentsBy(dx, dy);
    placeCallout();
    viewport()->update(); // the dots scroll with the nodes
}

QRect LayerView::nodeAt(int row) const {
    const QModelIndex index = m_layers.index(row);
    return index.isValid() ? m_delegate->nodeRect(visualRect(index), index) : QRect();
}

QPoint LayerView::addPosition() const {
    const QRect node = nodeAt(std::max(0, chosenRow()));
    return viewport()->mapTo(this, QPoint(node.left(), node.bottom() + 1));
}

int LayerView::badRow() const {
    for (int row = 0; row < m_layers.rowCount(); ++row)
        if (m_layers.index(row).data(app::LayerListModel::BadInputRole).toBool())
            return row;
    return -1;
}

void LayerView::placeCallout() {
    const int row = badRow();
    m_callout->setVisible(row >= 0);
    if (row < 0)
        return;
    const QModelIndex index = m_layers.index(row);
    const QRect edge = m_delegate->edgeRect(visualRect(index), index);
    const QRect node = nodeAt(row);
    const int left = node.right() + m_theme.px(space::kXl);
    const int wide =
        std::min(m_theme.px(kCalloutWidth), viewport()->width() - left - m_theme.px(space::kM));
    m_callout->fit(std::max(wide, m_theme.px(200)));
    m_callout->move(left, edge.center().y() - m_theme.px(space::kL));
}

// --- painting ---

void LayerView::paintEvent(QPaintEvent* event) {
    {
        QPainter painter(viewport());
        painter.fillRect(event->rect(), m_theme.color(Color::Canvas));
        const int step = m_theme.px(kDotStep);
        const int offset = verticalOffset() % step;
        painter.setPen(m_theme.color(Color::Border));
        for (int y = step / 2 - offset; y < viewport()->height(); y += step)
            for (int x = step / 2; x < viewport()->width(); x += step)
                painter.drawPoint(x, y);
    }
    QListView::paintEvent(event);
    QPainter painter(viewport());
    paintBranches(painter);
    if (m_callout->isVisible()) {
        const QModelIndex index = m_layers.index(badRow());
        const QRect edge = m_delegate->edgeRect(visualRect(index), index);
        const int y = edge.center().y();
        const int from = m_delegate->badEdgeTextRight(edge, index) + m_theme.px(space::kS);
        painter.setPen(QPen(m_theme.tone(ui::State::Failed).solid, 1, Qt::DotLine));
        if (from < m_callout->x())
            painter.drawLine(from, y, m_callout->x(), y);
    }
    paintDropLine(painter);
}

/// Edges that do not come from the row above go around at the left, each in a lane where no other
/// one is.
void LayerView::paintBranches(QPainter& painter) const {
    std::vector<std::vector<std::pair<int, int>>> lanes;
    for (int to = 1; to < m_layers.rowCount(); ++to) {
        const auto sources =
            m_layers.index(to).data(app::LayerListModel::SourceRowsRole).value<QList<int>>();
        for (const int from : sources) {
            if (from >= to - 1)
                continue;
            const auto free = [&](const auto& lane) {
                return std::none_of(lane.begin(), lane.end(), [&](const auto& other) {
                    return from < other.second && other.first < to;
                });
            };
            auto lane = std::find_if(lanes.begin(), lanes.end(), free);
            if (lane == lanes.end())
                lane = lanes.insert(lanes.end(), std::vector<std::pair<int, int>>());
            lane->emplace_back(from, to);
            paintBranch(painter, from, to, static_cast<int>(lane - lanes.begin()));
        }
    }
}

void LayerView::paintBranch(QPainter& painter, int from, int to, int lane) const {
    const QRect source = nodeAt(from), target = nodeAt(to);
    const int apart = m_theme.px(4); // so that what comes in and goes out are two lines
    const QPointF start(source.left(), source.center().y() + apart + 0.5);
    const QPointF end(target.left(), target.center().y() - apart + 0.5);
    if (end.y() < 0 || start.y() > viewport()->height())
        return;
    const qreal x =
        std::max(source.left() - m_theme.px(kBranchGap) - lane * m_theme.px(kLaneWidth), 4) + 0.5;
    const qreal round = radius::kControl, head = 6;
    QPainterPath path(start);
    path.lineTo(x + round, start.y());
    path.quadTo({x, start.y()}, {x, start.y() + round});
    path.lineTo(x, end.y() - round);
    path.quadTo({x, end.y()}, {x + round, end.y()});
    path.lineTo(end.x() - head + 1, end.y());
    const QColor color = m_theme.color(Color::Text3);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(color, 1.5, Qt::SolidLine, Qt::FlatCap));
    painter.setBrush(Qt::NoBrush);
    painter.drawPath(path);
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    painter.drawPolygon(QPolygonF(
        {QPointF(end.x() - head, end.y() - 4), QPointF(end.x() - head, end.y() + 4), end}));
    painter.restore();
}

void LayerView::paintDropLine(QPainter& painter) const {
    if (m_dropRow < 0)
        return;
    const QRect node = nodeAt(m_dropRow);
    const QModelIndex index = m_layers.index(m_dropRow);
    const QRect edge = m_delegate->edgeRect(visualRect(index), index);
    const int y = edge.isEmpty() ? node.top() : edge.center().y();
    painter.fillRect(QRect(node.left(), y - 1, node.width(), 2), m_theme.color(Color::AccentText));
}

// --- drag and drop ---

/// The row before which something that is let go here comes.
int LayerView::dropRow(const QPoint& position) const {
    for (int row = 1; row < m_layers.rowCount(); ++row)
        if (position.y() < nodeAt(row).center().y())
            return row;
    return m_layers.lossRow();
}

void LayerView::dragMoveEvent(QDragMoveEvent* event) {
    const int row = dropRow(event->position().toPoint());
    if (!m_layers.canDropMimeData(event->mimeData(), event->dropAction(), row, 0, {})) {
        event->ignore();
        return;
    }
    if (row != m_dropRow) {
        m_dropRow = row;
        viewport()->update();
    }
    event->acceptProposedAction();
}

void LayerView::dragLeaveEvent(QDragLeaveEvent* event) {
    QListView::dragLeaveEvent(event);
    m_dropRow = -1;
    viewport()->update();
}

void LayerView::dropEvent(QDropEvent* event) {
    const int row = dropRow(event->position().toPoint());
    m_dropRow = -1;
    setState(NoState);
    viewport()->update();
    if (m_layers.dropMimeData(event->mimeData(), event->dropAction(), row, 0, {})) {
        event->acceptProposedAction();
        setFocus(Qt::MouseFocusReason);
    }
}

} // namespace trainyard::ui

#include "moc_layer_view.cpp"
