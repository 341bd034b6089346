// Parquet files against the bytes that the specification asks for, and against Apache's own reader where it
// is.
#include "sim/explore/parquet.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace heddle::explore;
using namespace std::string_literals;

TEST_CASE("a Parquet file of one column has the bytes of the specification") {
    const std::string file = parquet_file({{"x", std::vector<std::optional<double>>{1.5, std::nullopt}}});
    // Page header of the compact protocol: data page, 14 bytes twice, 2 values, PLAIN, levels RLE.
    const std::string header = "\x15\x00\x15\x1c\x15\x1c\x2c\x15\x04\x15\x00\x15\x06\x15\x06\x00\x00"s;
    // Levels: 2 bytes, one group of eight bits, the first value is there. Then 1.5.
    const std::string page = "\x02\x00\x00\x00\x03\x01\x00\x00\x00\x00\x00\x00\xf8\x3f"s;
    // Version 1; the root with one child, x: DOUBLE, OPTIONAL.
    const std::string schema = "\x15\x02\x19\x2c\x48\x06points\x15\x02\x00\x15\x0a\x25\x02\x18\x01x\x00"s;
    CHECK(file.substr(0, 4 + header.size() + page.size() + schema.size()) == "PAR1" + header + page + schema);
    CHECK(file.substr(file.size() - 4) == "PAR1");
    const auto footer = static_cast<unsigned char>(file[file.size() - 8]);
    CHECK(file.compare(file.size() - 8 - footer, schema.size(), schema) == 0);
}

TEST_CASE("Apache's reader finds what was written") {
    if (std::system("python3 -c 'import pyarrow.parquet' 2>/dev/null") != 0) {
        WARN("skipped: no pyarrow for python3 here");
        return;
    }
    std::vector<std::int64_t> ids;
    std::vector<bool> front;
    std::vector<std::optional<double>> times;
    std::vector<std::string> names;
    for (int i = 0; i < 1000; ++i) {
        ids.push_back(i * i - 7);
        front.push_back(i % 3 == 0);
        times.push_back(i % 5 == 0 ? std::nullopt : std::optional<double>(i / 7.0));
        names.push_back(std::string(static_cast<std::size_t>(i % 40), 'a') + "\xc3\xa4");
    }
    const std::string path =
        (std::filesystem::temp_directory_path() / ("heddle-parquet-" + std::to_string(getpid()))).string();
    std::ofstream(path, std::ios::binary)
        << parquet_file({{"id", ids}, {"front", front}, {"time [us]", times}, {"name", names}});
    const std::string script = "python3 -c \"import pyarrow.parquet as p; t = p.read_table('" + path +
                               "').to_pydict(); n = range(1000); assert t == {'id': [i * i - 7 for i in n], "
                               "'front': [i % 3 == 0 for i in n], "
                               "'time [us]': [None if i % 5 == 0 else i / 7.0 for i in n], 'name': ['a' * (i "
                               "% 40) + chr(228) for i in n]}\"";
    CHECK(std::system(script.c_str()) == 0);
    std::filesystem::remove(path);
}
