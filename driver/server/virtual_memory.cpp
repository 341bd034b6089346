// Addresses apart from memory: what was reserved and is mapped to memory later (cuMemMap), and memory of the program that kernels reach.
#include <fmt/format.h>

#include "driver/server/virtual_gpu.h"
#include "isa/common/error.h"

namespace heddle::driver {
namespace {

/// Throws unless the range lies in the memory that both sides share.
void check_shared(std::uint64_t address, std::uint64_t bytes) {
    if (address < kMemoryBase || bytes > kMemoryBytes || address - kMemoryBase > kMemoryBytes - bytes)
        throw Error(fmt::format("{} bytes at {:#x} are outside of the memory that is shared", bytes, address), {}, "", Error::Kind::out_of_bounds);
}

}  // namespace

void VirtualGpu::reserve(Reader& content, Answer& answer) {
    const auto bytes = content.get<std::uint64_t>();
    const auto alignment = content.get<std::uint64_t>();
    if (bytes == 0 || bytes > kMemoryBytes / 2) {
        answer.status = bytes == 0 ? Status::invalid_value : Status::out_of_memory;
        return;
    }
    answer.content.put(arena_.allocate(bytes, alignment));
}

void VirtualGpu::give_up(Reader& content, Answer&) {
    const auto address = content.get<std::uint64_t>();
    const auto bytes = content.get<std::uint64_t>();
    check_shared(address, bytes);
    arena_.release(address, bytes);
}

void VirtualGpu::remap(Reader& content, Answer&) {
    const auto address = content.get<std::uint64_t>();
    const auto bytes = content.get<std::uint64_t>();
    const auto from = content.get<std::uint64_t>();
    check_shared(address, bytes);
    check_shared(from, bytes);
    arena_.remap(address, bytes, from);
}

void VirtualGpu::reachable(Reader& content, Answer&) {
    const auto first = content.get<std::uint64_t>();
    const auto all = content.get<std::uint64_t>();
    check_shared(first, all);
    std::vector<std::uint64_t> before;
    for (const ptx::Allocation& allocation : memory_.allocations())
        if (allocation.mapped && allocation.base >= first && allocation.base - first < all) before.push_back(allocation.base);
    for (const std::uint64_t base : before) memory_.unmap(base);
    for (;;) {
        const auto base = content.get<std::uint64_t>();
        const auto bytes = content.get<std::uint64_t>();
        if (content.failed()) return;
        check_shared(base, bytes);
        memory_.map(fmt::format("mapped memory at {:#x}", base), base, {arena_.at(base), bytes});
    }
}

void VirtualGpu::alias(Reader& content, Answer&) {
    const auto address = content.get<std::uint64_t>();
    const auto bytes = content.get<std::uint64_t>();
    const auto shared = content.get<std::uint64_t>();
    check_shared(shared, bytes);
    if (memory_.find(address, 1) != nullptr) throw Error("memory is registered twice");
    memory_.map(fmt::format("registered memory at {:#x}", address), address, {arena_.at(shared), bytes});
}

// The other program has the file of its devices' memory open: it is reached through that.
void VirtualGpu::import_memory(Reader& content, Answer&) {
    const auto address = content.get<std::uint64_t>();
    const auto bytes = content.get<std::uint64_t>();
    const auto process = content.get<std::uint32_t>(), descriptor = content.get<std::uint32_t>();
    const auto offset = content.get<std::uint64_t>();
    check_shared(address, bytes);
    arena_.import_from(fmt::format("/proc/{}/fd/{}", process, descriptor), address, bytes, offset);
    memory_.map(fmt::format("memory of process {} at {:#x}", process, address), address, {arena_.at(address), bytes});
}

void VirtualGpu::end_import(Reader& content, Answer&) {
    const auto address = content.get<std::uint64_t>();
    const auto bytes = content.get<std::uint64_t>();
    check_shared(address, bytes);
    if (!memory_.unmap(address)) throw Error("no memory of another process is at this address");
    arena_.remap(address, bytes, address);
    arena_.release(address, bytes);
}

void VirtualGpu::end_alias(Reader& content, Answer&) {
    if (!memory_.unmap(content.get<std::uint64_t>())) throw Error("no memory is registered at this address");
}

}  // namespace heddle::driver
