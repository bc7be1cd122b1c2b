// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/data_preview_view.h"

#include "ui/theme/theme.h"
#include "ui/widgets/format.h"
#include "ui/widgets/text_label.h"

#include <QHeaderView>
#include <QPainter>
#include <QPlainTextEdit>
#include <QTableWidget>
#include <QVBoxLayout>

#include <algorithm>

namespace trainyard::ui {

namespace {

constexpr int kThumbnail = 72;
constexpr int kTextHeight = 132;
constexpr std::size_t kCategoriesNamed = 6;
constexpr int kColumnsShown = 12; ///< of the table before it scrolls

/// Pictures are gray or red, green and blue; of other ones the first channel is shown.
QImage imageOf(const std::string& bytes, const Shape& shape) {
    if (shape.size() != 3 ||
        static_cast<std::int64_t>(bytes.size()) != shape[0] * shape[1] * shape[2])
        return {};
    const auto height = static_cast<int>(shape[1]), width = static_cast<int>(shape[2]);
    const std::size_t plane = static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
    const bool colored = shape[0] == 3;
    QImage image(width, height, QImage::Format_RGB32);
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) {
            const std::size_t at = static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                                   static_cast<std::size_t>(x);
            const auto value = [&](std::size_t channel) {
                return static_cast<unsigned char>(bytes[channel * plane + at]);
            };
            image.setPixel(x, y,
                           colored ? qRgb(value(0), value(1), value(2))
                                   : qRgb(value(0), value(0), value(0)));
        }
    return image;
}

QString useText(const std::string& use) {
    if (use == "number")
        return DataPreviewView::tr("number");
    if (use == "category")
        return DataPreviewView::tr("category");
    if (use == "class")
        return DataPreviewView::tr("class to predict");
    if (use == "target")
        return DataPreviewView::tr("number to predict");
    return DataPreviewView::tr("left out");
}

QString categoriesText(const std::vector<std::string>& categories) {
    QStringList words;
    for (std::size_t i = 0; i < std::min(categories.size(), kCategoriesNamed); ++i)
        words << QString::fromStdString(categories[i]).simplified();
    if (categories.size() > kCategoriesNamed)
        words << QStringLiteral("…");
    return words.join(u", ");
}

QTableWidgetItem* previewCell(const QString& text, Qt::Alignment side = Qt::AlignLeft) {
    auto* item = new QTableWidgetItem(text);
    item->setTextAlignment(side | Qt::AlignVCenter);
    item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable);
    return item;
}

} // namespace

PictureStrip::PictureStrip(const Theme& theme, QWidget* parent) : QWidget(parent), m_theme(theme) {
    setObjectName(QStringLiteral("pictureStrip"));
    QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
    followTheme(this, theme);
}

void PictureStrip::setPictures(const app::DataFacts& facts) {
    m_pictures.clear();
    QStringList labels;
    for (const app::PicturePreview& each : facts.preview.pictures) {
        Picture picture{imageOf(each.bytes, facts.training.sampleShape), {}};
        const auto& names = facts.training.classNames;
        if (each.label && static_cast<std::size_t>(*each.label) < names.size())
            picture.label =
                QString::fromStdString(names[static_cast<std::size_t>(*each.label)]).simplified();
        else if (each.label)
            picture.label = formatCount(*each.label);
        labels << picture.label;
        m_pictures.push_back(std::move(picture));
    }
    setAccessibleName(tr("Training pictures"));
    setAccessibleDescription(labels.join(u", "));
    updateGeometry();
    update();
}

QSize PictureStrip::cell() const {
    return {m_theme.px(kThumbnail + space::kS),
            m_theme.px(kThumbnail + space::kS) + m_theme.lineHeight(TypeStyle::Small)};
}

int PictureStrip::perRow(int width) const {
    return std::max(1, width / cell().width());
}

int PictureStrip::heightForWidth(int width) const {
    return (count() + perRow(width) - 1) / perRow(width) * cell().height();
}

QSize PictureStrip::sizeHint() const {
    return {8 * cell().width(), heightForWidth(8 * cell().width())};
}

void PictureStrip::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const QFont& font = m_theme.font(TypeStyle::Small);
    painter.setFont(font);
    const int side = m_theme.px(kThumbnail), columns = perRow(width());
    for (int i = 0; i < count(); ++i) {
        const QPoint corner(i % columns * cell().width(), i / columns * cell().height());
        const QImage& image = picture(i);
        const QSize size = image.size().scaled(side, side, Qt::KeepAspectRatio);
        const QRect rect(corner + QPoint((side - size.width()) / 2, (side - size.height()) / 2),
                         size);
        painter.setRenderHint(QPainter::SmoothPixmapTransform, image.width() > side);
        painter.drawImage(rect, image);
        painter.setPen(m_theme.color(Color::Border));
        painter.drawRect(rect.adjusted(0, 0, -1, -1));
        painter.setPen(m_theme.color(Color::Text2));
        painter.drawText(
            QRect(corner.x(), corner.y() + side, side, m_theme.lineHeight(TypeStyle::Small)),
            Qt::AlignCenter | Qt::TextSingleLine,
            QFontMetrics(font).elidedText(label(i), Qt::ElideMiddle, side));
    }
}

