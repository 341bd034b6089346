// The TPU models beside what was published and measured of the chips: TPU v1's cycle breakdowns and an
// example of its paper, products on a v6e and a v4, and SCALE-Sim's counts for systolic arrays.
#pragma once

#include <filesystem>
#include <vector>

#include "validation/compare/result.h"

namespace heddle::validation {

/// `data`/gemm/tpu_v6e_bf16.csv and systolic_cycles.csv are compared where they are there; the rest is built
/// in. options.hardware selects one device. Throws heddle::Error for a damaged file.
std::vector<Comparison> compare_tpu_timing(const std::filesystem::path& data, const CompareOptions& options);

}  // namespace heddle::validation
