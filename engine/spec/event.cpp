// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The event codec. Each event's fields are listed once (`fields`), and the list is walked both for
// writing and for reading, so the two can not drift apart. New fields go to the end of a list.
#include "engine/spec/event.h"

#include "engine/spec/wire.h"

#include <array>
#include <bit>
#include <concepts>

namespace trainyard::spec {
namespace {

template <class T, class U>
concept Same = std::same_as<std::remove_const_t<T>, U>;

template <class T>
concept Record = std::is_class_v<T>;

void fields(auto& archive, Same<Message> auto& e) {
    archive(e.format, e.arguments);
}
void fields(auto& archive, Same<NamedValue> auto& e) {
    archive(e.first, e.second);
}
void fields(auto& archive, Same<RankInfo> auto& e) {
    archive(e.rank, e.pid, e.device, e.threads);
}
void fields(auto& archive, Same<Hello> auto& e) {
    archive(e.protocolVersion, e.engineVersion, e.run, e.host, e.worldSize);
}
void fields(auto& archive, Same<RanksStarted> auto& e) {
    archive(e.ranks);
}
void fields(auto& archive, Same<Schedule> auto& e) {
    archive(e.planHash, e.steps, e.stepsPerEpoch, e.epochs, e.trainSamples, e.validationSamples);
}
void fields(auto& archive, Same<StateChanged> auto& e) {
    archive(e.state, e.reason);
}
void fields(auto& archive, Same<Metrics> auto& e) {
    archive(e.step, e.epoch, e.samples, e.values);
}
void fields(auto& archive, Same<DeviceSample> auto& e) {
    archive(e.rank, e.device, e.values);
}
void fields(auto& archive, Same<Log> auto& e) {
    archive(e.level, e.rank, e.text);
}
void fields(auto& archive, Same<Failure> auto& e) {
    archive(e.rank, e.pid, e.host, e.device, e.step, e.instruction, e.layer, e.what, e.cure);
}
void fields(auto& archive, Same<Summary> auto& e) {
    archive(e.steps, e.epochs, e.seconds, e.values);
}
void fields(auto& archive, Same<Heartbeat> auto& e) {
    archive(e.supervisorAlive);
}
void fields(auto& archive, Same<Confusion> auto& e) {
    archive(e.step, e.epoch, e.best, e.classNames, e.counts);
}

class Writer {
public:
    void operator()(const auto&... values) { (put(values), ...); }
    std::string take() { return std::move(m_out); }

private:
    template <std::integral Integer>
    void put(Integer value) {
        appendLittleEndian(m_out, value);
    }
    void put(bool value) { m_out += value ? '\1' : '\0'; }
    void put(double value) { put(std::bit_cast<std::uint64_t>(value)); }
    void put(RunState value) { put(static_cast<std::uint8_t>(value)); }
    void put(LogLevel value) { put(static_cast<std::uint8_t>(value)); }
    void put(const std::string& value) {
        put(static_cast<std::uint32_t>(value.size()));
        m_out += value;
    }
    template <class T>
    void put(const std::vector<T>& values) {
        put(static_cast<std::uint32_t>(values.size()));
        for (const T& value : values)
            put(value);
    }
    template <Record T>
    void put(const T& value) {
        fields(*this, value);
    }

    std::string m_out;
};

/// Reads fields until one is missing or impossible; then everything after it is left alone.
class Reader {
public:
    explicit Reader(std::string_view bytes) : m_rest(bytes) {}
    void operator()(auto&... values) { (get(values), ...); }
    bool ok() const { return m_ok; }

private:
    bool has(std::size_t bytes) {
        m_ok = m_ok && m_rest.size() >= bytes;
        return m_ok;
    }
    template <std::integral Integer>
    void get(Integer& value) {
        if (!has(sizeof(Integer)))
            return;
        value = readLittleEndian<Integer>(m_rest.data());
        m_rest.remove_prefix(sizeof(Integer));
    }
    void get(double& value) {
        std::uint64_t bits = 0;
        get(bits);
        value = std::bit_cast<double>(bits);
    }
    template <class Enumeration>
    void getUpTo(Enumeration& value, Enumeration last) {
        std::uint8_t number = 0;
        get(number);
        m_ok = m_ok && number <= static_cast<std::uint8_t>(last);
        if (m_ok)
            value = static_cast<Enumeration>(number);
    }
    void get(RunState& value) { getUpTo(value, RunState::Diverged); }
    void get(LogLevel& value) { getUpTo(value, LogLevel::Error); }
    void get(bool& value) {
        std::uint8_t number = 0;
        get(number);
        m_ok = m_ok && number <= 1;
        value = number == 1;
    }
    void get(std::string& value) {
        std::uint32_t size = 0;
        get(size);
        if (!has(size))
            return;
        value = m_rest.substr(0, size);
        m_rest.remove_prefix(size);
    }
    template <class T>
    void get(std::vector<T>& values) {
        // No reserve: a count that was made up must not make us ask for memory.
        std::uint32_t count = 0;
        get(count);
        for (std::uint32_t i = 0; m_ok && i < count; ++i)
            get(values.emplace_back());
    }
    template <Record T>
    void get(T& value) {
        fields(*this, value);
    }

