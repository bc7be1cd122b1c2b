// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Predictions of models whose weights were chosen so that a person can work out what comes out;
// weights files that are not what they should be.
#include "engine/runtime/predict.h"
#include "engine/runtime/weights_file.h"
#include "engine/spec/experiment_json.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QTest>

#include <array>
#include <cmath>

using namespace trainyard;
using namespace trainyard::engine;

namespace {

/// y = W x + b on two inputs; the weights are 1, 2 for the first output, 3, 4 for the second ...
struct TinyModel {
    spec::Experiment experiment;
    DatasetInfo data;

    TinyModel(std::int64_t outputs, const char* loss, spec::Precision precision) {
        experiment.precision = precision;
        experiment.data.train = {{"images", "/nowhere/images"}, {"labels", "/nowhere/labels"}};
        experiment.parallel.data = 3; // as it was trained, not as it predicts
        experiment.model.inputShape = {2};
        experiment.model.layers = {{"out", "linear", {}, {{"out_features", outputs}}}};
        experiment.model.loss.type = loss;
        data.sampleShape = {2};
        data.shift = {0};
        data.scale = {1};
        if (std::string(loss) == "cross_entropy") {
            data.classes = outputs;
        } else {
            data.target = TargetKind::Numbers;
            data.targetShape = {outputs};
        }
    }

    plan::Plan plan() const {
        DatasetInfo samples = data;
        samples.samples = 8;
        return plan::makePlan(experiment, countsOf(samples, nullptr), {}).plan;
    }

    template <class Real>
    Result<void> saveAs(const std::string& path) const {
        const plan::Plan made = plan();
        std::vector<Real> values;
        for (const graph::ParameterInfo& info : made.graph.parameters) {
            const bool bias = info.name == "out.bias";
            for (std::int64_t j = 0; j < elementCount(info.shape); ++j)
                values.push_back(static_cast<Real>(bias ? -0.5 : static_cast<double>(j) + 1));
        }
        return saveWeights(path, experiment, made, std::as_bytes(std::span(values)), data, 42);
    }

    Result<void> save(const std::string& path) const {
        return experiment.precision == spec::Precision::Fp64 ? saveAs<double>(path)
                                                             : saveAs<float>(path);
    }
};

QJsonObject objectIn(const std::string& json) {
    return QJsonDocument::fromJson(QByteArray::fromStdString(json)).object();
}

/// The first problem as a sentence; empty when there is none.
QString problemIn(const QJsonObject& answer) {
    const QJsonObject problem = answer[QLatin1StringView("problems")][0].toObject();
    const auto text = [&](const char* key) {
        const QJsonObject message = problem[QLatin1StringView(key)].toObject();
        std::vector<std::string> arguments;
        for (const QJsonValue& value : message[QLatin1StringView("arguments")].toArray())
            arguments.push_back(value.toString().toStdString());
        return QString::fromStdString(
            fillIn(message[QLatin1StringView("format")].toString().toStdString(), arguments));
    };
    return problem.isEmpty() ? QString() : QString(text("what") + u' ' + text("cure"));
}

bool isNear(double a, double b) {
    return std::abs(a - b) <= 1e-6 * std::max(1.0, std::abs(b));
}

} // namespace

class TestPredict : public QObject {
    Q_OBJECT

private slots:
    void classes_data() {
        QTest::addColumn<bool>("fp64");
        QTest::newRow("fp32") << false;
        QTest::newRow("fp64") << true;
    }

