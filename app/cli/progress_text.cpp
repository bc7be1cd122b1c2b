// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "app/cli/progress_text.h"

#include "app/base/format.h"

#include <algorithm>
#include <cmath>

namespace trainyard::app {

namespace {

constexpr int kShortestBar = 8;
constexpr int kLongestBar = 40;
constexpr int kLossDigits = 4;

QString outOf(std::int64_t done, std::int64_t all) {
    return all > 0 ? QString::number(done) + u'/' + QString::number(all) : QString::number(done);
}

QString speed(double samplesPerSecond) {
    return formatShortCount(samplesPerSecond, QLocale::c()) + u" samples/s";
}

/// Whole seconds, rounded up: nobody needs to know a future more exactly.
QString timeLeft(double seconds) {
    const QString time = seconds < 60
                             ? QString::number(static_cast<int>(std::ceil(seconds))) + u" s"
                             : formatDuration(seconds, QLocale::c());
    return time + u" left";
}

/// A part of the status line; the higher the rank, the sooner it is left out.
struct Part {
    int rank = 0;
    QString text;
    Colour colour = Colour::Plain;
};

std::vector<Part> partsBehindBar(const RunProgress& now) {
    std::vector<Part> parts;
    if (now.trainLoss)
        parts.push_back({1, u"loss " + formatValue(*now.trainLoss, kLossDigits, QLocale::c()),
                         std::isfinite(*now.trainLoss) ? Colour::Plain : Colour::Bad});
    const auto quality = qualityOf(now.validated);
    if (quality && quality->first == spec::metric::kValidationPerplexity)
        parts.push_back(
            {3, u"val perplexity " + formatValue(quality->second, kLossDigits, QLocale::c()),
             Colour::Good});
    else if (now.validationAccuracy)
        parts.push_back(
            {3, u"val " + formatPercent(*now.validationAccuracy, 1, QLocale::c()), Colour::Good});
    else if (now.validationLoss)
        parts.push_back({3, u"val " + formatValue(*now.validationLoss, kLossDigits, QLocale::c()),
                         Colour::Good});
    if (now.samplesPerSecond)
        parts.push_back({4, speed(*now.samplesPerSecond), Colour::Faint});
    if (now.secondsLeft)
        parts.push_back({2, timeLeft(*now.secondsLeft)});
    return parts;
}

Line bar(double fraction, int columns) {
    const int full = static_cast<int>(std::lround(std::clamp(fraction, 0.0, 1.0) * columns));
    return {{QString(full, u'━'), Colour::Accent}, {QString(columns - full, u'─'), Colour::Faint}};
}

int widthOf(const std::vector<Part>& parts) {
    int columns = 0;
    for (const Part& part : parts)
        columns += columnsOf(part.text) + 2;
    return columns;
}

/// Leaves out what matters least until the rest takes no more than `columns`.
void shorten(std::vector<Part>& parts, int columns) {
    while (!parts.empty() && widthOf(parts) > columns)
        parts.erase(
            std::max_element(parts.begin(), parts.end(), [](const Part& left, const Part& right) {
                return left.rank < right.rank;
            }));
}

} // namespace

Line progressLine(const RunProgress& progress, int columns) {
    const bool known = progress.steps > 0;
    const double fraction =
        known ? static_cast<double>(progress.step) / static_cast<double>(progress.steps) : 0;
    std::vector<Part> parts = partsBehindBar(progress);
    const QString epoch = progress.epochs > 0
                              ? u"epoch " + outOf(progress.currentEpoch(), progress.epochs)
                              : QStringLiteral("starting");
    if (known)
        parts.insert(parts.begin(), {5, u"step " + outOf(progress.step, progress.steps)});
    const QString percent = known ? formatPercent(fraction, 0, QLocale::c()) : QString();

    const int fixed = columnsOf(epoch) + 2 + columnsOf(percent);
    shorten(parts, columns - fixed - kShortestBar - 1);
    const int room = columns - fixed - widthOf(parts) - 1;
    Line line{{epoch + u"  "}};
    if (room >= kShortestBar)
        for (Span& span : bar(fraction, std::min(room, kLongestBar)))
            line.push_back(std::move(span));
    line.push_back({u' ' + percent});
    for (const Part& part : parts)
        line.push_back({u"  " + part.text, part.colour});
    return line;
}

QString epochLine(const RunProgress& progress) {
    QStringList parts{u"epoch " + outOf(progress.currentEpoch(), progress.epochs),
                      u"step " + outOf(progress.step, progress.steps)};
    const auto add = [&](QLatin1StringView name, const std::optional<double>& value) {
        if (value)
            parts += name + u' ' + formatValue(*value, kLossDigits, QLocale::c());
    };
    add(QLatin1StringView("loss"), progress.trainLoss);
    add(QLatin1StringView("val_loss"), progress.validationLoss);
    add(QLatin1StringView("val_accuracy"), progress.validationAccuracy);
    for (const auto& [name, value] : progress.validated)
        if (name != spec::metric::kValidationLoss && name != spec::metric::kValidationAccuracy)
            add(QLatin1StringView(name), value);
    if (progress.samplesPerSecond)
        parts += speed(*progress.samplesPerSecond);
    if (progress.secondsLeft.value_or(0) > 0)
        parts += timeLeft(*progress.secondsLeft);
    return parts.join(QLatin1StringView("  "));
}

} // namespace trainyard::app
