#include "driver/server/shared_memory.h"

#include <catch2/catch.hpp>

#include <array>

#include "isa/common/error.h"

using namespace heddle;
using namespace heddle::driver;

TEST_CASE("one piece of shared memory lies at two addresses, and at one again") {
    SharedMemory shared;
    constexpr std::uint64_t piece = 2 << 20;
    const std::uint64_t memory = shared.allocate(piece, piece), addresses = shared.allocate(2 * piece, piece);
    CHECK(addresses % piece == 0);
    shared.at(memory)[5] = std::byte{7};
    shared.remap(addresses + piece, piece, memory);
    CHECK(shared.at(addresses + piece)[5] == std::byte{7});
    shared.at(addresses + piece)[6] = std::byte{8};
    CHECK(shared.at(memory)[6] == std::byte{8});
    shared.remap(addresses + piece, piece, addresses + piece);
    CHECK(shared.at(addresses + piece)[5] == std::byte{0});
    CHECK(shared.at(memory)[5] == std::byte{7});
}

TEST_CASE("device memory leads to bytes that others own, until it does no longer") {
    SharedMemory shared;
    ptx::GlobalMemory memory(&shared);
    const std::uint64_t own = memory.allocate("own", 4096, true);
    std::array<std::byte, 64> bytes{};
    // Below all that is allocated, and above the heap, where programs have their own memory.
    for (const std::uint64_t address : {std::uint64_t{0x10000}, std::uint64_t{0x7fff00000000}}) {
        memory.map("registered", address, bytes);
        const std::array<std::byte, 2> two{std::byte{1}, std::byte{2}};
        memory.write(address + 62, two);
        CHECK(bytes[63] == std::byte{2});
        CHECK_THROWS_AS(memory.write(address + 63, two), Error);
        CHECK(memory.find(address, 64)->mapped);
        CHECK_FALSE(memory.unmap(address + 1));
        CHECK(memory.unmap(address));
        CHECK(memory.find(address, 1) == nullptr);
    }
    CHECK_FALSE(memory.unmap(own));
    CHECK(memory.find(own, 4096) != nullptr);
}
