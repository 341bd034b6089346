#include "sim/gpu/plan/l2_residency.h"

#include <catch2/catch.hpp>

using heddle::sim::L2Residency;

TEST_CASE("the least recently used buffer leaves first, in sixteenths") {
    L2Residency l2(1000);
    l2.touch(1, 400);
    l2.touch(2, 400);
    REQUIRE(l2.resident_bytes(1, 400) == 400);
    l2.touch(3, 320);  // 120 bytes of buffer 1 must go
    REQUIRE(l2.resident_bytes(3, 320) == 320);
    REQUIRE(l2.resident_bytes(2, 400) == 400);
    REQUIRE(l2.resident_bytes(1, 400) == 275);  // 280 left, in steps of 25
    l2.touch(1, 400);
    l2.touch(4, 700);
    REQUIRE(l2.resident_bytes(1, 400) == 300);
    REQUIRE(l2.resident_bytes(2, 400) == 0);
    REQUIRE(l2.resident_bytes(3, 320) == 0);
}

TEST_CASE("a buffer larger than the cache leaves only its tail") {
    L2Residency l2(1000);
    l2.touch(7, 16000);
    REQUIRE(l2.resident_bytes(7, 16000) == 1000);
    l2.touch(8, 1000);
    REQUIRE(l2.resident_bytes(7, 16000) == 0);
}

TEST_CASE("buffers that a kernel goes through together leave the same part of each") {
    L2Residency l2(1000, 2);
    // What is written lies in one partition, half of it in each: 1600 + 400 bytes for 1000.
    l2.touch_together({{1, 1600, false}, {2, 800, true}});
    CHECK(l2.resident_bytes(1, 1600) == 800);
    CHECK(l2.resident_bytes(2, 800) == 400);
    CHECK_FALSE(l2.dirty(1));
    CHECK(l2.dirty(2));
    // It stays to be written when it has been read.
    l2.touch_together({{2, 800, false}, {3, 100, false}});
    CHECK(l2.resident_bytes(2, 800) == 800);
    CHECK(l2.resident_bytes(3, 100) == 100);
    CHECK(l2.resident_bytes(1, 1600) == 100);
    CHECK(l2.dirty(2));
    l2.touch_together({{4, 2000, true}});
    CHECK(l2.resident_bytes(4, 2000) == 2000);
    CHECK_FALSE(l2.dirty(2));
}
