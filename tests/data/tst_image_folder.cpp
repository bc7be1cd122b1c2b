// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Folders of pictures: decoding against Qt's own, turned and damaged files, which folders are
// classes, scaling, small and large sets.
#include "engine/data/picture_file.h"
#include "tests/data/data_helpers.h"

#include <QDir>
#include <QImage>
#include <QImageReader>

#include <cmath>

using namespace trainyard;
using namespace trainyard::engine;
using namespace trainyard::test;

namespace {

/// Mean absolute difference of the channels; 999 where the sizes differ.
double difference(const Picture& picture, const QImage& other) {
    if (picture.height != other.height() || picture.width != other.width())
        return 999;
    const QImage rgb = other.convertToFormat(QImage::Format_RGB888);
    double sum = 0;
    const std::uint8_t* pixel = picture.pixels.data();
    for (int y = 0; y < rgb.height(); ++y)
        for (int i = 0; i < 3 * rgb.width(); ++i)
            sum += std::abs(int{*pixel++} - int{rgb.constScanLine(y)[i]});
    return sum / static_cast<double>(picture.pixels.size());
}

QImage readWithQt(const QString& path) {
    QImageReader reader(path);
    reader.setAutoTransform(true);
    return reader.read();
}

Picture madeOf(std::int64_t height, std::int64_t width, auto value) {
    Picture picture;
    picture.height = height;
    picture.width = width;
    for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x)
            for (int channel = 0; channel < 3; ++channel)
                picture.pixels.push_back(static_cast<std::uint8_t>(value(y, x, channel)));
    return picture;
}

std::vector<std::uint8_t> scaled(const Picture& picture, std::int64_t channels, std::int64_t height,
                                 std::int64_t width) {
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(channels * height * width));
    scalePicture(picture, channels, height, width, pixels.data());
    return pixels;
}

} // namespace

class TestImageFolder : public QObject {
    Q_OBJECT

private slots:
    void kindsOfPng_data();
    void kindsOfPng();
    void turnedByHand();
    void scaledByHand();
    void damagedFiles();
    void headersThatLie();
    void classesAndSplit();
    void foldersThatAreNoClasses();
    void validationByName();
    void largeSetsStayOnDisk();
    void refused();
    void sixteenBits();
    void exif();
    void cmykAndGray();
    void pngSuite();
    void signDigits();
    void caseA13();

private:
    QString path(const QString& name) { return m_folder.filePath(name); }
    /// A picture of one colour.
    void save(const QString& name, QRgb colour, const char* format = "PNG", int side = 8) {
        QDir().mkpath(QFileInfo(path(name)).path());
        QImage image(side, side, QImage::Format_RGB32);
        image.fill(colour);
        if (!image.save(path(name), format, 100))
            qFatal("cannot write a test file");
    }
    spec::DataSpec folder(const QString& name) const {
        spec::DataSpec data;
        data.format = "image_folder";
        data.train = {{"folder", m_folder.filePath(name).toStdString()}};
        data.normalize = "none";
        data.values = {{"size", std::int64_t{8}}};
        return data;
    }

    QTemporaryDir m_folder;
};

void TestImageFolder::kindsOfPng_data() {
    QTest::addColumn<int>("format");
    QTest::newRow("mono") << int{QImage::Format_Mono};
    QTest::newRow("palette") << int{QImage::Format_Indexed8};
    QTest::newRow("gray") << int{QImage::Format_Grayscale8};
    QTest::newRow("gray, 16 bits") << int{QImage::Format_Grayscale16};
    QTest::newRow("colours") << int{QImage::Format_RGB888};
    QTest::newRow("colours, 16 bits") << int{QImage::Format_RGBX64};
    QTest::newRow("transparent") << int{QImage::Format_ARGB32};
}

