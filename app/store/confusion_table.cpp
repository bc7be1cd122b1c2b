// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/store/confusion_table.h"

#include <algorithm>
#include <cmath>

namespace trainyard::app {

namespace {

std::optional<double> shareOf(std::int64_t part, std::int64_t whole) {
    if (whole <= 0)
        return std::nullopt;
    return static_cast<double>(part) / static_cast<double>(whole);
}

} // namespace

std::optional<ConfusionTable> ConfusionTable::from(spec::Confusion confusion) {
    const std::size_t cells = confusion.counts.size();
    const auto classes =
        static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(cells))));
    const auto& names = confusion.classNames;
    if (classes == 0 || classes * classes != cells || (!names.empty() && names.size() != classes) ||
        std::ranges::any_of(confusion.counts, [](std::int64_t count) { return count < 0; }))
        return std::nullopt;
    return ConfusionTable(std::move(confusion), static_cast<int>(classes));
}

ConfusionTable::ConfusionTable(spec::Confusion confusion, int classes)
    : m_confusion(std::move(confusion)), m_classes(classes) {}

QString ConfusionTable::name(int index) const {
    if (!hasNames())
        return QString::number(index);
    return QString::fromStdString(m_confusion.classNames[static_cast<std::size_t>(index)]);
}

std::int64_t ConfusionTable::count(int label, int prediction) const {
    return m_confusion.counts[static_cast<std::size_t>(label * m_classes + prediction)];
}

std::int64_t ConfusionTable::labelled(int label) const {
    std::int64_t sum = 0;
    for (int prediction = 0; prediction < m_classes; ++prediction)
        sum += count(label, prediction);
    return sum;
}

std::int64_t ConfusionTable::predicted(int prediction) const {
    std::int64_t sum = 0;
    for (int label = 0; label < m_classes; ++label)
        sum += count(label, prediction);
    return sum;
}

std::int64_t ConfusionTable::total() const {
    std::int64_t sum = 0;
    for (const std::int64_t count : m_confusion.counts)
        sum += count;
    return sum;
}

std::int64_t ConfusionTable::correct() const {
    std::int64_t sum = 0;
    for (int each = 0; each < m_classes; ++each)
        sum += count(each, each);
    return sum;
}

std::optional<double> ConfusionTable::recall(int label) const {
    return share(label, label);
}

std::optional<double> ConfusionTable::precision(int prediction) const {
    return shareOf(count(prediction, prediction), predicted(prediction));
}

std::optional<double> ConfusionTable::share(int label, int prediction) const {
    return shareOf(count(label, prediction), labelled(label));
}

} // namespace trainyard::app
