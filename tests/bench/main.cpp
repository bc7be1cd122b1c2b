// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// trainyard-bench NAME [--json]: runs one benchmark and prints its rows, as a table or as
// {"rows": [{"case", "value", "unit", "peer", "ratio", "scaling", "spread"}]} without the absent
// keys.
#include "tests/bench/bench.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <exception>
#include <string_view>

namespace trainyard::bench {

// The list of benchmarks is written by CMake, from the lines trainyard_bench(...).
#define TRAINYARD_BENCH(name, function) std::vector<Row> function();
#include "bench_list.inc"
#undef TRAINYARD_BENCH

namespace {

struct Benchmark {
    std::string_view name;
    std::vector<Row> (*run)();
};
constexpr Benchmark kBenchmarks[] = {
#define TRAINYARD_BENCH(name, function) {name, function},
#include "bench_list.inc"
#undef TRAINYARD_BENCH
};

void printJson(const std::vector<Row>& rows) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Row& row : rows) {
        nlohmann::ordered_json entry = {
            {"case", row.name}, {"value", row.value}, {"unit", row.unit}};
        if (!row.peer.empty())
            entry["peer"] = row.peer;
        if (row.ratio)
            entry["ratio"] = *row.ratio;
        if (row.scaling)
            entry["scaling"] = *row.scaling;
        if (row.spread)
            entry["spread"] = *row.spread;
        list.push_back(std::move(entry));
    }
    std::printf("%s\n", nlohmann::ordered_json{{"rows", list}}.dump(2).c_str());
}

void printTable(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
        std::printf("%-58s %12.6g %-9s", row.name.c_str(), row.value, row.unit.c_str());
        if (row.spread)
            std::printf(" +-%.0f %%", *row.spread * 50); // half of it to either side
        if (row.scaling)
            std::printf("  scaling %.2f", *row.scaling);
        if (row.ratio)
            std::printf("  %.2fx of %s", *row.ratio, row.peer.c_str());
        std::printf("\n");
    }
}

int usage() {
    std::fprintf(stderr, "usage: trainyard-bench NAME [--json]\nnames:");
    for (const Benchmark& benchmark : kBenchmarks)
        std::fprintf(stderr, " %s", benchmark.name.data());
    std::fprintf(stderr, "\n");
    return 2;
}

int dispatch(int argc, char** argv) {
    const std::string_view format = argc > 2 ? argv[2] : "";
    if (argc < 2 || argc > 3 || (!format.empty() && format != "--json"))
        return usage();
    for (const Benchmark& benchmark : kBenchmarks) {
        if (benchmark.name != argv[1])
            continue;
        const std::vector<Row> rows = benchmark.run();
        format == "--json" ? printJson(rows) : printTable(rows);
        return 0;
    }
    return usage();
}

} // namespace

} // namespace trainyard::bench

int main(int argc, char** argv) {
    try {
        return trainyard::bench::dispatch(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "trainyard-bench: %s\n", error.what());
        return 1;
    }
}