void TestImageFolder::kindsOfPng() {
    QFETCH(int, format);
    QImage image(13, 9, QImage::Format_ARGB32);
    for (int y = 0; y < 9; ++y)
        for (int x = 0; x < 13; ++x)
            image.setPixel(x, y, qRgba(x * 19, y * 28, (x * y * 7) % 256, 255 - x * 10));
    if (format != QImage::Format_ARGB32)
        image = image.convertToFormat(QImage::Format_RGB32)
                    .convertToFormat(static_cast<QImage::Format>(format));
    QVERIFY(image.save(path(QStringLiteral("kind.png"))));
    const Result<Picture> picture = readPicture(path(QStringLiteral("kind.png")).toStdString());
    QVERIFY2(picture.ok(), picture.ok() ? "" : picture.error().sentence().c_str());
    QCOMPARE(picture->transparent, format == QImage::Format_ARGB32);
    if (picture->transparent) {
        for (int y = 0; y < 9; ++y)
            for (int x = 0; x < 13; ++x) {
                const QRgb pixel = image.pixel(x, y);
                const double red =
                    (qRed(pixel) * qAlpha(pixel) + 255 * (255 - qAlpha(pixel))) / 255.0;
                const int found = picture->pixels[static_cast<std::size_t>(3 * (y * 13 + x))];
                QVERIFY(std::abs(found - red) <= 0.51);
            }
        return;
    }
    // Qt cuts 16 bits where libpng rounds.
    QVERIFY2(difference(*picture, image) < 0.6,
             qPrintable(QString::number(difference(*picture, image))));
}

void TestImageFolder::turnedByHand() {
    // 2 rows of 3: a b c / d e f
    const Picture stored = madeOf(2, 3, [](auto y, auto x, auto) { return 'a' + 3 * y + x; });
    const auto letters = [&](int orientation) {
        const Picture upright = turnedUpright(stored, orientation);
        QByteArray text = QByteArray::number(static_cast<int>(upright.height)) + ' ';
        for (std::size_t i = 0; i < upright.pixels.size(); i += 3)
            text += static_cast<char>(upright.pixels[i]);
        return text;
    };
    QCOMPARE(letters(1), QByteArray("2 abcdef"));
    QCOMPARE(letters(2), QByteArray("2 cbafed"));
    QCOMPARE(letters(3), QByteArray("2 fedcba"));
    QCOMPARE(letters(4), QByteArray("2 defabc"));
    QCOMPARE(letters(5), QByteArray("3 adbecf"));
    QCOMPARE(letters(6), QByteArray("3 daebfc"));
    QCOMPARE(letters(7), QByteArray("3 fcebda"));
    QCOMPARE(letters(8), QByteArray("3 cfbead"));
    QCOMPARE(letters(9), QByteArray("2 abcdef"));
    // The number of the orientation in both byte orders, and blocks that lead nowhere.
    const auto orientation = [](const QByteArray& block) {
        return exifOrientation({reinterpret_cast<const std::uint8_t*>(block.constData()),
                                static_cast<std::size_t>(block.size())});
    };
    const QByteArray little("II*\0\10\0\0\0\1\0\x12\1\3\0\1\0\0\0\6\0\0\0", 22);
    const QByteArray big("MM\0*\0\0\0\10\0\1\1\x12\0\3\0\0\0\1\0\10\0\0", 22);
    QCOMPARE(orientation(little), 6);
    QCOMPARE(orientation(big), 8);
    for (qsizetype size = 0; size < little.size(); ++size)
        QCOMPARE(orientation(little.first(size)), 1);
    QByteArray far = little;
    far[4] = '\xFF', far[7] = '\xFF';
    QCOMPARE(orientation(far), 1);
}

