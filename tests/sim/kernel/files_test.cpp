#include "sim/kernel/files.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "isa/common/error.h"

using namespace heddle::kernel;
namespace fs = std::filesystem;

namespace {

std::vector<std::byte> bytes_of_text(const std::string& text) {
    std::vector<std::byte> bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
}

/// What numpy.save(numpy.array(values, '<f4').reshape(2, 3)) writes: NEP 1.
std::string saved_by_numpy() {
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
    header.resize(117, ' ');
    header += '\n';
    std::string text("\x93NUMPY\x01\x00\x76\x00", 10);
    text += header;
    const float values[] = {0, 1, 2, -3, 0.5f, 1e30f};
    text.append(reinterpret_cast<const char*>(values), sizeof values);
    return text;
}

}  // namespace

TEST_CASE("what NumPy writes is read, and what is written is what NumPy writes") {
    const std::string text = saved_by_numpy();
    const FileValues read = parse_npy(text, "x.npy", ElementType::f32);
    CHECK(read.shape == std::vector<std::uint64_t>{2, 3});
    REQUIRE(read.values.size() == 24);
    CHECK(to_double(ElementType::f32, load_element(ElementType::f32, read.values, 3)) == -3);
    CHECK(npy_text(ElementType::f32, read.shape, read.values) == text);
}

TEST_CASE("npy files go round for every type and shape") {
    for (const char* name : {"f16", "bf16", "f32", "f64", "e4m3", "e5m2", "s8", "s16", "s32", "s64", "u8",
                             "u16", "u32", "u64"}) {
        CAPTURE(name);
        const ElementType type = element_type(name);
        std::vector<std::byte> values(12 * bytes_of(type));
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::byte>(i * 37);
        for (const std::vector<std::uint64_t>& shape : {std::vector<std::uint64_t>{12}, {3, 4}, {2, 3, 2}}) {
            const std::string text = npy_text(type, shape, values);
            // Values begin at a multiple of 64: NEP 1.
            CHECK((text.size() - values.size()) % 64 == 0);
            const FileValues read = parse_npy(text, "x.npy", type);
            CHECK(read.shape == shape);
            CHECK(read.values == values);
        }
    }
    CHECK_THAT(npy_text(ElementType::u8, {3}, bytes_of_text("abc")),
               Catch::Contains("'|u1'") && Catch::Contains("(3,)"));
}

TEST_CASE("npy files that do not fit are refused") {
    const std::string good = saved_by_numpy();
    CHECK_THROWS_WITH(parse_npy(good, "x.npy", ElementType::f64),
                      Catch::Contains("x.npy") && Catch::Contains("`<f4`") && Catch::Contains("`<f8`"));
    CHECK_THROWS_WITH(parse_npy(good.substr(0, good.size() - 1), "x.npy", ElementType::f32),
                      Catch::Contains("length"));
    CHECK_THROWS_WITH(parse_npy("PK\x03\x04 something", "x.npy", ElementType::f32),
                      Catch::Contains("not a NumPy"));
    std::string fortran = good;
    fortran.replace(fortran.find("False"), 5, "True ");
    CHECK_THROWS_WITH(parse_npy(fortran, "x.npy", ElementType::f32), Catch::Contains("Fortran"));
    for (std::size_t length = 0; length < 128; ++length) {
        CHECK_THROWS_AS(parse_npy(good.substr(0, length), "x.npy", ElementType::f32), heddle::Error);
    }
}

TEST_CASE("raw files hold whole elements, and a file is complete or not there") {
    const fs::path folder = fs::temp_directory_path() / ("heddle-files-" + std::to_string(::getpid()));
    fs::create_directories(folder);
    const std::string path = (folder / "x.raw").string();
    write_file(path, bytes_of_text("12345678"));
    CHECK(std::distance(fs::directory_iterator(folder), fs::directory_iterator()) == 1);
    CHECK(read_values(path, ElementType::u16).shape == std::vector<std::uint64_t>{4});
    CHECK(read_values(path, ElementType::u8).values == bytes_of_text("12345678"));
    write_file(path, bytes_of_text("123"));
    CHECK_THROWS_WITH(read_values(path, ElementType::u16), Catch::Contains("no whole number"));
    CHECK_THROWS_AS(read_values((folder / "none").string(), ElementType::u16), heddle::Error);
    CHECK_THROWS_AS(write_file((folder / "none" / "x").string(), bytes_of_text("1")), heddle::Error);
    fs::remove_all(folder);
}

TEST_CASE("a shape whose bytes are those of the file but for 2^64 is refused") {
    for (const char* shape : {"(4611686018427387910,)", "(3, 3074457345618258604, 2)"}) {
        std::string text = saved_by_numpy();
        const std::string header =
            std::string("{'descr': '<f4', 'fortran_order': False, 'shape': ") + shape + ", }";
        text.replace(10, 118, header + std::string(117 - header.size(), ' ') + "\n");
        CHECK_THROWS_WITH(parse_npy(text, "x.npy", ElementType::f32), Catch::Contains("too large"));
    }
}
