// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "ui/compose/start_view.h"

#include "ui/compose/sample_card.h"
#include "ui/compose/scroll_panel.h"
#include "ui/theme/theme.h"
#include "ui/widgets/button.h"
#include "ui/widgets/text_label.h"

#include <QAbstractButton>
#include <QFrame>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QResizeEvent>

#include <algorithm>

namespace trainyard::ui {

namespace {

constexpr int kSideWidth = 340;
constexpr int kCardLeast = 280;
constexpr int kWayHeight = 60;
/// Narrower than this there is no room for the side.
constexpr int kWithSide = 1000;

/// A way to begin: icon, name, what it is, its keys.
class WayButton : public QAbstractButton {
public:
    WayButton(const Theme& theme, QString icon, const QString& name, QString detail,
              const QKeySequence& keys, QWidget* parent)
        : QAbstractButton(parent), m_theme(theme), m_icon(std::move(icon)),
          m_detail(std::move(detail)), m_keys(keys.toString(QKeySequence::NativeText)) {
        setText(name);
        setAccessibleDescription(m_detail);
        setFocusPolicy(Qt::TabFocus);
        setAttribute(Qt::WA_Hover);
        followTheme(this, theme);
    }
    QSize sizeHint() const override { return {m_theme.px(236), m_theme.px(kWayHeight)}; }

protected:
    void keyPressEvent(QKeyEvent* event) override {
        if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter)
            click();
        else
            QAbstractButton::keyPressEvent(event);
    }
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(m_theme.color(Color::BorderStrong), 1));
        painter.setBrush(m_theme.color(isDown()       ? Color::Pressed
                                       : underMouse() ? Color::Hover
                                                      : Color::Surface));
        painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), radius::kTile,
                                radius::kTile);
        const int side = m_theme.px(space::kL), size = m_theme.px(icon_size::kRail);
        painter.drawPixmap(
            side, (height() - size) / 2,
            m_theme.pixmap(m_icon, m_theme.color(Color::AccentText), size, devicePixelRatioF()));
        const int left = side + size + m_theme.px(space::kM);
        const int line = m_theme.px(20);
        painter.setFont(m_theme.font(TypeStyle::Strong));
        painter.setPen(m_theme.color(Color::Text));
        painter.drawText(QRect(left, height() / 2 - line + 1, width() - left, line),
                         Qt::AlignVCenter, text());
        painter.setFont(m_theme.font(TypeStyle::Small));
        painter.setPen(m_theme.color(Color::Text3));
        painter.drawText(QRect(left, height() / 2 + 1, width() - left - side, line),
                         Qt::AlignVCenter, m_detail);
        painter.setFont(m_theme.font(TypeStyle::Caption));
        painter.drawText(rect().adjusted(0, m_theme.px(space::kS), -m_theme.px(space::kS), 0),
                         Qt::AlignRight | Qt::AlignTop, m_keys);
        if (hasFocus())
            drawFocusRing(painter, m_theme, rect(), radius::kTile);
    }

private:
    const Theme& m_theme;
    QString m_icon, m_detail, m_keys;
};

/// "1  Take a sample": a numbered step.
QWidget* step(const Theme& theme, int number, const QString& text) {
    auto* row = new QWidget;
    auto* layout = new QHBoxLayout(row);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(theme.px(space::kM));
    auto* digit = new TextLabel(theme, TypeStyle::Strong, Color::Text3);
    digit->setText(QString::number(number));
    digit->setFixedWidth(theme.px(space::kM));
    layout->addWidget(digit);
    layout->addWidget(makeParagraph(theme, TypeStyle::Body, QStringLiteral("text2"), text), 1);
    return row;
}

/// A dashed area; the page around it takes the drop.
class DropArea : public QLabel {
public:
    DropArea(const Theme& theme, const QString& text) : QLabel(text), m_theme(theme) {
        setProperty("tone", QStringLiteral("text3"));
        setAlignment(Qt::AlignCenter);
        setWordWrap(true);
        setMinimumHeight(theme.px(64));
        setMargin(theme.px(space::kM));
    }

protected:
    void paintEvent(QPaintEvent* event) override {
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(m_theme.color(Color::Control), 1, Qt::DashLine));
        painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), radius::kTile,
                                radius::kTile);
        painter.end();
        QLabel::paintEvent(event);
    }

private:
    const Theme& m_theme;
};

} // namespace

StartView::StartView(const Theme& theme, std::vector<app::Sample> samples, QWidget* parent)
    : QWidget(parent), m_theme(theme), m_samples(std::move(samples)) {
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(makeMain(), 1);
    m_side = makeSide();
    layout->addWidget(m_side);
}

