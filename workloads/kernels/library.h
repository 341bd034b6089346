// One representative of every generator and variant with a small concrete launch, so that tests can go
// through "every kernel in the library".
#pragma once

#include <string>
#include <vector>

#include "workloads/kernels/kernel.h"

namespace heddle::kernels {

/// A buffer of a sample launch, and what it contains.
struct SampleBuffer {
    enum class Content : std::uint8_t {
        zeros,   ///< an output, or an accumulator
        random,  ///< any numbers of the type
        index,   ///< integers in [0, limit): their values steer the kernel's addresses
    };
    std::string name;  ///< of the parameter
    std::uint64_t bytes = 0;
    ElementType type = ElementType::f32;
    Content content = Content::zeros;
    std::uint64_t limit = 0;
};

/// A kernel with a sample launch.
struct LibraryKernel {
    std::string name;  ///< unique: what the sample shows
    GeneratedKernel kernel;
    Extent3 grid{1, 1, 1};
    std::vector<SampleBuffer> buffers;
    std::vector<KernelArgument> arguments;  ///< in the kernel's order; buffers by their place in `buffers`
};

/// Kernels that the device cannot run (bf16 before 8.0, ...) are left out.
std::vector<LibraryKernel> library_samples(unsigned compute_capability = 80);

}  // namespace heddle::kernels
