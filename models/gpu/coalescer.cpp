#include "models/gpu/coalescer.h"

#include <algorithm>
#include <bit>

namespace heddle::models::gpu {
namespace {

constexpr unsigned kBanks = 32;
constexpr unsigned kBankBytes = 4;

/// Whether all 32 lanes access one contiguous range in lane order.
template <class Address>
bool contiguous(const std::array<Address, ptx::kWarpSize>& address, unsigned bytes) {
    Address difference = 0;
    const Address first = address[0];
    for (unsigned lane = 0; lane < ptx::kWarpSize; ++lane) {
        difference |= address[lane] ^ static_cast<Address>(first + lane * bytes);
    }
    return difference == 0;
}

/// Lanes `first` .. `first + count - 1` of an access of at most 16 bytes per lane: passes through the banks.
template <class Address>
unsigned passes(const std::array<Address, ptx::kWarpSize>& address, std::uint32_t lanes, unsigned first,
                unsigned count, unsigned bytes) {
    // Quick answer: every lane on banks of its own.
    const unsigned words = std::max(1u, bytes / kBankBytes);
    const std::uint32_t pattern = words >= 32 ? ~0u : (1u << words) - 1;
    std::uint32_t used = 0;
    std::uint32_t clash = 0;
    for (unsigned lane = first; lane < first + count; ++lane) {
        const auto bank = static_cast<unsigned>(address[lane] / kBankBytes % kBanks);
        const std::uint32_t mine = (lanes >> lane & 1u) != 0 ? pattern << bank : 0u;
        clash |= used & mine;
        used |= mine;
    }
    if (used == 0) return 0;
    if (clash == 0) return 1;
    // Distinct words per bank. Each lane's words are consecutive and aligned, so whole accesses are compared.
    std::array<std::uint64_t, ptx::kWarpSize> distinct;
    unsigned distinct_count = 0;
    std::array<std::uint8_t, kBanks> load{};
    unsigned most = 0;
    for (unsigned lane = first; lane < first + count; ++lane) {
        if ((lanes >> lane & 1u) == 0) continue;
        const std::uint64_t word = address[lane] / kBankBytes;
        bool known = false;
        for (unsigned i = 0; i < distinct_count && !known; ++i) known = distinct[i] == word;
        if (known) continue;
        distinct[distinct_count++] = word;
        for (unsigned i = 0; i < words; ++i) {
            most = std::max<unsigned>(most, ++load[(word + i) % kBanks]);
        }
    }
    return most;
}

/// Whether lanes n and n ^ `distance` access the same address, wherever both are active.
template <class Address>
bool pairs_share(const std::array<Address, ptx::kWarpSize>& address, std::uint32_t lanes, unsigned distance) {
    const bool first_pair = (lanes & 1u) != 0 && (lanes >> distance & 1u) != 0;
    if (first_pair && address[0] != address[distance]) return false;  // the usual case
    Address difference = 0;
    for (unsigned lane = 0; lane < ptx::kWarpSize; ++lane) {
        const bool both = (lanes >> lane & 1u) != 0 && (lanes >> (lane ^ distance) & 1u) != 0;
        difference |= both ? address[lane] ^ address[lane ^ distance] : 0;
    }
    return difference == 0;
}

template <class Address>
unsigned wavefronts(const std::array<Address, ptx::kWarpSize>& address, std::uint32_t lanes, unsigned bytes) {
    if (lanes == 0) return 0;
    if (lanes == ~0u && contiguous(address, bytes)) return std::max(1u, bytes / kBankBytes);
    unsigned group = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
    if (group < 32 && (pairs_share(address, lanes, 1) || pairs_share(address, lanes, 2))) group *= 2;
    unsigned total = 0;
    for (unsigned first = 0; first < ptx::kWarpSize; first += group) {
        total += passes(address, lanes, first, group, bytes);
    }
    return std::max(1u, total);
}

/// Adds the lines and sectors of the lanes' addresses to those that are there.
void add_lines(const std::array<std::uint64_t, ptx::kWarpSize>& addresses, std::uint32_t lanes,
               CoalescedAccess& result) {
    unsigned last = 0;
    for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const std::uint64_t address = addresses[static_cast<unsigned>(std::countr_zero(rest))];
        const std::uint64_t line = address / kLineBytes;
        const auto sector = static_cast<SectorMask>(1u << (address / kSectorBytes % kSectorsPerLine));
        if (result.count == 0 || result.lines[last].line != line) {
            last = 0;
            while (last < result.count && result.lines[last].line != line) ++last;
            if (last == result.count) result.lines[result.count++] = {line, 0};
        }
        result.lines[last].sectors |= sector;
    }
}

}  // namespace

