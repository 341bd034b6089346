#include "driver/server/fat_binary.h"

#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "isa/common/error.h"

namespace heddle::driver {
namespace {

constexpr std::uint32_t kFatBinary = 0xBA55ED50;
constexpr std::uint64_t kLz4 = 0x2000, kZstd = 0x8000;
/// An image of more than this is a damaged header.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 31;

template <class Value>
Value at(std::string_view bytes, std::size_t offset) {
    if (offset + sizeof(Value) > bytes.size()) throw Error("a fat binary is cut off");
    Value value;
    std::memcpy(&value, bytes.data() + offset, sizeof(Value));
    return value;
}

std::string without_end(std::string text) {
    while (!text.empty() && text.back() == '\0') text.pop_back();
    return text;
}

std::vector<Image> read_fat_binary(std::string_view bytes) {
    std::vector<Image> images;
    const std::uint64_t all = at<std::uint64_t>(bytes, 8);
    std::size_t offset = at<std::uint16_t>(bytes, 6);
    const std::size_t end = offset + all;
    if (end > bytes.size()) throw Error("a fat binary is cut off");
    while (offset < end) {
        const auto kind = at<std::uint16_t>(bytes, offset);
        const auto header = at<std::uint32_t>(bytes, offset + 4);
        const auto size = at<std::uint64_t>(bytes, offset + 8);
        const auto compressed = at<std::uint32_t>(bytes, offset + 16);
        const auto flags = at<std::uint64_t>(bytes, offset + 40);
        if (header < 48 || size > end - offset || header > end - offset - size)
            throw Error("an entry of a fat binary goes beyond its end");
        Image image{kind == 1, at<std::uint32_t>(bytes, offset + 28), bytes.substr(offset + header, size), flags & (kLz4 | kZstd), size};
        if (image.flags != 0) {
            if (compressed != 0 && compressed < size) image.stored = image.stored.substr(0, compressed);
            image.bytes = at<std::uint64_t>(bytes, offset + 56);
        }
        images.push_back(image);
        offset += header + size;
    }
    return images;
}

}  // namespace

std::string Image::content() const {
    if (flags == 0) return is_ptx ? without_end(std::string(stored)) : std::string(stored);
    if (bytes > kMostBytes) throw Error("a fat binary names an image of " + std::to_string(bytes) + " bytes");
    std::string text(bytes, '\0');
    bool whole = false;
    if ((flags & kZstd) != 0) {
        const std::size_t written = ZSTD_decompress(text.data(), text.size(), stored.data(), stored.size());
        whole = ZSTD_isError(written) == 0 && written == bytes;
    } else {
        const int written = LZ4_decompress_safe(stored.data(), text.data(), static_cast<int>(stored.size()), static_cast<int>(bytes));
        whole = written >= 0 && static_cast<std::uint64_t>(written) == bytes;
    }
    if (!whole) throw Error("an image in a fat binary does not decompress");
    return is_ptx ? without_end(std::move(text)) : text;
}

std::vector<Image> read_images(std::string_view bytes) {
    if (bytes.size() >= 16 && at<std::uint32_t>(bytes, 0) == kFatBinary) return read_fat_binary(bytes);
    if (bytes.substr(0, 4) == "\177ELF") return {{false, 0, bytes, 0, bytes.size()}};
    if (bytes.find(".version") == std::string_view::npos)
        throw Error("the image is neither a fat binary nor PTX nor an ELF file");
    return {{true, 0, bytes, 0, bytes.size()}};
}

const Image* choose_ptx(const std::vector<Image>& images, unsigned compute_capability) {
    const Image* best = nullptr;
    for (const Image& image : images) {
        if (!image.is_ptx || image.compute_capability > compute_capability) continue;
        if (best == nullptr || image.compute_capability > best->compute_capability) best = &image;
    }
    return best;
}

const Image* choose_machine_code(const std::vector<Image>& images, unsigned compute_capability) {
    const Image* best = nullptr;
    for (const Image& image : images) {
        if (image.is_ptx) continue;
        // An ELF file by itself says inside what it is for.
        const bool same_generation = image.compute_capability / 10 == compute_capability / 10 || image.compute_capability == 0;
        if (!same_generation || image.compute_capability > compute_capability) continue;
        if (best == nullptr || image.compute_capability > best->compute_capability) best = &image;
    }
    return best;
}

void report_no_image(const std::vector<Image>& images, unsigned compute_capability) {
    const std::string number = std::to_string(compute_capability);
    const bool newer = std::any_of(images.begin(), images.end(), [](const Image& image) { return image.is_ptx; });
    throw Error(newer ? "the program's PTX is of newer devices alone than " + number.substr(0, number.size() - 1) + "." + number.back()
                      : "the program has machine code of other devices alone, and no PTX",
                {}, "compile with -gencode arch=compute_" + number + ",code=compute_" + number, Error::Kind::no_image);
}

}  // namespace heddle::driver
