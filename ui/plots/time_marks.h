// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What happened on the time axis: marks at a moment and spans such as a pause. Shared by charts,
// lanes and the strip of events.
#pragma once

#include "ui/theme/tokens.h"

#include <QObject>
#include <QString>

#include <optional>
#include <vector>

namespace trainyard::ui {

enum class MarkKind { Checkpoint, Paused, Resumed, Warning, Heat, NonFinite };

struct TimeMark {
    double x = 0;
    MarkKind kind = MarkKind::Checkpoint;
    /// A sentence for tooltip and screen reader.
    QString text;
};

/// Open at the right while it lasts.
struct TimeSpan {
    double low = 0;
    std::optional<double> high;
    State state = State::Paused;
};

QString markIcon(MarkKind kind);
/// The state whose colour the mark takes; none for a neutral one.
std::optional<State> markState(MarkKind kind);

class TimeMarks : public QObject {
    Q_OBJECT
public:
    explicit TimeMarks(QObject* parent = nullptr) : QObject(parent) {}

    /// Sorted by x.
    const std::vector<TimeMark>& marks() const { return m_marks; }
    const std::vector<TimeSpan>& spans() const { return m_spans; }
    void addMark(const TimeMark& mark);
    void addSpan(const TimeSpan& span);
    /// Ends the newest open span.
    void closeSpan(double high);
    void clear();

signals:
    void changed();

private:
    std::vector<TimeMark> m_marks;
    std::vector<TimeSpan> m_spans;
};

} // namespace trainyard::ui