void TestImageFolder::scaledByHand() {
    const Picture steps = madeOf(4, 4, [](auto, auto x, auto channel) {
        return channel == 0 ? 200 : x < 2 ? 10 : 90;
    });
    // The same size stays as it is, channel after channel.
    const auto same = scaled(steps, 3, 4, 4);
    for (std::size_t i = 0; i < 16; ++i)
        QVERIFY(same[i] == 200 && same[16 + i] == (i % 4 < 2 ? 10 : 90) &&
                same[32 + i] == same[16 + i]);
    // One colour stays that colour at any size.
    for (const auto& [height, width] : {std::pair{1, 1}, {3, 7}, {64, 5}})
        for (const std::uint8_t value :
             scaled(madeOf(17, 23, [](auto, auto, auto) { return 137; }), 3, height, width))
            QCOMPARE(value, std::uint8_t{137});
    // Half as wide: each new column takes the triangle 1 3 3 1 of the old ones, cut at the border.
    const Picture ramp = madeOf(1, 4, [](auto, auto x, auto) { return 70 * x; });
    const auto half = scaled(ramp, 3, 1, 2);
    QCOMPARE(half[0], static_cast<std::uint8_t>((3 * 0 + 3 * 70 + 140) / 7.0 + 0.5));
    QCOMPARE(half[1], static_cast<std::uint8_t>((70 + 3 * 140 + 3 * 210) / 7.0 + 0.5));
    // Brightness.
    const Picture colour = madeOf(2, 2, [](auto, auto, auto channel) {
        return std::array{100, 200, 50}[channel];
    });
    QCOMPARE(scaled(colour, 1, 1, 1)[0], std::uint8_t{153}); // 29.9 + 117.4 + 5.7
}

void TestImageFolder::damagedFiles() {
    save(QStringLiteral("whole.png"), qRgb(10, 200, 30), "PNG", 64);
    QImage noise(64, 64, QImage::Format_RGB32);
    for (int y = 0; y < 64; ++y)
        for (int x = 0; x < 64; ++x)
            noise.setPixel(x, y, qRgb(patternAt(static_cast<std::size_t>(x * 64 + y)), y * 4, x));
    QVERIFY(noise.save(path(QStringLiteral("whole.jpg")), "JPG", 95));
    for (const char* name : {"whole.png", "whole.jpg"}) {
        QFile file(path(QString::fromUtf8(name)));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray whole = file.readAll();
        const auto decoded = [](const QByteArray& bytes) {
            return decodePicture({reinterpret_cast<const std::uint8_t*>(bytes.constData()),
                                  static_cast<std::size_t>(bytes.size())});
        };
        QVERIFY(decoded(whole).ok());
        // Cut anywhere: an error, never half a picture. (JPEG's last two bytes are an end mark.)
        for (qsizetype size = 0; size<whole.size() - 2; size += whole.size()> 400 ? 37 : 1)
            QVERIFY2(!decoded(whole.first(size)), qPrintable(QString::number(size)));
    }
    QCOMPARE(QString::fromStdString(decodePicture({}).error().sentence()),
             QStringLiteral("It is neither JPEG nor PNG."));
}

/// A header of a large picture and nothing behind it: refused before memory is taken.
void TestImageFolder::headersThatLie() {
    save(QStringLiteral("small.jpg"), qRgb(9, 9, 9), "JPG", 8);
    QFile file(path(QStringLiteral("small.jpg")));
    QVERIFY(file.open(QIODevice::ReadOnly));
    QByteArray bytes = file.readAll();
    const qsizetype size = bytes.indexOf(QByteArray("\x08\x00\x08\x00\x08", 5));
    QVERIFY(size > 0);
    bytes.replace(size, 5, QByteArray("\x08\x40\x00\x20\x00", 5));
    const bool measured = resetMostMemoryHeld();
    const qint64 before = memoryFigure("VmHWM");
    const auto decoded = decodePicture({reinterpret_cast<const std::uint8_t*>(bytes.constData()),
                                        static_cast<std::size_t>(bytes.size())});
    QCOMPARE(QString::fromStdString(decoded.error().sentence()),
             QStringLiteral("It is damaged: its 8192 x 16384 pixels are too many for its bytes."));
    QVERIFY(!measured || memoryFigure("VmHWM") - before < 16 * 1024);
}

