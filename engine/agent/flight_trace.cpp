// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The file is a sequence of frames (spec/frame.h): one that says whose it is, then one for each
// rank.
#include "engine/agent/flight_trace.h"

#include "engine/agent/log_lines.h"
#include "engine/base/json.h"
#include "engine/program/program.h"
#include "engine/spec/frame.h"
#include "engine/spec/wire.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

namespace trainyard::engine {
namespace {

constexpr std::uint8_t kRunFrame = 1;
constexpr std::uint8_t kRankFrame = 2;
constexpr std::uint32_t kTraceVersion = 1;
constexpr std::size_t kWords = sizeof(InstructionRecord) / sizeof(std::uint64_t);

// ---- bytes

void putText(std::string& out, const std::string& text) {
    spec::appendLittleEndian(out, static_cast<std::uint32_t>(text.size()));
    out += text;
}

void putRecord(std::string& out, const InstructionRecord& record) {
    for (const std::uint64_t word : std::bit_cast<std::array<std::uint64_t, kWords>>(record))
        spec::appendLittleEndian(out, word);
}

/// Reads until something is missing; from then on everything is 0 or empty.
class TraceBytes {
public:
    explicit TraceBytes(std::string_view bytes) : m_rest(bytes) {}
    bool ok() const { return m_ok; }

    template <class Integer>
    Integer number() {
        if (!has(sizeof(Integer)))
            return 0;
        const auto value = spec::readLittleEndian<Integer>(m_rest.data());
        m_rest.remove_prefix(sizeof(Integer));
        return value;
    }
    std::string text() {
        const auto size = number<std::uint32_t>();
        if (!has(size))
            return {};
        std::string value(m_rest.substr(0, size));
        m_rest.remove_prefix(size);
        return value;
    }
    InstructionRecord record() {
        std::array<std::uint64_t, kWords> words{};
        for (std::uint64_t& word : words)
            word = number<std::uint64_t>();
        return std::bit_cast<InstructionRecord>(words);
    }

private:
    bool has(std::size_t bytes) {
        m_ok = m_ok && m_rest.size() >= bytes;
        return m_ok;
    }

    std::string_view m_rest;
    bool m_ok = true;
};

std::string encodeRank(const RankTrace& rank) {
    std::string out;
    spec::appendLittleEndian(out, static_cast<std::int32_t>(rank.rank));
    spec::appendLittleEndian(out, rank.pid);
    putText(out, rank.device);
    spec::appendLittleEndian(out, rank.untilNs);
    spec::appendLittleEndian(out, rank.leftOut);
    spec::appendLittleEndian(out, static_cast<std::uint32_t>(rank.layers.size()));
    for (const std::string& layer : rank.layers)
        putText(out, layer);
    for (const auto& lane : rank.lanes) {
        spec::appendLittleEndian(out, static_cast<std::uint32_t>(lane.size()));
        for (const InstructionRecord& record : lane)
            putRecord(out, record);
    }
    return out;
}

/// Counts that were made up end with the bytes: nothing is asked for beforehand.
bool decodeRank(std::string_view payload, RankTrace& rank) {
    TraceBytes bytes(payload);
    rank.rank = bytes.number<std::int32_t>();
    rank.pid = bytes.number<std::int64_t>();
    rank.device = bytes.text();
    rank.untilNs = bytes.number<std::int64_t>();
    rank.leftOut = bytes.number<std::uint64_t>();
    const auto layers = bytes.number<std::uint32_t>();
    for (std::uint32_t i = 0; bytes.ok() && i < layers; ++i)
        rank.layers.push_back(bytes.text());
    for (auto& lane : rank.lanes) {
        const auto records = bytes.number<std::uint32_t>();
        for (std::uint32_t i = 0; bytes.ok() && i < records; ++i)
            lane.push_back(bytes.record());
    }
    return bytes.ok();
}

std::string frameOf(std::uint64_t sequence, std::uint8_t type, std::string payload) {
    return spec::encodeFrame({sequence, 0, type, std::move(payload)});
}

Error damagedTrace() {
    return Error(Message("The trace of the run is damaged."));
}

// ---- memory

/// Whole records in the order of their numbers, each once.
std::vector<InstructionRecord> laneOf(const FlightRecord& record, std::size_t lane) {
    std::vector<InstructionRecord> found;
    const auto take = [&](const RecordSlot& slot) {
        const InstructionRecord each = slot.read();
        if (each.number > 0)
            found.push_back(each);
    };
    const std::size_t inWindow = std::min<std::size_t>(
        record.inWindow[lane].load(std::memory_order_acquire), kWindowInstructions[lane]);
    for (std::size_t i = 0; i < inWindow; ++i)
        take(record.windowOf(lane)[i]);
    for (const RecordSlot& slot : record.last[lane])
        take(slot);
    // Of two the one that has ended comes first.
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
        return a.number != b.number ? a.number < b.number : a.endNs > b.endNs;
    });
    found.erase(std::unique(found.begin(), found.end(),
                            [](const auto& a, const auto& b) { return a.number == b.number; }),
                found.end());
    // Of one that was open when it was read, and is over: the next one has begun.
    for (std::size_t i = 1; i < found.size(); ++i)
        if (found[i - 1].endNs == 0)
            found[i - 1].endNs = found[i].beginNs;
    return found;
}

