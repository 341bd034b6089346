// Recorded NCCL collectives beside the model, where the recordings are; and how tables are read.
#include "validation/compare/collective_table.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "isa/common/error.h"

namespace {

using namespace heddle;
using namespace heddle::validation;
namespace fs = std::filesystem;

fs::path written(const std::string& text) {
    const fs::path path = fs::temp_directory_path() / "heddle-collective-table-test.csv";
    std::ofstream(path) << text;
    return path;
}

constexpr const char* kHeading = "framework,op_name,kernel_source,nccl_dtype,num_gpus,message_size,latency\n";

TEST_CASE("a table's sizes are elements and its latencies milliseconds") {
    const auto rows = read_collective_table(written(
        std::string(kHeading) + "x,alltoall,NCCL,half,4,1024,0.0125\nx,all_gather,NCCL,int8,8,512,0.02\n"));
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].kind == sim::CollectiveKind::all_to_all);
    CHECK(rows[0].bytes == 2048);
    CHECK(rows[0].recorded == Approx(12.5e-6));
    CHECK(rows[1].bytes == 512);
    CHECK(rows[1].ranks == 8);
}

TEST_CASE("damage in a table is told with its line") {
    CHECK_THROWS_WITH(
        read_collective_table(written(std::string(kHeading) + "x,all_gather,NCCL,half,8,512,fast\n")),
        Catch::Contains(":2: latency") && Catch::Contains("fast"));
    CHECK_THROWS_WITH(read_collective_table(written(std::string(kHeading) + "x,all_gather,NCCL,half\n")),
                      Catch::Contains(":2: "));
    CHECK_THROWS_WITH(
        read_collective_table(written(std::string(kHeading) + "x,all_gathr,NCCL,half,8,512,1\n")),
        Catch::Contains("did you mean `all-gather`?"));
    CHECK_THROWS_WITH(read_collective_table(written("a,b\n1,2\n")), Catch::Contains("op_name"));
}

TEST_CASE("errors: median, 90 per cent, worst") {
    std::vector<CollectiveRow> rows(10);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        rows[i].recorded = 1;
        rows[i].simulated = 1 + 0.01 * static_cast<double>(i) * (i % 2 == 0 ? 1 : -1);
    }
    const CollectiveErrors errors = errors_of(rows);
    CHECK(errors.median == Approx(0.05));
    CHECK(errors.p90 == Approx(0.09));
    CHECK(errors.mean == Approx(0.045));
}

TEST_CASE("recorded NCCL collectives on A100, H100 and B200: median error at most 10 per cent, 8 on a B200") {
    const char* variable = std::getenv("HEDDLE_DATA");
    const fs::path data =
        variable != nullptr ? fs::path(variable) : fs::path(HEDDLE_SOURCE_DIR) / "../shared/data";
    for (const auto& [file, cluster] :
         {std::pair{"nccl_a100_sxm.csv", "dgx-a100"}, std::pair{"nccl_h100_sxm.csv", "dgx-h100"},
          std::pair{"nccl_b200_sxm.csv", "dgx-b200"}}) {
        if (!fs::is_regular_file(data / "collectives" / file)) {
            WARN("skipped: there is no " << file);
            continue;
        }
        auto rows = read_collective_table(data / "collectives" / file);
        sim::CollectiveTimer timer(sim::load_cluster(cluster));
        time_collectives(rows, timer);
        const CollectiveErrors errors = errors_of(rows);
        INFO(cluster << ": median " << errors.median << ", p90 " << errors.p90);
        CHECK(errors.median < 0.10);
        CHECK(errors.p90 < 0.25);
        if (std::string(cluster) != "dgx-b200") continue;
        std::map<std::pair<sim::CollectiveKind, std::uint32_t>, std::vector<CollectiveRow>> groups;
        for (const CollectiveRow& row : rows) groups[{row.kind, row.ranks}].push_back(row);
        CHECK(groups.size() == 12);
        for (const auto& [key, group] : groups) {
            INFO(sim::name_of(key.first) << " of " << key.second);
            CHECK(errors_of(group).median < 0.08);
        }
    }
}

}  // namespace
