// What the lowering must know of a configured TPU.
#pragma once

#include "models/tpu/tpu_config.h"
#include "workloads/lowering/tpu/lowering_options.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

/// `step`: the op is one of several, so that operands can be brought while the op before runs:
/// TpuLoweringOptions::operands_overlap.
lowering::TpuLoweringOptions lowering_options_of(const models::TpuConfig& config, bool step = false);

/// Throws heddle::Error when an op multiplies numbers that the chip's matrix units do not (matrix.numbers).
void check_products(const trace::Trace& trace, const models::TpuConfig& config);

}  // namespace heddle::sim
