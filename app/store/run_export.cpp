// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// See run_export.h. JSON of points is written as text: a document of millions of values is not
// built in memory first.
#include "app/store/run_export.h"

#include "app/base/format.h"
#include "app/store/step_splits.h"
#include "app/store/store_json.h"

#include <QJsonDocument>

#include <algorithm>
#include <cmath>

namespace trainyard::app {

namespace {

/// Gathers text and hands it on in large pieces; remembers the first failure.
class Output {
public:
    explicit Output(QIODevice& device) : m_device(device) {}

    void write(const QByteArray& text) {
        m_text += text;
        if (m_text.size() > (1 << 20))
            drain();
    }
    Result<void> finish() {
        drain();
        if (m_failed)
            return Error(Message("The export cannot be written: %1.",
                                 {m_device.errorString().toStdString()}),
                         {}, Message("Check the space and the permissions there."));
        return {};
    }

private:
    void drain() {
        m_failed = m_failed || m_device.write(m_text) != m_text.size();
        m_text.clear();
    }
    QIODevice& m_device;
    QByteArray m_text;
    bool m_failed = false;
};

QByteArray csvField(const QString& text) {
    QByteArray utf8 = text.toUtf8();
    if (utf8.contains(',') || utf8.contains('"') || utf8.contains('\n') || utf8.contains('\r'))
        return '"' + utf8.replace('"', "\"\"") + '"';
    return utf8;
}

struct Column {
    QString metric;
    Points points;
    std::size_t next = 0;
};

QByteArray jsonNumber(double value) {
    const QByteArray text = plainNumber(value);
    return std::isfinite(value) ? text : '"' + text + '"';
}

QJsonValue jsonValue(double value) {
    return std::isfinite(value) ? QJsonValue(value)
                                : QJsonValue(QString::fromLatin1(plainNumber(value)));
}

QByteArray jsonText(const QString& text) {
    // A document can only be an array or an object: the brackets are taken off again.
    const QByteArray array = QJsonDocument(QJsonArray{text}).toJson(QJsonDocument::Compact);
    return array.mid(1, array.size() - 2);
}

/// Without the end of the object.
void writePoints(Output& out, const Points& points, const char* steps = "steps") {
    out.write(QByteArray("{\"") + steps + "\":[");
    for (std::size_t i = 0; i < points.size(); ++i)
        out.write((i > 0 ? "," : "") + QByteArray::number(static_cast<qlonglong>(points.steps[i])));
    out.write("],\"values\":[");
    for (std::size_t i = 0; i < points.size(); ++i)
        out.write((i > 0 ? "," : "") + jsonNumber(points.values[i]));
    out.write("]");
}

QJsonObject describe(const RunRecord& run) {
    QJsonObject json;
    json.insert(u"uid", run.uid);
    json.insert(u"name", run.name);
    json.insert(u"host", run.host);
    json.insert(u"state", nameOf(run.status));
    json.insert(u"created", QString::fromLatin1(plainUtcTime(run.createdUtcUs)));
    if (run.startedUtcUs)
        json.insert(u"started", QString::fromLatin1(plainUtcTime(*run.startedUtcUs)));
    if (run.endedUtcUs)
        json.insert(u"ended", QString::fromLatin1(plainUtcTime(*run.endedUtcUs)));
    json.insert(u"seconds", run.seconds);
    json.insert(u"world_size", run.worldSize);
    json.insert(u"attempt", run.attempt);
    json.insert(u"steps", static_cast<qint64>(run.lastStep));
    json.insert(u"steps_total", static_cast<qint64>(run.stepsTotal));
    json.insert(u"epoch", jsonValue(run.epoch));
    json.insert(u"samples", static_cast<qint64>(run.samples));
    if (run.failure) {
        QJsonObject failure = toJson(*run.failure);
        failure.insert(u"sentence", QString::fromStdString(run.failure->sentence()));
        json.insert(u"failure", failure);
    }
    return json;
}

QJsonArray describe(const std::vector<RunEvent>& events) {
    QJsonArray array;
    for (const RunEvent& event : events) {
        QJsonObject json;
        json.insert(u"time", QString::fromLatin1(plainUtcTime(event.utcUs)));
        json.insert(u"node", event.node);
        if (event.state) {
            const std::string_view name = spec::name(*event.state);
            json.insert(u"state",
                        QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size())));
            json.insert(u"reason", QString::fromStdString(event.reason.text()));
        }
        if (event.failure)
            json.insert(u"failure", QString::fromStdString(event.failure->sentence()));
        array.append(json);
    }
    return array;
}

