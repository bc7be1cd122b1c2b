// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/rank_tiles.h"

#include "ui/compose/memory_cell.h"
#include "ui/theme/theme.h"
#include "ui/widgets/format.h"
#include "ui/widgets/mesh_tag.h"

#include <QCoreApplication>
#include <QHelpEvent>
#include <QPaintEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace trainyard::ui {

namespace {

constexpr int kTileWidth = 208;
constexpr int kTileHeight = 92;
constexpr int kBracketHeight = 28;
constexpr int kTileGap = 12;

} // namespace

QString rowsText(const plan::RowRange& rows) {
    const auto tr = [](const char* text) {
        return QCoreApplication::translate("RankTiles", text);
    };
    if (rows.count == 0)
        return tr("no samples");
    if (rows.count == 1)
        return tr("sample %1").arg(formatCount(rows.first + 1));
    return tr("samples %1–%2")
        .arg(formatCount(rows.first + 1), formatCount(rows.first + rows.count));
}

RankTiles::RankTiles(const Theme& theme, QWidget* parent) : QWidget(parent), m_theme(theme) {
    QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
    setAccessibleName(tr("Ranks"));
    followTheme(this, theme);
}

void RankTiles::setPlan(const std::vector<plan::RankPlan>& ranks, int threads, double memoryHere) {
    m_ranks = ranks;
    m_threads = threads;
    m_memoryHere = memoryHere;
    m_largest = 0;
    for (const plan::RankPlan& rank : ranks)
        m_largest = std::max(m_largest, rank.memory.total());
    QStringList words;
    for (const plan::RankPlan& rank : ranks)
        words << describe(rank);
    setAccessibleDescription(words.mid(0, 16).join(u"; "));
    updateGeometry();
    update();
}

QString RankTiles::describe(const plan::RankPlan& rank) const {
    return tr("Rank %1 on %2: %3, %4")
        .arg(formatCount(rank.rank), QString::fromStdString(rank.device), rowsText(rank.rows),
             formatBytes(static_cast<double>(rank.memory.total())));
}

int RankTiles::columns(int width) const {
    const int step = m_theme.px(kTileWidth + kTileGap);
    return std::max(1, (width + m_theme.px(kTileGap)) / step);
}

int RankTiles::heightForWidth(int width) const {
    const int perRow = columns(width);
    const int rows = (count() + perRow - 1) / perRow;
    return rows * m_theme.px(kTileHeight + kBracketHeight + kTileGap);
}

QSize RankTiles::sizeHint() const {
    return {2 * m_theme.px(kTileWidth + kTileGap), heightForWidth(width())};
}

QSize RankTiles::minimumSizeHint() const {
    return {m_theme.px(kTileWidth), m_theme.px(kTileHeight + kBracketHeight)};
}

QRect RankTiles::tileRect(int rank) const {
    const int perRow = columns(width());
    const int column = rank % perRow, row = rank / perRow;
    return {column * m_theme.px(kTileWidth + kTileGap),
            row * m_theme.px(kTileHeight + kBracketHeight + kTileGap) + m_theme.px(kBracketHeight),
            m_theme.px(kTileWidth), m_theme.px(kTileHeight)};
}

void RankTiles::paintEvent(QPaintEvent* event) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    for (int rank = 0; rank < count(); ++rank) {
        const QRect tile = tileRect(rank);
        if (!event->rect().intersects(tile.adjusted(0, -m_theme.px(kBracketHeight), 0, 0)))
            continue;
        paintBracket(painter, m_ranks[static_cast<std::size_t>(rank)], tile);
        paintTile(painter, m_ranks[static_cast<std::size_t>(rank)], tile);
    }
}