    void classes() {
        QFETCH(bool, fp64);
        TinyModel model(3, "cross_entropy", fp64 ? spec::Precision::Fp64 : spec::Precision::Fp32);
        model.data.classNames = {"lamb", "сова", "猫"};
        QVERIFY(model.save(path()).ok());
        const QJsonObject answer =
            ask({QStringLiteral("0.5,-0.25"), QStringLiteral("-1, 1")}, {{"top", 2}});
        QCOMPARE(problemIn(answer), QString());
        QCOMPARE(answer[QLatin1StringView("step")].toInt(), 42);
        QCOMPARE(answer[QLatin1StringView("output")].toString(), QStringLiteral("classes"));
        QCOMPARE(answer[QLatin1StringView("classes")].toInt(), 3);
        QCOMPARE(answer[QLatin1StringView("class_names")][2].toString(), QStringLiteral("猫"));
        QVERIFY(!answer.contains(QLatin1StringView("accuracy")));
        const QJsonArray predictions = answer[QLatin1StringView("predictions")].toArray();
        QCOMPARE(predictions.size(), 2);
        // 1 * 0.5 - 2 * 0.25 - 0.5 = -0.5; 3 * 0.5 - 4 * 0.25 - 0.5 = 0; 0.5
        const double sum = std::exp(-0.5) + 1 + std::exp(0.5);
        const QJsonArray top = predictions[0][QLatin1StringView("top")].toArray();
        QCOMPARE(top.size(), 2);
        QCOMPARE(top[0][QLatin1StringView("class")].toInt(), 2);
        QVERIFY(isNear(top[0][QLatin1StringView("probability")].toDouble(), std::exp(0.5) / sum));
        QCOMPARE(top[1][QLatin1StringView("class")].toInt(), 1);
        QVERIFY(isNear(top[1][QLatin1StringView("probability")].toDouble(), 1 / sum));
        // All scores are 0.5: of equals the first.
        const QJsonArray equals = predictions[1][QLatin1StringView("top")].toArray();
        QCOMPARE(equals[0][QLatin1StringView("class")].toInt(), 0);
        QVERIFY(isNear(equals[0][QLatin1StringView("probability")].toDouble(), 1.0 / 3));
    }

    void numbers() {
        const TinyModel model(2, "mse", spec::Precision::Fp32);
        QVERIFY(model.save(path()).ok());
        const QJsonObject answer = ask({QStringLiteral("2,-1")});
        QCOMPARE(problemIn(answer), QString());
        QCOMPARE(answer[QLatin1StringView("output")].toString(), QStringLiteral("numbers"));
        const QJsonValue values = answer[QLatin1StringView("predictions")][0];
        QVERIFY(isNear(values[QLatin1StringView("values")][0].toDouble(), -0.5));
        QVERIFY(isNear(values[QLatin1StringView("values")][1].toDouble(), 1.5));
    }

    void probabilities() {
        const TinyModel model(1, "binary_cross_entropy", spec::Precision::Fp32);
        QVERIFY(model.save(path()).ok());
        const QJsonObject answer = ask({QStringLiteral("1,0.75")});
        QCOMPARE(problemIn(answer), QString());
        QCOMPARE(answer[QLatin1StringView("output")].toString(), QStringLiteral("probabilities"));
        const QJsonValue values = answer[QLatin1StringView("predictions")][0];
        QVERIFY(
            isNear(values[QLatin1StringView("values")][0].toDouble(), 1 / (1 + std::exp(-2.0))));
    }

    void inputsAreNormalisedAsTheTrainingDataWas() {
        TinyModel model(1, "mse", spec::Precision::Fp32);
        model.data.shift = {255 * 0.25}; // bytes: (x / 255 - mean) / deviation
        model.data.scale = {1 / (255 * 0.5)};
        QVERIFY(model.save(path()).ok());
        const QJsonObject answer = ask({QStringLiteral("255,51")});
        QCOMPARE(problemIn(answer), QString());
        // (1 - 0.25) / 0.5 = 1.5 and (0.2 - 0.25) / 0.5 = -0.1: 1.5 - 0.2 - 0.5
        QVERIFY(isNear(
            answer[QLatin1StringView("predictions")][0][QLatin1StringView("values")][0].toDouble(),
            0.8));
    }

