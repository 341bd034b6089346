// Which files are taken for TPU programs.
#include "sim/tpu/tpu_program.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "support/folder.h"

using heddle::sim::is_tpu_program;
using heddle::tests::Folder;

TEST_CASE("a TPU program is told by its first word, however large the file") {
    const Folder folder;
    const auto is = [&](const std::string& text) {
        return is_tpu_program(folder.write("file", text).string());
    };
    CHECK(is("# a comment\n\n  program two_tiles\n"));
    CHECK(is(std::string(60000, '#') + "\ncore 0\n"));
    CHECK_FALSE(is("{\"program\": 1}"));
    CHECK_FALSE(is(""));
    CHECK_FALSE(is_tpu_program((folder / "none").string()));
    // Sixteen gigabytes of one line, of which the disk holds nothing, and no memory need be had.
    const auto file = folder.write("file", "{");
    std::filesystem::resize_file(file, std::uintmax_t{16} << 30);
    CHECK_FALSE(is_tpu_program(file.string()));
}