QJsonObject describe(const ConfusionTable& table) {
    QJsonObject json;
    json.insert(u"step", static_cast<qint64>(table.step()));
    json.insert(u"epoch", jsonValue(table.epoch()));
    QJsonArray names, rows;
    for (int label = 0; label < table.classes(); ++label) {
        names.append(table.name(label));
        QJsonArray row;
        for (int prediction = 0; prediction < table.classes(); ++prediction)
            row.append(static_cast<qint64>(table.count(label, prediction)));
        rows.append(row);
    }
    json.insert(u"classes", names);
    json.insert(u"counts", rows);
    return json;
}

Result<RunRecord> existingRun(StoreReader& reader, RunId run) {
    Result<std::optional<RunRecord>> record = reader.run(run);
    if (!record)
        return record.error();
    if (!record->has_value())
        return Error(Message("There is no run %1 in the store.",
                             {std::to_string(static_cast<std::int64_t>(run))}));
    return std::move(**record);
}

Result<std::vector<Column>> readColumns(StoreReader& reader, RunId run) {
    Result<std::vector<SeriesInfo>> series = reader.seriesOf(run);
    if (!series)
        return series.error();
    std::vector<Column> columns;
    for (const SeriesInfo& info : *series) {
        Result<Points> points = reader.points(run, info.metric);
        if (!points)
            return points.error();
        columns.push_back({info.metric, liveLine(std::move(*points)).line});
    }
    return columns;
}

/// ,"devices":[{"rank","device","metric","time_us":[...],"values":[...]}]; nothing where there are
/// none.
Result<void> writeDevices(Output& out, StoreReader& reader, RunId run) {
    const Result<std::vector<DeviceSeries>> series = reader.deviceSeries(run);
    if (!series)
        return series.error();
    for (std::size_t i = 0; i < series->size(); ++i) {
        const DeviceSeries& each = (*series)[i];
        const Result<Points> points = reader.devicePoints(run, each);
        if (!points)
            return points.error();
        out.write((i > 0 ? ",\n" : ",\"devices\":[\n") + QByteArray("{\"rank\":") +
                  QByteArray::number(each.rank) + ",\"device\":" + jsonText(each.device) +
                  ",\"metric\":" + jsonText(each.metric) + ",\"samples\":");
        writePoints(out, *points, "time_us");
        out.write("}}");
    }
    if (!series->empty())
        out.write("\n]");
    return {};
}

/// All steps of all columns, each once, rising.
std::vector<std::int64_t> allSteps(const std::vector<Column>& columns) {
    std::vector<std::int64_t> steps;
    for (const Column& column : columns)
        steps.insert(steps.end(), column.points.steps.begin(), column.points.steps.end());
    std::sort(steps.begin(), steps.end());
    steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
    return steps;
}

} // namespace

Result<void> exportCsv(StoreReader& reader, RunId run, QIODevice& device) {
    if (Result<RunRecord> record = existingRun(reader, run); !record)
        return record.error();
    Result<std::vector<Column>> columns = readColumns(reader, run);
    if (!columns)
        return columns.error();
    const Result<Axes> axes = reader.axes(run);
    if (!axes)
        return axes.error();

    Output out(device);
    out.write("step,epoch,samples,time_utc");
    for (const Column& column : *columns)
        out.write(',' + csvField(column.metric));
    out.write("\n");
    std::size_t row = 0; // the row of the axes for the step
    for (std::int64_t step : allSteps(*columns)) {
        while (row < axes->steps.size() && axes->steps[row] < step)
            ++row;
        out.write(QByteArray::number(static_cast<qlonglong>(step)));
        if (row < axes->steps.size() && axes->steps[row] == step)
            out.write(',' + plainNumber(axes->epochs[row]) + ',' +
                      QByteArray::number(static_cast<qlonglong>(axes->samples[row])) + ',' +
                      plainUtcTime(static_cast<std::int64_t>(axes->utcUs[row])));
        else
            out.write(",,,");
        for (Column& column : *columns) {
            out.write(",");
            const Points& points = column.points;
            if (column.next < points.size() && points.steps[column.next] == step)
                out.write(plainNumber(points.values[column.next++]));
        }
        out.write("\n");
    }
    return out.finish();
}

Result<QJsonObject> confusionAsJson(StoreReader& reader, RunId run) {
    QJsonObject json;
    for (const auto& [validation, key] :
         {std::pair(Validation::Newest, u"newest"), std::pair(Validation::Best, u"best")}) {
        const Result<std::optional<ConfusionTable>> table = reader.confusion(run, validation);
        if (!table)
            return table.error();
        if (table->has_value())
            json.insert(QStringView(key), describe(**table));
    }
    return json;
}

