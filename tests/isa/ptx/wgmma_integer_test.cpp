// wgmma with 8-bit integers, against exact sums.
#include <algorithm>
#include <catch2/catch.hpp>

#include "wgmma_harness.h"

using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

struct IntegerCase {
    std::string a, b;  // "s8", "u8"
    unsigned columns;
    bool a_in_registers = false, sparse = false, saturates = false, saturates_first = false;
    unsigned seed = 1;

    unsigned depth() const { return sparse ? 64 : 32; }
    std::string instruction() const {
        const std::string saturation = saturates ? ".satfinite" : "";
        return std::string("wgmma.mma_async") + (sparse ? ".sp" : "") + ".sync.aligned.m64n" +
               std::to_string(columns) + "k" + std::to_string(depth()) + (saturates_first ? saturation : "") +
               ".s32." + a + "." + b + (saturates_first ? "" : saturation) + " " +
               registers("%d", columns / 2) + ", " + (a_in_registers ? registers("%a", 4) : "%da") +
               ", %db, " + (sparse ? "%m, 0, " : "") + "%p;";
    }
};

std::int64_t value_of(std::uint32_t bits, const std::string& type) {
    return type == "s8" ? static_cast<std::int8_t>(bits) : static_cast<std::int64_t>(bits);
}

void check(const IntegerCase& x) {
    std::mt19937 generator(x.seed);
    const Placement a_place_in_memory = placement(Majorness::k, 2, 0),
                    b_place_in_memory = placement(Majorness::k, 3, 8192);
    Warpgroup group;
    group.d_registers = x.columns / 2;
    group.a_descriptor = a_place_in_memory.descriptor();
    group.b_descriptor = b_place_in_memory.descriptor();
    Matrix a(64, std::vector<std::uint32_t>(32)), b(x.columns, std::vector<std::uint32_t>(x.depth()));
    for (Matrix* matrix : {&a, &b})
        for (auto& row : *matrix)
            for (auto& element : row) element = generator() % 256;
    store(group.shared, b_place_in_memory, b, 8);
    if (x.a_in_registers)
        put_into_registers(group, a, 8);
    else
        store(group.shared, a_place_in_memory, a, 8);
    std::vector<std::vector<unsigned>> kept(64);
    for (auto& row : kept)
        for (unsigned k = 0; k < 32; ++k) row.push_back(k);
    if (x.sparse) kept = choose_kept(group, 8, 32, 0, generator);
    // Sums near both ends of the range, so that some go beyond.
    group.d.resize(kThreads * group.d_registers);
    for (auto& d : group.d) d = (generator() % 2 != 0 ? 0x7FFF0000u : 0x80000000u) + generator() % 65536;
    INFO(x.instruction());
    const std::vector<std::uint32_t> d = group.run(x.instruction());
    unsigned beyond = 0;
    for (unsigned thread = 0; thread < kThreads; ++thread) {
        for (unsigned i = 0; i < x.columns / 2; ++i) {
            const Place place = d_place(thread, i);
            std::int64_t sum = static_cast<std::int32_t>(group.d[thread * group.d_registers + i]);
            for (unsigned k = 0; k < 32; ++k) {
                sum += value_of(a[place.row][k], x.a) * value_of(b[place.column][kept[place.row][k]], x.b);
            }
            beyond += sum != static_cast<std::int32_t>(sum) ? 1 : 0;
            if (x.saturates) sum = std::clamp<std::int64_t>(sum, INT32_MIN, INT32_MAX);
            REQUIRE(d[thread * group.d_registers + i] == static_cast<std::uint32_t>(sum));
        }
    }
    CHECK(beyond > 0);
}

}  // namespace

TEST_CASE("wgmma: integers of both signs, wrapped and saturated", "[ptx][wgmma]") {
    unsigned seed = 0;
    for (const std::string a : {"s8", "u8"}) {
        for (const std::string b : {"s8", "u8"}) {
            for (const bool in_registers : {false, true}) {
                for (const bool sparse : {false, true}) {
                    for (const bool saturates : {false, true}) {
                        const bool first = ++seed % 2 != 0;
                        check(
                            {a, b, seed % 3 != 0 ? 24u : 48u, in_registers, sparse, saturates, first, seed});
                    }
                }
            }
        }
    }
    check({"s8", "u8", 256, false, false, false, false, 1});
}

TEST_CASE("wgmma: single bits", "[ptx][wgmma]") {
    for (const bool in_registers : {false, true}) {
        std::mt19937 generator(7);
        const Placement of_a = placement(Majorness::k, 2, 0), of_b = placement(Majorness::k, 3, 8192);
        constexpr unsigned kColumns = 48, kBytes = 32;
        Warpgroup group;
        group.d_registers = kColumns / 2;
        group.a_descriptor = of_a.descriptor();
        group.b_descriptor = of_b.descriptor();
        Matrix a(64, std::vector<std::uint32_t>(kBytes)), b(kColumns, std::vector<std::uint32_t>(kBytes));
        for (Matrix* matrix : {&a, &b})
            for (auto& row : *matrix)
                for (auto& byte : row) byte = generator() % 256;
        // "each register containing thirty two .b1 elements": laid out as four bytes are.
        if (in_registers)
            put_into_registers(group, a, 8);
        else
            store(group.shared, of_a, a, 8);
        store(group.shared, of_b, b, 8);
        group.d.resize(kThreads * group.d_registers);
        for (auto& d : group.d) d = 0x7FFFFFFF - generator() % 64;
        const std::vector<std::uint32_t> d =
            group.run("wgmma.mma_async.sync.aligned.m64n48k256.s32.b1.b1.and.popc " + registers("%d", 24) +
                      (in_registers ? ", " + registers("%a", 4) : std::string(", %da")) + ", %db, %p;");
        for (unsigned thread = 0; thread < kThreads; ++thread) {
            for (unsigned i = 0; i < kColumns / 2; ++i) {
                const Place place = d_place(thread, i);
                std::uint32_t sum = group.d[thread * group.d_registers + i];
                for (unsigned k = 0; k < 8 * kBytes; ++k)
                    sum += a[place.row][k / 8] >> k % 8 & b[place.column][k / 8] >> k % 8 & 1u;
                REQUIRE(d[thread * group.d_registers + i] == sum);
            }
        }
    }
}
