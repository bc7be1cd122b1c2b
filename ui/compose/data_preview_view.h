// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The first samples of the data to look at: pictures with their labels, the columns of a table with
// their first rows and statistics, the begin of a text.
#pragma once

#include "app/models/data_facts.h"

#include <QImage>
#include <QWidget>

#include <vector>

class QPlainTextEdit;
class QTableWidget;

namespace trainyard::ui {

class TextLabel;
class Theme;

/// Thumbnails in a row that breaks where it must, each above its label.
class PictureStrip : public QWidget {
    Q_OBJECT
public:
    explicit PictureStrip(const Theme& theme, QWidget* parent = nullptr);

    void setPictures(const app::DataFacts& facts);
    int count() const { return static_cast<int>(m_pictures.size()); }
    const QImage& picture(int index) const {
        return m_pictures[static_cast<std::size_t>(index)].image;
    }
    QString label(int index) const { return m_pictures[static_cast<std::size_t>(index)].label; }

    QSize sizeHint() const override;
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    struct Picture {
        QImage image;
        QString label;
    };
    QSize cell() const;
    int perRow(int width) const;

    const Theme& m_theme;
    std::vector<Picture> m_pictures;
};

class DataPreviewView : public QWidget {
    Q_OBJECT
public:
    explicit DataPreviewView(const Theme& theme, QWidget* parent = nullptr);

    /// Hides itself where there is nothing to look at.
    void setFacts(const app::DataFacts& facts);

private:
    void makeTable();
    void fillTable(const app::DataFacts& facts);
    QStringList headsFor(std::size_t rows) const;

    const Theme& m_theme;
    TextLabel* m_title;
    PictureStrip* m_pictures;
    QTableWidget* m_table;
    QPlainTextEdit* m_text;
};

} // namespace trainyard::ui