QWidget* StartView::makeMain() {
    auto* scroll = new ScrollPanel(this);
    auto* content = new QWidget;
    auto* column = new QVBoxLayout(content);
    const int side = m_theme.px(40);
    column->setContentsMargins(side, m_theme.px(space::kXxl), side, m_theme.px(space::kXxl));
    column->setSpacing(m_theme.px(space::kS));
    auto* titleRow = new QHBoxLayout;
    auto* title = new TextLabel(m_theme, TypeStyle::Display, Color::Text);
    title->setText(tr("Start an experiment"));
    m_back = makeButton(m_theme, ButtonKind::Normal, {}, QStringLiteral("chevron-left"));
    connect(m_back, &QPushButton::clicked, this, &StartView::backRequested);
    titleRow->addWidget(title, 1);
    titleRow->addWidget(m_back);
    column->addLayout(titleRow);
    auto* subtitle = new TextLabel(m_theme, TypeStyle::Body, Color::Text2);
    subtitle->setText(tr("Take a sample and watch it train in a minute, or begin with your own "
                         "data."));
    column->addWidget(subtitle);
    column->addSpacing(m_theme.px(space::kL));
    auto* ways = new QHBoxLayout;
    ways->setSpacing(m_theme.px(space::kM));
    auto* empty = new WayButton(m_theme, QStringLiteral("plus"), tr("Empty model"),
                                tr("draw it layer by layer"), QKeySequence::New, content);
    auto* open = new WayButton(m_theme, QStringLiteral("folder"), tr("Open"),
                               tr("an experiment file"), QKeySequence::Open, content);
    connect(empty, &QAbstractButton::clicked, this, &StartView::emptyRequested);
    connect(open, &QAbstractButton::clicked, this, &StartView::openRequested);
    ways->addWidget(empty);
    ways->addWidget(open);
    ways->addStretch(1);
    column->addLayout(ways);
    column->addSpacing(m_theme.px(space::kL));
    auto* samplesRow = new QHBoxLayout;
    samplesRow->setSpacing(m_theme.px(space::kM));
    auto* samplesTitle = new TextLabel(m_theme, TypeStyle::Title, Color::Text);
    samplesTitle->setText(tr("Samples"));
    samplesTitle->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
    auto* note = new TextLabel(m_theme, TypeStyle::Small, Color::Text3);
    note->setText(tr("they come with the program; no download"));
    samplesRow->addWidget(samplesTitle);
    samplesRow->addWidget(note, 1);
    column->addLayout(samplesRow);
    m_grid = new QGridLayout;
    m_grid->setSpacing(m_theme.px(space::kL));
    column->addLayout(m_grid);
    column->addStretch(1);
    for (const app::Sample& sample : m_samples) {
        auto* card = new SampleCard(m_theme, sample, content);
        connect(card, &QAbstractButton::clicked, this,
                [this, sample] { emit sampleChosen(sample); });
        m_cards.push_back(card);
    }
    setBack({});
    scroll->setContent(content);
    return scroll;
}

QWidget* StartView::makeSide() {
    auto* panel = new QFrame(this);
    panel->setProperty("region", QStringLiteral("panelRight"));
    panel->setFixedWidth(m_theme.px(kSideWidth));
    auto* column = new QVBoxLayout(panel);
    const int side = m_theme.px(space::kL);
    column->setContentsMargins(side, m_theme.px(space::kXl), side, side);
    column->setSpacing(m_theme.px(space::kM));
    auto* title = new TextLabel(m_theme, TypeStyle::Strong, Color::Text);
    title->setText(tr("First time here?"));
    column->addWidget(title);
    column->addWidget(step(m_theme, 1, tr("Take one of the samples")));
    column->addWidget(step(m_theme, 2, tr("Press Train, or Ctrl+Enter")));
    column->addWidget(step(m_theme, 3, tr("Watch it in Monitor, compare in History")));
    column->addStretch(1);
    column->addWidget(new DropArea(m_theme, tr("Drop an experiment file anywhere on this page")));
    return panel;
}

void StartView::setBack(const QString& experiment) {
    m_back->setText(tr("Back to %1").arg(experiment));
    m_back->setVisible(!experiment.isEmpty());
}

void StartView::placeCards(int width) {
    const int gap = m_theme.px(space::kL);
    const int fits = (width + gap) / (m_theme.px(kCardLeast) + gap);
    const int columns = std::clamp(fits, 1, 3);
    if (columns == m_columns)
        return;
    for (SampleCard* card : m_cards)
        m_grid->removeWidget(card);
    for (int column = 0; column < 3; ++column)
        m_grid->setColumnStretch(column, column < columns ? 1 : 0);
    for (int i = 0; i < static_cast<int>(m_cards.size()); ++i)
        m_grid->addWidget(m_cards[static_cast<std::size_t>(i)], i / columns, i % columns);
    m_columns = columns;
}

void StartView::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    const bool side = width() >= m_theme.px(kWithSide);
    m_side->setVisible(side);
    placeCards(width() - m_theme.px(80) - (side ? m_theme.px(kSideWidth) : 0));
}

} // namespace trainyard::ui

#include "moc_start_view.cpp"
