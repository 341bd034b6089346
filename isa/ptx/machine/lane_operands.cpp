#include "isa/ptx/machine/lane_operands.h"

#include "isa/common/hexadecimal.h"

namespace heddle::ptx {

namespace {

void require_alignment(const Warp::State& warp, unsigned lane, std::uint64_t address, std::uint64_t alignment,
                       const std::string& what) {
    if (address % alignment == 0) return;
    fail_running(warp, lane, what + " at address " + hexadecimal(address) + " is misaligned",
                 "the address must be a multiple of " + std::to_string(alignment), Error::Kind::misaligned);
}

}  // namespace

SharedPlace find_shared(const Warp::State& warp, unsigned lane, StateSpace space, std::uint64_t address,
                        std::uint64_t bytes, std::uint64_t alignment, const std::string& what) {
    const std::uint64_t given = address;
    if (space == StateSpace::generic) {
        if (address < kSharedWindow || address >= kLocalWindow) {
            fail_running(warp, lane,
                         what + ": generic address " + hexadecimal(given) + " is not in shared memory", "",
                         Error::Kind::out_of_bounds);
        }
        address -= kSharedWindow;
    }
    SharedPlace place;
    place.cta = cta_of_address(*warp.cta, address, place.offset);
    if (place.cta == nullptr || place.cta->unfinished == 0) {
        fail_running(warp, lane,
                     what + ": no CTA of the cluster that runs has shared address " + hexadecimal(given), "",
                     Error::Kind::out_of_bounds);
    }
    if (space == StateSpace::shared && place.cta != warp.cta) {
        fail_running(warp, lane, what + ": shared address " + hexadecimal(given) + " belongs to another CTA",
                     "use .shared::cluster", Error::Kind::out_of_bounds);
    }
    require_alignment(warp, lane, place.offset, alignment, what);
    const std::uint64_t size = place.cta->shared_bytes;
    if (place.offset > size || size - place.offset < bytes) {
        fail_running(warp, lane,
                     what + ": " + std::to_string(bytes) + " bytes at shared address " + hexadecimal(given) +
                         " are out of bounds",
                     "shared memory has " + std::to_string(size) + " bytes", Error::Kind::out_of_bounds);
    }
    return place;
}

Allocation& find_global(const Warp::State& warp, unsigned lane, std::uint64_t address, std::uint64_t bytes,
                        std::uint64_t alignment, bool values, const std::string& what) {
    require_alignment(warp, lane, address, alignment, what);
    GlobalMemory& memory = *warp.cta->launch.memory;
    Allocation* allocation = memory.find(address, bytes);
    if (allocation == nullptr) {
        const Allocation* nearest = memory.nearest(address);
        fail_running(warp, lane,
                     what + ": " + std::to_string(bytes) + " bytes at global address " +
                         hexadecimal(address) + " are out of bounds",
                     nearest == nullptr
                         ? "no buffer is allocated"
                         : "the nearest buffer is " + nearest->name + ", " + std::to_string(nearest->bytes) +
                               " bytes from " + hexadecimal(nearest->base),
                     Error::Kind::out_of_bounds);
    }
    if (values && !allocation->backed) {
        const bool timing = warp.cta->launch.mode == Mode::timing;
        fail_running(warp, lane,
                     "buffer " + allocation->name + " holds no values" +
                         (timing ? ", but what is read from it steers addresses or control flow" : ""),
                     timing ? "declare it as a steering buffer and give it values"
                            : "allocate it with values (backed)");
    }
    return *allocation;
}

MemoryAccess& begin_shared_report(Warp::State& warp, unsigned bytes, bool write, bool atomic) {
    MemoryAccess& access = warp.cta->scratch->access;
    access.texels = nullptr;
    access.space = StateSpace::shared;
    access.write = write;
    access.atomic = atomic;
    access.bytes_per_lane = static_cast<std::uint8_t>(bytes);
    access.lanes = 0;
    access.zero_filled_lanes = 0;
    return access;
}

void report_lane(MemoryAccess& access, const Warp::State& warp, unsigned lane, const SharedPlace& place) {
    access.lanes |= 1u << lane;
    access.address[lane] = place.offset;
    if (place.cta == warp.cta) return;
    access.address[lane] = cluster_address(place.cta->cluster_rank, place.offset);
    access.space = StateSpace::shared_cluster;
}

}  // namespace heddle::ptx