    void pictures() {
        TinyModel model(1, "mse", spec::Precision::Fp32);
        model.data.shift = {255 * 0.25};
        model.data.scale = {1 / (255 * 0.5)};
        model.experiment.model.inputShape = {1, 1, 2};
        model.experiment.model.layers.insert(model.experiment.model.layers.begin(),
                                             {"flat", "flatten", {}, {}});
        model.data.sampleShape = {1, 1, 2};
        QVERIFY(model.save(path()).ok());
        // A gray PNG of two pixels, 255 and 51, as another program wrote it.
        const QByteArray png = QByteArray::fromBase64(
            "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAAAAADRSSBWAAAAC0lEQVR4nGP4bwwA"
            "AjQBM5+jfuoAAAAASUVORK5CYII=");
        const QString file = m_folder.filePath(QStringLiteral("двa.bin")); // its content counts
        QFile picture(file);
        QVERIFY(picture.open(QIODevice::WriteOnly) && picture.write(png) == png.size());
        picture.close();
        const QJsonObject answer = ask({file, file});
        QCOMPARE(problemIn(answer), QString());
        const QJsonArray predictions = answer[QLatin1StringView("predictions")].toArray();
        QCOMPARE(predictions.size(), 2);
        QCOMPARE(predictions[1][QLatin1StringView("input")].toString(), file);
        // As the row 255,51 above.
        QVERIFY(isNear(predictions[1][QLatin1StringView("values")][0].toDouble(), 0.8));

        QVERIFY(picture.resize(png.size() - 14));
        const QString damaged = problemIn(ask({file}));
        QVERIFY2(damaged.startsWith(file + QStringLiteral(": ")), qPrintable(damaged));
        QVERIFY(TinyModel(1, "mse", spec::Precision::Fp32).save(path()).ok());
        QVERIFY(picture.open(QIODevice::WriteOnly) && picture.write(png) == png.size());
        picture.close();
        QCOMPARE(problemIn(ask({file})),
                 QStringLiteral("The model takes 2, which is no picture. Give numbers with commas "
                                "between them."));
    }

    void moreRowsThanABatch() {
        const TinyModel model(1, "mse", spec::Precision::Fp32);
        QVERIFY(model.save(path()).ok());
        QStringList rows;
        for (int i = 0; i < 300; ++i)
            rows += QString::number(i) + QStringLiteral(",0");
        const QJsonArray predictions = ask(rows)[QLatin1StringView("predictions")].toArray();
        QCOMPARE(predictions.size(), 300);
        for (int i = 0; i < 300; ++i) {
            QCOMPARE(predictions[i][QLatin1StringView("sample")].toInt(), i);
            QVERIFY(isNear(predictions[i][QLatin1StringView("values")][0].toDouble(), i - 0.5));
        }
        const QJsonArray chosen =
            ask(rows, {{"samples", QJsonArray{299, 7}}})[QLatin1StringView("predictions")]
                .toArray();
        QCOMPARE(chosen.size(), 2);
        QCOMPARE(chosen[0][QLatin1StringView("sample")].toInt(), 299);
        QVERIFY(isNear(chosen[1][QLatin1StringView("values")][0].toDouble(), 6.5));
    }

    void wrongInputs_data() {
        QTest::addColumn<QStringList>("inputs");
        QTest::addColumn<QString>("sentence");
        const auto row = [](const char* name, const QStringList& inputs, const char* sentence) {
            QTest::newRow(name) << inputs << QString::fromUtf8(sentence);
        };
        row("no row", {QStringLiteral("cat.png")},
            "\"cat.png\" is neither a file nor a row of numbers. Give pictures (JPEG, PNG), an IDX "
            "file of samples, or numbers with commas between them.");
        row("empty part", {QStringLiteral("1,,2")},
            "\"1,,2\" is neither a file nor a row of numbers. Give pictures (JPEG, PNG), an IDX "
            "file of samples, or numbers with commas between them.");
        row("too long", {QStringLiteral("1,2"), QStringLiteral("1,2,3")},
            "The row 1,2,3 has 3 numbers, but the model takes 2 (2). Give one number for each "
            "input of the model.");
        row("infinite", {QStringLiteral("1e300,0")},
            "For sample 0 the model computes numbers that are not finite. Look whether the sample "
            "has numbers far from those that the model was trained on.");
    }

    void wrongInputs() {
        QFETCH(QStringList, inputs);
        QFETCH(QString, sentence);
        QVERIFY(TinyModel(3, "cross_entropy", spec::Precision::Fp32).save(path()).ok());
        const QJsonObject answer = ask(inputs);
        QCOMPARE(problemIn(answer), sentence);
        QVERIFY(!answer.contains(QLatin1StringView("predictions")));
    }

    void noSuchSample() {
        QVERIFY(TinyModel(3, "cross_entropy", spec::Precision::Fp32).save(path()).ok());
        QCOMPARE(problemIn(ask({QStringLiteral("1,2")}, {{"samples", QJsonArray{1}}})),
                 QStringLiteral("There is no sample 1: the input has 1, counted from 0. Choose one "
                                "from 0 to 0."));
    }

