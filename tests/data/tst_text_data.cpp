// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Text: tokens of three kinds there and back, windows and their targets, encodings, real texts in
// three languages, files larger than what may be held in memory.
#include "engine/data/tokenizer.h"
#include "tests/data/data_helpers.h"

#include <QFile>

using namespace trainyard;
using namespace trainyard::engine;
using namespace trainyard::test;

namespace {

using Tokens = std::vector<std::int32_t>;

spec::DataSpec text(const std::string& path, std::int64_t context, const char* vocabulary) {
    spec::DataSpec data;
    data.format = "text";
    data.train = {{"text", path}};
    data.values = {{"context", context}, {"vocabulary", std::string(vocabulary)}};
    return data;
}

/// All windows of a part as text again.
std::string asText(const Dataset& dataset) {
    const auto all = gatherRows<std::int32_t>(dataset, firstRows(dataset.info().samples));
    return dataset.info().tokenizer->decode(all.inputs);
}

std::string contentOf(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll().toStdString() : std::string();
}

} // namespace

class TestTextData : public QObject {
    Q_OBJECT

private slots:
    void windowsAndTargets();
    void fractionIsTheEnd();
    void charactersOfManyBytes();
    void ownValidationText();
    void encodings();
    void tooShort();
    void notText();
    void pairsByHand();
    void pairsAcrossPieces();
    void tokenizersAsJson_data();
    void tokenizersAsJson();
    void damagedTokenizers();
    void unknownCharacter();
    void realTexts_data();
    void realTexts();
    void otherEncodingsOfOnegin();
    void memoryStaysFlat();
    void tokenFiles();
    void wrongTokenFiles();

private:
    std::string write(const char* name, const QByteArray& content) {
        const QString path = m_folder.filePath(QString::fromUtf8(name));
        if (!writeFile(path, content))
            qFatal("cannot write a test file");
        return path.toStdString();
    }

    QTemporaryDir m_folder;
};

void TestTextData::windowsAndTargets() {
    // a=0 b=1 c=2 d=3
    const DataOutcome outcome = openData(text(write("a", "badcabdcab"), 3, "characters"), 1, 4);
    VERIFY_OPENED(outcome);
    const DatasetInfo& info = outcome.data.training->info();
    QCOMPARE(info.samples, 3);
    QCOMPARE(info.vocabulary, 4);
    QCOMPARE(info.classes, 4);
    QVERIFY(info.sampleShape == Shape{3} && info.targetShape == Shape{3});
    QVERIFY(info.classNames == (std::vector<std::string>{"a", "b", "c", "d"}));
    const auto rows = gatherRows<std::int32_t>(*outcome.data.training, {2, 0});
    QVERIFY(rows.inputs == (Tokens{3, 2, 0, 1, 0, 3}));
    QVERIFY(rows.labels == (Tokens{2, 0, 1, 0, 3, 2}));
    QVERIFY2(allNotes(info).contains(QLatin1StringView("10 characters, 4 of them different.")),
             qPrintable(allNotes(info)));
}

void TestTextData::fractionIsTheEnd() {
    QByteArray digits;
    for (int i = 0; i < 101; ++i)
        digits += static_cast<char>('a' + i / 10);
    spec::DataSpec data = text(write("digits", digits), 10, "characters");
    data.validationFraction = 0.3;
    const DataOutcome outcome = openData(data, 1, 11);
    VERIFY_OPENED(outcome);
    QCOMPARE(outcome.data.training->info().samples, 7);
    QCOMPARE(outcome.data.validation->info().samples, 3);
    QCOMPARE(asText(*outcome.data.training) + asText(*outcome.data.validation),
             digits.chopped(1).toStdString());
    const auto last = gatherRows<std::int32_t>(*outcome.data.validation, {2});
    QVERIFY(last.labels == (Tokens{9, 9, 9, 9, 9, 9, 9, 9, 9, 10}));
}

