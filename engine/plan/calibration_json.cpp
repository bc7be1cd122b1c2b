// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/calibration.h"

#include "engine/base/json.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <stdexcept>

namespace trainyard::plan {

namespace {

using Json = nlohmann::ordered_json;
using Tables = std::map<std::string, CalibrationTable, std::less<>>;

constexpr const char* kFormat = "trainyard.calibration/1";

/// A point is [work, seconds, axis, ...].
Json toJson(const Tables& tables) {
    Json json = Json::object();
    for (const auto& [name, table] : tables) {
        Json points = Json::array();
        for (const CalibrationPoint& point : table) {
            Json numbers = {point.work, point.seconds};
            for (const double axis : point.axes)
                numbers.push_back(axis);
            points.push_back(std::move(numbers));
        }
        json[name] = std::move(points);
    }
    return json;
}

double positive(const Json& json) {
    const double value = json.get<double>();
    if (!std::isfinite(value) || value <= 0)
        throw std::domain_error("a number that is not positive");
    return value;
}

Tables tablesFrom(const Json& json) {
    Tables tables;
    for (const auto& [name, points] : json.items())
        for (const Json& numbers : points) {
            CalibrationPoint point;
            point.work = positive(numbers.at(0));
            point.seconds = positive(numbers.at(1));
            for (std::size_t i = 2; i < numbers.size(); ++i)
                point.axes.push_back(numbers[i].get<double>());
            CalibrationTable& table = tables[name];
            if (!table.empty() && table.front().axes.size() != point.axes.size())
                throw std::domain_error("points of unlike length");
            table.push_back(std::move(point));
        }
    return tables;
}

Calibration read(const Json& json) {
    if (json.at("format") != kFormat)
        throw std::domain_error("another format");
    Calibration calibration;
    calibration.key = {json.at("version"), json.at("machine"), json.at("cores")};
    calibration.measuredAt = json.at("measured_at");
    for (const Json& setting : json.at("settings"))
        calibration.settings.push_back(
            {setting.at("threads"), setting.at("ranks"), tablesFrom(setting.at("tables"))});
    calibration.exchanges = tablesFrom(json.at("exchanges"));
    if (calibration.key.cores < 1 || calibration.settings.empty())
        throw std::domain_error("nothing measured");
    return calibration;
}

} // namespace

std::string toJson(const Calibration& calibration) {
    Json settings = Json::array();
    for (const CalibrationSetting& setting : calibration.settings)
        settings.push_back({{"threads", setting.threads},
                            {"ranks", setting.ranks},
                            {"tables", toJson(setting.tables)}});
    const Json json = {{"format", kFormat},
                       {"version", calibration.key.version},
                       {"machine", calibration.key.machine},
                       {"cores", calibration.key.cores},
                       {"measured_at", calibration.measuredAt},
                       {"settings", std::move(settings)},
                       {"exchanges", toJson(calibration.exchanges)}};
    return jsonText(json);
}

Result<Calibration> calibrationFromJson(std::string_view json) {
    try {
        return read(parsedJson(json));
    } catch (const std::exception& error) {
        return Error({"This is no calibration of a machine: %1.", {error.what()}});
    }
}

} // namespace trainyard::plan
