// Which kernels of Heddle's library the section `kernels` runs, and how one is run on any Device: the
// comparison runs them again on the simulator's.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "validation/capture/device.h"
#include "workloads/kernels/library.h"

namespace heddle::capture {

struct KernelItem {
    std::string id;        ///< unique
    std::string category;  ///< "gemm", "elementwise", "rows", "attention", "movement"
    kernels::LibraryKernel kernel;
};

/// Every kernel of library_samples() for the device, then larger ones; `quick`: without these.
std::vector<KernelItem> kernel_items(unsigned compute_capability, bool quick);

/// Changes when the text of the kernel, its geometry or its arguments do.
std::uint64_t fingerprint(const kernels::LibraryKernel& kernel);

/// The contents of buffer number `buffer`: zeros, indices, or normal numbers (integers between -4 and 4;
/// booleans 0 and 1), of the stream (seed from the buffer's number).
std::vector<std::byte> initial_contents(const kernels::LibraryKernel& kernel, std::size_t buffer);

/// A kernel on a device, with its buffers.
class LoadedItem {
  public:
    LoadedItem(Device& device, const kernels::LibraryKernel& kernel);

    /// Writes the initial contents, launches, and reads back every buffer that started with zeros (the others
    /// are empty in the result).
    std::vector<std::vector<std::byte>> run();
    /// On the contents that are there.
    void launch();
    KernelAttributes attributes() const { return device_.attributes(launch_.kernel); }

  private:
    Device& device_;
    const kernels::LibraryKernel& kernel_;
    std::vector<DeviceBuffer> buffers_;
    Launch launch_;
};

}  // namespace heddle::capture
