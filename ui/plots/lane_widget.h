// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// One lane per device or rank on the shared time axis: utilization as a filled curve, the name in
// the left gutter, current values in the right one. What is not known is hatched and says N/A.
#pragma once

#include "ui/plots/curve_data.h"
#include "ui/plots/timeline_widget.h"
#include "ui/widgets/mesh_tag.h"

namespace trainyard::ui {

/// A column of values at the right of the lanes; the same list for a head and its lanes.
struct LaneColumn {
    QString title;
    /// Measured for the widest value, e.g. "100 %"; the widest title counts too.
    QString widest;
};

struct LaneValue {
    /// Empty is N/A.
    QString text;
    bool warning = false;
    bool operator==(const LaneValue&) const = default;
};

class LaneWidget : public TimelineWidget {
    Q_OBJECT
public:
    static constexpr int kHeight = 34;
    static constexpr int kCompactHeight = 24;

    LaneWidget(const Theme& theme, TimeAxis& axis, QString name, std::vector<LaneColumn> columns,
               QWidget* parent = nullptr);

    void setTags(const std::vector<MeshTag>& tags);
    void setCompact(bool compact);
    /// The series slot of the curve's colour.
    void setSlot(int slot);
    /// Bold name, e.g. for the device that a warning is about.
    void setEmphasized(bool emphasized);

    /// load in percent of the device; not-a-number where it was not measured.
    void append(double x, float load);
    const CurveData& data() const { return m_data; }
    void clear();
    void setValues(const std::vector<LaneValue>& values);
    /// From here on nothing is known (the host cannot be reached); none when it is back.
    void setUnknownFrom(std::optional<double> x);
    /// Tints the span and draws the curve in the colour of warnings there.
    void setWarningSpan(std::optional<AxisRange> span);

    QSize sizeHint() const override;

protected:
    void stepCursor(int points) override;
    void paintEvent(QPaintEvent* event) override;

private:
    void paintName(QPainter& painter) const;
    void paintCurve(QPainter& painter, const QRect& area) const;
    void paintUnknown(QPainter& painter, const QRect& area) const;
    void paintValues(QPainter& painter) const;
    void updateAccessible();

    QString m_name;
    std::vector<LaneColumn> m_columns;
    std::vector<MeshTag> m_tags;
    std::vector<LaneValue> m_values;
    CurveData m_data;
    int m_slot = 0;
    bool m_compact = false;
    bool m_emphasized = false;
    std::optional<double> m_unknownFrom;
    std::optional<AxisRange> m_warning;
};

/// The head over the lanes of one host: its name, and the titles of the columns.
class LaneHead : public QWidget {
    Q_OBJECT
public:
    static constexpr int kHeight = 24;
    LaneHead(const Theme& theme, const TimeAxis& axis, QString host,
             std::vector<LaneColumn> columns, QWidget* parent = nullptr);
    /// Only the first head of a list carries the titles.
    void setTitlesVisible(bool visible);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    const Theme& m_theme;
    const TimeAxis& m_axis;
    QString m_host;
    std::vector<LaneColumn> m_columns;
    bool m_titles = true;
};

} // namespace trainyard::ui