void TestImageFolder::classesAndSplit() {
    for (int i = 0; i < 6; ++i) {
        save(QStringLiteral("数据集 №1/b ünï/%1.png").arg(i), qRgb(10 * i, 0, 0));
        save(QStringLiteral("数据集 №1/a/below/%1.JPG").arg(i), qRgb(0, 10 * i, 0), "JPG");
    }
    spec::DataSpec data = folder(QStringLiteral("数据集 №1"));
    DataOutcome outcome = openData(data, 1, 2);
    VERIFY_OPENED(outcome);
    const DatasetInfo& info = outcome.data.training->info();
    QVERIFY(info.classNames == (std::vector<std::string>{"a", "b ünï"}));
    QVERIFY(info.classCounts == (std::vector<std::int64_t>{6, 6}));
    QVERIFY(info.sampleShape == (Shape{3, 8, 8}));
    const auto rows = gatherRows<float>(*outcome.data.training, {11, 2});
    QVERIFY(rows.labels == (std::vector<std::int32_t>{1, 0}));
    QCOMPARE(rows.inputs[0], 50.0f);
    QCOMPARE(rows.inputs[64], 0.0f);
    QVERIFY(std::abs(rows.inputs[3 * 64 + 64] - 20.0f) <= 2);
    data.validationFraction = 0.25;
    data.values = {{"size", std::vector<std::int64_t>{4, 6}}, {"channels", std::int64_t{1}}};
    outcome = openData(data, 1, 2);
    VERIFY_OPENED(outcome);
    QVERIFY(outcome.data.training->info().sampleShape == (Shape{1, 4, 6}));
    QCOMPARE(outcome.data.training->info().samples, 9);
    QCOMPARE(outcome.data.validation->info().samples, 3);
    QVERIFY2(allNotes(outcome.data.training->info())
                 .contains(QString::fromUtf8("The pictures are 8 × 8; they are scaled to 6 × 4.")),
             qPrintable(allNotes(outcome.data.training->info())));
}

void TestImageFolder::foldersThatAreNoClasses() {
    save(QStringLiteral("mixed/cat/1.png"), qRgb(1, 1, 1));
    save(QStringLiteral("mixed/dog/1.png"), qRgb(2, 2, 2));
    save(QStringLiteral("mixed/.hidden/1.png"), qRgb(3, 3, 3));
    save(QStringLiteral("mixed/__MACOSX/1.png"), qRgb(3, 3, 3));
    save(QStringLiteral("mixed/beside.png"), qRgb(3, 3, 3));
    QVERIFY(QDir().mkpath(path(QStringLiteral("mixed/cow"))));
    QVERIFY(writeFile(path(QStringLiteral("mixed/dog/notes.txt")), "no picture"));
    QVERIFY(writeFile(path(QStringLiteral("mixed/dog/Thumbs.db")), "no picture"));
    QVERIFY(writeFile(path(QStringLiteral("mixed/dog/cut.png")), "\x89PNG\r\n\x1A\n only a head"));
    const DataOutcome outcome = openData(folder(QStringLiteral("mixed")), 1, 2);
    VERIFY_OPENED(outcome);
    const DatasetInfo& info = outcome.data.training->info();
    QVERIFY(info.classNames == (std::vector<std::string>{"cat", "dog"}));
    QVERIFY(info.classCounts == (std::vector<std::int64_t>{1, 1}));
    const QString notes = allNotes(info);
    for (const char* note :
         {"1 folders have 0 pictures and are no class: cow.",
          "3 hidden files and folders are left out: .hidden, __MACOSX, Thumbs.db.",
          "1 files are neither JPEG nor PNG and are left out: dog/notes.txt.",
          "1 files lie beside the folders of the classes and are left out: beside.png.",
          "1 damaged pictures are left out: dog/cut.png (It is damaged: "})
        QVERIFY2(notes.contains(QString::fromUtf8(note)), qPrintable(notes));
}

