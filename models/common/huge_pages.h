// Large pages for the simulator's own memory.
#pragma once

#include <cstddef>

namespace heddle::models {

/// Asks the C library to take the next `bytes` of the heap from one range, and the kernel to back that range
/// with pages of 2 MiB as it is first touched. A simulated GPU touches tens of megabytes in no order, and
/// with pages of 4 KiB the host waits for their translations. A hint: where neither knows it, nothing
/// happens.
void prefer_huge_pages(std::size_t bytes);

}  // namespace heddle::models
