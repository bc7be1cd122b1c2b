// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/layer_delegate.h"

#include "app/models/layer_list_model.h"
#include "ui/compose/figure_text.h"
#include "ui/theme/theme.h"
#include "ui/widgets/format.h"

#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>

namespace trainyard::ui {

using Model = app::LayerListModel;

namespace {

constexpr int kNodeWidth = 228;
constexpr int kSingleHeight = 34;
constexpr int kBlockRowHeight = 26;
constexpr int kBlockGap = 28;
constexpr int kMargin = 24; ///< above the first and below the last node
constexpr int kFigureWidth = 92;
constexpr int kFigureGap = 28;

bool joins(const QModelIndex& index) {
    return index.data(Model::JoinsBlockRole).toBool();
}

QModelIndex next(const QModelIndex& index) {
    return index.siblingAtRow(index.row() + 1);
}

bool isFirstOfBlock(const QModelIndex& index) {
    return !joins(index);
}

bool isLastOfBlock(const QModelIndex& index) {
    return !next(index).isValid() || !joins(next(index));
}

bool takesRowAbove(const QModelIndex& index) {
    return index.data(Model::SourceRowsRole).value<QList<int>>().contains(index.row() - 1);
}

bool isBad(const QModelIndex& index) {
    return index.data(Model::BadInputRole).toBool();
}

bool hasProblem(const QModelIndex& index) {
    return !index.data(Model::ProblemRole).toString().isEmpty();
}

/// The shape that comes in, and where it does not fit what is wanted instead.
QString edgeText(const QModelIndex& index) {
    const QString shape = index.data(Model::InputShapeRole).toString();
    const QString wanted = index.data(Model::WantedRole).toString();
    return wanted.isEmpty() ? shape : shape + u" ≠ " + wanted;
}

/// The rectangle of the whole block a row belongs to, as far as it lies in the row: edges that the
/// row does not have lie outside of it and are clipped away.
QRectF blockOutline(const QRect& node, const QModelIndex& index, qreal inset) {
    QRectF outline = QRectF(node).adjusted(inset, inset, -inset, -inset);
    constexpr int kOutside = 12;
    if (!isFirstOfBlock(index))
        outline.setTop(outline.top() - kOutside);
    if (!isLastOfBlock(index))
        outline.setBottom(outline.bottom() + kOutside);
    return outline;
}

} // namespace

LayerDelegate::LayerDelegate(const Theme& theme, QObject* parent)
    : QStyledItemDelegate(parent), m_theme(theme) {}

void LayerDelegate::setGeometry(int nodeLeft, int viewWidth) {
    m_nodeLeft = nodeLeft;
    m_viewWidth = viewWidth;
}

void LayerDelegate::setTotals(double parameters, double flops) {
    m_parameters = parameters;
    m_flops = flops;
}

int LayerDelegate::nodeWidth() const {
    return m_theme.px(kNodeWidth);
}

int LayerDelegate::figuresWidth() const {
    return m_theme.px(kFigureGap + 2 * kFigureWidth);
}

int LayerDelegate::nodeHeight(const QModelIndex& index) const {
    const bool alone = isFirstOfBlock(index) && isLastOfBlock(index);
    return m_theme.px(alone ? kSingleHeight : kBlockRowHeight);
}

QRect LayerDelegate::edgeRect(const QRect& row, const QModelIndex& index) const {
    if (index.row() == 0 || joins(index))
        return {};
    return {m_nodeLeft, row.top(), nodeWidth(), m_theme.px(kBlockGap)};
}

QRect LayerDelegate::nodeRect(const QRect& row, const QModelIndex& index) const {
    const int above = index.row() == 0 ? m_theme.px(kMargin) : edgeRect(row, index).height();
    return {m_nodeLeft, row.top() + above, nodeWidth(), nodeHeight(index)};
}

QSize LayerDelegate::sizeHint(const QStyleOptionViewItem&, const QModelIndex& index) const {
    const QRect node = nodeRect({0, 0, 1, 1}, index);
    const int below = next(index).isValid() ? 0 : m_theme.px(kMargin);
    return {m_nodeLeft + nodeWidth(), node.bottom() + 1 + below};
}

void LayerDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                          const QModelIndex& index) const {
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    const QRect node = nodeRect(option.rect, index);
    paintNode(*painter, node, option, index);
    if (const QRect edge = edgeRect(option.rect, index); !edge.isEmpty())
        paintEdge(*painter, edge, index);
    if (m_nodeLeft + nodeWidth() + figuresWidth() <= m_viewWidth)
        paintFigures(*painter, node, index);
    painter->restore();
}

