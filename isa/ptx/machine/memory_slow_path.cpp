// What happens rarely when memory is accessed: errors, generic addresses, the small state spaces.
#include "isa/ptx/machine/memory_slow_path.h"

#include <bit>

#include "isa/common/error.h"
#include "isa/common/hexadecimal.h"
#include "isa/ptx/machine/machine.h"

namespace heddle::ptx {
namespace {

constexpr std::uint64_t kWindowBytes = std::uint64_t{1} << 40;

// The instruction that is being performed: Warp::step() has moved the counter on.
const InstructionInfo& current(const Warp::State& warp) {
    return warp.information[warp.pc - 1];
}

StateSpace space_of_address(std::uint64_t address) {
    if (address >= kGlobalWindow) return StateSpace::global;
    if (address >= kLocalWindow) return StateSpace::local;
    if (address >= kSharedWindow) return StateSpace::shared;
    if (address >= kConstantWindow) return StateSpace::constant;
    if (address >= kParameterWindow) return StateSpace::parameter;
    return StateSpace::global;
}

std::uint64_t window_start(StateSpace space) {
    switch (space) {
        case StateSpace::local:
            return kLocalWindow;
        case StateSpace::shared:
            return kSharedWindow;
        case StateSpace::constant:
            return kConstantWindow;
        case StateSpace::parameter:
            return kParameterWindow;
        default:
            return 0;
    }
}

std::uint64_t space_bytes(const Warp::State& warp, StateSpace space) {
    const Cta::Implementation& cta = *warp.cta;
    switch (space) {
        case StateSpace::shared:
        case StateSpace::shared_cluster:
            return cta.shared_bytes;
        case StateSpace::local:
            return cta.local_bytes;
        case StateSpace::constant:
            return cta.kernel->constant_bank.size();
        case StateSpace::parameter:
            return cta.launch.parameters.size();
        default:
            return 0;
    }
}

Cta::Implementation* running_cta(const Warp::State& warp, std::uint64_t address, std::uint64_t bytes) {
    std::uint64_t offset = 0;
    Cta::Implementation* cta = cta_of_address(*warp.cta, address, offset);
    if (cta == nullptr || offset >= cta->shared_bytes || cta->shared_bytes - offset < bytes) return nullptr;
    return cta->unfinished == 0 ? nullptr : cta;
}

bool lane_is_bad(const Warp::State& warp, unsigned lane, const MemoryAccess& access) {
    const std::uint64_t address = access.address[lane], bytes = access.bytes_per_lane;
    if (address % bytes != 0) return true;
    if (access.space == StateSpace::global) return warp.cta->launch.memory->find(address, bytes) == nullptr;
    if (access.space == StateSpace::shared_cluster) return running_cta(warp, address, bytes) == nullptr;
    const std::uint64_t size = space_bytes(warp, access.space);
    return address >= size || size - address < bytes;
}

std::string describe_neighbour(const Warp::State& warp, std::uint64_t address, const MemoryAccess& access) {
    if (access.space != StateSpace::global) {
        return std::string(name_of(access.space)) + " memory has " +
               std::to_string(space_bytes(warp, access.space)) + " bytes";
    }
    const Allocation* nearest = warp.cta->launch.memory->nearest(address);
    if (nearest == nullptr) return "no buffer is allocated";
    return "the nearest buffer is " + nearest->name + ", " + std::to_string(nearest->bytes) + " bytes from " +
           hexadecimal(nearest->base) + " (offset " +
           (address >= nearest->base ? std::to_string(address - nearest->base)
                                     : "-" + std::to_string(nearest->base - address)) +
           ")";
}

}  // namespace

const std::vector<std::byte>& constant_bank_of(const Cta::Implementation& cta) {
    return cta.constant_bank.empty() ? cta.kernel->constant_bank : cta.constant_bank;
}

void fail_running(const Warp::State& warp, unsigned lane, const std::string& problem,
                  const std::string& remedy, Error::Kind kind) {
    const Cta::Implementation& cta = *warp.cta;
    const Dim3& p = cta.position;
    std::string source;
    if (const std::uint32_t at = warp.pc - 1; at < cta.kernel->information.size()) {
        source = describe_place(cta.kernel->information[at].source, cta.kernel->source_files,
                                cta.kernel->inlined_calls);
    }
    throw Error("kernel " + cta.kernel->kernel.name + ", CTA (" + std::to_string(p.x) + ", " +
                    std::to_string(p.y) + ", " + std::to_string(p.z) + "), warp " +
                    std::to_string(warp.index) + ", lane " + std::to_string(lane) + ": " + problem,
                {cta.kernel->file_name, current(warp).line, source}, remedy, kind);
}

void fail_access(const Warp::State& warp, std::uint32_t lanes, const MemoryAccess& access) {
    unsigned lane = static_cast<unsigned>(std::countr_zero(lanes));
    for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        lane = static_cast<unsigned>(std::countr_zero(rest));
        if (lane_is_bad(warp, lane, access)) break;
    }
    const std::uint64_t address = access.address[lane];
    const bool misaligned = access.bytes_per_lane != 0 && address % access.bytes_per_lane != 0;
    const std::string what = std::string(access.atomic  ? "atomic access to "
                                         : access.write ? "store to "
                                                        : "load from ") +
                             std::string(name_of(access.space)) + " address " + hexadecimal(address) +
                             " of " + std::to_string(access.bytes_per_lane) + " bytes";
    fail_running(warp, lane, what + (misaligned ? " is misaligned" : " is out of bounds"),
                 misaligned ? "the address must be a multiple of the size"
                            : describe_neighbour(warp, address, access),
                 misaligned ? Error::Kind::misaligned : Error::Kind::out_of_bounds);
}

