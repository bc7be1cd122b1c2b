// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Invariant: m_levels[k] has ceil(n / kFan^(k+1)) entries, and a level exists once the one below
// has more than kFan entries.
#include "ui/plots/curve_data.h"

#include <algorithm>
#include <cmath>

namespace trainyard::ui {

namespace {

CurveExtent pointExtent(float y) {
    CurveExtent extent;
    if (!std::isfinite(y)) {
        extent.hidden = 1;
        return extent;
    }
    extent.low = extent.high = y;
    if (y > 0)
        extent.lowPositive = y;
    else
        extent.hidden = 1;
    return extent;
}

NonFinite kindOf(float y) {
    return std::isnan(y) ? NonFinite::NotANumber
           : y > 0       ? NonFinite::PlusInfinity
                         : NonFinite::MinusInfinity;
}

} // namespace

void CurveExtent::add(const CurveExtent& other) {
    low = std::min(low, other.low);
    high = std::max(high, other.high);
    lowPositive = std::min(lowPositive, other.lowPositive);
    hidden += other.hidden;
}

bool CurveData::append(double x, float y) {
    if (std::isnan(x) || (!m_ys.empty() && x < this->x(m_ys.size() - 1)))
        return false;
    storeX(x);
    m_ys.push_back(y);
    addToLevels(pointExtent(y));
    if (!std::isfinite(y))
        noteNonFinite(m_ys.size() - 1, y);
    return true;
}

bool CurveData::append(std::span<const double> xs, std::span<const float> ys) {
    bool all = true;
    const std::size_t count = std::min(xs.size(), ys.size());
    // Only for a first load: an exact reserve on every small batch would copy all each time.
    if (count > m_ys.size())
        m_ys.reserve(m_ys.size() + count);
    for (std::size_t i = 0; i < count; ++i)
        all = append(xs[i], ys[i]) && all;
    return all;
}

/// Called before the point's y is stored: size() is still the new point's index.
void CurveData::storeX(double x) {
    const std::size_t index = m_ys.size();
    if (!isRegular()) {
        m_xs.push_back(x);
        return;
    }
    if (index == 0) {
        m_start = x;
        m_stride = 1;
        return;
    }
    if (index == 1 && x > m_start) {
        m_stride = x - m_start;
        if (m_start + m_stride == x)
            return;
    }
    if (x == m_start + m_stride * static_cast<double>(index))
        return;
    // No longer regular: from now on every x is kept.
    m_xs.reserve(2 * index + 16);
    for (std::size_t i = 0; i < index; ++i)
        m_xs.push_back(m_start + m_stride * static_cast<double>(i));
    m_xs.push_back(x);
}

CurveExtent CurveData::entry(std::size_t level, std::size_t index) const {
    return level == 0 ? pointExtent(m_ys[index]) : m_levels[level - 1][index];
}

void CurveData::addToLevels(const CurveExtent& point) {
    std::size_t index = m_ys.size() - 1;
    std::size_t below = m_ys.size();
    for (std::size_t level = 0;; ++level) {
        index /= kFan;
        if (level == m_levels.size()) {
            if (below <= kFan)
                return;
            std::vector<CurveExtent>& fresh = m_levels.emplace_back((below + kFan - 1) / kFan);
            for (std::size_t i = 0; i < below; ++i)
                fresh[i / kFan].add(entry(level, i));
            below = fresh.size();
            continue;
        }
        std::vector<CurveExtent>& entries = m_levels[level];
        if (index == entries.size())
            entries.push_back(point);
        else
            entries.back().add(point);
        below = entries.size();
    }
}

void CurveData::noteNonFinite(std::size_t index, float y) {
    const NonFinite kind = kindOf(y);
    if (!m_nonFinite.empty() && m_nonFinite.back().end == index && m_nonFinite.back().kind == kind)
        ++m_nonFinite.back().end;
    else
        m_nonFinite.push_back({index, index + 1, kind});
}

void CurveData::truncate(std::size_t count) {
    if (count >= m_ys.size())
        return;
    ++m_generation;
    m_ys.resize(count);
    if (!isRegular())
        m_xs.resize(count);
    std::size_t below = count;
    for (std::size_t level = 0; level < m_levels.size(); ++level) {
        if (below <= kFan) {
            m_levels.resize(level);
            break;
        }
        std::vector<CurveExtent>& entries = m_levels[level];
        entries.resize((below + kFan - 1) / kFan);
        // Only the last entry may have lost some of what it sums up.
        entries.back() = {};
        for (std::size_t i = (entries.size() - 1) * kFan; i < below; ++i)
            entries.back().add(entry(level, i));
        below = entries.size();
    }
    while (!m_nonFinite.empty() && m_nonFinite.back().begin >= count)
        m_nonFinite.pop_back();
    if (!m_nonFinite.empty())
        m_nonFinite.back().end = std::min(m_nonFinite.back().end, count);
}

std::size_t CurveData::lowerBound(double value) const {
    const std::size_t count = size();
    if (!isRegular())
        return static_cast<std::size_t>(std::lower_bound(m_xs.begin(), m_xs.end(), value) -
                                        m_xs.begin());
    if (count == 0 || value <= m_start)
        return 0;
    if (value > x(count - 1))
        return count;
    // Division may be off by one at the edges; the loops settle it.
    auto index = static_cast<std::size_t>((value - m_start) / m_stride);
    index = std::min(index, count - 1);
    while (index > 0 && x(index - 1) >= value)
        --index;
    while (index < count && x(index) < value)
        ++index;
    return index;
}

std::size_t CurveData::seek(std::size_t from, std::size_t guess, double value) const {
    if (isRegular())
        return std::max(from, lowerBound(value));
    const std::size_t count = size();
    if (from >= count || m_xs[from] >= value)
        return from;
    // Invariant: x(low) < value, and x(high) >= value or high == count once the loops are done.
    std::size_t low = from;
    std::size_t high = std::clamp(guess, from + 1, count);
    std::size_t step = 4;
    if (high < count && m_xs[high] < value) {
        while (high < count && m_xs[high] < value) {
            low = high;
            high = std::min(count, high + step);
            step *= 2;
        }
    } else {
        while (high - low > step && m_xs[high - step] >= value) {
            high -= step;
            step *= 2;
        }
        if (high - low > step)
            low = high - step;
    }
    const auto first = m_xs.begin();
    return static_cast<std::size_t>(std::lower_bound(first + static_cast<std::ptrdiff_t>(low),
                                                     first + static_cast<std::ptrdiff_t>(high),
                                                     value) -
                                    first);
}

std::optional<std::size_t> CurveData::nearest(double value) const {
    if (empty())
        return std::nullopt;
    const std::size_t after = lowerBound(value);
    if (after == 0)
        return 0;
    if (after == size())
        return size() - 1;
    return value - x(after - 1) <= x(after) - value ? after - 1 : after;
}

CurveExtent CurveData::extent(std::size_t begin, std::size_t end) const {
    CurveExtent total;
    end = std::min(end, size());
    for (std::size_t level = 0; begin < end; ++level) {
        if (level == m_levels.size() || end - begin < 2 * kFan) {
            for (; begin < end; ++begin)
                total.add(entry(level, begin));
            break;
        }
        for (; begin % kFan != 0; ++begin)
            total.add(entry(level, begin));
        for (; end % kFan != 0; --end)
            total.add(entry(level, end - 1));
        begin /= kFan;
        end /= kFan;
    }
    return total;
}

std::optional<std::size_t> CurveData::lastFinite() const {
    std::size_t end = size();
    for (auto run = m_nonFinite.rbegin(); run != m_nonFinite.rend() && run->end == end; ++run)
        end = run->begin;
    if (end == 0)
        return std::nullopt;
    return end - 1;
}

std::size_t CurveData::bytes() const {
    std::size_t total = m_ys.capacity() * sizeof(float) + m_xs.capacity() * sizeof(double) +
                        m_nonFinite.capacity() * sizeof(NonFiniteRun);
    for (const auto& level : m_levels)
        total += level.capacity() * sizeof(CurveExtent);
    return total;
}

} // namespace trainyard::ui
