// What the benchmarks share: kernels with named arguments, and small statistics.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "validation/capture/device.h"
#include "workloads/kernels/kernel.h"

namespace heddle::capture {

/// Arguments by the names of the kernel's parameters: addresses, counts, or the bits of a float.
using NamedArguments = std::vector<std::pair<std::string, std::uint64_t>>;

/// Throws std::invalid_argument for a name that the kernel does not have, or a parameter without a value.
Launch make_launch(KernelHandle handle, const kernels::GeneratedKernel& kernel, Extent3 grid,
                   const NamedArguments& arguments);

/// The compute capability to write PTX for: newer devices than Hopper take Hopper's text.
unsigned ptx_capability(const Device& device);

/// The kernel's text for a target with architecture-specific instructions: ".target sm_90a".
kernels::GeneratedKernel for_specific_target(kernels::GeneratedKernel kernel);

double median(std::vector<double> values);

/// Values of a buffer as T.
template <typename T>
std::vector<T> read_values(Device& device, Address from, std::size_t count) {
    std::vector<T> values(count);
    device.read(from, std::as_writable_bytes(std::span<T>(values)));
    return values;
}
template <typename T>
void write_values(Device& device, Address to, const std::vector<T>& values) {
    device.write(to, std::as_bytes(std::span<const T>(values)));
}

}  // namespace heddle::capture