void TestTextData::charactersOfManyBytes() {
    // One, two, three and four bytes, over several strides of the index and pieces of the stream.
    QString content;
    for (int i = 0; i < 400'000; ++i)
        content += i % 5 == 0   ? QStringLiteral("x")
                   : i % 5 == 1 ? QStringLiteral("ж")
                   : i % 5 == 2 ? QStringLiteral("語")
                   : i % 7 == 0 ? QStringLiteral("🚂")
                                : QStringLiteral("\n");
    const DataOutcome outcome =
        openData(text(write("mixed", content.toUtf8()), 999, "characters"), 1, 0);
    VERIFY_OPENED(outcome);
    const DatasetInfo& info = outcome.data.training->info();
    QVERIFY(info.classNames == (std::vector<std::string>{"\\n", "x", "ж", "語", "🚂"}));
    QCOMPARE(info.samples, 400);
    const std::string all = asText(*outcome.data.training);
    QVERIFY(content.toStdString().starts_with(all));
    QCOMPARE(QString::fromStdString(all).toUcs4().size(), qsizetype{400 * 999});
}

void TestTextData::ownValidationText() {
    spec::DataSpec data = text(write("training", "aabbaabb"), 2, "characters");
    data.validation = {{"text", write("validation", "bcz")}};
    const DataOutcome outcome = openData(data, 1, 0);
    VERIFY_OPENED(outcome);
    QCOMPARE(outcome.data.training->info().vocabulary, 4);
    QVERIFY2(allNotes(outcome.data.training->info())
                 .contains(QLatin1StringView("2 characters occur in the validation text only")),
             qPrintable(allNotes(outcome.data.training->info())));
    QCOMPARE(asText(*outcome.data.validation), std::string("bc"));
    VERIFY_REFUSED(openData(data, 1, 3), "4 different tokens, but the model tells only 3 apart");
}

void TestTextData::encodings() {
    const QString content = QStringLiteral("Мой дядя самых честных правил");
    const auto opened = [&](const std::string& path, const char* encoding) {
        spec::DataSpec data = text(path, 4, "characters");
        data.values["encoding"] = std::string(encoding);
        return openData(data, 1, 0);
    };
    const auto isContent = [&](const DataOutcome& outcome) {
        return outcome.data.training &&
               content.toStdString().starts_with(asText(*outcome.data.training));
    };
    QByteArray little("\xFF\xFE", 2);
    QByteArray big("\xFE\xFF", 2);
    for (const QChar letter : content) {
        little.append(static_cast<char>(letter.unicode() & 0xFF));
        little.append(static_cast<char>(letter.unicode() >> 8));
        big.append(static_cast<char>(letter.unicode() >> 8));
        big.append(static_cast<char>(letter.unicode() & 0xFF));
    }
    const DataOutcome marked = opened(write("mark", "\xEF\xBB\xBF" + content.toUtf8()), "auto");
    QVERIFY(isContent(marked));
    QVERIFY(allNotes(marked.data.training->info()).contains(QLatin1StringView("byte order mark")));
    const DataOutcome utf16 = opened(write("little", little), "auto");
    QVERIFY(isContent(utf16));
    QVERIFY(allNotes(utf16.data.training->info()).contains(QLatin1StringView("UTF-16LE")));
    QVERIFY(isContent(opened(write("big", big), "auto")));
    // Each letter of Windows-1251 is its place in the alphabet behind 0xC0.
    QByteArray windows;
    for (const QChar letter : content)
        windows.append(
            static_cast<char>(letter == QLatin1Char(' ') ? 0x20 : letter.unicode() - 0x350));
    const std::string path = write("windows", windows);
    VERIFY_REFUSED(opened(path, "auto"), "is not UTF-8: the bytes at 0 are no character.");
    VERIFY_REFUSED(opened(path, "auto"), "data.encoding=WINDOWS-1251");
    QVERIFY(isContent(opened(path, "WINDOWS-1251")));
    VERIFY_REFUSED(opened(write("odd", little.chopped(1)), "auto"), "is not UTF-16LE");
}

void TestTextData::tooShort() {
    const std::string path = write("short", "0123456789");
    VERIFY_REFUSED(openData(text(path, 10, "bytes"), 1, 0),
                   "has 10 tokens, but windows of 10 tokens need at least 11.");
    spec::DataSpec data = text(path, 9, "bytes");
    data.validationFraction = 0.5;
    VERIFY_REFUSED(openData(data, 1, 0), "need at least 19.");
    data.validationFraction = 0;
    VERIFY_OPENED(openData(data, 1, 0));
    VERIFY_REFUSED(openData(text(write("empty", ""), 4, "bytes"), 1, 0), "is empty");
    for (const char* vocabulary : {"characters", "bytes", "bpe"})
        VERIFY_REFUSED(openData(text(write("mark", "\xEF\xBB\xBF"), 4, vocabulary), 1, 0),
                       "holds no text. Choose another file.");
    VERIFY_REFUSED(openData(text("/nowhere", 4, "bpe"), 1, 0), "There is no file");
}

void TestTextData::notText() {
    // What can be no character makes no piece as long as the text, or learning pairs never ends.
    QVERIFY(pieceEnd(std::string(100'000, '\x80'), 0) < 100);
    QByteArray bytes = patternBytes(3'000'000);
    bytes.replace('\0', 'a');
    for (char& byte : bytes)
        byte = static_cast<char>(byte & 0x7F);
    bytes[2'500'000] = '\xFF';
    const std::string path = write("binary", bytes);
    for (const char* vocabulary : {"characters", "bpe"})
        VERIFY_REFUSED(openData(text(path, 4, vocabulary), 1, 0), "the bytes at 2,500,000 are");
    const DataOutcome asBytes = openData(text(path, 1000, "bytes"), 1, 256);
    VERIFY_OPENED(asBytes);
    QVERIFY(bytes.toStdString().starts_with(asText(*asBytes.data.training)));
    QCOMPARE(asBytes.data.training->info().vocabulary, 256);
    QCOMPARE(asBytes.data.training->info().classNames[255], std::string("0xFF"));
    // Cut within a character.
    VERIFY_REFUSED(openData(text(write("cut", "abcdef\xD0"), 2, "characters"), 1, 0),
                   "the bytes at 6 are");
}

void TestTextData::pairsByHand() {
    PairTrainer trainer;
    trainer.add("ab ab ab bc bc x");
    // Pieces: "ab", " ab" twice, " bc" twice, " x". Pairs: "ab" 3; then " "+"ab", " "+"b" and
    // "b"+"c" occur twice each, the smaller tokens first.
    const Tokenizer tokenizer = trainer.train(300);
    QCOMPARE(tokenizer.textOf(256), std::string("ab"));
    QCOMPARE(tokenizer.textOf(257), std::string(" b"));
    QCOMPARE(tokenizer.textOf(258), std::string(" ab"));
    QCOMPARE(tokenizer.textOf(259), std::string(" bc"));
    QCOMPARE(tokenizer.vocabulary(), 260);
    QVERIFY(*tokenizer.encode("ab ab bc x") == (Tokens{256, 258, 259, ' ', 'x'}));
    // The third of a row of equals is left over.
    PairTrainer rows;
    rows.add("aaa aaa");
    QVERIFY(*rows.train(257).encode("aaa") == (Tokens{256, 'a'}));
}

void TestTextData::pairsAcrossPieces() {
    // The file is read in pieces of a megabyte; their borders must not show in the tokens.
    QString content;
    while (content.size() < 1'200'000)
        content +=
            QStringLiteral("сказка о царе Салтане, %1 слов  и\n\n").arg(content.size() * 7 % 1000);
    const std::string all = content.toStdString();
    spec::DataSpec data = text(write("saltan", content.toUtf8()), 64, "bpe");
    data.values["vocabulary_size"] = std::int64_t{400};
    const DataOutcome outcome = openData(data, 1, 400);
    VERIFY_OPENED(outcome);
    const Dataset& dataset = *outcome.data.training;
    const auto tokens = gatherRows<std::int32_t>(dataset, firstRows(dataset.info().samples)).inputs;
    const auto whole = *dataset.info().tokenizer->encode(all);
    QVERIFY(whole.size() - tokens.size() <= 64);
    QVERIFY(std::equal(tokens.begin(), tokens.end(), whole.begin()));
    QVERIFY(whole.size() < all.size() / 4);
    QCOMPARE(dataset.info().tokenizer->decode(whole), all);
}

void TestTextData::tokenizersAsJson_data() {
    QTest::addColumn<QByteArray>("json");
    QTest::addColumn<QByteArray>("sample");
    QTest::newRow("bytes") << QByteArray::fromStdString(Tokenizer::bytes().toJson())
                           << QByteArray("ä\0b", 4);
    QTest::newRow("characters") << QByteArray::fromStdString(
                                       Tokenizer::characters({U'\n', U'a', U'ж', U'🚂'}).toJson())
                                << QByteArray("жa🚂\n");
    PairTrainer trainer;
    trainer.add("the cat the hat the bat");
    QTest::newRow("pairs") << QByteArray::fromStdString(trainer.train(270).toJson())
                           << QByteArray("the that \xFF 語");
}

void TestTextData::tokenizersAsJson() {
    QFETCH(QByteArray, json);
    QFETCH(QByteArray, sample);
    const Result<Tokenizer> tokenizer = Tokenizer::fromJson(json.toStdString());
    QVERIFY(tokenizer.ok());
    QCOMPARE(QByteArray::fromStdString(tokenizer->toJson()), json);
    const auto tokens = tokenizer->encode(sample.toStdString());
    QVERIFY(tokens.ok());
    QCOMPARE(QByteArray::fromStdString(tokenizer->decode(*tokens)), sample);
}

void TestTextData::damagedTokenizers() {
    for (const char* json :
         {"", "[]", "{}", R"({"format":"trainyard.tokenizer/2","kind":"bytes"})",
          R"({"format":"trainyard.tokenizer/1","kind":"letters"})",
          R"({"format":"trainyard.tokenizer/1","kind":7})",
          R"({"format":"trainyard.tokenizer/1","kind":"characters","characters":"ba"})",
          R"({"format":"trainyard.tokenizer/1","kind":"characters","characters":""})",
          R"({"format":"trainyard.tokenizer/1","kind":"bpe","merges":[[97,256]]})",
          R"({"format":"trainyard.tokenizer/1","kind":"bpe","merges":[[97,-1]]})",
          R"({"format":"trainyard.tokenizer/1","kind":"bpe","merges":[[97]]})",
          R"({"format":"trainyard.tokenizer/1","kind":"bpe"})"})
        QVERIFY2(!Tokenizer::fromJson(json), json);
    // Each token twice as long as the one before: few bytes of JSON, 2^45 bytes of tokens.
    QByteArray doubling = R"({"format":"trainyard.tokenizer/1","kind":"bpe","merges":[[97,97])";
    for (int token = 256; token < 300; ++token)
        doubling += ",[" + QByteArray::number(token) + ',' + QByteArray::number(token) + ']';
    QVERIFY(!Tokenizer::fromJson((doubling + "]}").toStdString()));
}

void TestTextData::unknownCharacter() {
    const Tokenizer tokenizer = Tokenizer::characters({U'a', U'b'});
    QCOMPARE(QString::fromStdString(tokenizer.encode("abж").error().sentence()),
             QStringLiteral("The character \"ж\" does not occur in the text that was trained on. "
                            "Leave it out, or write it differently."));
    QCOMPARE(tokenizer.decode(Tokens{0, 7, -1, 1}), std::string("ab"));
}

void TestTextData::realTexts_data() {
    QTest::addColumn<QString>("file");
    QTest::addColumn<qint64>("characters");
    QTest::addColumn<qint64>("distinct");
    QTest::newRow("English") << "tinyshakespeare.txt" << qint64{1'115'394} << qint64{65};
    QTest::newRow("Russian") << "onegin-ru.txt" << qint64{152'374} << qint64{128};
    QTest::newRow("Chinese") << "lunyu-zh.txt" << qint64{22'092} << qint64{1'359};
}

void TestTextData::realTexts() {
    QFETCH(QString, file);
    QFETCH(qint64, characters);
    QFETCH(qint64, distinct);
    if (sharedData().isEmpty())
        QSKIP("TRAINYARD_SHARED_DATA does not name the folder of test data");
    const QString path = sharedData() + QStringLiteral("/text/") + file;
    spec::DataSpec data = text(path.toStdString(), 64, "characters");
    data.validationFraction = 0.1;
    const DataOutcome outcome = openData(data, 1, 0);
    VERIFY_OPENED(outcome);
    QCOMPARE(outcome.data.training->info().vocabulary, distinct);
    QCOMPARE(outcome.data.training->info().samples + outcome.data.validation->info().samples,
             (characters - 1) / 64);
    const std::string content = contentOf(path);
    QVERIFY(content.starts_with(asText(*outcome.data.training) + asText(*outcome.data.validation)));
    QVERIFY(measureGather("characters", *outcome.data.training) > 0);

    data.values["vocabulary"] = std::string("bpe");
    data.values["vocabulary_size"] = std::int64_t{1000};
    const DataOutcome pairs = openData(data, 1, 0);
    VERIFY_OPENED(pairs);
    QCOMPARE(pairs.data.training->info().vocabulary, 1000);
    QVERIFY(content.starts_with(asText(*pairs.data.training) + asText(*pairs.data.validation)));
    QVERIFY(measureGather("byte pairs", *pairs.data.training) > 0);
}

void TestTextData::otherEncodingsOfOnegin() {
    if (sharedData().isEmpty())
        QSKIP("TRAINYARD_SHARED_DATA does not name the folder of test data");
    const std::string folder = (sharedData() + QStringLiteral("/text/")).toStdString();
    const std::string original = contentOf(QString::fromStdString(folder + "onegin-ru.txt"));
    VERIFY_REFUSED(openData(text(folder + "onegin-ru.first20k.cp1251.txt", 64, "characters"), 1, 0),
                   "is not UTF-8");
    spec::DataSpec data = text(folder + "onegin-ru.first20k.cp1251.txt", 64, "characters");
    data.values["encoding"] = std::string("WINDOWS-1251");
    const DataOutcome windows = openData(data, 1, 0);
    VERIFY_OPENED(windows);
    QVERIFY(original.starts_with(asText(*windows.data.training)));
    const DataOutcome utf16 =
        openData(text(folder + "onegin-ru.first20k.utf16le-bom.txt", 64, "characters"), 1, 0);
    VERIFY_OPENED(utf16);
    QCOMPARE(asText(*utf16.data.training), asText(*windows.data.training));
}

void TestTextData::memoryStaysFlat() {
    // A file without blocks on the disk: as long as wanted, all of it zero bytes.
    const QString path = m_folder.filePath(QStringLiteral("huge"));
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly) && file.resize(qint64{2} << 30));
    file.close();
    if (!resetMostMemoryHeld())
        QSKIP("the most memory held cannot be measured here");
    const qint64 before = memoryFigure("VmHWM");
    const DataOutcome bytes = openData(text(path.toStdString(), 256, "bytes"), 1, 0);
    VERIFY_OPENED(bytes);
    QCOMPARE(bytes.data.training->info().samples, ((qint64{2} << 30) - 1) / 256);
    gatherRows<std::int32_t>(*bytes.data.training, {0, bytes.data.training->info().samples - 1});
    QVERIFY(file.resize(qint64{64} << 20));
    const DataOutcome characters = openData(text(path.toStdString(), 256, "characters"), 1, 0);
    VERIFY_OPENED(characters);
    QVERIFY(measureGather("characters of a large file", *characters.data.training) > 0);
    const qint64 taken = memoryFigure("VmHWM") - before;
    QVERIFY2(taken < 24 * 1024, qPrintable(QString::number(taken)));
    // What was there when it was opened and is not any more.
    QVERIFY(file.resize(1000));
    QVERIFY_THROWS_EXCEPTION(std::runtime_error,
                             gatherRows<std::int32_t>(*bytes.data.training, {5}));
}

void TestTextData::tokenFiles() {
    QByteArray two;
    QByteArray four;
    for (std::uint32_t i = 0; i < 1000; ++i) {
        const std::uint32_t token = i * 37 % 50'000;
        two.append(static_cast<char>(token & 0xFF)).append(static_cast<char>(token >> 8));
        for (int shift = 0; shift < 32; shift += 8)
            four.append(static_cast<char>(token >> shift & 0xFF));
    }
    spec::DataSpec data;
    data.format = "tokens";
    data.values = {{"context", std::int64_t{100}}, {"type", std::string("uint16")}};
    data.train = {{"tokens", write("two.bin", two)}};
    data.validationFraction = 0.2;
    for (const char* type : {"uint16", "uint32"}) {
        data.values["type"] = std::string(type);
        const DataOutcome outcome = openData(data, 1, 0);
        VERIFY_OPENED(outcome);
        QCOMPARE(outcome.data.training->info().vocabulary, 999 * 37 + 1);
        QCOMPARE(outcome.data.training->info().samples, 7);
        QCOMPARE(outcome.data.validation->info().samples, 2);
        const auto rows = gatherRows<std::int32_t>(*outcome.data.validation, {1});
        for (std::size_t i = 0; i < 100; ++i) {
            QCOMPARE(rows.inputs[i], static_cast<std::int32_t>((800 + i) * 37));
            QCOMPARE(rows.labels[i], static_cast<std::int32_t>((801 + i) * 37));
        }
        QVERIFY(measureGather(type, *outcome.data.training) > 0);
        data.train = {{"tokens", write("four.bin", four)}};
    }
    data.values["type"] = std::string("uint16");
    VERIFY_REFUSED(openData(data, 1, 0), "it seems to be of the type uint32.");
}

void TestTextData::wrongTokenFiles() {
    spec::DataSpec data;
    data.format = "tokens";
    data.values = {{"context", std::int64_t{2}}, {"type", std::string("uint16")}};
    data.train = {{"tokens", write("odd.bin", QByteArray(5, '\1'))}};
    VERIFY_REFUSED(openData(data, 1, 0), "its 5 bytes are no whole number of tokens");
    data.train = {{"tokens", write("big.bin", QByteArray("\1\0\2\0\7\0\3\0", 8))}};
    data.values["vocabulary_size"] = std::int64_t{7};
    VERIFY_REFUSED(openData(data, 1, 0), "Token 2 of ");
    VERIFY_REFUSED(openData(data, 1, 0), "is 7, but the vocabulary has 7 (0-6).");
    data.values["vocabulary_size"] = std::int64_t{8};
    VERIFY_OPENED(openData(data, 1, 0));
    data.values["type"] = std::string("uint32");
    data.train = {
        {"tokens", write("huge.bin", QByteArray("\0\0\0\0\xFF\xFF\xFF\xFF\0\0\0\0", 12))}};
    VERIFY_REFUSED(openData(data, 1, 0), "Token 1 of ");
}

QTEST_APPLESS_MAIN(TestTextData)
#include "tst_text_data.moc"
