#include "sim/kernel/files.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <filesystem>

#include "isa/common/error.h"
#include "isa/common/text_file.h"
#include "isa/common/whole_file.h"
#include "sim/run/workers/worker_pool.h"

namespace heddle::kernel {
namespace {

namespace fs = std::filesystem;

constexpr char kMagic[] = "\x93NUMPY";
constexpr std::size_t kMagicBytes = 6, kHeaderAlignment = 64;
constexpr std::uint64_t kMostOfValues = std::uint64_t{256} << 30;  // more than a device's memory

/// NumPy's name of a type: "<f4". `fallback`: the one that stands in for a type that NumPy lacks.
std::string npy_type(ElementType type) {
    const std::size_t bytes = bytes_of(type);
    const bool foreign = type == ElementType::bf16 || type == ElementType::e4m3 || type == ElementType::e5m2;
    const char kind = is_float(type) && !foreign ? 'f' : is_signed(type) && !foreign ? 'i' : 'u';
    return fmt::format("{}{}{}", bytes == 1 ? '|' : '<', kind, bytes);
}

/// What stands behind 'key': in the header's Python dictionary, to the comma or brace that ends it.
std::string header_value(const std::string& header, const std::string& key) {
    const std::size_t at = header.find("'" + key + "':");
    if (at == std::string::npos) return {};
    const std::size_t first = header.find_first_not_of(' ', at + key.size() + 3);
    if (first == std::string::npos) return {};
    const char* ends = header[first] == '(' ? ")" : header[first] == '\'' ? "'" : ",}";
    const std::size_t last = header.find_first_of(ends, first + 1);
    if (last == std::string::npos) return {};
    return header.substr(first, last - first + (*ends == ',' ? 0 : 1));
}

std::vector<std::uint64_t> parse_shape(const std::string& text, const std::string& path) {
    std::vector<std::uint64_t> shape;
    const char* at = text.data();
    const char* last = at + text.size();
    while (at < last) {
        std::uint64_t extent = 0;
        const auto [end, failure] = std::from_chars(at, last, extent);
        if (failure == std::errc{}) {
            shape.push_back(extent);
            at = end;
        } else if (failure == std::errc::result_out_of_range) {
            throw Error("the shape " + text + " is too large", {path, 0, ""});
        } else {
            ++at;
        }
    }
    return shape;
}

std::vector<std::byte> bytes_from(const std::string& text, std::size_t first) {
    std::vector<std::byte> bytes(text.size() - first);
    if (!bytes.empty()) std::memcpy(bytes.data(), text.data() + first, bytes.size());
    return bytes;
}

}  // namespace

std::string npy_text(ElementType type, const std::vector<std::uint64_t>& shape,
                     std::span<const std::byte> values) {
    std::string extents;
    for (const std::uint64_t extent : shape) extents += fmt::format("{}, ", extent);
    // A tuple of one keeps its comma.
    if (shape.size() == 1) extents.pop_back();
    if (shape.size() > 1) extents.resize(extents.size() - 2);
    std::string header =
        fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", npy_type(type), extents);
    const std::size_t before = kMagicBytes + 4;
    const std::size_t whole = (before + header.size() + 1 + kHeaderAlignment - 1) / kHeaderAlignment;
    header.resize(whole * kHeaderAlignment - before - 1, ' ');
    header += '\n';
    std::string text(kMagic, kMagicBytes);
    text += '\x01';
    text += '\x00';
    text += static_cast<char>(header.size() & 0xff);
    text += static_cast<char>(header.size() >> 8);
    text += header;
    text.append(reinterpret_cast<const char*>(values.data()), values.size());
    return text;
}

FileValues parse_npy(const std::string& text, const std::string& path, ElementType type) {
    const SourceLocation where{path, 0, ""};
    if (text.size() < kMagicBytes + 4 || std::memcmp(text.data(), kMagic, kMagicBytes) != 0) {
        throw Error("not a NumPy file", where);
    }
    const auto byte = [&](std::size_t i) {
        return static_cast<std::size_t>(static_cast<unsigned char>(text[i]));
    };
    std::size_t first = kMagicBytes + 4, length = byte(8) | byte(9) << 8;
    if (byte(6) >= 2) {
        if (text.size() < first + 2) throw Error("the header is cut", where);
        length |= byte(10) << 16 | byte(11) << 24;
        first += 2;
    }
    if (text.size() < first + length) throw Error("the header is cut", where);
    const std::string header = text.substr(first, length);
    std::string descriptor = header_value(header, "descr");
    if (descriptor.size() > 2) descriptor = descriptor.substr(1, descriptor.size() - 2);
    std::string expected = npy_type(type);
    if (expected[0] == '|' && !descriptor.empty() && descriptor[0] == '<') expected[0] = '<';
    if (descriptor != expected) {
        throw Error(
            "the file holds `" + descriptor + "`, a buffer of " + name_of(type) + " takes `" + expected + "`",
            where);
    }
    if (header_value(header, "fortran_order") != "False") {
        throw Error("the values are in Fortran order", where, "save numpy.ascontiguousarray(x)");
    }
    FileValues result;
    result.shape = parse_shape(header_value(header, "shape"), path);
    result.values = bytes_from(text, first + length);
    std::uint64_t bytes = bytes_of(type);
    for (const std::uint64_t extent : result.shape) {
        if (__builtin_mul_overflow(bytes, extent, &bytes))
            throw Error("the shape " + header_value(header, "shape") + " is too large", where);
    }
    if (bytes != result.values.size()) throw Error("the file's length does not fit its shape", where);
    if (result.shape.empty()) result.shape = {1};
    return result;
}

FileValues read_values(const std::string& path, ElementType type) {
    const std::string text = read_text_file(path, kMostOfValues);
    if (fs::path(path).extension() == ".npy") return parse_npy(text, path, type);
    if (text.size() % bytes_of(type) != 0) {
        throw Error(fmt::format("{} bytes are no whole number of {} elements", text.size(), name_of(type)),
                    {path, 0, ""});
    }
    return {{text.size() / bytes_of(type)}, bytes_from(text, 0)};
}

void write_file(const std::string& path, std::span<const std::byte> bytes) {
    const sim::SignalsHeld whole;  // an interrupted command leaves no part of a file
    write_whole_file(path, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

}  // namespace heddle::kernel
