// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// What happens to training pictures: only what was asked for, the same for the same seed, epoch and
// sample whatever else is in the batch, in both precisions.
#include "engine/data/augmentation.h"
#include "engine/data/dataset.h"
#include "engine/data/loader.h"

#include "tests/data/data_helpers.h"

#include <cmath>
#include <map>

using namespace trainyard;
using namespace trainyard::engine;
using namespace trainyard::test;

namespace {

constexpr std::int64_t kHeight = 5;
constexpr std::int64_t kWidth = 7;
constexpr std::int64_t kPlane = kHeight * kWidth;
const Shape kPicture = {2, kHeight, kWidth};

/// Channel 0 holds 1, 2, 3 ..., channel 1 the same with the other sign.
template <class Real>
std::vector<Real> pictures(std::size_t count) {
    std::vector<Real> values;
    for (std::size_t i = 0; i < count; ++i)
        for (int sign : {1, -1})
            for (std::int64_t pixel = 1; pixel <= kPlane; ++pixel)
                values.push_back(static_cast<Real>(sign * pixel));
    return values;
}

template <class Real = double>
std::vector<Real> augmented(const AugmentationSettings& settings, std::uint64_t seed,
                            std::int64_t epoch, const std::vector<std::int64_t>& samples) {
    Augmenter augmenter(settings, seed, kPicture);
    std::vector<Real> values = pictures<Real>(samples.size());
    augmenter.apply(epoch, samples, values.data(), sizeof(Real) == 8 ? DType::Fp64 : DType::Fp32);
    return values;
}

/// The picture moved so that (y, x) shows what was at (y + down, x + right).
std::vector<double> moved(std::int64_t down, std::int64_t right, bool mirrored) {
    std::vector<double> values;
    for (const double sign : {1.0, -1.0})
        for (std::int64_t y = 0; y < kHeight; ++y)
            for (std::int64_t x = 0; x < kWidth; ++x) {
                const std::int64_t row = y + down;
                const std::int64_t column = (mirrored ? kWidth - 1 - x : x) + right;
                const bool inside = row >= 0 && row < kHeight && column >= 0 && column < kWidth;
                values.push_back(inside ? sign * static_cast<double>(row * kWidth + column + 1)
                                        : 0.0);
            }
    return values;
}

} // namespace

class TestAugmentation : public QObject {
    Q_OBJECT

private slots:
    void nothingAskedFor();
    void flipIsHalf();
    void shiftsAreEven();
    void turns();
    void fullTurns();
    void covers();
    void dependsOnSeedEpochAndSample();
    void floatsAndDoublesAgree();
    void inTheLoader();
    void onlyPictures();
};

void TestAugmentation::nothingAskedFor() {
    QVERIFY(!AugmentationSettings{}.any());
    QVERIFY(augmented({}, 1, 0, {0, 1, 2}) == pictures<double>(3));
    spec::DataSpec data;
    QVERIFY(!augmentationOf(data).any());
    data.augment = {{"flip", true},
                    {"crop_padding", std::int64_t{4}},
                    {"rotate", 15.0},
                    {"cutout", std::int64_t{8}}};
    const AugmentationSettings settings = augmentationOf(data);
    QVERIFY(settings.flip && settings.cropPadding == 4 && settings.rotate == 15.0 &&
            settings.cutout == 8);
}

void TestAugmentation::flipIsHalf() {
    int mirrored = 0;
    for (std::int64_t sample = 0; sample < 1000; ++sample) {
        const auto picture = augmented({.flip = true}, 7, 3, {sample});
        if (picture == moved(0, 0, true))
            ++mirrored;
        else
            QVERIFY(picture == moved(0, 0, false));
    }
    // Five deviations of a fair coin.
    QVERIFY2(std::abs(mirrored - 500) < 80, qPrintable(QString::number(mirrored)));
}

void TestAugmentation::shiftsAreEven() {
    std::map<std::pair<std::int64_t, std::int64_t>, int> seen;
    for (std::int64_t sample = 0; sample < 2500; ++sample) {
        const auto picture = augmented({.cropPadding = 2}, 7, 3, {sample});
        bool found = false;
        for (std::int64_t down = -2; down <= 2 && !found; ++down)
            for (std::int64_t right = -2; right <= 2 && !found; ++right)
                if (picture == moved(down, right, false)) {
                    found = true;
                    ++seen[{down, right}];
                }
        QVERIFY(found);
    }
    QCOMPARE(seen.size(), std::size_t{25});
    for (const auto& [shift, count] : seen) // 100 expected, deviation 10
        QVERIFY2(std::abs(count - 100) < 50, qPrintable(QString::number(count)));
    // Further than the picture is large: nothing is left, and nothing beside it is touched.
    for (std::int64_t sample = 0; sample < 200; ++sample)
        augmented({.flip = true, .cropPadding = 1000}, 7, 3, {sample});
}

void TestAugmentation::turns() {
    // The middle stays where it is, and the middle of what is turned keeps its sum.
    const auto picture = augmented({.rotate = 30}, 3, 1, {5});
    const auto plain = pictures<double>(1);
    QVERIFY(picture != plain);
    const std::size_t middle = kPlane / 2;
    QVERIFY(std::abs(picture[middle] - plain[middle]) < 1e-9);
    // Points opposite to each other still add up to twice the middle, where both are inside.
    QVERIFY(std::abs(picture[middle - 1] + picture[middle + 1] - 2 * plain[middle]) < 1e-9);
    for (std::size_t i = 0; i < kPlane; ++i)
        QVERIFY(std::abs(picture[i] + picture[i + kPlane]) < 1e-9);
}