void TestImageFolder::validationByName() {
    for (const char* name :
         {"byname/train/ant/1.png", "byname/train/bee/1.png", "byname/train/fly/1.png",
          "byname/test/fly/1.png", "byname/wrong/wasp/1.png"})
        save(QString::fromUtf8(name), qRgb(7, 7, 7));
    spec::DataSpec data = folder(QStringLiteral("byname/train"));
    data.validation = {{"folder", path(QStringLiteral("byname/test")).toStdString()}};
    const DataOutcome outcome = openData(data, 1, 3);
    VERIFY_OPENED(outcome);
    QVERIFY(gatherRows<float>(*outcome.data.validation, {0}).labels ==
            std::vector<std::int32_t>{2});
    QCOMPARE(outcome.data.validation->info().classNames.size(), std::size_t{3});
    data.validation = {{"folder", path(QStringLiteral("byname/wrong")).toStdString()}};
    VERIFY_REFUSED(openData(data, 1, 3), "a class \"wasp\" that the training folder does not have");
}

void TestImageFolder::largeSetsStayOnDisk() {
    // The same pictures under many names, scaled to a size at which they are too many for memory.
    for (int i = 0; i < 60; ++i)
        save(QStringLiteral("large/%1/%2.png").arg(i % 2).arg(i, 2, 10, QLatin1Char('0')),
             qRgb(i, 2 * i, 255 - i));
    spec::DataSpec data = folder(QStringLiteral("large"));
    data.values["size"] = std::int64_t{1024};
    data.validationFraction = 0.2;
    data.normalize = "standard";
    const DataOutcome large = openData(data, 3, 2);
    VERIFY_OPENED(large);
    QVERIFY(allNotes(large.data.training->info())
                .contains(QLatin1StringView("Mean and deviation are those of ")));
    data.values["size"] = std::int64_t{8};
    const DataOutcome small = openData(data, 3, 2);
    VERIFY_OPENED(small);
    // Pictures of one colour are the same at any size: both ways must give the same samples.
    for (const bool training : {true, false}) {
        const Dataset& a = training ? *large.data.training : *large.data.validation;
        const Dataset& b = training ? *small.data.training : *small.data.validation;
        QCOMPARE(a.info().samples, b.info().samples);
        QVERIFY(a.info().classCounts == b.info().classCounts);
        QVERIFY(a.info().classNames == b.info().classNames);
        for (std::int64_t row = 0; row < a.info().samples; row += 5) {
            const auto one = gatherRows<float>(a, {row});
            const auto other = gatherRows<float>(b, {row});
            QCOMPARE(one.labels, other.labels);
            QVERIFY(std::abs(one.inputs[0] - other.inputs[0]) < 1e-5f);
            QVERIFY(std::abs(one.inputs.back() - other.inputs.back()) < 1e-5f);
        }
    }
    // Gone while it is being trained on.
    QVERIFY(QDir(path(QStringLiteral("large"))).removeRecursively());
    QVERIFY_THROWS_EXCEPTION(std::runtime_error, gatherRows<float>(*large.data.training, {0}));
}

void TestImageFolder::refused() {
    VERIFY_REFUSED(openData(folder(QStringLiteral("nowhere")), 1, 2), "is no folder");
    QVERIFY(QDir().mkpath(path(QStringLiteral("hollow/a"))));
    VERIFY_REFUSED(openData(folder(QStringLiteral("hollow")), 1, 2),
                   "has no folder with JPEG or PNG files in it");
    save(QStringLiteral("three/a/1.png"), 0);
    save(QStringLiteral("three/b/1.png"), 0);
    save(QStringLiteral("three/c/1.png"), 0);
    VERIFY_REFUSED(openData(folder(QStringLiteral("three")), 1, 2),
                   "has 3 classes, but the model has 2.");
    spec::DataSpec data = folder(QStringLiteral("three"));
    data.values["channels"] = std::int64_t{2};
    VERIFY_REFUSED(openData(data, 1, 3), "data.channels: ");
    QVERIFY(QDir().mkpath(path(QStringLiteral("bad/a"))));
    QVERIFY(writeFile(path(QStringLiteral("bad/a/1.jpg")), "\xFF\xD8\xFF and no more"));
    VERIFY_REFUSED(openData(folder(QStringLiteral("bad")), 1, 2), "All pictures in ");
}

