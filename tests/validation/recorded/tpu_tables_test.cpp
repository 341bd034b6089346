// Tables of products and of systolic arrays: what is read, and what is told with file, line and column.
#include "validation/recorded/tpu_tables.h"

#include "isa/common/error.h"
#include "support/folder.h"
#include "validation/recorded/row_table.h"

using namespace heddle::validation;
using heddle::tests::Folder;

namespace {

template <typename Read>
std::string refusal(const std::string& text, Read read) {
    const Folder folder;
    try {
        read(folder.write("table.csv", text));
    } catch (const heddle::Error& error) {
        return error.what();
    }
    return "read";
}

}  // namespace

TEST_CASE("products on a TPU: lines in the order of the heading, matrices that fit its memory") {
    const Folder folder;
    const auto products = read_products(folder.write("table.csv", "latency_us,m,k,n\n2.5,1,384,768\n"));
    REQUIRE(products.size() == 1);
    CHECK(products[0].m == 1);
    CHECK(products[0].k == 384);
    CHECK(products[0].n == 768);
    CHECK(products[0].microseconds == 2.5);
    const std::string head = "m,k,n,latency_us\n1,2,3,4\n";
    CHECK(refusal(head, read_products) == "read");
    for (const char* line : {"0,1,1,1", "1,-1,1,1", "1,1,1.5,1", "1,1,1,0", "1,1,1,nan", "1,1,1",
                             "4294967295,4294967295,1,1", "1000000,1000000,1,1"}) {
        INFO(line);
        CHECK_THAT(refusal(head + line + "\n", read_products), Catch::Contains("table.csv:3"));
    }
    CHECK_THAT(refusal("m,k\n1,2\n", read_products), Catch::Contains("latency_us") || Catch::Contains("`n`"));
}

TEST_CASE("cycles of systolic arrays: arrays and dataflows that there are") {
    const std::string head = "array_rows,array_cols,dataflow,m,n,k,cycles\n8,16,os,7,9,3,30\n";
    const Folder folder;
    const auto runs = read_array_runs(folder.write("table.csv", head));
    REQUIRE(runs.size() == 1);
    CHECK(runs[0].rows == 8);
    CHECK(runs[0].columns == 16);
    CHECK(runs[0].dataflow == "os");
    CHECK(runs[0].k == 3);
    CHECK(runs[0].cycles == 30);
    for (const char* line : {"8,16,xs,7,9,3,30", "0,16,os,7,9,3,30", "100000,100000,os,7,9,3,30",
                             "8,16,os,4000000000,9,3,30", "8,16,os,7,9,3,-30", "8,16,os,7,9,3,"}) {
        INFO(line);
        CHECK_THAT(refusal(head + line + "\n", read_array_runs), Catch::Contains("table.csv:3"));
    }
}

TEST_CASE("rates of rows: whole extents of tensors that fit the GPU, and rates that end") {
    const Folder folder;
    const auto rows = read_rows(folder.write("table.csv", "64, 2048, 2.62144\n\n32,32,1\n"), 2);
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].shape == std::vector<std::int64_t>{64, 2048});
    CHECK(rows[0].microseconds == Approx(50));
    for (const char* line : {"32,2048", "32,2048,3,4", "32,x,3", "32,2048,-1", "0,2048,3", "1.5,2048,3",
                             "inf,1,1", "1e300,1,1", "1e9,1e9,1", "32,2048,inf", "32,2048,1e-310"}) {
        INFO(line);
        const auto read = [](const std::filesystem::path& file) { return read_rows(file, 2); };
        CHECK_THAT(refusal(std::string("64,2048,3\n") + line + "\n", read), Catch::Contains("table.csv:2"));
    }
}