DataPreviewView::DataPreviewView(const Theme& theme, QWidget* parent)
    : QWidget(parent), m_theme(theme), m_title(new TextLabel(theme, TypeStyle::Strong)),
      m_pictures(new PictureStrip(theme)), m_table(new QTableWidget), m_text(new QPlainTextEdit) {
    setObjectName(QStringLiteral("dataPreview"));
    makeTable();
    m_text->setObjectName(QStringLiteral("textPreview"));
    m_text->setAccessibleName(tr("The begin of the text"));
    m_text->setReadOnly(true);
    m_text->setFixedHeight(theme.px(kTextHeight));
    const auto style = [this] {
        m_text->setFont(m_theme.font(TypeStyle::Mono));
    };
    style();
    connect(&theme, &Theme::themeChanged, this, style);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, theme.px(space::kL));
    column->setSpacing(theme.px(space::kS));
    column->addWidget(m_title);
    column->addWidget(m_pictures);
    column->addWidget(m_table);
    column->addWidget(m_text);
}

void DataPreviewView::makeTable() {
    m_table->setObjectName(QStringLiteral("columnPreview"));
    m_table->setAccessibleName(tr("Columns of the table"));
    m_table->setFrameShape(QFrame::NoFrame);
    m_table->setShowGrid(false);
    m_table->setWordWrap(false);
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    m_table->verticalHeader()->hide();
    m_table->verticalHeader()->setDefaultSectionSize(m_theme.px(height::kRowCompact));
    m_table->horizontalHeader()->setHighlightSections(false);
    m_table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
}

void DataPreviewView::setFacts(const app::DataFacts& facts) {
    const app::DataPreview& preview = facts.preview;
    m_pictures->setVisible(!preview.pictures.empty());
    m_table->setVisible(!preview.columns.empty());
    m_text->setVisible(!preview.text.empty());
    setVisible(!m_pictures->isHidden() || !m_table->isHidden() || !m_text->isHidden());
    if (!preview.pictures.empty()) {
        m_title->setText(tr("Some training pictures"));
        m_pictures->setPictures(facts);
    } else if (!preview.columns.empty()) {
        m_title->setText(tr("Columns and their first rows"));
        fillTable(facts);
    } else if (!preview.text.empty()) {
        m_title->setText(tr("The text begins with"));
        m_text->setPlainText(QString::fromStdString(preview.text));
    }
}

QStringList DataPreviewView::headsFor(std::size_t rows) const {
    QStringList heads{tr("Column"), tr("Used as")};
    for (std::size_t row = 0; row < rows; ++row)
        heads << tr("Row %1").arg(formatCount(static_cast<qint64>(row) + 1));
    return heads << tr("Missing") << tr("Mean") << tr("Deviation") << tr("Categories");
}

void DataPreviewView::fillTable(const app::DataFacts& facts) {
    const auto& columns = facts.preview.columns;
    std::size_t rows = 0;
    for (const app::ColumnPreview& column : columns)
        rows = std::max(rows, column.examples.size());
    const QStringList heads = headsFor(rows);
    m_table->clear();
    m_table->setColumnCount(static_cast<int>(heads.size()));
    m_table->setHorizontalHeaderLabels(heads);
    m_table->setRowCount(static_cast<int>(columns.size()));
    for (int line = 0; line < m_table->rowCount(); ++line) {
        const app::ColumnPreview& column = columns[static_cast<std::size_t>(line)];
        QStringList cells{QString::fromStdString(column.name), useText(column.use)};
        for (std::size_t row = 0; row < rows; ++row)
            cells << (row < column.examples.size() ? QString::fromStdString(column.examples[row])
                                                   : QString());
        cells << formatCount(column.missing)
              << (column.mean ? formatSignificant(*column.mean, 4) : QString())
              << (column.deviation ? formatSignificant(*column.deviation, 4) : QString())
              << categoriesText(column.categories);
        for (int at = 0; at < cells.size(); ++at)
            m_table->setItem(line, at, previewCell(cells[at]));
    }
    m_table->resizeColumnsToContents();
    for (int column = 0; column < m_table->columnCount() - 1; ++column)
        m_table->setColumnWidth(column, m_table->columnWidth(column) + m_theme.px(space::kM));
    m_table->horizontalHeader()->setStretchLastSection(true);
    const int shown = std::min(m_table->rowCount(), kColumnsShown);
    m_table->setFixedHeight(m_table->horizontalHeader()->sizeHint().height() +
                            (shown * m_theme.px(height::kRowCompact)) + m_theme.px(space::kM));
}

} // namespace trainyard::ui

#include "moc_data_preview_view.cpp"
