// Planted faults are caught; sound kernels are not accused.
#include "models/gpu/conservation.h"

#include <catch2/catch.hpp>

#include "gpu_test_bench.h"
#include "isa/common/error.h"

using namespace heddle;
using namespace heddle::models;
using namespace heddle::models::gpu;

TEST_CASE("each account that does not balance is named") {
    CHECK(imbalance({}).empty());
    const auto found = [](auto change) {
        Ledger ledger;
        ledger.sm_requested_sectors = ledger.sm_received_sectors = 100;
        ledger.l2_fill_sectors = ledger.dram_read_sectors = 60;
        change(ledger);
        return imbalance(ledger);
    };
    using Catch::Contains;
    CHECK_THAT(found([](Ledger& l) { l.requests_under_way = 1; }), Contains("requests were not answered"));
    CHECK_THAT(found([](Ledger& l) { --l.sm_received_sectors; }), Contains("asked of L2"));
    CHECK_THAT(found([](Ledger& l) { ++l.dram_read_sectors; }), Contains("asked of memory"));
    CHECK_THAT(found([](Ledger& l) { l.l2_write_back_sectors = 4; }), Contains("written back"));
    CHECK_THAT(found([](Ledger& l) { l.pipeline_instructions = 1; }), Contains("instructions"));
    CHECK_THAT(found([](Ledger& l) { l.ctas_launched = 1; }), Contains("thread blocks"));
}

TEST_CASE("a request that is answered twice is caught, one that is lost is counted") {
    MemoryRequestPool pool;
    MemoryRequest& request = pool.take();
    MemoryRequest& lost = pool.take();
    (void)lost;
    pool.give_back(request);
    CHECK_THROWS_WITH(pool.give_back(request), Catch::Contains("answered twice"));
    CHECK(pool.in_use() == 1);
}
