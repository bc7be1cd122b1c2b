// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/data/npy_file.h"

#include "engine/base/message.h"
#include "engine/base/number_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace trainyard::engine {

namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr std::string_view kZipMagic = "PK";
constexpr std::int64_t kLongestHeader = 1 << 20;

/// What stands behind 'key': in a Python dictionary of text; empty where it is missing.
std::string_view valueBehind(std::string_view header, std::string_view key) {
    for (const char quote : {'\'', '"'}) {
        const std::string quoted = quote + std::string(key) + quote;
        std::size_t at = header.find(quoted);
        if (at == std::string_view::npos)
            continue;
        at = header.find_first_not_of(" :", at + quoted.size());
        return at == std::string_view::npos ? std::string_view() : header.substr(at);
    }
    return {};
}

/// "(4, 6)"
std::optional<Shape> shapeFrom(std::string_view text) {
    if (text.empty() || text[0] != '(')
        return std::nullopt;
    const std::size_t close = text.find(')');
    if (close == std::string_view::npos)
        return std::nullopt;
    Shape shape;
    for (std::size_t begin = 1; begin < close;) {
        const std::size_t end = std::min(text.find(',', begin), close);
        std::string_view number = text.substr(begin, end - begin);
        while (!number.empty() && number.front() == ' ')
            number.remove_prefix(1);
        while (!number.empty() && (number.back() == ' ' || number.back() == 'L'))
            number.remove_suffix(1);
        begin = end + 1;
        if (number.empty())
            continue;
        const auto extent = parseInteger(number);
        if (!extent || *extent < 0)
            return std::nullopt;
        shape.push_back(*extent);
    }
    return shape;
}

double halfToDouble(std::uint16_t half) {
    const int exponent = half >> 10 & 0x1F;
    const double fraction = half & 0x3FF;
    const double magnitude = exponent == 0 ? std::ldexp(fraction, -24)
                             : exponent == 31
                                 ? (fraction == 0 ? std::numeric_limits<double>::infinity()
                                                  : std::numeric_limits<double>::quiet_NaN())
                                 : std::ldexp(fraction + 1024, exponent - 25);
    return half >> 15 ? -magnitude : magnitude;
}

double toDouble(std::uint64_t bits, char kind, std::size_t width) {
    if (kind == 'u')
        return static_cast<double>(bits);
    if (kind == 'i') {
        const auto unused = static_cast<int>(64 - 8 * width);
        return static_cast<double>(std::bit_cast<std::int64_t>(bits << unused) >> unused);
    }
    if (width == 2)
        return halfToDouble(static_cast<std::uint16_t>(bits));
    return width == 4 ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))
                      : std::bit_cast<double>(bits);
}

Error notNpy(const std::string& path, const std::string& where) {
    return {Message("\"%1\" is no array of NumPy: it does not begin as .npy and .npz files do.",
                    {path}),
            where, Message("Save it with numpy.save or numpy.savez.")};
}

Error wrongHeader(const std::string& path, const std::string& where, std::string_view header) {
    return {Message("The header of \"%1\" cannot be read: %2", {path, excerpt(header)}), where,
            Message("Save it again with numpy.save.")};
}

} // namespace

std::string NpyArray::type() const {
    const std::string bits = std::to_string(8 * m_width);
    return (m_kind == 'f' ? "float" : m_kind == 'i' ? "int" : "uint") + bits;
}

Result<void> NpyArray::readHeader(const std::string& header, const std::string& where) {
    const std::string& path = m_source->path();
    const std::string_view type = valueBehind(header, "descr");
    const std::string_view order = valueBehind(header, "fortran_order");
    const std::optional<Shape> shape = shapeFrom(valueBehind(header, "shape"));
    if (type.size() < 4 || order.empty() || !shape)
        return wrongHeader(path, where, header);
    if (type.find('O') < 4)
        return Error(
            Message("\"%1\" holds Python objects (pickle), which are never loaded: reading "
                    "them would run what the file says.",
                    {path}),
            where, Message("Save the array with a number type, for example float32."));
    const char mark = type[1];
    m_kind = type[2] == 'b' ? 'u' : type[2];
    const char width = type[3];
    const bool number = (m_kind == 'f' || m_kind == 'i' || m_kind == 'u') &&
                        (width == '1' || width == '2' || width == '4' || width == '8') &&
                        (m_kind != 'f' || width != '1') && (type[0] == '\'' || type[0] == '"') &&
                        type.size() > 4 && type[4] == type[0];
    if (!number)
        return Error(Message("The elements of \"%1\" are of the type %2; numbers of 8 to 64 bits "
                             "can be read.",
                             {path, excerpt(type.substr(0, type.find(',', 1)), 40)}),
                     where, Message("Convert the array to float32 or to whole numbers."));
    m_width = static_cast<std::size_t>(width - '0');
    m_bigEndian = mark == '>';
    m_columnMajor = order.starts_with("True");
    m_shape = *shape;
    return {};
}

