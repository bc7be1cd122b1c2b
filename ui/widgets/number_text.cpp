// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// First the text is brought to one form (spaces of groups out, plain minus), then it must be
// digits with at most one decimal sign and an exponent. QString::toDouble reads that form the same
// in every locale.
#include "ui/widgets/number_text.h"

#include <QCoreApplication>
#include <QRegularExpression>

#include <cmath>

namespace trainyard::ui {

namespace {

QString tr(const char* text) {
    return QCoreApplication::translate("trainyard::ui::NumberText", text);
}

/// Real minus to plain, groups "18 420" joined; anything else stays as it was typed.
QString normalized(QString text) {
    text = text.trimmed();
    text.replace(QChar(0x2212), u'-');
    static const QRegularExpression spaced(
        QStringLiteral("^([+-]?\\d{1,3})((?:[ \\x{00A0}\\x{202F}]\\d{3})+)(?!\\d)"));
    const QRegularExpressionMatch groups = spaced.match(text);
    if (groups.hasMatch()) {
        QString joined = groups.captured(1) + groups.captured(2);
        joined.remove(QRegularExpression(QStringLiteral("[ \\x{00A0}\\x{202F}]")));
        text = joined + text.sliced(groups.capturedEnd());
    }
    return text;
}

QString quoted(const QString& text) {
    return u'“' + text + u'”';
}

/// A sign that groups thousands in this locale stands where it would: "1,234" could be 1234.
bool isAmbiguous(const QString& text, const QLocale& locale) {
    const QString group = locale.groupSeparator();
    if (group != QLatin1String(",") && group != QLatin1String("."))
        return false;
    static const QRegularExpression grouped(
        QStringLiteral("^[+-]?[1-9]\\d{0,2}([.,])\\d{3}(?![\\d])"));
    const QRegularExpressionMatch match = grouped.match(text);
    return match.hasMatch() && match.captured(1) == group;
}

ParsedNumber problem(const QString& sentence) {
    return {0, sentence};
}

} // namespace

ParsedNumber parseReal(const QString& typed, const QLocale& locale) {
    QString text = normalized(typed);
    if (text.isEmpty())
        return problem(tr("Write a number."));
    static const QRegularExpression form(
        QStringLiteral("^[+-]?(\\d+([.,]\\d*)?|[.,]\\d+)([eE][+-]?\\d{1,3})?$"));
    if (!form.match(text).hasMatch())
        return problem(tr("%1 is not a number. Write 0.01 or 0,01.").arg(quoted(typed.trimmed())));
    if (isAmbiguous(text, locale)) {
        QString joined = text;
        joined.remove(u',').remove(u'.');
        const QString decimal = QString(text).replace(u',', u'.') + u'0';
        return problem(tr("%1 can be read in two ways. Write %2 or %3.")
                           .arg(quoted(typed.trimmed()), joined, decimal));
    }
    text.replace(u',', u'.');
    bool understood = false;
    const double value = text.toDouble(&understood);
    if (!understood || !std::isfinite(value))
        return problem(tr("%1 is too large a number.").arg(quoted(typed.trimmed())));
    return {value, {}};
}

ParsedNumber parseWhole(const QString& typed, const QLocale& locale) {
    const QString text = normalized(typed);
    // Here a grouping sign is not ambiguous but wrong: it may be a decimal one in other eyes.
    static const QRegularExpression grouped(QStringLiteral("^[+-]?\\d{1,3}([.,]\\d{3})+$"));
    if (grouped.match(text).hasMatch()) {
        QString joined = text;
        joined.remove(u',').remove(u'.');
        return problem(
            tr("%1 can be read in two ways. Write %2.").arg(quoted(typed.trimmed()), joined));
    }
    const ParsedNumber real = parseReal(typed, locale);
    if (!real.ok())
        return text.isEmpty() ? problem(tr("Write a whole number.")) : real;
    // Beyond 2^53 a double no longer holds every whole number.
    constexpr double kExact = 9007199254740992.0;
    if (real.value != std::floor(real.value) || std::abs(real.value) > kExact)
        return problem(tr("%1 is not a whole number.").arg(quoted(typed.trimmed())));
    return real;
}

QString editText(double value, const QLocale& locale) {
    QString text;
    if (value == std::floor(value) && std::abs(value) < 1e15)
        text = QString::number(value, 'f', 0);
    else
        text = QString::number(value, 'g', QLocale::FloatingPointShortest);
    return text.replace(u'.', locale.decimalPoint());
}

} // namespace trainyard::ui
