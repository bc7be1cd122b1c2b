// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The design tokens of the studio as types: every colour, size and type style has its one place
// here. Names follow the design (text2 is the second text level). Values never change at run time;
// which of the two schemes counts is the Theme's business (theme.h).
#pragma once

#include <QColor>
#include <QLatin1String>

#include <span>

namespace trainyard::ui {

enum class Scheme { Light, Dark };

enum class Color {
    Chrome,
    Window,
    Surface,
    Canvas,
    Raised,
    Field,
    Hover,
    Pressed,
    Selected,
    Stripe,
    Grid,
    Border,
    BorderStrong,
    Control,
    Text,
    Text2,
    Text3,
    Disabled,
    Accent,
    AccentHover,
    AccentPressed,
    AccentText,
    OnAccent,
    Focus,
    Tooltip,
    OnTooltip,
};
inline constexpr int kColorCount = 26;

/// What a run, host or warning is in. Always shown with the icon of the same name and a word.
enum class State { Queued, Running, Paused, Finished, Failed, Warning, Stopped };
inline constexpr int kStateCount = 7;

/// Axes of the device mesh. Always shown with the letter (D, T, P).
enum class MeshAxis { Data, Tensor, Pipeline };
inline constexpr int kMeshAxisCount = 3;

enum class MemoryClass { Parameters, Gradients, Optimizer, Activations, Workspace, Foreign };
inline constexpr int kMemoryClassCount = 6;

/// Parts of a training step, in the order they are drawn. Bubble is waiting.
enum class StepPart { Data, Forward, Backward, Communication, Optimizer, Bubble };
inline constexpr int kStepPartCount = 6;

enum class TypeStyle { Caption, Small, Body, Strong, Title, Figure, Display, Mono };
inline constexpr int kTypeStyleCount = 8;

/// Three forms of one meaning: text and icons, the tint behind them, solid marks.
struct Tone {
    QColor text;
    QColor tint;
    QColor solid;
};

/// Ratio to the base font, weight (400 or 600) and line height at a base of 13 px.
struct TypeSpec {
    double ratio;
    int weight;
    int line;
};

inline constexpr int kSeriesCount = 10;
inline constexpr int kStageTintCount = 8;
/// The pixel size all other sizes are drawn for.
inline constexpr int kBaseFontPixels = 13;
/// Opacity of the raw curve behind its smoothed one.
inline constexpr double kRawOpacity = 0.38;

QColor tokenColor(Scheme scheme, Color color);
Tone tokenTone(Scheme scheme, State state);
Tone tokenTone(Scheme scheme, MeshAxis axis);
QColor tokenColor(Scheme scheme, MemoryClass memory);
QColor tokenColor(Scheme scheme, StepPart part);
/// Slots repeat after kSeriesCount.
QColor tokenSeries(Scheme scheme, int slot);
/// Lengths in px of a 2 px line: on, off, ...; empty means solid.
std::span<const int> tokenDash(int slot);
/// Stages repeat after kStageTintCount.
QColor tokenStage(Scheme scheme, int stage);
TypeSpec tokenType(TypeStyle style);

/// The name in the style sheet ("text2") and, for states, of the icon ("running").
QLatin1String tokenName(Color color);
QLatin1String tokenName(State state);

namespace space {
inline constexpr int kHair = 2;
inline constexpr int kXs = 4;
inline constexpr int kS = 8;
inline constexpr int kM = 12;
inline constexpr int kL = 16;
inline constexpr int kXl = 24;
inline constexpr int kXxl = 32;
inline constexpr int kXxxl = 48;
} // namespace space

namespace radius {
inline constexpr int kControl = 4;
inline constexpr int kTile = 6;
inline constexpr int kDialog = 8;
inline constexpr int kChip = 9;
} // namespace radius

namespace height {
inline constexpr int kTag = 18;
inline constexpr int kChip = 20;
inline constexpr int kRowCompact = 24;
inline constexpr int kRow = 28;
inline constexpr int kRowTall = 36;
inline constexpr int kControlSmall = 24;
inline constexpr int kControl = 28;
inline constexpr int kControlLarge = 32;
inline constexpr int kTab = 36;
inline constexpr int kTopBar = 40;
inline constexpr int kPageHeader = 44;
inline constexpr int kStrip = 104;
} // namespace height

/// Edge lengths of icons by where they stand.
namespace icon_size {
inline constexpr int kInline = 14;
inline constexpr int kControl = 16;
inline constexpr int kRail = 20;
inline constexpr int kEmpty = 24;
} // namespace icon_size

} // namespace trainyard::ui