    std::string_view m_rest;
    bool m_ok = true;
};

Error damaged(EventType type, std::size_t bytes) {
    return Error(Message("An event of type %1 with %2 bytes is cut short or impossible.",
                         {std::to_string(static_cast<int>(type)), std::to_string(bytes)}));
}

template <class T>
Result<Event> decodeAs(EventType type, std::string_view payload) {
    T event;
    Reader reader(payload);
    fields(reader, event);
    if (!reader.ok())
        return damaged(type, payload.size());
    return Event(std::move(event));
}

/// The version stands first in every Hello, so it can be judged before anything else is read.
Result<Event> decodeHello(std::string_view payload) {
    std::uint32_t version = 0;
    Reader reader(payload);
    reader(version);
    if (reader.ok() && version > kProtocolVersion)
        return Error(Message("The worker speaks protocol version %1; this program understands "
                             "versions up to %2.",
                             {std::to_string(version), std::to_string(kProtocolVersion)}),
                     {}, Message("Update Trainyard on this machine."));
    return decodeAs<Hello>(EventType::Hello, payload);
}

constexpr std::array<std::string_view, 7> kStateNames = {
    "starting", "running", "stopping", "finished", "failed", "stopped", "diverged"};

/// True if `text` says "step 1" and not only "step 12".
bool says(std::string_view text, std::string_view word) {
    for (std::size_t at = text.find(word); at != std::string_view::npos;
         at = text.find(word, at + 1)) {
        const std::size_t end = at + word.size();
        if (end == text.size() || text[end] < '0' || text[end] > '9')
            return true;
    }
    return false;
}

} // namespace

bool isFinal(RunState state) {
    return state == RunState::Finished || state == RunState::Failed || state == RunState::Stopped ||
           state == RunState::Diverged;
}

std::string_view name(RunState state) {
    return kStateNames.at(static_cast<std::size_t>(state));
}

Result<RunState> runStateFromName(std::string_view name) {
    for (std::size_t i = 0; i < kStateNames.size(); ++i)
        if (kStateNames[i] == name)
            return static_cast<RunState>(i);
    return Error(Message("'%1' is not the state of a run.", {std::string(name)}), {},
                 Message("States are starting, running, stopping, finished, failed, stopped and "
                         "diverged."));
}

std::string Failure::sentence() const {
    const std::string told = what.text();
    std::string where;
    // What the text of `what` already tells is not repeated.
    const auto add = [&](const std::string& part, const std::string& word) {
        if (!says(told, word))
            where += (where.empty() ? "" : ", ") + part;
    };
    if (!host.empty())
        add(host, host);
    if (!device.empty())
        add(device, device);
    if (rank >= 0) {
        const std::string number = "rank " + std::to_string(rank);
        add(pid > 0 ? number + " (process " + std::to_string(pid) + ")" : number,
            number.substr(1)); // so that "Rank 1" counts, too
    }
    if (step >= 0)
        add("step " + std::to_string(step), "step " + std::to_string(step));
    if (!layer.empty())
        add("layer " + layer, layer);
    return (where.empty() ? "" : where + ": ") + told + (cure.empty() ? "" : " " + cure.text());
}

EventType typeOf(const Event& event) {
    // The alternatives stand in the order of their numbers, from 1.
    static_assert(std::is_same_v<std::variant_alternative_t<9, Event>, Heartbeat>);
    static_assert(std::variant_size_v<Event> == static_cast<std::size_t>(kLastEventType));
    static_assert(std::is_same_v<std::variant_alternative_t<4, Event>, Metrics>);
    return static_cast<EventType>(event.index() + 1);
}

std::string encode(const Event& event) {
    Writer writer;
    std::visit([&](const auto& alternative) { fields(writer, alternative); }, event);
    return writer.take();
}

Result<Event> decode(EventType type, std::string_view payload) {
    switch (type) {
    case EventType::Hello:
        return decodeHello(payload);
    case EventType::RanksStarted:
        return decodeAs<RanksStarted>(type, payload);
    case EventType::Schedule:
        return decodeAs<Schedule>(type, payload);
    case EventType::StateChanged:
        return decodeAs<StateChanged>(type, payload);
    case EventType::Metrics:
        return decodeAs<Metrics>(type, payload);
    case EventType::DeviceSample:
        return decodeAs<DeviceSample>(type, payload);
    case EventType::Log:
        return decodeAs<Log>(type, payload);
    case EventType::Failure:
        return decodeAs<Failure>(type, payload);
    case EventType::Summary:
        return decodeAs<Summary>(type, payload);
    case EventType::Heartbeat:
        return decodeAs<Heartbeat>(type, payload);
    case EventType::Confusion:
        return decodeAs<Confusion>(type, payload);
    }
    return Error(Message("Events of type %1 are not known to this version of Trainyard.",
                         {std::to_string(static_cast<int>(type))}));
}

} // namespace trainyard::spec