void LayerDelegate::paintEdge(QPainter& painter, const QRect& edge,
                              const QModelIndex& index) const {
    const bool bad = isBad(index);
    const QColor color = bad ? m_theme.tone(State::Failed).solid : m_theme.color(Color::Text3);
    const qreal x = edge.center().x() + 0.5;
    const qreal head = 6;
    if (takesRowAbove(index)) {
        QPen pen(color, bad ? 2 : 1.5);
        if (bad)
            pen.setDashPattern({2.5, 1.5});
        pen.setCapStyle(Qt::FlatCap);
        painter.setPen(pen);
        painter.drawLine(QPointF(x, edge.top()), QPointF(x, edge.bottom() - head + 1));
        painter.setPen(Qt::NoPen);
        painter.setBrush(color);
        const qreal tip = edge.bottom() + 0.5;
        painter.drawPolygon(
            QPolygonF({QPointF(x - 4, tip - head), QPointF(x + 4, tip - head), QPointF(x, tip)}));
    }

    const QString shape = edgeText(index);
    const QRect place(edgeTextLeft(edge), edge.top(), m_viewWidth - edgeTextLeft(edge),
                      edge.height());
    if (bad) {
        painter.setFont(badEdgeFont());
        painter.setPen(m_theme.tone(State::Failed).text);
        painter.drawText(place, Qt::AlignVCenter | Qt::TextSingleLine, shape);
        return;
    }
    const NumberFont& numbers = m_theme.numbers(TypeStyle::Caption);
    const QString shown = shape.isEmpty() ? QStringLiteral("…") : shape;
    painter.setPen(m_theme.color(Color::Text2));
    numbers.draw(painter, place, Qt::AlignLeft | Qt::AlignVCenter, shown);
    const QString inputs = index.data(Model::InputsRole).toString();
    if (inputs.isEmpty())
        return;
    const int taken = static_cast<int>(std::ceil(numbers.width(shown))) + m_theme.px(space::kM);
    const QFont& font = m_theme.font(TypeStyle::Caption);
    painter.setFont(font);
    painter.drawText(place.adjusted(taken, 0, 0, 0), Qt::AlignVCenter | Qt::TextSingleLine,
                     QFontMetrics(font).elidedText(tr("from %1").arg(inputs), Qt::ElideRight,
                                                   place.width() - taken));
}

int LayerDelegate::edgeTextLeft(const QRect& edge) const {
    return edge.center().x() + m_theme.px(space::kM);
}

QFont LayerDelegate::badEdgeFont() const {
    QFont font = m_theme.font(TypeStyle::Small);
    font.setWeight(QFont::DemiBold);
    return font;
}

int LayerDelegate::badEdgeTextRight(const QRect& edge, const QModelIndex& index) const {
    return edgeTextLeft(edge) + QFontMetrics(badEdgeFont()).horizontalAdvance(edgeText(index));
}