void TestImageFolder::sixteenBits() {
    // Gray from black to white; cut to the low byte it would be noise, clipped at 255 all white.
    QImage image(256, 4, QImage::Format_Grayscale16);
    for (int y = 0; y < 4; ++y)
        for (int x = 0; x < 256; ++x)
            reinterpret_cast<quint16*>(image.scanLine(y))[x] =
                static_cast<quint16>(x * 257 + (x < 255 ? y * 30 : 0));
    QVERIFY(image.save(path(QStringLiteral("deep.png"))));
    const Result<Picture> picture = readPicture(path(QStringLiteral("deep.png")).toStdString());
    QVERIFY(picture.ok());
    for (std::size_t x = 0; x < 256; ++x)
        QCOMPARE(picture->pixels[3 * x], static_cast<std::uint8_t>(x));
    if (sharedData().isEmpty())
        QSKIP("TRAINYARD_SHARED_DATA does not name the folder of test data");
    for (const char* name : {"basn0g16", "basi0g16", "basn2c16"}) {
        const QString file =
            sharedData() +
            QStringLiteral("/image-quirks/pngsuite/%1.png").arg(QString::fromUtf8(name));
        const Result<Picture> real = readPicture(file.toStdString());
        QVERIFY(real.ok());
        QVERIFY2(difference(*real, readWithQt(file)) < 1, name);
    }
}

void TestImageFolder::exif() {
    if (sharedData().isEmpty())
        QSKIP("TRAINYARD_SHARED_DATA does not name the folder of test data");
    const QString folder = sharedData() + QStringLiteral("/image-quirks/pillow/");
    const QImage upright = readWithQt(folder + QStringLiteral("hopper.jpg"));
    for (int orientation = 2; orientation <= 8; ++orientation) {
        const QString file = folder + QStringLiteral("hopper_orientation_%1.jpg").arg(orientation);
        const Result<Picture> picture = readPicture(file.toStdString());
        QVERIFY(picture.ok());
        const double found = difference(*picture, upright);
        QVERIFY2(found < 6, qPrintable(QString::number(found)));
    }
    for (const char* name : {"invalid-exif.jpg", "multiple_exif.jpg", "icc-after-SOF.jpg",
                             "hopper_16bit_qtables.jpg", "p_16.png", "l_trns.png", "rgb_trns.png"})
        QVERIFY2(readPicture((folder + QString::fromUtf8(name)).toStdString()).ok(), name);
    for (const char* name :
         {"truncated_jpeg.jpg", "truncated_image.png", "broken.png", "broken_data_stream.png",
          "hopper.gif", "hopper.webp", "png_decompression_dos.png"}) {
        const auto picture = readPicture((folder + QString::fromUtf8(name)).toStdString());
        qInfo("%s: %s", name, picture.ok() ? "read" : picture.error().sentence().c_str());
    }
    for (const char* name :
         {"truncated_jpeg.jpg", "truncated_image.png", "broken_data_stream.png", "hopper.gif"})
        QVERIFY2(!readPicture((folder + QString::fromUtf8(name)).toStdString()), name);
}

void TestImageFolder::cmykAndGray() {
    if (sharedData().isEmpty())
        QSKIP("TRAINYARD_SHARED_DATA does not name the folder of test data");
    const QString folder = sharedData() + QStringLiteral("/image-quirks/pillow/");
    const auto cmyk = readPicture((folder + QStringLiteral("pil_sample_cmyk.jpg")).toStdString());
    QVERIFY(cmyk.ok());
    // The same picture in colours: inverted inks would be off by a hundred.
    const double found =
        difference(*cmyk, readWithQt(folder + QStringLiteral("pil_sample_rgb.jpg")));
    QVERIFY2(found < 25, qPrintable(QString::number(found)));
    QVERIFY(difference(*cmyk, readWithQt(folder + QStringLiteral("pil_sample_cmyk.jpg"))) < 2);
    const QString gray = folder + QStringLiteral("hopper_gray.jpg");
    const auto picture = readPicture(gray.toStdString());
    QVERIFY(picture.ok());
    QVERIFY(difference(*picture, readWithQt(gray)) < 1);
}