void TestAugmentation::fullTurns() {
    // The size of the angle is spread over [0, rotate): its mean over samples is half of it. Beside
    // the middle the picture is the plane 18 + x + 7 y, so that pixel tells the angle.
    double sum = 0;
    for (std::int64_t sample = 0; sample < 2000; ++sample) {
        const auto picture = augmented({.rotate = 10}, 3, 1, {sample});
        const double right = picture[kPlane / 2 + 1] - picture[kPlane / 2];
        // cos(a) + 7 sin(a) = sqrt(50) cos(a - atan(7))
        const double angle = std::atan(7.0) - std::acos(right / std::sqrt(50.0));
        QVERIFY(std::abs(angle) <= 10 * 3.1415926536 / 180 + 1e-9);
        sum += std::abs(angle);
    }
    QVERIFY(std::abs(sum / 2000 - 5 * 3.14159265 / 180) < 0.005); // deviation 0.0011
}

void TestAugmentation::covers() {
    std::map<std::int64_t, int> sizes;
    for (std::int64_t sample = 0; sample < 500; ++sample) {
        const auto picture = augmented({.cutout = 3}, 7, 3, {sample});
        const auto plain = pictures<double>(1);
        std::int64_t covered = 0;
        std::int64_t top = kHeight, bottom = -1, left = kWidth, right = -1;
        for (std::int64_t pixel = 0; pixel < kPlane; ++pixel) {
            const auto at = static_cast<std::size_t>(pixel);
            if (picture[at] == plain[at])
                continue;
            QCOMPARE(picture[at], 0.0);
            QCOMPARE(picture[at + kPlane], 0.0); // all channels
            ++covered;
            top = std::min(top, pixel / kWidth);
            bottom = std::max(bottom, pixel / kWidth);
            left = std::min(left, pixel % kWidth);
            right = std::max(right, pixel % kWidth);
        }
        QCOMPARE((bottom - top + 1) * (right - left + 1), covered);
        ++sizes[covered];
    }
    // A whole square, cut by one border, cut by two.
    QCOMPARE(sizes.size(), std::size_t{3});
    QVERIFY(sizes.contains(9) && sizes.contains(6) && sizes.contains(4));
}

void TestAugmentation::dependsOnSeedEpochAndSample() {
    const AugmentationSettings all{.flip = true, .cropPadding = 2, .rotate = 20, .cutout = 2};
    const auto batch = augmented(all, 9, 4, {10, 11, 12});
    const auto alone = augmented(all, 9, 4, {11});
    QVERIFY(std::equal(alone.begin(), alone.end(), batch.begin() + 2 * kPlane));
    QVERIFY(alone == augmented(all, 9, 4, {11}));
    QVERIFY(alone != augmented(all, 9, 4, {12}));
    QVERIFY(alone != augmented(all, 9, 5, {11}));
    QVERIFY(alone != augmented(all, 8, 4, {11}));
}

void TestAugmentation::floatsAndDoublesAgree() {
    const AugmentationSettings all{.flip = true, .cropPadding = 2, .rotate = 20, .cutout = 2};
    const std::vector<std::int64_t> samples = {0, 5, 1'000'000'007};
    const auto doubles = augmented<double>(all, 9, 4, samples);
    const auto floats = augmented<float>(all, 9, 4, samples);
    for (std::size_t i = 0; i < doubles.size(); ++i)
        QCOMPARE(floats[i], static_cast<float>(doubles[i]));
}

void TestAugmentation::inTheLoader() {
    class Constant : public Dataset {
    public:
        Constant() {
            m_info.samples = 100;
            m_info.sampleShape = kPicture;
        }
        const DatasetInfo& info() const override { return m_info; }
        void gather(std::span<const std::int64_t> samples,
                    const BatchMemory& memory) const override {
            const auto values = pictures<float>(samples.size());
            std::ranges::copy(values, static_cast<float*>(memory.inputs));
            std::fill_n(memory.labels, samples.size(), 1);
        }

    private:
        DatasetInfo m_info;
    };
    const Constant dataset;
    const AugmentationSettings settings{.flip = true, .cropPadding = 1};
    Augmenter augmenter(settings, 5, kPicture);
    BatchLoader loader(
        dataset, DType::Fp32, 2,
        [](std::int64_t step, std::vector<std::int64_t>& samples) {
            samples = {step, step + 50};
        },
        0, 8,
        [&](std::int64_t step, std::span<const std::int64_t> samples, void* inputs, DType type) {
            augmenter.apply(step / 4, samples, inputs, type);
        });
    for (std::int64_t step = 0; step < 8; ++step) {
        const Batch* batch = loader.next();
        const auto expected = augmented<float>(settings, 5, step / 4, {step, step + 50});
        QVERIFY(
            std::equal(expected.begin(), expected.end(), static_cast<const float*>(batch->inputs)));
    }
}

void TestAugmentation::onlyPictures() {
    QTemporaryDir folder;
    const QString images = folder.filePath(QStringLiteral("images"));
    const QString labels = folder.filePath(QStringLiteral("labels"));
    QVERIFY(writeFile(labels, idxHeader(8, {2}) + QByteArray(2, '\0')));
    spec::DataSpec data;
    data.train = {{"images", images.toStdString()}, {"labels", labels.toStdString()}};
    data.augment = {{"flip", true}};
    QVERIFY(writeFile(images, idxHeader(8, {2, 4}) + patternBytes(8)));
    VERIFY_REFUSED(openData(data, 1, 0), "data.augment: Samples of the shape 4 are no pictures");
    QVERIFY(writeFile(images, idxHeader(8, {2, 2, 2}) + patternBytes(8)));
    VERIFY_OPENED(openData(data, 1, 0));
}

QTEST_APPLESS_MAIN(TestAugmentation)
#include "tst_augmentation.moc"