void LayerDelegate::paintNode(QPainter& painter, const QRect& node,
                              const QStyleOptionViewItem& option, const QModelIndex& index) const {
    painter.save();
    painter.setClipRect(node);
    const bool chosen = option.state.testFlag(QStyle::State_Selected);
    painter.setPen(Qt::NoPen);
    painter.setBrush(m_theme.color(Color::Surface));
    painter.drawRoundedRect(blockOutline(node, index, 0.5), radius::kControl, radius::kControl);
    if (chosen) {
        painter.setBrush(m_theme.color(Color::Selected));
        painter.drawRoundedRect(blockOutline(node, index, 0.5), radius::kControl, radius::kControl);
    }
    painter.setPen(QPen(m_theme.color(Color::BorderStrong), 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRoundedRect(blockOutline(node, index, 0.5), radius::kControl, radius::kControl);
    if (!isFirstOfBlock(index))
        painter.fillRect(QRect(node.left() + 1, node.top(), node.width() - 2, 1),
                         m_theme.color(Color::Border));
    painter.restore();
    paintWords(painter, node, index);
    paintOutline(painter, node, option, index);
}

/// What the row is in: wrong, chosen, under the pointer.
void LayerDelegate::paintOutline(QPainter& painter, const QRect& node,
                                 const QStyleOptionViewItem& option,
                                 const QModelIndex& index) const {
    const bool chosen = option.state.testFlag(QStyle::State_Selected);
    const bool focused = chosen && option.state.testFlag(QStyle::State_HasFocus);
    QColor color;
    if (focused)
        color = m_theme.color(Color::Focus);
    else if (hasProblem(index))
        color = m_theme.tone(State::Failed).solid;
    else if (chosen)
        color = m_theme.color(Color::AccentText);
    else if (option.state.testFlag(QStyle::State_MouseOver))
        color = m_theme.color(Color::Control);
    else
        return;
    const bool strong = chosen || hasProblem(index);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(color, strong ? 2 : 1));
    const qreal inset = strong ? 1 : 0.5;
    painter.drawRoundedRect(QRectF(node).adjusted(inset, inset, -inset, -inset), radius::kControl,
                            radius::kControl);
}

void LayerDelegate::paintWords(QPainter& painter, const QRect& node,
                               const QModelIndex& index) const {
    const int side = m_theme.px(space::kM - 2);
    const int size = m_theme.px(icon_size::kControl);
    const bool wrong = hasProblem(index);
    const bool first = isFirstOfBlock(index);
    const QColor iconColor = wrong ? m_theme.tone(State::Failed).text
                                   : m_theme.color(first ? Color::Text : Color::Text2);
    painter.drawPixmap(node.left() + side, node.top() + (node.height() - size) / 2,
                       m_theme.pixmap(index.data(Model::IconRole).toString(), iconColor, size,
                                      painter.device()->devicePixelRatioF()));

    const QString arguments = index.data(Model::ArgumentsRole).toString();
    const NumberFont& numbers = m_theme.numbers(TypeStyle::Small);
    const int left = node.left() + side + size + m_theme.px(space::kS + 2);
    const int right = node.right() - side;
    const QFont& font = m_theme.font(first ? TypeStyle::Strong : TypeStyle::Body);
    const QFontMetrics metrics(font);
    const QString label = index.data(Model::LabelRole).toString();
    // Arguments give way first, then the name.
    const int argumentsWidth = static_cast<int>(std::ceil(numbers.width(arguments)));
    const int labelRoom = right - left - m_theme.px(space::kS);
    const int labelWidth = std::min(metrics.horizontalAdvance(label) + 1, labelRoom);
    painter.setFont(font);
    painter.setPen(m_theme.color(first ? Color::Text : Color::Text2));
    painter.drawText(QRect(left, node.top(), labelWidth, node.height()),
                     Qt::AlignVCenter | Qt::TextSingleLine,
                     metrics.elidedText(label, Qt::ElideMiddle, labelWidth));
    const int room = labelRoom - labelWidth;
    painter.setPen(m_theme.color(Color::Text2));
    QString shown = arguments;
    if (argumentsWidth > room)
        shown = QFontMetrics(numbers.font()).elidedText(arguments, Qt::ElideRight, room);
    numbers.draw(painter, QRectF(right - room, node.top(), room, node.height()),
                 Qt::AlignRight | Qt::AlignVCenter, shown);
}

void LayerDelegate::paintFigures(QPainter& painter, const QRect& node,
                                 const QModelIndex& index) const {
    const int width = m_theme.px(kFigureWidth);
    QRect cell(node.right() + 1 + m_theme.px(kFigureGap), node.top(), width, node.height());
    const auto kind = static_cast<Model::Node>(index.data(Model::NodeRole).toInt());
    if (kind == Model::Node::Input) {
        painter.setFont(m_theme.font(TypeStyle::Caption));
        painter.setPen(m_theme.color(Color::Text3));
        for (const QString& head : {tr("Parameters"), tr("Forward")}) {
            painter.drawText(cell, Qt::AlignRight | Qt::AlignVCenter, head);
            cell.translate(width, 0);
        }
        return;
    }
    if (kind == Model::Node::Loss || isBad(index))
        return;
    paintFigure(painter, cell, index.data(Model::ParametersRole), m_parameters, true);
    cell.translate(width, 0);
    paintFigure(painter, cell, index.data(Model::FlopsRole), m_flops, false);
}

void LayerDelegate::paintFigure(QPainter& painter, const QRect& cell, const QVariant& value,
                                double total, bool countOnly) const {
    const double amount = value.toDouble();
    QString text = QStringLiteral("…");
    if (value.isValid() && amount == 0)
        text = QStringLiteral("–");
    else if (value.isValid())
        text = countOnly ? formatCount(value.toLongLong()) : formatFlops(amount);
    painter.setPen(m_theme.color(value.isValid() && amount > 0 ? Color::Text2 : Color::Text3));
    m_theme.numbers(TypeStyle::Small).draw(painter, cell, Qt::AlignRight | Qt::AlignVCenter, text);
    const double share = total > 0 ? amount / total : 0;
    const int inset = m_theme.px(space::kM);
    const int bar = static_cast<int>(std::lround((cell.width() - inset) * share));
    if (bar > 0)
        painter.fillRect(QRect(cell.right() + 1 - bar, cell.bottom() - 2, bar, 2),
                         m_theme.color(Color::Accent));
}

} // namespace trainyard::ui

#include "moc_layer_delegate.cpp"