void fail_no_values(const Warp::State& warp, const MemoryAccess& access, const Allocation& allocation) {
    const bool timing = warp.cta->launch.mode == Mode::timing;
    fail_running(
        warp, static_cast<unsigned>(std::countr_zero(access.lanes)),
        "buffer " + allocation.name + " holds no values" +
            (timing ? ", but what is read from it steers addresses or control flow" : ""),
        timing ? "declare it as a steering buffer and give it values" : "allocate it with values (backed)");
}

Allocation* find_allocation(Warp::State& warp, const DecodedInstruction&, std::uint64_t address,
                            std::uint64_t bytes) {
    GlobalMemory* memory = warp.cta->launch.memory;
    return memory == nullptr ? nullptr : memory->find(address, bytes);
}

void check_lanes(Warp::State& warp, std::uint32_t mask, const MemoryAccess& access) {
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        if (lane_is_bad(warp, static_cast<unsigned>(std::countr_zero(rest)), access))
            fail_access(warp, mask, access);
    }
}

StateSpace resolve_generic(Warp::State& warp, std::uint32_t mask, MemoryAccess& access) {
    const StateSpace space = space_of_address(access.address[static_cast<unsigned>(std::countr_zero(mask))]);
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(rest));
        if (space_of_address(access.address[lane]) != space) return StateSpace::generic;
    }
    const std::uint64_t start = window_start(space);
    std::uint64_t all = 0;
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        all |= access.address[static_cast<unsigned>(std::countr_zero(rest))] -= start;
    }
    // A thread block without others may name itself by its rank, too.
    const bool reaches_others = space == StateSpace::shared && (warp.cta->cluster != nullptr || all > kClusterOffsetMask);
    return reaches_others ? StateSpace::shared_cluster : space;
}

Cta::Implementation* find_in_cluster(const Warp::State& warp, std::uint64_t address, std::uint64_t bytes) {
    return running_cta(warp, address, bytes);
}

bool locate_in_cluster(Warp::State& warp, std::uint32_t mask, MemoryAccess& access, std::uintptr_t& base) {
    Cta::Implementation* cta = nullptr;
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(rest));
        Cta::Implementation* own = find_in_cluster(warp, access.address[lane], access.bytes_per_lane);
        if (own == nullptr) fail_access(warp, mask, access);
        if (cta != nullptr && own != cta) return false;
        cta = own;
    }
    if (cta == nullptr) return false;  // no lane
    base = reinterpret_cast<std::uintptr_t>(cta->shared.data());
    const bool own = cta == warp.cta;
    if (own) access.space = StateSpace::shared;
    const std::uint64_t tag = own ? 0 : cluster_address(cta->cluster_rank, 0);
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        std::uint64_t& address = access.address[static_cast<unsigned>(std::countr_zero(rest))];
        address = (address & kClusterOffsetMask) | tag;
    }
    base -= tag;
    return true;
}

void require_own_shared(Warp::State& warp, std::uint32_t mask, MemoryAccess& access) {
    std::uintptr_t base = 0;
    const MemoryAccess given = access;
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(rest));
        if (find_in_cluster(warp, access.address[lane], access.bytes_per_lane) != warp.cta)
            fail_access(warp, mask, given);
    }
    locate_in_cluster(warp, mask, access, base);
}

SmallSpace locate_small(Warp::State& warp, std::uint32_t mask, MemoryAccess& access,
                        std::array<std::uint64_t, kWarpSize>& offset, std::uint64_t highest) {
    Cta::Implementation& cta = *warp.cta;
    SmallSpace small;
    small.bytes = space_bytes(warp, access.space);
    const std::uint64_t bytes = access.bytes_per_lane;
    const bool read_only = access.space == StateSpace::constant || access.space == StateSpace::parameter;
    if (highest >= small.bytes || small.bytes - highest < bytes) fail_access(warp, mask, access);
    if (read_only && access.write) {
        fail_running(warp, static_cast<unsigned>(std::countr_zero(mask)),
                     "a store to read-only " + std::string(name_of(access.space)) + " memory");
    }
    if (access.space != StateSpace::local) {
        const std::byte* data = access.space == StateSpace::constant ? constant_bank_of(cta).data()
                                                                     : cta.launch.parameters.data();
        small.base = reinterpret_cast<std::uintptr_t>(data);
        offset = access.address;
        return small;
    }
    // Threads have their own bytes. To the memory system local memory is interleaved so that lanes that
    // access the same place of theirs touch neighbouring words.
    small.base = reinterpret_cast<std::uintptr_t>(cta.local.data());
    const std::uint64_t thread_bytes = cta.local_bytes;
    const std::uint64_t first_thread = std::uint64_t{warp.index} * kWarpSize;
    const std::uint64_t warp_base =
        kLocalWindow + (cta.linear_index * cta.warps.size() + warp.index) * cta.local_stride * kWarpSize;
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(rest));
        const std::uint64_t own = access.address[lane];
        offset[lane] = (first_thread + lane) * thread_bytes + own;
        access.address[lane] = warp_base + (own / bytes * kWarpSize + lane) * bytes;
    }
    return small;
}

static_assert(kParameterWindow + kWindowBytes <= kConstantWindow &&
              kLocalWindow + kWindowBytes <= kGlobalWindow);

}  // namespace heddle::ptx