void coalesce(const ptx::MemoryAccess& access, CoalescedAccess& result) {
    result.count = 0;
    if (access.lanes == 0) return;
    if (access.texels != nullptr) {
        for (unsigned n = 0; n < access.texels->count; ++n)
            add_lines(access.texels->address[n], access.texels->lanes[n], result);
        return;
    }
    const unsigned bytes = access.bytes_per_lane;
    if (access.lanes == ~0u && contiguous(access.address, bytes)) {
        const std::uint64_t first = access.address[0];
        const std::uint64_t first_sector = first / kSectorBytes;
        const std::uint64_t last_sector = (first + ptx::kWarpSize * bytes - 1) / kSectorBytes;
        for (std::uint64_t line = first_sector / kSectorsPerLine; line <= last_sector / kSectorsPerLine;
             ++line) {
            const std::uint64_t base = line * kSectorsPerLine;
            const auto low = static_cast<unsigned>(std::max(first_sector, base) - base);
            const auto high = static_cast<unsigned>(std::min(last_sector, base + kSectorsPerLine - 1) - base);
            result.lines[result.count++] = {line, static_cast<SectorMask>((2u << high) - (1u << low))};
        }
        return;
    }
    add_lines(access.address, access.lanes, result);
}

void count_conflicts(const ptx::MemoryAccess& access, const CoalescedAccess& lines,
                     std::array<std::uint16_t, ptx::kWarpSize>& conflicts) {
    for (unsigned i = 0; i < lines.count; ++i) {
        std::array<std::uint8_t, kLineBytes / 2> load{};  // by 2-byte unit: the narrowest atomic
        unsigned most = 1;
        for (std::uint32_t rest = access.lanes; rest != 0; rest &= rest - 1) {
            const std::uint64_t address = access.address[static_cast<unsigned>(std::countr_zero(rest))];
            if (address / kLineBytes != lines.lines[i].line) continue;
            most = std::max<unsigned>(most, ++load[address % kLineBytes / 2]);
        }
        conflicts[i] = static_cast<std::uint16_t>(most);
    }
}

unsigned shared_wavefronts(const ptx::MemoryAccess& access) {
    return wavefronts(access.address, access.lanes, access.bytes_per_lane);
}

unsigned shared_wavefronts_of_copy(const ptx::MemoryAccess& access) {
    return wavefronts(access.shared_address, access.lanes | access.zero_filled_lanes, access.bytes_per_lane);
}

unsigned shared_atomic_wavefronts(const ptx::MemoryAccess& access) {
    std::array<std::uint8_t, kBanks> load{};
    unsigned most = 0;
    const unsigned words = std::max(1u, access.bytes_per_lane / kBankBytes);
    for (std::uint32_t rest = access.lanes; rest != 0; rest &= rest - 1) {
        const std::uint64_t word = access.address[static_cast<unsigned>(std::countr_zero(rest))] / kBankBytes;
        for (unsigned i = 0; i < words; ++i) most = std::max<unsigned>(most, ++load[(word + i) % kBanks]);
    }
    return std::max(1u, most);
}

}  // namespace heddle::models::gpu
