// What the lowering must know of a configured TPU.
#pragma once

#include "models/tpu/tpu_config.h"
#include "workloads/lowering/tpu/lowering_options.h"

namespace heddle::sim {

lowering::TpuLoweringOptions lowering_options_of(const models::TpuConfig& config);

}  // namespace heddle::sim