Result<QJsonArray> stepSplitsAsJson(StoreReader& reader, RunId run) {
    const Result<std::vector<StepSplit>> splits = stepSplits(reader, run);
    if (!splits)
        return splits.error();
    QJsonArray list;
    for (const StepSplit& split : *splits) {
        QJsonObject json{{u"rank"_qs, split.rank},
                         {u"device"_qs, split.device},
                         {QString::fromLatin1(spec::metric::kStepTime), jsonValue(split.step)}};
        for (std::size_t part = 0; part < split.parts.size(); ++part)
            json.insert(QLatin1StringView(spec::metric::kStepParts[part]),
                        jsonValue(split.parts[part]));
        json.insert(QLatin1StringView(spec::metric::kStepCommunication),
                    jsonValue(split.communication));
        list.append(json);
    }
    return list;
}

Result<void> exportConfusionCsv(const ConfusionTable& table, QIODevice& device) {
    Output out(device);
    out.write("label");
    for (int prediction = 0; prediction < table.classes(); ++prediction)
        out.write(',' + csvField(table.name(prediction)));
    out.write("\n");
    for (int label = 0; label < table.classes(); ++label) {
        out.write(csvField(table.name(label)));
        for (int prediction = 0; prediction < table.classes(); ++prediction)
            out.write(',' +
                      QByteArray::number(static_cast<qlonglong>(table.count(label, prediction))));
        out.write("\n");
    }
    return out.finish();
}

Result<void> exportJson(StoreReader& reader, RunId run, QIODevice& device) {
    const Result<RunRecord> record = existingRun(reader, run);
    if (!record)
        return record.error();
    const Result<QByteArray> configuration = reader.configuration(run);
    const Result<std::vector<RunEvent>> events = reader.events(run);
    const Result<std::vector<spec::NamedValue>> finals = reader.finalValues(run);
    const Result<std::vector<SeriesInfo>> series = reader.seriesOf(run);
    if (!configuration)
        return configuration.error();
    if (!events)
        return events.error();
    if (!finals)
        return finals.error();
    const Result<QJsonObject> confusion = confusionAsJson(reader, run);
    const Result<QJsonArray> splits = stepSplitsAsJson(reader, run);
    if (!splits)
        return splits.error();
    if (!series)
        return series.error();
    if (!confusion)
        return confusion.error();

    QJsonObject finalValues;
    for (const auto& [name, value] : *finals)
        finalValues.insert(QString::fromStdString(name), jsonValue(value));
    QJsonObject head;
    head.insert(u"format", u"trainyard.run/1"_qs);
    head.insert(u"run", describe(*record));
    head.insert(u"experiment", QJsonDocument::fromJson(*configuration).object());
    head.insert(u"final", finalValues);
    head.insert(u"events", describe(*events));
    if (!confusion->isEmpty())
        head.insert(u"confusion", *confusion);
    if (!splits->isEmpty())
        head.insert(u"step_split", *splits);

    Output out(device);
    QByteArray text = QJsonDocument(head).toJson(QJsonDocument::Compact);
    text.chop(1); // the object goes on with the metrics
    out.write(text + ",\"metrics\":{");
    for (std::size_t i = 0; i < series->size(); ++i) {
        const QString& metric = (*series)[i].metric;
        Result<Points> points = reader.points(run, metric);
        if (!points)
            return points.error();
        const LiveLine live = liveLine(std::move(*points));
        out.write((i > 0 ? ",\n" : "\n") + jsonText(metric) + ':');
        writePoints(out, live.line);
        if (!live.superseded.empty()) {
            out.write(",\"superseded\":[");
            for (std::size_t k = 0; k < live.superseded.size(); ++k) {
                out.write(k > 0 ? "," : "");
                writePoints(out, live.superseded[k]);
                out.write("}");
            }
            out.write("]");
        }
        out.write("}");
    }
    out.write("\n}");
    if (const Result<void> written = writeDevices(out, reader, run); !written)
        return written;
    out.write("}\n");
    return out.finish();
}

QString exportBaseName(const RunRecord& run) {
    QString name;
    for (const QChar character : run.name.simplified())
        name += character.isLetterOrNumber() || character == u'.' || character == u'_'
                    ? character
                    : QChar(u'-');
    while (name.startsWith(u'.'))
        name.remove(0, 1);
    return name.left(80) + (name.isEmpty() ? u"" : u"-") + run.uid;
}

} // namespace trainyard::app
