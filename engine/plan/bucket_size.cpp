// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/bucket_size.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace trainyard::plan {

namespace {

constexpr double kLengths = 20; ///< of half performance
constexpr std::size_t kSmallestBucket = std::size_t{64} << 10;
constexpr std::size_t kLargestBucket = std::size_t{25} << 20;

} // namespace

std::size_t automaticBucketBytes(const Calibration& calibration, std::string_view transport) {
    const auto found = calibration.exchanges.find(std::string(transport) + "/all_reduce");
    if (found == calibration.exchanges.end() || found->second.empty())
        return 0;
    const CalibrationTable& table = found->second;
    const double latency = std::ranges::min_element(table, {}, &CalibrationPoint::seconds)->seconds;
    std::vector<double> speeds;
    for (const CalibrationPoint& point : table)
        if (point.work >= static_cast<double>(kSmallestBucket) && point.seconds > latency)
            speeds.push_back(point.work / (point.seconds - latency));
    if (speeds.empty() || !(latency > 0))
        return 0;
    std::ranges::sort(speeds);
    const double wanted = kLengths * latency * speeds[speeds.size() / 2];
    std::size_t bytes = kSmallestBucket;
    while (static_cast<double>(bytes) < wanted && bytes < kLargestBucket)
        bytes *= 2;
    return std::min(bytes, kLargestBucket);
}

void setBucketBytes(MachineFacts& machine, const Calibration& calibration) {
    if (const std::size_t inside = automaticBucketBytes(calibration, "shared_memory"); inside > 0)
        machine.bucketBytes = inside;
    if (const std::size_t over = automaticBucketBytes(calibration, "gloo"); over > 0)
        machine.networkBucketBytes = over;
}

} // namespace trainyard::plan
