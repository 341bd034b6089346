#include "validation/recorded/csv_table.h"

#include "support/folder.h"

using heddle::Error;
using heddle::tests::Folder;
using heddle::validation::CsvTable;

namespace {

struct Written {
    Folder folder;
    CsvTable read(const std::string& text) const {
        folder.write("table.csv", text);
        return CsvTable(folder.path() / "table.csv", "a table");
    }
};

}  // namespace

TEST_CASE("a table's rows have their lines, and cells that end early are empty") {
    const Written file;
    const CsvTable table = file.read("name (ms),b,c\r\n1,,3\r\n\n-2.5e-3\n");
    REQUIRE(table.rows().size() == 2);
    CHECK(table.rows()[0].cells == std::vector<std::string>{"1", "", "3"});
    CHECK(table.rows()[1].cells == std::vector<std::string>{"-2.5e-3", "", ""});
    CHECK(table.rows()[1].line == 4);
    CHECK(table.column("c") == 2);
    CHECK(table.find_prefix("name") == 0u);
    CHECK_FALSE(table.find("name"));
    CHECK(table.number(table.rows()[1], 0) == -0.0025);
    CHECK(table.extent(table.rows()[0], 2) == 3);
}

TEST_CASE("what is no number, no extent or no row is told with line and column") {
    const Written file;
    struct Case {
        const char* cell;
        bool number, positive, extent;
    };
    const Case cases[] = {
        {"7", true, true, true},          {"0", true, false, false},         {"-1", true, false, false},
        {"4294967295", true, true, true}, {"4294967296", true, true, false}, {"1.5", true, true, false},
        {"1e400", false, false, false},   {"inf", false, false, false},      {"nan", false, false, false},
        {" 1", false, false, false},      {"1x", false, false, false},       {"", false, false, false}};
    for (const Case& test : cases) {
        CAPTURE(test.cell);
        const CsvTable table = file.read(std::string("first,second\nx,") + test.cell + "\n");
        const auto told = [&](auto read) {
            try {
                read();
                return false;
            } catch (const Error& error) {
                CHECK_THAT(error.what(), Catch::Contains("table.csv:2: second"));
                return true;
            }
        };
        CHECK(told([&] { table.number(table.rows()[0], 1); }) != test.number);
        CHECK(told([&] { table.positive(table.rows()[0], 1); }) != test.positive);
        CHECK(told([&] { table.extent(table.rows()[0], 1); }) != test.extent);
    }
    CHECK_THROWS_WITH(file.read("a,b\n1,2,3\n"), Catch::Contains(":2") && Catch::Contains("3 columns"));
    CHECK_THROWS_WITH(file.read("a,b\n\n"), Catch::Contains("no rows"));
    CHECK_THROWS_WITH(file.read(""), Catch::Contains("cannot be read"));
    CHECK_THROWS_WITH(file.read("a,b\n1,2\n").column("c"), Catch::Contains("columns are: a, b"));
    CHECK_THROWS_AS(CsvTable(file.folder.path(), "a table"), Error);  // a folder
}
