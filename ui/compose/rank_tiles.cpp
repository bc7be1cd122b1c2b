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
#include <optional>

namespace trainyard::ui {

namespace {

constexpr int kTileWidth = 208;
constexpr int kTileHeight = 92;
constexpr int kBracketHeight = 28;
constexpr int kTileGap = 12;
/// Left of the tiles: which stage of a pipeline they are.
constexpr int kGutter = 116;

/// "words – block2", or the one layer.
QString layersText(const std::vector<std::string>& layers) {
    if (layers.empty())
        return {};
    const QString first = QString::fromStdString(layers.front());
    return layers.size() == 1 ? first : first + u" – " + QString::fromStdString(layers.back());
}

/// "classes 1–5 of 10", people count from one; empty where the rank scores all, or none.
QString classesText(const plan::Plan& plan, int rank) {
    const std::optional<plan::IndexRange> slice = plan.sectionOf(rank).classSlice();
    if (!slice)
        return {};
    return QCoreApplication::translate("RankTiles", "classes %1–%2 of %3")
        .arg(formatCount(slice->first + 1), formatCount(slice->first + slice->count),
             formatCount(plan.graph.classes()));
}

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

void RankTiles::setPlan(const plan::Plan& plan, int threads, double memoryHere) {
    m_mesh = plan.mesh;
    m_ranks = plan.ranks;
    m_stagesOfRank = plan.stagesOfRank;
    m_threads = threads;
    m_memoryHere = memoryHere;
    m_largest = 0;
    m_layers.clear();
    for (int stage = 0; stage < m_mesh.pipeline; ++stage)
        m_layers.push_back(layersText(plan.sectionOf(m_mesh.rankOf({0, 0, stage})).layers()));
    m_classes.clear();
    for (const plan::RankPlan& rank : m_ranks)
        m_classes.push_back(classesText(plan, rank.rank));
    QStringList words;
    for (const plan::RankPlan& rank : m_ranks) {
        m_largest = std::max(m_largest, rank.memory.total());
        words << describe(rank.rank);
    }
    setAccessibleDescription(words.mid(0, 16).join(u"; "));
    updateGeometry();
    update();
}

QString RankTiles::describe(int rank) const {
    const plan::RankPlan& plan = m_ranks[static_cast<std::size_t>(rank)];
    QString text =
        tr("Rank %1 on %2: %3, %4")
            .arg(formatCount(rank), QString::fromStdString(plan.device), rowsText(plan.rows),
                 formatBytes(static_cast<double>(plan.memory.total())));
    if (m_mesh.pipeline > 1)
        text += u", " + stageTitle(plan.place.pipeline) + u": " +
                m_layers[static_cast<std::size_t>(plan.place.pipeline)];
    if (m_mesh.tensor > 1)
        text += u", " + tr("part %1 of %2 of its layers")
                            .arg(formatCount(plan.place.tensor + 1), formatCount(m_mesh.tensor));
    if (const QString& classes = m_classes[static_cast<std::size_t>(rank)]; !classes.isEmpty())
        text += u", " + classes;
    return text;
}

QString RankTiles::stageTitle(int stage) const {
    QStringList numbers;
    for (int i = 0; i < m_stagesOfRank; ++i)
        numbers << formatCount(stage + i * m_mesh.pipeline);
    return m_stagesOfRank == 1 ? tr("Stage %1").arg(numbers.front())
                               : tr("Stages %1").arg(numbers.join(QStringLiteral(", ")));
}

int RankTiles::gutter() const {
    return m_mesh.pipeline > 1 ? m_theme.px(kGutter) : 0;
}

/// Whole copies where one fits.
int RankTiles::columns(int width) const {
    const int step = m_theme.px(kTileWidth + kTileGap);
    const int fit = std::max(1, (width - gutter() + m_theme.px(kTileGap)) / step);
    const int whole = fit >= m_mesh.tensor ? fit / m_mesh.tensor * m_mesh.tensor : fit;
    return std::min(whole, std::max(1, ranksOfStage()));
}

int RankTiles::rowsOfStage(int width) const {
    return (ranksOfStage() + columns(width) - 1) / columns(width);
}

/// Brackets are over the first stage only: the copies go on below it.
int RankTiles::stageTop(int stage, int width) const {
    const int rows = rowsOfStage(width);
    const int tile = m_theme.px(kTileHeight + kTileGap);
    const int brackets = stage > 0 ? rows * m_theme.px(kBracketHeight) : 0;
    return stage * rows * tile + brackets;
}

int RankTiles::heightForWidth(int width) const {
    return stageTop(m_mesh.pipeline, width);
}

QSize RankTiles::sizeHint() const {
    return {2 * m_theme.px(kTileWidth + kTileGap), heightForWidth(width())};
}

QSize RankTiles::minimumSizeHint() const {
    return {m_theme.px(kTileWidth), m_theme.px(kTileHeight + kBracketHeight)};
}

QRect RankTiles::tileRect(int rank) const {
    const int perRow = columns(width());
    const int inStage = rank % ranksOfStage(), stage = rank / ranksOfStage();
    const int column = inStage % perRow, row = inStage / perRow;
    const int bracket = stage == 0 ? m_theme.px(kBracketHeight) : 0;
    return {gutter() + column * m_theme.px(kTileWidth + kTileGap),
            stageTop(stage, width()) + row * (m_theme.px(kTileHeight + kTileGap) + bracket) +
                bracket,
            m_theme.px(kTileWidth), m_theme.px(kTileHeight)};
}

/// The first of a copy, or of what of it lies in this line.
bool RankTiles::startsBracket(int rank) const {
    const int inStage = rank % ranksOfStage();
    return rank < ranksOfStage() &&
           (inStage % m_mesh.tensor == 0 || inStage % columns(width()) == 0);
}

void RankTiles::paintEvent(QPaintEvent* event) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    for (int stage = 0; stage < m_mesh.pipeline && m_mesh.pipeline > 1; ++stage)
        paintStage(painter, stage);
    for (int rank = 0; rank < count(); ++rank) {
        const QRect tile = tileRect(rank);
        if (!event->rect().intersects(
                tile.adjusted(0, -m_theme.px(kBracketHeight), m_theme.px(kTileGap), 0)))
            continue;
        if (startsBracket(rank)) {
            QRect tiles = tile;
            for (int next = rank + 1; next < ranksOfStage() && !startsBracket(next); ++next)
                tiles |= tileRect(next);
            paintBracket(painter, m_ranks[static_cast<std::size_t>(rank)], tiles);
        }
        paintLink(painter, rank);
        paintTile(painter, m_ranks[static_cast<std::size_t>(rank)], tile);
    }
}

/// What it is called, its layers, and the bar of its axis.
void RankTiles::paintStage(QPainter& painter, int stage) const {
    const Tone tone = m_theme.tone(MeshAxis::Pipeline);
    const QRect first = tileRect(stage * ranksOfStage());
    const QRect last = tileRect((stage + 1) * ranksOfStage() - 1);
    const int bar = gutter() - m_theme.px(space::kM);
    painter.fillRect(QRect(bar, first.top(), 3, last.bottom() - first.top() + 1), tone.solid);
    QRect line(0, first.top() + m_theme.px(space::kS), bar - m_theme.px(space::kS), m_theme.px(20));
    painter.setFont(m_theme.font(TypeStyle::Strong));
    painter.setPen(tone.text);
    painter.drawText(line, Qt::AlignRight | Qt::AlignVCenter, stageTitle(stage));
    line.translate(0, m_theme.px(20));
    painter.setFont(m_theme.font(TypeStyle::Small));
    painter.setPen(m_theme.color(Color::Text2));
    painter.drawText(line, Qt::AlignRight | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(m_layers[static_cast<std::size_t>(stage)],
                                                      Qt::ElideMiddle, line.width()));
}

/// To the next part of the same layers, where it lies beside it.
void RankTiles::paintLink(QPainter& painter, int rank) const {
    const plan::Coordinate place = m_mesh.coordinateOf(rank);
    if (place.tensor + 1 >= m_mesh.tensor)
        return;
    const QRect tile = tileRect(rank), next = tileRect(rank + 1);
    if (next.top() != tile.top())
        return;
    painter.setPen(QPen(m_theme.tone(MeshAxis::Tensor).solid, 2, Qt::SolidLine, Qt::FlatCap));
    for (const int y : {tile.center().y() - 3, tile.center().y() + 4})
        painter.drawLine(tile.right() + 1, y, next.left(), y);
}

void RankTiles::paintBracket(QPainter& painter, const plan::RankPlan& rank,
                             const QRect& tile) const {
    const Tone tone = m_theme.tone(MeshAxis::Data);
    const qreal y = tile.top() - m_theme.px(14) + 0.5;
    const QString text = tr("Copy %1, %2").arg(formatCount(rank.place.data), rowsText(rank.rows));
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
    painter.setBrush(m_mesh.pipeline > 1 ? m_theme.stage(rank.place.pipeline)
                                         : m_theme.color(Color::Surface));
    painter.drawRoundedRect(QRectF(tile).adjusted(0.5, 0.5, -0.5, -0.5), radius::kTile,
                            radius::kTile);
    const int side = m_theme.px(space::kM);
    QRect line(tile.left() + side, tile.top() + m_theme.px(space::kS), tile.width() - 2 * side,
               m_theme.px(20));
    painter.setFont(m_theme.font(TypeStyle::Strong));
    painter.setPen(m_theme.color(Color::Text));
    painter.drawText(line, Qt::AlignVCenter, tr("Rank %1").arg(formatCount(rank.rank)));
    const std::vector<MeshTag> tags = meshTagsOfRank(m_mesh, rank.rank);
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
        QStringList lines{describe(i)};
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

#include "moc_rank_tiles.cpp"
