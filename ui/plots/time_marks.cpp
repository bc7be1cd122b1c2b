// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Marks stay sorted, so that painting can stop at the edge of what is seen.
#include "ui/plots/time_marks.h"

#include <algorithm>

namespace trainyard::ui {

QString markIcon(MarkKind kind) {
    switch (kind) {
    case MarkKind::Checkpoint:
        return QStringLiteral("checkpoint");
    case MarkKind::Paused:
        return QStringLiteral("pause");
    case MarkKind::Resumed:
        return QStringLiteral("resume");
    case MarkKind::Warning:
        return QStringLiteral("warning");
    case MarkKind::Heat:
        return QStringLiteral("thermometer");
    case MarkKind::NonFinite:
        break;
    }
    return QStringLiteral("close");
}

std::optional<State> markState(MarkKind kind) {
    switch (kind) {
    case MarkKind::Paused:
        return State::Paused;
    case MarkKind::Warning:
    case MarkKind::Heat:
        return State::Warning;
    case MarkKind::NonFinite:
        return State::Failed;
    case MarkKind::Checkpoint:
    case MarkKind::Resumed:
        break;
    }
    return std::nullopt;
}

void TimeMarks::addMark(const TimeMark& mark) {
    const auto place =
        std::upper_bound(m_marks.begin(), m_marks.end(), mark,
                         [](const TimeMark& a, const TimeMark& b) { return a.x < b.x; });
    m_marks.insert(place, mark);
    emit changed();
}

void TimeMarks::addSpan(const TimeSpan& span) {
    m_spans.push_back(span);
    emit changed();
}

void TimeMarks::closeSpan(double high) {
    for (auto span = m_spans.rbegin(); span != m_spans.rend(); ++span) {
        if (!span->high) {
            span->high = high;
            emit changed();
            return;
        }
    }
}

void TimeMarks::clear() {
    m_marks.clear();
    m_spans.clear();
    emit changed();
}

} // namespace trainyard::ui

#include "moc_time_marks.cpp"