void RankTiles::paintBracket(QPainter& painter, const plan::RankPlan& rank,
                             const QRect& tile) const {
    const Tone tone = m_theme.tone(MeshAxis::Data);
    const qreal y = tile.top() - m_theme.px(14) + 0.5;
    const QString text = tr("Copy %1, %2").arg(formatCount(rank.rank), rowsText(rank.rows));
    QFont font = m_theme.font(TypeStyle::Caption);
    font.setWeight(QFont::DemiBold);
    const QFontMetrics metrics(font);
    const int room = tile.width() - m_theme.px(2 * space::kL);
    const QString shown = metrics.elidedText(text, Qt::ElideRight, room);
    const qreal half = metrics.horizontalAdvance(shown) / 2.0 + m_theme.px(space::kXs);
    painter.setPen(QPen(tone.solid, 2, Qt::SolidLine, Qt::FlatCap));
    const qreal left = tile.left() + 3, right = tile.right() - 2, middle = (left + right) / 2;
    painter.drawLine(QPointF(left, y - 1), QPointF(left, y + m_theme.px(6)));
    painter.drawLine(QPointF(right, y - 1), QPointF(right, y + m_theme.px(6)));
    painter.drawLine(QPointF(left, y), QPointF(middle - half, y));
    painter.drawLine(QPointF(middle + half, y), QPointF(right, y));
    painter.setFont(font);
    painter.setPen(tone.text);
    painter.drawText(QRectF(left, y - 10, right - left, 20), Qt::AlignCenter, shown);
}

void RankTiles::paintTile(QPainter& painter, const plan::RankPlan& rank, const QRect& tile) const {
    painter.setPen(QPen(m_theme.color(Color::BorderStrong), 1));
    painter.setBrush(m_theme.color(Color::Surface));
    painter.drawRoundedRect(QRectF(tile).adjusted(0.5, 0.5, -0.5, -0.5), radius::kTile,
                            radius::kTile);
    const int side = m_theme.px(space::kM);
    QRect line(tile.left() + side, tile.top() + m_theme.px(space::kS), tile.width() - 2 * side,
               m_theme.px(20));
    painter.setFont(m_theme.font(TypeStyle::Strong));
    painter.setPen(m_theme.color(Color::Text));
    painter.drawText(line, Qt::AlignVCenter, tr("Rank %1").arg(formatCount(rank.rank)));
    const std::vector<MeshTag> tags = {{MeshAxis::Data, rank.rank}};
    drawMeshTags(painter, m_theme,
                 line.adjusted(line.width() - meshTagsWidth(m_theme, tags), 0, 0, 0), tags);
    line.translate(0, m_theme.px(24));
    drawMemoryBar(painter, m_theme, QRect(line.left(), line.top(), line.width(), m_theme.px(6)),
                  memoryParts(rank.memory), static_cast<double>(m_largest));
    line.translate(0, m_theme.px(12));
    const NumberFont& strong = m_theme.numbers(TypeStyle::Strong);
    const QString memory = formatBytes(static_cast<double>(rank.memory.total()));
    painter.setPen(m_theme.color(Color::Text));
    strong.draw(painter, line, Qt::AlignLeft | Qt::AlignVCenter, memory);
    painter.setFont(m_theme.font(TypeStyle::Small));
    painter.setPen(m_theme.color(Color::Text2));
    const int after = static_cast<int>(std::ceil(strong.width(memory))) + m_theme.px(space::kXs);
    painter.drawText(line.adjusted(after, 0, 0, 0), Qt::AlignVCenter,
                     m_memoryHere > 0 ? tr("of %1 here").arg(formatBytes(m_memoryHere))
                                      : tr("planned"));
    line.translate(0, m_theme.px(20));
    QString place = QString::fromStdString(rank.device);
    if (m_threads > 0)
        place += u", " + (m_threads == 1 ? tr("one thread") : tr("%n threads", nullptr, m_threads));
    painter.drawText(line, Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(place, Qt::ElideRight, line.width()));
}

bool RankTiles::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip)
        return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    for (int i = 0; i < count(); ++i) {
        if (!tileRect(i).contains(help->pos()))
            continue;
        const plan::RankPlan& rank = m_ranks[static_cast<std::size_t>(i)];
        QStringList lines{describe(rank)};
        for (const MemoryPart& part : memoryParts(rank.memory))
            lines << memoryClassWord(part.kind) + u' ' +
                         formatBytes(static_cast<double>(part.bytes));
        QToolTip::showText(help->globalPos(), lines.join(u'\n'), this, tileRect(i));
        return true;
    }
    QToolTip::hideText();
    return true;
}

} // namespace trainyard::ui
