#include "sim/sass/address_spaces.h"

#include <bit>
#include <string>

#include "isa/common/error.h"

namespace heddle::sass {

using ptx::StateSpace;

StateSpace space_of(const KernelHeader& header, std::uint64_t address) {
    const std::uint64_t blocks = header.cluster.count();
    if (header.shared_base != 0 && address - header.shared_base < kWindowBytes) return StateSpace::shared;
    if (header.shared_base != 0 && blocks > 1 && address - header.shared_base < (blocks + 1) * kWindowBytes)
        return StateSpace::shared_cluster;
    if (header.local_base != 0 && address - header.local_base < kWindowBytes) return StateSpace::local;
    return StateSpace::global;
}

void place_in_space(const KernelHeader& header, std::uint64_t local, ptx::MemoryAccess& access) {
    const std::uint64_t width = access.bytes_per_lane;
    if (!std::has_single_bit(width) || width > 32)
        throw Error("a memory access of " + std::to_string(width) + " bytes for each lane",
                    {"trace of kernel " + header.name, 0, ""}, "a lane moves 1, 2, 4, 8 or 16 bytes");
    if (access.space == StateSpace::generic) {
        access.space =
            space_of(header, access.address[static_cast<unsigned>(std::countr_zero(access.lanes))]);
        // Lanes that reach their own block beside those that reach others.
        for (std::uint32_t left = access.lanes; left != 0 && access.space == StateSpace::shared;
             left &= left - 1)
            access.space = space_of(header, access.address[static_cast<unsigned>(std::countr_zero(left))]);
    }
    for (std::uint32_t left = access.lanes; left != 0; left &= left - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(left));
        std::uint64_t& address = access.address[lane];
        address &= ~(width - 1);
        switch (access.space) {
            case StateSpace::shared:
                if (header.shared_base != 0 && address >= header.shared_base) address -= header.shared_base;
                address %= kWindowBytes;
                break;
            case StateSpace::shared_cluster:
                address = (address - header.shared_base) % ((header.cluster.count() + 1) * kWindowBytes);
                break;
            case StateSpace::local: {
                if (header.local_base != 0 && address >= header.local_base) address -= header.local_base;
                const std::uint64_t own = address % kLocalBytes;
                address = local + (own / width * kWarpSize + lane) * width;
                break;
            }
            default:
                address = global_place(address);
                break;
        }
    }
}

}  // namespace heddle::sass