    void wrongWeights() {
        const std::string file = path();
        const auto refusal = [&] {
            return problemIn(ask({QStringLiteral("1,2")}));
        };
        QVERIFY(writeSafetensors(file, {}, {{"format", "pt"}}).ok());
        QCOMPARE(refusal(),
                 QString(name() +
                         QStringLiteral(
                             ": weights of Trainyard have the format \"trainyard.weights/1\", "
                             "these have \"pt\". Take the weights of another run, or train this "
                             "one again.")));
        TinyModel model(3, "cross_entropy", spec::Precision::Fp32);
        QVERIFY(model.save(file).ok());
        const SafetensorsMetadata metadata = SafetensorsFile::open(file)->metadata();
        const std::array<float, 6> values{};
        const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
        QVERIFY(
            writeSafetensors(file, {{"out.weight", DType::Fp32, {3, 2}, bytes}}, metadata).ok());
        QVERIFY2(refusal().contains(QStringLiteral(
                     ": the model has a parameter \"out.bias\", which is not there. ")),
                 qPrintable(refusal()));
        QVERIFY(writeSafetensors(file,
                                 {{"out.weight", DType::Fp32, {2, 3}, bytes},
                                  {"out.bias", DType::Fp32, {3}, bytes}},
                                 metadata)
                    .ok());
        QVERIFY2(refusal().contains(QStringLiteral(
                     "\"out.weight\" is 2 × 3 of F32; the model has 3 × 2 of F32. ")),
                 qPrintable(refusal()));
        SafetensorsMetadata broken = metadata;
        broken["data"] = "{\"shape\": \"wide\"}";
        QVERIFY(writeSafetensors(file, {}, broken).ok());
        QVERIFY2(refusal().contains(QStringLiteral("lacks what is known of the data or the step")),
                 qPrintable(refusal()));
        broken["experiment"] = "{";
        QVERIFY(writeSafetensors(file, {}, broken).ok());
        QVERIFY2(
            refusal().contains(QStringLiteral("the experiment in its metadata cannot be read")),
            qPrintable(refusal()));
        QVERIFY(QFile::remove(name()));
        QCOMPARE(
            refusal(),
            QString(name() +
                    QStringLiteral(" cannot be read: No such file or directory. Check the path and "
                                   "the permissions.")));
        QVERIFY2(problemIn(objectIn(predict("{")))
                     .startsWith(QStringLiteral("The request cannot be read: ")),
                 "a broken request");
    }

    void whatIsKnownOfTheDataComesBack() {
        TinyModel model(3, "cross_entropy", spec::Precision::Fp64);
        model.data.mean = {0.1, 1.0 / 3};
        model.data.deviation = {1e-300, 2.0 / 3};
        model.data.shift = {-1.0 / 7, 1e300};
        model.data.scale = {1.0 / 9, -0.0};
        model.data.classNames = {"a\"b", "\n", ""};
        model.experiment.name = "имя";
        QVERIFY(model.save(path()).ok());
        const Result<SavedWeights> weights = SavedWeights::open(path());
        QVERIFY2(weights.ok(), weights ? "" : weights.error().sentence().c_str());
        QCOMPARE(spec::toJson(weights->experiment()), spec::toJson(model.experiment));
        QCOMPARE(weights->step(), 42);
        QCOMPARE(weights->data().mean, model.data.mean); // to the bit
        QCOMPARE(weights->data().deviation, model.data.deviation);
        QCOMPARE(weights->data().shift, model.data.shift);
        QCOMPARE(weights->data().scale, model.data.scale);
        QCOMPARE(weights->data().classNames, model.data.classNames);
        QVERIFY(weights->data().sampleShape == model.data.sampleShape);
        QCOMPARE(weights->data().classes, 3);
    }

private:
    QString name() const { return m_folder.filePath(QStringLiteral("weights.safetensors")); }
    std::string path() const { return name().toStdString(); }

    QJsonObject ask(const QStringList& inputs,
                    const QList<std::pair<const char*, QJsonValue>>& more = {}) const {
        QJsonObject request{{QStringLiteral("weights"), name()},
                            {QStringLiteral("inputs"), QJsonArray::fromStringList(inputs)}};
        for (const auto& [key, value] : more)
            request[QLatin1StringView(key)] = value;
        return objectIn(predict(QJsonDocument(request).toJson().toStdString()));
    }

    QTemporaryDir m_folder;
};

QTEST_GUILESS_MAIN(TestPredict)
#include "tst_predict.moc"