std::vector<std::string> layersOf(const FlightRecord& record) {
    const std::size_t bytes = std::min<std::size_t>(
        record.layerBytes.load(std::memory_order_acquire), record.layers.size());
    std::vector<std::string> layers;
    std::string_view rest(record.layers.data(), bytes);
    while (!rest.empty()) {
        const std::string_view layer = rest.substr(0, rest.find('\0'));
        layers.push_back(cleanText(layer));
        rest.remove_prefix(std::min(rest.size(), layer.size() + 1));
    }
    return layers;
}

// ---- JSON

std::string quoted(const std::string& text) {
    return jsonText(nlohmann::ordered_json(text));
}

/// Microseconds, to the nanosecond.
std::string microseconds(std::int64_t ns) {
    std::string rest = std::to_string(ns % 1000);
    return std::to_string(ns / 1000) + '.' + std::string(3 - rest.size(), '0') + rest;
}

std::string titleOf(const InstructionRecord& record, const RankTrace& rank) {
    constexpr auto kLast = static_cast<std::uint8_t>(plan::Opcode::GatherParameters);
    std::string name = record.opcode <= kLast
                           ? std::string(plan::name(static_cast<plan::Opcode>(record.opcode)))
                           : "instruction " + std::to_string(record.opcode);
    const auto operation = static_cast<std::size_t>(record.operation);
    if (record.operation >= 0 && operation < rank.layers.size() && !rank.layers[operation].empty())
        name += ' ' + rank.layers[operation];
    else if (record.bucket >= 0)
        name += " of bucket " + std::to_string(record.bucket);
    return name;
}

class TraceText {
public:
    explicit TraceText(std::int64_t firstNs) : m_firstNs(firstNs) {}

    void nameProcess(const RankTrace& rank, const std::string& host) {
        const std::string name = "rank " + std::to_string(rank.rank) + " (" + rank.device +
                                 ", process " + std::to_string(rank.pid) + " on " + host + ")";
        meta("process_name", rank.rank, 0, "\"name\":" + quoted(name));
        meta("process_sort_index", rank.rank, 0, "\"sort_index\":" + std::to_string(rank.rank));
        meta("thread_name", rank.rank, 0, R"("name":"compute")");
        meta("thread_name", rank.rank, 1, R"("name":"communication")");
    }

    void add(const InstructionRecord& record, const RankTrace& rank, std::size_t lane) {
        const bool ended = record.endNs >= record.beginNs;
        const std::int64_t endNs = ended ? record.endNs : std::max(rank.untilNs, record.beginNs);
        const bool trains = record.purpose == static_cast<std::uint8_t>(plan::Purpose::Training);
        std::string line = "{\"ph\":\"X\",\"pid\":" + std::to_string(rank.rank) +
                           ",\"tid\":" + std::to_string(lane) +
                           ",\"name\":" + quoted(titleOf(record, rank)) + ",\"cat\":\"" +
                           (trains ? "training" : "validation") +
                           "\",\"ts\":" + microseconds(record.beginNs - m_firstNs) +
                           ",\"dur\":" + microseconds(endNs - record.beginNs);
        line += ",\"args\":{\"step\":" + std::to_string(record.step) +
                ",\"instruction\":" + std::to_string(record.instruction) +
                ",\"micro_batch\":" + std::to_string(record.microBatch);
        if (record.bytes > 0)
            line += ",\"bytes\":" + std::to_string(record.bytes);
        if (record.peer >= 0)
            line += ",\"peer\":" + std::to_string(record.peer);
        if (!ended)
            line += ",\"unfinished\":true";
        append(line + "}}");
    }

