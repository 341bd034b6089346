// The memory of devices: what is allocated, what the host shares with it, copies and fills.
#include <fmt/format.h>

#include <algorithm>

#include "driver/server/virtual_gpu.h"
#include "isa/common/error.h"

namespace heddle::driver {
namespace {

/// What CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT says: any allocation may be read through a texture.
constexpr std::uint64_t kAllocationAlignment = 512;

}  // namespace

void VirtualGpu::allocate(Reader& content, Answer& answer) {
    const auto device = content.get<std::uint32_t>();
    const auto bytes = content.get<std::uint64_t>();
    const auto kind = content.get<MemoryKind>();
    const bool counts = kind == MemoryKind::device;
    const std::uint64_t room = (machine_.step.memory_bytes - machine_.step.context_bytes) * options_.devices;
    if (bytes == 0) {
        answer.status = Status::invalid_value;
        return;
    }
    if (bytes > kMemoryBytes / 2 || (counts && (used_bytes_ > room || bytes > room - used_bytes_))) {
        answer.status = Status::out_of_memory;
        return;
    }
    const std::uint64_t base =
        memory_.allocate(fmt::format("{} {} of device {}", counts ? "allocation" : "host allocation", next_++, device), bytes, true, kAllocationAlignment);
    if (counts) {
        used_bytes_ += bytes;
        allocated_[base] = bytes;
    } else {
        shared_with_host_.insert(base);
    }
    answer.content.put(base);
}

void VirtualGpu::memory_info(Reader&, Answer& answer) {
    answer.content.put(machine_.step.memory_bytes - machine_.step.context_bytes - used_bytes_).put(machine_.step.memory_bytes);
}

std::span<std::byte> VirtualGpu::bytes_at(std::uint64_t address, std::uint64_t count) {
    ptx::Allocation* const allocation = memory_.find(address, count);
    if (allocation == nullptr || !allocation->backed) return {};
    return {allocation->data.data() + (address - allocation->base), static_cast<std::size_t>(count)};
}

void VirtualGpu::for_each_shared_with_host(const std::function<void(std::uint64_t, std::span<const std::byte>)>& visit) {
    for (const std::uint64_t base : shared_with_host_)
        if (const ptx::Allocation* const allocation = memory_.find(base, 1)) visit(base, {allocation->data.data(), allocation->data.size()});
}

void VirtualGpu::release(Reader& content, Answer&) {
    const auto address = content.get<std::uint64_t>();
    if (!memory_.release(address)) throw Error("nothing was allocated at the address that is freed");
    shared_with_host_.erase(address);
    if (const auto found = allocated_.find(address); found != allocated_.end()) {
        used_bytes_ -= found->second;
        allocated_.erase(found);
    }
}

void VirtualGpu::copy(Reader& content, Answer&) {
    const auto request = content.get<CopyRequest>();
    if (request.done == 0) {
        std::vector<std::byte> bytes(request.bytes);
        memory_.read(request.from, bytes);
        memory_.write(request.to, bytes);
    }
    if (!timing()) return;
    last_launches_.erase(request.stream);
    const models::gpu::GpuConfig& config = machine_.config;
    const auto bytes = static_cast<double>(request.bytes);
    const double link = config.host.latency + bytes / config.host.bandwidth;
    switch (request.kind) {
        case CopyKind::host_to_device:
            timeline(request.stream).add_copy(request.stream, "copy from host", bytes, link, true, request.waits != 0);
            break;
        case CopyKind::device_to_host:
            timeline(request.stream).add_copy(request.stream, "copy to host", bytes, link, true, request.waits != 0);
            break;
        case CopyKind::peer:
            timeline(request.stream).add_copy(request.stream, "copy to another device", bytes, link, true, request.waits != 0);
            break;
        case CopyKind::device_to_device:
            timeline(request.stream).add_copy(request.stream, "copy on the device", bytes,
                               config.launch.before + config.launch.after + 2 * bytes / config.hbm.bandwidth, false, request.waits != 0);
            break;
        case CopyKind::host_to_host:
            break;
    }
}

void VirtualGpu::fill(Reader& content, Answer&) {
    const auto request = content.get<FillRequest>();
    const std::uint64_t row = request.width * request.element_bytes;
    std::vector<std::byte> bytes(row);
    for (std::uint64_t i = 0; i < row; ++i)
        bytes[i] = static_cast<std::byte>(request.value >> (8 * (i % request.element_bytes)));
    for (std::uint64_t y = 0; y < request.height; ++y) memory_.write(request.to + y * request.pitch, bytes);
    if (!timing()) return;
    last_launches_.erase(request.stream);
    const double all = static_cast<double>(row * request.height);
    timeline(request.stream).add_copy(request.stream, "fill", all,
                       machine_.config.launch.before + machine_.config.launch.after + all / machine_.config.hbm.bandwidth,
                       false, false);
}

}  // namespace heddle::driver