void TestImageFolder::pngSuite() {
    if (sharedData().isEmpty())
        QSKIP("TRAINYARD_SHARED_DATA does not name the folder of test data");
    const QDir folder(sharedData() + QStringLiteral("/image-quirks/pngsuite"));
    int read = 0;
    for (const QString& name : folder.entryList({QStringLiteral("*.png")})) {
        const auto picture = readPicture(folder.filePath(name).toStdString());
        // Those that begin with x are broken on purpose.
        QVERIFY2(picture.ok() != name.startsWith(QLatin1Char('x')), qPrintable(name));
        if (!picture)
            continue;
        ++read;
        if (name.startsWith(QLatin1StringView("bas")) && !picture->transparent) {
            const double found = difference(*picture, readWithQt(folder.filePath(name)));
            QVERIFY2(found < 1, qPrintable(name + QString::number(found)));
        }
    }
    QCOMPARE(read, 161);
}

void TestImageFolder::signDigits() {
    if (sharedData().isEmpty())
        QSKIP("TRAINYARD_SHARED_DATA does not name the folder of test data");
    spec::DataSpec data;
    data.format = "image_folder";
    data.train = {
        {"folder", (sharedData() + QStringLiteral("/image-folder/sign-digits")).toStdString()}};
    data.validationFraction = 0.2;
    const DataOutcome outcome = openData(data, 1, 10);
    VERIFY_OPENED(outcome);
    const DatasetInfo& info = outcome.data.training->info();
    QVERIFY(info.sampleShape == (Shape{3, 64, 64}));
    QCOMPARE(info.samples, 256);
    QCOMPARE(info.classNames[7], std::string("7"));
    QVERIFY(measureGather("small folder", *outcome.data.training) > 0);
    data.values["size"] = std::int64_t{512};
    const DataOutcome large = openData(data, 1, 10);
    VERIFY_OPENED(large);
    QVERIFY(measureGather("folder decoded on demand, 512 x 512", *large.data.training) > 0);
}

void TestImageFolder::caseA13() {
    if (sharedData().isEmpty())
        QSKIP("TRAINYARD_SHARED_DATA does not name the folder of test data");
    const QString source = sharedData() + QStringLiteral("/image-folder/sign-digits/");
    for (int digit = 0; digit < 10; ++digit) {
        const QDir from(source + QString::number(digit));
        const QString to = path(QStringLiteral("a13/%1/").arg(digit));
        QVERIFY(QDir().mkpath(to));
        for (const QString& name : from.entryList(QDir::Files).first(3))
            QVERIFY(QFile::link(from.filePath(name), to + name));
    }
    QVERIFY(QDir().mkpath(path(QStringLiteral("a13/3b"))));
    save(QStringLiteral("a13/.ipynb_checkpoints/1.jpg"), 0, "JPG");
    save(QStringLiteral("a13/__MACOSX/1.jpg"), 0, "JPG");
    QVERIFY(writeFile(path(QStringLiteral("a13/.DS_Store")), "x"));
    const DataOutcome outcome = openData(folder(QStringLiteral("a13")), 1, 10);
    VERIFY_OPENED(outcome);
    const DatasetInfo& info = outcome.data.training->info();
    QVERIFY(info.classNames ==
            (std::vector<std::string>{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}));
    QVERIFY(info.classCounts == std::vector<std::int64_t>(10, 3));
    QVERIFY(allNotes(info).contains(QLatin1StringView("0 pictures and are no class: 3b.")));
    QVERIFY(allNotes(info).contains(QLatin1StringView("3 hidden files and folders are left out")));
}

QTEST_APPLESS_MAIN(TestImageFolder)
#include "tst_image_folder.moc"
