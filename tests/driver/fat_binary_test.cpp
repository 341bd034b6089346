#include "driver/server/fat_binary.h"

#include <lz4.h>
#include <zstd.h>

#include <catch2/catch.hpp>
#include <cstdint>

#include "isa/common/error.h"

using namespace heddle::driver;

namespace {

const std::string kText = ".version 8.0\n.target sm_80\n.address_size 64\n" + std::string(400, '/') + "\n";

template <class Value>
void put(std::string& bytes, Value value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// An entry as nvcc 13 writes it: a header of 80 bytes, then the image.
std::string entry(std::uint16_t kind, unsigned capability, const std::string& image, std::uint64_t flags, std::uint64_t whole) {
    std::string bytes;
    put<std::uint16_t>(bytes, kind);
    put<std::uint16_t>(bytes, 257);
    put<std::uint32_t>(bytes, 80);
    put<std::uint64_t>(bytes, image.size());
    put<std::uint32_t>(bytes, flags == 0 ? 0 : static_cast<std::uint32_t>(image.size()));
    bytes.resize(28);
    put<std::uint32_t>(bytes, capability);
    bytes.resize(40);
    put<std::uint64_t>(bytes, flags);
    bytes.resize(56);
    put<std::uint64_t>(bytes, whole);
    bytes.resize(80);
    return bytes + image;
}

std::string fat(const std::vector<std::string>& entries) {
    std::string all;
    for (const std::string& one : entries) all += one;
    std::string bytes;
    put<std::uint32_t>(bytes, 0xBA55ED50);
    put<std::uint16_t>(bytes, 1);
    put<std::uint16_t>(bytes, 16);
    put<std::uint64_t>(bytes, all.size());
    return bytes + all;
}

std::string zstd(const std::string& text) {
    std::string packed(ZSTD_compressBound(text.size()), '\0');
    packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
    return packed;
}

std::string lz4(const std::string& text) {
    std::string packed(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(text.size()))), '\0');
    packed.resize(static_cast<std::size_t>(LZ4_compress_default(text.data(), packed.data(), static_cast<int>(text.size()), static_cast<int>(packed.size()))));
    return packed;
}

std::string problem_of(const std::string& bytes, unsigned capability = 90) {
    try {
        const std::vector<Image> images = read_images(bytes);
        const Image* const image = choose_ptx(images, capability);
        if (image == nullptr) report_no_image(images, capability);
        image->content();
    } catch (const heddle::Error& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("PTX in a fat binary is found plain, by zstd and by lz4") {
    const std::string bytes = fat({entry(2, 90, "\177ELF machine code", 0x11, 0), entry(1, 80, kText, 0x11, 0),
                         entry(1, 86, zstd(kText), 0x8011, kText.size()), entry(1, 89, lz4(kText), 0x2011, kText.size())});
    const std::vector<Image> images = read_images(bytes);
    REQUIRE(images.size() == 4);
    CHECK_FALSE(images[0].is_ptx);
    for (std::size_t i = 1; i < 4; ++i) {
        CHECK(images[i].is_ptx);
        CHECK(images[i].content() == kText);
    }
}

TEST_CASE("the newest PTX that a device may run is taken, and without any the way to some is told") {
    const std::string bytes = fat({entry(2, 90, "\177ELF", 0x11, 0), entry(1, 75, kText + "// 75", 0x11, 0),
                                   entry(1, 86, kText + "// 86", 0x11, 0), entry(1, 90, kText + "// 90", 0x11, 0)});
    CHECK(choose_ptx(read_images(bytes), 90)->compute_capability == 90);
    CHECK(choose_ptx(read_images(bytes), 89)->compute_capability == 86);
    CHECK(choose_ptx(read_images(bytes), 75)->compute_capability == 75);
    CHECK(problem_of(bytes, 70).find("newer devices alone than 7.0; compile with -gencode arch=compute_70,code=compute_70") != std::string::npos);
    CHECK(problem_of(fat({entry(2, 90, "\177ELF", 0x11, 0)})).find("machine code of other devices alone") != std::string::npos);
    CHECK(problem_of("\177ELF").find("-gencode arch=compute_90") != std::string::npos);
    CHECK(problem_of(kText).empty());
}

TEST_CASE("machine code is taken for its own generation, and not for an older device") {
    const std::string bytes = fat({entry(2, 80, "\177ELF 80", 0x11, 0), entry(2, 86, zstd("\177ELF 86"), 0x8011, 7),
                                   entry(2, 90, "\177ELF 90", 0x11, 0)});
    const std::vector<Image> images = read_images(bytes);
    REQUIRE(choose_machine_code(images, 89) != nullptr);
    CHECK(choose_machine_code(images, 89)->content() == "\177ELF 86");
    CHECK(choose_machine_code(images, 80)->content() == "\177ELF 80");
    CHECK(choose_machine_code(images, 90)->content() == "\177ELF 90");
    CHECK(choose_machine_code(images, 75) == nullptr);
    CHECK(choose_machine_code(images, 100) == nullptr);
}

TEST_CASE("a fat binary that is cut off or damaged is one error, wherever it is cut") {
    const std::string whole = fat({entry(1, 80, kText, 0x11, 0), entry(1, 86, zstd(kText), 0x8011, kText.size())});
    for (std::size_t length = 0; length < whole.size(); ++length) {
        CAPTURE(length);
        CHECK_FALSE(problem_of(whole.substr(0, length)).empty());
    }
    std::string damaged = fat({entry(1, 86, zstd(kText), 0x8011, kText.size())});
    damaged[damaged.size() - zstd(kText).size()] ^= 0x55;  // of its magic number
    CHECK(problem_of(damaged).find("does not decompress") != std::string::npos);
    CHECK(problem_of("neither").find("neither a fat binary nor PTX") != std::string::npos);
}