Result<NpyArray> NpyArray::open(std::shared_ptr<const ByteSource> source, std::int64_t begin,
                                std::int64_t end, const std::string& where) {
    const std::string path = source->path();
    std::array<std::uint8_t, 12> start = {};
    const std::int64_t size = end - begin;
    source->read(
        begin, std::span(start).first(static_cast<std::size_t>(std::min<std::int64_t>(12, size))));
    if (size < 12 || !std::equal(kNpyMagic.begin(), kNpyMagic.end(),
                                 reinterpret_cast<const char*>(start.data())))
        return notNpy(path, where);
    const bool longLength = start[6] >= 2;
    std::int64_t length = start[8] | start[9] << 8;
    if (longLength)
        length |= std::int64_t{start[10]} << 16 | std::int64_t{start[11]} << 24;
    const std::int64_t headerBegin = begin + (longLength ? 12 : 10);
    if (length > kLongestHeader || headerBegin + length > end)
        return wrongHeader(path, where, "it is longer than the file");
    std::string header(static_cast<std::size_t>(length), '\0');
    source->read(headerBegin, std::span<char>(header));

    NpyArray array;
    array.m_source = std::move(source);
    array.m_begin = headerBegin + length;
    if (const Result<void> read = array.readHeader(header, where); !read)
        return read.error();
    // By arithmetic, before memory is taken.
    constexpr std::int64_t kMostElements = std::numeric_limits<std::int64_t>::max() / 16;
    const std::int64_t elements = std::min(array.count(), kMostElements);
    const std::int64_t expected =
        array.m_begin - begin + elements * static_cast<std::int64_t>(array.m_width);
    if (expected != size)
        return Error(
            Message("\"%1\" is %2: its header asks for %3 bytes (%4 of %5), found %6.",
                    {path, expected > size ? "cut short" : "longer than it should be",
                     grouped(expected), describe(array.shape()), array.type(), grouped(size)}),
            where, Message("Save or fetch it again."));
    if (array.m_columnMajor && array.m_shape.size() > 1 && elements > 0)
        array.reorder();
    return array;
}

/// Column-major elements are brought into row-major order in memory.
void NpyArray::reorder() {
    const auto elements = static_cast<std::size_t>(count());
    std::string from(elements * m_width, '\0');
    m_source->read(m_begin, std::span<char>(from));
    std::string to(from.size(), '\0');
    std::vector<std::int64_t> index(m_shape.size());
    std::vector<std::int64_t> strides(m_shape.size(), 1);
    for (std::size_t i = 1; i < m_shape.size(); ++i)
        strides[i] = strides[i - 1] * m_shape[i - 1];
    for (std::size_t element = 0; element < elements; ++element) {
        std::int64_t place = 0;
        for (std::size_t i = 0; i < index.size(); ++i)
            place += index[i] * strides[i];
        std::memcpy(to.data() + element * m_width,
                    from.data() + static_cast<std::size_t>(place) * m_width, m_width);
        for (std::size_t i = index.size(); i-- > 0 && ++index[i] == m_shape[i];)
            index[i] = 0;
    }
    m_source = ByteSource::ofMemory(std::move(to), m_source->path());
    m_begin = 0;
    m_columnMajor = false;
}

void NpyArray::read(std::int64_t first, std::span<double> values) const {
    // Narrow elements lie in the rear of the target and are widened from its front.
    auto* const target = reinterpret_cast<std::uint8_t*>(values.data());
    const std::uint8_t* from = target + values.size() * (sizeof(double) - m_width);
    m_source->read(
        m_begin + first * static_cast<std::int64_t>(m_width),
        std::span(target + values.size() * (sizeof(double) - m_width), values.size() * m_width));
    for (double& value : values) {
        std::uint64_t bits = 0;
        for (std::size_t i = 0; i < m_width; ++i)
            bits |= std::uint64_t{from[i]} << 8 * (m_bigEndian ? m_width - 1 - i : i);
        from += m_width;
        value = toDouble(bits, m_kind, m_width);
    }
}

Result<std::vector<NpyArray>> openArrays(const std::string& path, const std::string& where) {
    Result<std::shared_ptr<const ByteSource>> source = ByteSource::open(path, where);
    if (!source)
        return source.error();
    std::array<char, 2> start = {};
    if ((*source)->size() > 2)
        (*source)->read(0, std::span<char>(start));
    std::vector<NpyArray> arrays;
    if (std::string_view(start.data(), 2) != kZipMagic) {
        const std::int64_t size = (*source)->size();
        Result<NpyArray> array = NpyArray::open(std::move(*source), 0, size, where);
        if (!array)
            return array.error();
        arrays.push_back(std::move(*array));
        return arrays;
    }
    const Result<std::vector<ZipEntry>> entries = readZip(*source, where);
    if (!entries)
        return entries.error();
    constexpr std::string_view kSuffix = ".npy";
    for (const ZipEntry& entry : *entries) {
        if (!entry.name.ends_with(kSuffix))
            continue;
        Result<NpyArray> array = NpyArray::open(entry.source, entry.begin, entry.end, where);
        if (!array)
            return array.error();
        array->m_name = entry.name.substr(0, entry.name.size() - kSuffix.size());
        arrays.push_back(std::move(*array));
    }
    if (arrays.empty())
        return Error(Message("There is no array in the archive \"%1\".", {path}), where,
                     Message("Save it with numpy.savez."));
    return arrays;
}

} // namespace trainyard::engine