    std::string finish(const RunTrace& trace, std::uint64_t leftOut) {
        return "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"run\":" + quoted(trace.run) +
               ",\"host\":" + quoted(trace.host) +
               ",\"instructions_left_out\":" + std::to_string(leftOut) + "},\"traceEvents\":[\n" +
               m_events + "\n]}\n";
    }

private:
    void meta(const char* what, int pid, int tid, const std::string& arguments) {
        append("{\"ph\":\"M\",\"name\":\"" + std::string(what) +
               "\",\"pid\":" + std::to_string(pid) + ",\"tid\":" + std::to_string(tid) +
               ",\"args\":{" + arguments + "}}");
    }
    void append(const std::string& line) {
        m_events += m_events.empty() ? "" : ",\n";
        m_events += line;
    }

    std::int64_t m_firstNs;
    std::string m_events;
};

/// Times that a clock can have shown; other ones are the doing of a broken rank.
bool makesSense(const InstructionRecord& record, const RankTrace& rank) {
    return record.beginNs > 0 && record.beginNs <= rank.untilNs && record.endNs <= rank.untilNs;
}

} // namespace

void readRecord(const FlightRecord& record, RankTrace& trace) {
    trace.layers = layersOf(record);
    trace.leftOut = record.leftOut.load(std::memory_order_relaxed);
    for (std::size_t lane = 0; lane < kLanes; ++lane)
        trace.lanes[lane] = laneOf(record, lane);
}

std::string encodeTrace(const RunTrace& trace) {
    std::string head;
    spec::appendLittleEndian(head, kTraceVersion);
    putText(head, trace.run);
    putText(head, trace.host);
    std::string bytes = frameOf(1, kRunFrame, std::move(head));
    for (const RankTrace& rank : trace.ranks)
        bytes += frameOf(static_cast<std::uint64_t>(rank.rank) + 2, kRankFrame, encodeRank(rank));
    return bytes;
}

Result<RunTrace> decodeTrace(std::string_view bytes) {
    spec::FrameReader reader;
    reader.append(bytes);
    RunTrace trace;
    bool hasHead = false;
    for (;;) {
        const Result<std::optional<spec::Frame>> frame = reader.next();
        if (!frame)
            return damagedTrace();
        if (!frame.value())
            break;
        const spec::Frame& found = *frame.value();
        if (found.type == kRunFrame) {
            TraceBytes head(found.payload);
            const auto version = head.number<std::uint32_t>();
            if (head.ok() && version > kTraceVersion)
                return Error(Message("The trace was written by a newer version of Trainyard."), {},
                             Message("Update Trainyard on this machine."));
            trace.run = head.text();
            trace.host = head.text();
            hasHead = head.ok();
        } else if (found.type == kRankFrame &&
                   !decodeRank(found.payload, trace.ranks.emplace_back())) {
            return damagedTrace();
        }
    }
    if (!hasHead || reader.pending() > 0)
        return damagedTrace();
    return trace;
}

std::string chromeTrace(const RunTrace& trace) {
    std::int64_t firstNs = std::numeric_limits<std::int64_t>::max();
    std::uint64_t leftOut = 0;
    for (const RankTrace& rank : trace.ranks) {
        leftOut += rank.leftOut;
        for (const auto& lane : rank.lanes)
            for (const InstructionRecord& record : lane)
                if (makesSense(record, rank))
                    firstNs = std::min(firstNs, record.beginNs);
    }
    TraceText text(firstNs);
    for (const RankTrace& rank : trace.ranks) {
        text.nameProcess(rank, trace.host);
        for (std::size_t lane = 0; lane < kLanes; ++lane)
            for (const InstructionRecord& record : rank.lanes[lane])
                if (makesSense(record, rank))
                    text.add(record, rank, lane);
    }
    return text.finish(trace, leftOut);
}

} // namespace trainyard::engine
