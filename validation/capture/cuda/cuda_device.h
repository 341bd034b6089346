// A real GPU, through the CUDA driver.
#pragma once

#include <memory>

#include "validation/capture/device.h"

namespace heddle::capture {

/// GPU `ordinal` of those that the driver shows. Throws heddle::Error: no driver, no such GPU.
std::unique_ptr<Device> make_cuda_device(unsigned ordinal);

}  // namespace heddle::capture
