// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The values of the design tokens, light and dark beside each other. tests/ui checks the contrast
// that the design promises for them.
#include "ui/theme/tokens.h"

#include <array>

namespace trainyard::ui {

namespace {

struct Pair {
    QRgb light;
    QRgb dark;
    QColor pick(Scheme scheme) const { return QColor(scheme == Scheme::Dark ? dark : light); }
};

struct TonePair {
    Pair text;
    Pair tint;
    Pair solid;
    Tone pick(Scheme scheme) const {
        return {text.pick(scheme), tint.pick(scheme), solid.pick(scheme)};
    }
};

struct NamedPair {
    const char* name;
    Pair pair;
};

struct NamedTone {
    const char* name;
    TonePair tone;
};

template <class Enum>
constexpr std::size_t at(Enum value) {
    return static_cast<std::size_t>(value);
}

constexpr std::array<NamedPair, kColorCount> kColors{{
    {"chrome", {0xECEEF2, 0x131519}},        {"window", {0xF6F7F9, 0x181B1F}},
    {"surface", {0xFFFFFF, 0x1D2025}},       {"canvas", {0xF3F5F8, 0x15181C}},
    {"raised", {0xFFFFFF, 0x262A31}},        {"field", {0xFFFFFF, 0x14171A}},
    {"hover", {0xEDF0F4, 0x282C33}},         {"pressed", {0xDFE4EB, 0x31363F}},
    {"selected", {0xE3EBFD, 0x23345A}},      {"stripe", {0xFAFBFC, 0x202329}},
    {"grid", {0xE9ECF0, 0x282C33}},          {"border", {0xDCE0E6, 0x2C3038}},
    {"borderStrong", {0xC0C7D1, 0x414853}},  {"control", {0x858D9A, 0x757E8C}},
    {"text", {0x191C22, 0xE8EAEE}},          {"text2", {0x454C57, 0xBCC2CC}},
    {"text3", {0x5F6774, 0x969EAB}},         {"disabled", {0x9BA2AD, 0x616976}},
    {"accent", {0x2459D3, 0x3F6DE4}},        {"accentHover", {0x1D4AB4, 0x335FD2}},
    {"accentPressed", {0x183E98, 0x2B52BC}}, {"accentText", {0x2053C8, 0x8CAEFF}},
    {"onAccent", {0xFFFFFF, 0xFFFFFF}},      {"focus", {0x2459D3, 0x7FA5FF}},
    {"tooltip", {0x23272E, 0xE4E7EC}},       {"onTooltip", {0xF2F4F7, 0x1A1D22}},
}};

constexpr std::array<NamedTone, kStateCount> kStates{{
    {"queued", {{0x535B68, 0xAEB6C2}, {0xE9ECF1, 0x2A2F37}, {0x727B89, 0x8B94A2}}},
    {"running", {{0x0F5FA8, 0x74BCF7}, {0xDFEEFA, 0x16304A}, {0x1C7ED6, 0x3D9BEA}}},
    {"paused", {{0x53409C, 0xCABDFF}, {0xEAE6FA, 0x2E2852}, {0x573FA8, 0xC3B4FF}}},
    {"finished", {{0x1C6B3A, 0x7BD29A}, {0xE0F3E6, 0x17362A}, {0x2B8A4B, 0x3FAE6A}}},
    {"failed", {{0xB3211B, 0xFF948B}, {0xFCE5E3, 0x48201E}, {0xBE241D, 0xE5483D}}},
    {"warning", {{0x8F4400, 0xF7BC62}, {0xFDECD6, 0x3F2B0E}, {0xD5740A, 0xEFA42C}}},
    {"stopped", {{0x3F4650, 0xCDD2DA}, {0xE4E7EC, 0x343942}, {0x4E5662, 0xB4BAC4}}},
}};

constexpr std::array<TonePair, kMeshAxisCount> kMeshAxes{{
    {{0x0B5CAD, 0x7DB8F5}, {0xDDEBF9, 0x17304B}, {0x2B86DB, 0x64AEF5}}, // data
    {{0x7D5200, 0xE8C05C}, {0xF9EDCF, 0x372D14}, {0xB27700, 0xD0A02B}}, // tensor
    {{0x8A2A86, 0xE79BE2}, {0xF7E3F5, 0x3A2039}, {0x8E2F8A, 0xB551AF}}, // pipeline
}};

constexpr std::array<Pair, kMemoryClassCount> kMemory{{
    {0x1E3F8F, 0x9DBBFF}, // parameters
    {0x3A6CC9, 0x6B93EE}, // gradients
    {0x7C9FE3, 0x4267BD}, // optimizer
    {0x2F8F8C, 0x5CC4B8}, // activations
    {0xA6ADB8, 0x6F7885}, // workspace
    {0x8A7256, 0xB59A78}, // foreign
}};

constexpr std::array<Pair, kStepPartCount> kStepParts{{
    {0x6F7885, 0x8D96A4}, // data
    {0x6C9ADE, 0x86B4F5}, // forward
    {0x2C5CB8, 0x3E6FD3}, // backward
    {0xD5740A, 0xEFA42C}, // communication
    {0x2B8A6E, 0x45B08F}, // optimizer
    {0x9AA2AE, 0x6F7885}, // bubble
}};

constexpr std::array<Pair, kSeriesCount> kSeries{{
    {0x3A48CA, 0x87A6FC}, // blue
    {0xD56805, 0xEC9E27}, // orange
    {0x039693, 0x68EBD0}, // teal
    {0x830940, 0xBC5F90}, // plum
    {0x918666, 0xF7E68D}, // sand
    {0x400E77, 0x8967EA}, // violet
    {0xC00F35, 0xE3462D}, // red
    {0x3E759A, 0xAED9EC}, // sky
    {0x0C5600, 0x229863}, // green
    {0x52575E, 0xA4A6A9}, // slate
}};

struct Dash {
    std::size_t count;
    std::array<int, 8> lengths;
};

constexpr std::array<Dash, kSeriesCount> kDashes{{
    {0, {}},
    {2, {8, 3}},
    {2, {2, 2}},
    {4, {10, 3, 2, 3}},
    {2, {5, 3}},
    {6, {10, 3, 2, 3, 2, 3}},
    {2, {14, 3}},
    {4, {4, 2, 1, 2}},
    {8, {7, 2, 2, 2, 2, 2, 2, 2}},
    {2, {1, 3}},
}};

constexpr std::array<Pair, kStageTintCount> kStages{{
    {0xF8E4F5, 0x3D2139},
    {0xDFD8F8, 0x2B2852},
    {0xFBE6D8, 0x432A19},
    {0xD8E5F8, 0x1D324B},
    {0xF2DDE8, 0x4C2235},
    {0xDDF0E8, 0x15352D},
    {0xEBE1CE, 0x42371A},
    {0xDCDFE8, 0x30343E},
}};

constexpr std::array<TypeSpec, kTypeStyleCount> kTypes{{
    {0.846, 400, 16}, // caption
    {0.923, 400, 16}, // small
    {1.0, 400, 20},   // body
    {1.0, 600, 20},   // strong
    {1.154, 600, 20}, // title
    {1.385, 600, 24}, // figure
    {1.846, 600, 32}, // display
    {0.923, 400, 18}, // mono
}};

std::size_t wrapped(int index, int count) {
    return static_cast<std::size_t>(index < 0 ? 0 : index % count);
}

} // namespace

QColor tokenColor(Scheme scheme, Color color) {
    return kColors[at(color)].pair.pick(scheme);
}

Tone tokenTone(Scheme scheme, State state) {
    return kStates[at(state)].tone.pick(scheme);
}

Tone tokenTone(Scheme scheme, MeshAxis axis) {
    return kMeshAxes[at(axis)].pick(scheme);
}

QColor tokenColor(Scheme scheme, MemoryClass memory) {
    return kMemory[at(memory)].pick(scheme);
}

QColor tokenColor(Scheme scheme, StepPart part) {
    return kStepParts[at(part)].pick(scheme);
}

QColor tokenSeries(Scheme scheme, int slot) {
    return kSeries[wrapped(slot, kSeriesCount)].pick(scheme);
}

std::span<const int> tokenDash(int slot) {
    const Dash& dash = kDashes[wrapped(slot, kSeriesCount)];
    return {dash.lengths.data(), dash.count};
}

QColor tokenStage(Scheme scheme, int stage) {
    return kStages[wrapped(stage, kStageTintCount)].pick(scheme);
}

TypeSpec tokenType(TypeStyle style) {
    return kTypes[at(style)];
}

QLatin1String tokenName(Color color) {
    return QLatin1String(kColors[at(color)].name);
}

QLatin1String tokenName(State state) {
    return QLatin1String(kStates[at(state)].name);
}

} // namespace trainyard::ui
