// kernelslist.g: what a traced program did with the GPU, in its order.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace heddle::sass {

/// cudaMemcpy from host to device.
struct HostToDeviceCopy {
    std::uint64_t address = 0, bytes = 0;
};
/// A kernel, whose trace lies in a file of its own.
struct TracedKernel {
    std::string path;
};
using TracedEvent = std::variant<HostToDeviceCopy, TracedKernel>;

/// Reads the list; paths of kernels are relative to its folder. Where a list names "kernel-1.traceg" and only
/// "kernel-1.traceg.xz" is there (or the other way round), that is taken. Lines of other kinds are left out.
/// Throws heddle::Error with file and line for a malformed copy, a kernel whose file is missing, or a list of
/// nothing.
std::vector<TracedEvent> read_kernel_list(const std::string& path);

}  // namespace heddle::sass
