// kernelslist.g: the operations of a traced program on the GPU, in order.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace heddle::sass {

/// A cudaMemcpy from host to device.
struct HostToDeviceCopy {
    std::uint64_t address = 0, bytes = 0;
};
/// A kernel, whose trace is in a separate file.
struct TracedKernel {
    std::string path;
};
using TracedEvent = std::variant<HostToDeviceCopy, TracedKernel>;

/// Reads the list; paths of kernels are relative to its folder. Where a list names "kernel-1.traceg" and only
/// "kernel-1.traceg.xz" exists (or vice versa), that file is used. Lines of other kinds are ignored. Throws
/// heddle::Error with file and line for a malformed copy, a kernel whose file is missing, or a list without
/// kernels.
std::vector<TracedEvent> read_kernel_list(const std::string& path);

}  // namespace heddle::sass
