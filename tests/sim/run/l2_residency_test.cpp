#include "sim/run/l2_residency.h"

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
