#include "validation/compare/recorded_rows.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "isa/common/error.h"

using namespace heddle::validation;
namespace fs = std::filesystem;

namespace {

/// A folder of recordings with this text as softmax_A100.csv.
fs::path recording(const std::string& text) {
    const fs::path folder = fs::temp_directory_path() / ("heddle-rows-" + std::to_string(getpid()));
    fs::create_directories(folder / "kernels");
    std::ofstream(folder / "kernels" / "softmax_A100.csv") << text;
    return folder;
}

}  // namespace

TEST_CASE("Recorded rows: what lies at the floor is left out, the rest is simulated and judged") {
    CompareOptions options;
    options.workers = 1;
    // 65,536 elements in 13.2 us are the floor alone; in 50 us they are a kernel of 37 us, which the model's
    // is not.
    const fs::path folder = recording("32, 2048, 4.96\n64, 2048, 2.62144\n");
    const auto comparisons = compare_recorded_rows(folder, options);
    fs::remove_all(folder);
    REQUIRE(comparisons.size() == 1);
    const Comparison& comparison = comparisons.front();
    REQUIRE(comparison.rows.size() == 1);
    CHECK(comparison.rows[0].name == "softmax 64x2048");
    CHECK(*comparison.rows[0].captured == Approx(50));
    // Between the floor and the floor with 10 us: 64 rows run side by side.
    CHECK(*comparison.rows[0].simulated > 13.1);
    CHECK(*comparison.rows[0].simulated < 23.1);
    REQUIRE(comparison.bars.size() == 1);
    CHECK_FALSE(comparison.holds());
}

TEST_CASE("Damaged recordings of rows are told with file and line") {
    for (const char* text : {"32, 2048\n", "32, x, 3\n", "32, 2048, -1\n"}) {
        const fs::path folder = recording(text);
        CHECK_THROWS_AS(compare_recorded_rows(folder, {}), heddle::Error);
        fs::remove_all(folder);
    }
    CHECK(compare_recorded_rows(fs::temp_directory_path() / "heddle-no-such-folder", {}).empty());
}
