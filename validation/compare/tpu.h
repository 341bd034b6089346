// The TPU model's matrix products beside those that a GPU's library computed from the same inputs.
#pragma once

#include <vector>

#include "models/tpu/tpu_config.h"
#include "validation/compare/result.h"
#include "validation/read/recorded_capture.h"

namespace heddle::validation {

/// bf16 and int8 products of a capture's section `numerics`, computed again by the model of a TPU. Nobody
/// outside knows in which order a TPU adds, so bf16 results are held to the bound for any two orders
/// (tpu_product.h: unknown_order_bound) and int8 ones to every bit. Products of up to 2^24 multiplications
/// run as a program on the functional TPU, and must equal its definition bit for bit; of larger ones the
/// recorded elements are computed from the definition. Left out, and said so: epilogues, scales, and inputs
/// beyond what a TPU keeps (subnormal numbers, infinities, NaN).
///
/// One Comparison; none when the capture has no such products. Throws heddle::Error for a damaged capture.
std::vector<Comparison> compare_tpu(const RecordedCapture& capture, const models::TpuConfig& device,
                                    const CompareOptions& options);

}  // namespace heddle::validation
