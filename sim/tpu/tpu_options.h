// What the lowering needs to know about a configured TPU.
#pragma once

#include "models/tpu/tpu_config.h"
#include "workloads/lowering/tpu/lowering_options.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

/// Derives the options of the lowering from a configuration. `step` says that the op is one of several, so
/// that its operands can be loaded while the previous op runs (TpuLoweringOptions::operands_overlap).
lowering::TpuLoweringOptions lowering_options_of(const models::TpuConfig& config, bool step = false);

/// Throws heddle::Error when an op multiplies numbers of a type that the chip's matrix units do not support
/// (matrix.numbers).
void check_products(const trace::Trace& trace, const models::TpuConfig& config);

}  // namespace heddle::sim
